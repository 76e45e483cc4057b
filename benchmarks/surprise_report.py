# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Table and picture of what benchmarks/surprise.py has run.

    python -m benchmarks.surprise_report [--out=runs/experiments]
        [--pictures=docs/images]
"""

import argparse
import os

import numpy as np

from benchmarks import experiments
from benchmarks import surprise
from benchmarks import tables
from rnd_agents import run_files
from rnd_agents.plotting import drawing

_GROUP = 'surprise'
_SCREEN_BONUS = 5.0  # The usual ones of these runs are below 1 by then.
_LATER = (25, 50, 100, 150, 240)  # Updates after the screen.
_BEFORE = 20
_HALF_WINDOW = 5


def _course(folder):
  """Numbers of each update: {name: float64 [updates]}."""
  rows = [row for row in run_files.read_rows(folder) if row.phase == 'train']
  names = ('approximate_kl', 'update_size', 'gradient_norm', 'bonus_max')
  course = {
      name: np.array([row.values[name] for row in rows])
      for name in (*names, 'intrinsic_reward_max')
  }
  # A rollout in which no episode ends has none.
  course['success'] = np.array(
      [row.values.get('success_rate', np.nan) for row in rows]
  )
  # How far a gradient of norm 1 takes the weights.
  course['rate'] = course['update_size'] / course['gradient_norm']
  return course


def read(out):
  """Reads what is finished of all seeds that have a control.

  Args:
    out: Folder of the experiments.

  Returns:
    {label: {seed: course}}, and {seed: index of the update with the screen}.
  """
  courses, screens = {}, {}
  for job in surprise.GROUPS[_GROUP]:
    folder = experiments.root_dir(out, _GROUP, job)
    if experiments.is_finished(folder):
      courses.setdefault(job.label, {})[job.seed] = _course(folder)
  for seed, course in courses[surprise.PAPER].items():
    screens[seed] = np.flatnonzero(course['bonus_max'] > _SCREEN_BONUS)[-1]
  return courses, screens


def _around(values, update):
  """Median of the updates around one; NaN beyond the run."""
  if update >= len(values):
    return np.nan
  return np.median(
      values[max(update - _HALF_WINDOW, 0) : update + _HALF_WINDOW + 1]
  )


def _before(values, screen):
  return np.median(values[screen - _BEFORE : screen])


def _text(values, digits='.2g'):
  """Median and range."""
  values = [value for value in values if not np.isnan(value)]
  if not values:
    return '–'
  low, median, high = (f(values) for f in (np.min, np.median, np.max))
  return f'{median:{digits}} ({low:{digits}} … {high:{digits}})'


def _solved(course, screen):
  """Updates from the screen until half of the episodes succeed."""
  updates = np.flatnonzero(course['success'] >= 0.5)
  return updates[0] - screen if len(updates) else np.inf


def print_tables(courses, screens):
  """Prints KL, update size and success, each as median and range of seeds."""
  later = [f'{update} later' for update in _LATER]
  for name in ('approximate_kl', 'update_size', 'gradient_norm', 'rate'):
    print(f'{name}\n')
    rows = []
    for label, of_seed in courses.items():
      pairs = [(c[name], screens[s]) for s, c in of_seed.items()]
      cells = [
          _text([_before(values, screen) for values, screen in pairs]),
          _text([values[screen] for values, screen in pairs]),
      ]
      for update in _LATER:
        cells.append(
            _text([_around(values, s + update) for values, s in pairs])
        )
      rows.append((label, *cells))
    tables.print_table(('setting', 'before', 'with the screen', *later), rows)
  rows = []
  for label, of_seed in courses.items():
    pairs = [(course, screens[s]) for s, course in of_seed.items()]
    rows.append((
        label,
        len(pairs),
        _text([c['intrinsic_reward_max'][screen] for c, screen in pairs]),
        _text([_solved(*pair) for pair in pairs], '.0f'),
        ', '.join(f'{_solved(*pair):.0f}' for pair in pairs),
        _text([np.nanmean(c['success'][-20:]) for c, _ in pairs]),
    ))
  tables.print_table(
      (
          'setting',
          'seeds',
          'largest intrinsic reward',
          'updates from the screen to 50 % success',
          'each seed',
          'success of the last 20 updates',
      ),
      rows,
  )
  print('Updates with the screen:', {s: int(u) + 1 for s, u in screens.items()})


def _smooth(values):
  return np.array([_around(values, i) for i in range(len(values))])


def draw(courses, screens, out):
  """Draws KL, effective learning rate and success against updates."""
  figure = drawing.new_figure((10.0, 11.0))
  panels = figure.subplots(3, sharex=True)
  names = ('approximate_kl', 'rate', 'success')
  updates = np.arange(-40, 301)
  for axes, name in zip(panels, names, strict=True):
    for number, (label, of_seed) in enumerate(courses.items()):
      curves = np.full([len(of_seed), len(updates)], np.nan)
      for curve, (seed, course) in zip(curves, of_seed.items(), strict=True):
        at = updates + screens[seed]
        known = (at >= 0) & (at < len(course[name]))
        curve[known] = _smooth(course[name])[at[known]]
      known = ~np.isnan(curves).all(axis=0)
      axes.plot(
          updates[known],
          np.nanmedian(curves[:, known], axis=0),
          color=drawing.COLORS[number % len(drawing.COLORS)],
          linestyle=drawing.DASHES[number // len(drawing.COLORS)],
          linewidth=2.5 if number < 2 else 1.3,
          label=label,
      )
    axes.axvline(0, color='0.5', linewidth=1)
    drawing.style(axes)
  for axes, title in zip(
      panels,
      ('approximate_kl', 'update_size / gradient_norm', 'success rate'),
      strict=True,
  ):
    axes.set_ylabel(title)
  for axes in panels[:2]:
    axes.set_yscale('log')
  panels[0].set_ylim(1e-9, 1e-2)
  panels[2].set_xlabel('Updates after the one with the screen')
  drawing.legend_below(figure, panels, max_columns=3)
  drawing.save(figure, out)


def main():
  """Prints the tables and draws the picture."""
  parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
  parser.add_argument('--out', default=os.path.join('runs', 'experiments'))
  parser.add_argument('--pictures', default=os.path.join('docs', 'images'))
  arguments = parser.parse_args()
  found = read(arguments.out)
  print_tables(*found)
  draw(*found, os.path.join(arguments.pictures, 'surprise.png'))


if __name__ == '__main__':
  main()
