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
_LEARNING_KL = 1e-5  # Without the screen it is passed soon, and for good.


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
  """Reads what is finished of the seeds that have a control.

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
    if seed in courses[surprise.CONTROL]:
      screens[seed] = np.flatnonzero(course['bonus_max'] > _SCREEN_BONUS)[-1]
  return {
      label: {seed: of_seed[seed] for seed in screens if seed in of_seed}
      for label, of_seed in courses.items()
  }, screens


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


def _until(values, threshold, screen):
  """Text: updates from the screen until a threshold is reached."""
  updates = np.flatnonzero(values[screen + _HALF_WINDOW + 1 :] >= threshold)
  return str(updates[0] + _HALF_WINDOW + 1) if len(updates) else 'never'


def print_tables(courses, screens):
  """Prints medians and ranges over the seeds."""
  control = courses[surprise.CONTROL]
  for name in ('approximate_kl', 'update_size', 'gradient_norm'):
    _print_course(
        name, courses, screens, lambda seed, course, name=name: course[name]
    )
  _print_course(
      'update_size / gradient_norm, over that without the screen',
      courses,
      screens,
      lambda seed, course: _smooth(course['rate'])
      / _smooth(control[seed]['rate']),
  )
  rows = []
  for label, of_seed in courses.items():
    pairs = [(course, screens[seed]) for seed, course in of_seed.items()]
    rows.append((
        label,
        ', '.join(map(str, of_seed)),
        _text([c['intrinsic_reward_max'][screen] for c, screen in pairs]),
        ', '.join(
            _until(_smooth(c['approximate_kl']), _LEARNING_KL, screen)
            for c, screen in pairs
        ),
        ', '.join(_until(c['success'], 0.5, screen) for c, screen in pairs),
        _text([np.nanmean(c['success'][-20:]) for c, _ in pairs]),
    ))
  tables.print_table(
      (
          'setting',
          'seeds',
          'largest intrinsic reward',
          f'updates from the screen to a KL of {_LEARNING_KL:g}',
          'to 50 % success',
          'success of the last 20 updates',
      ),
      rows,
  )
  print('Updates with the screen:', {s: int(u) + 1 for s, u in screens.items()})


def _print_course(title, courses, screens, values_of):
  """Prints numbers of some updates before, with and after the screen."""
  print(f'{title}\n')
  rows = []
  for label, of_seed in courses.items():
    pairs = [
        (values_of(seed, course), screens[seed])
        for seed, course in of_seed.items()
    ]
    cells = [
        _text([_before(values, screen) for values, screen in pairs]),
        _text([values[screen] for values, screen in pairs]),
    ]
    for update in _LATER:
      cells.append(
          _text([_around(values, screen + update) for values, screen in pairs])
      )
    rows.append((label, *cells))
  later = [f'{update} later' for update in _LATER]
  tables.print_table(('setting', 'before', 'with the screen', *later), rows)


def _smooth(values):
  return np.array([_around(values, i) for i in range(len(values))])


def draw(courses, screens, out):
  """Draws KL, effective learning rate and success: medians of all seeds."""
  figure = drawing.new_figure((10.0, 11.0))
  panels = figure.subplots(3, sharex=True)
  names = ('approximate_kl', 'rate', 'success')
  updates = np.arange(-40, 301)
  for axes, name in zip(panels, names, strict=True):
    # Those of all seeds.
    drawn = {k: v for k, v in courses.items() if len(v) == len(screens)}
    for number, (label, of_seed) in enumerate(drawn.items()):
      curves = np.full([len(of_seed), len(updates)], np.nan)
      for curve, (seed, course) in zip(curves, of_seed.items(), strict=True):
        at = updates + screens[seed]
        known = (at >= 0) & (at < len(course[name]))
        curve[known] = _smooth(course[name])[at[known]]
      known = ~np.isnan(curves).any(axis=0)
      axes.plot(
          updates[known],
          np.median(curves[:, known], axis=0),
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
  drawing.save_figure(figure, out)


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
