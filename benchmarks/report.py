# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of what benchmarks/experiments.py has run.

    python benchmarks/report.py GROUP... [--out=runs/experiments]
        [--pictures=docs/images]

Tables go to the terminal, as Markdown. Numbers come from metrics.csv, seconds
from timings.csv.
"""

import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks import experiments  # noqa: E402
from benchmarks import scaling_picture  # noqa: E402
from benchmarks import tables  # noqa: E402
from rnd_agents import run_files  # noqa: E402
from rnd_agents.plotting import drawing  # noqa: E402
from rnd_agents.plotting import learning_curves  # noqa: E402

_SOLVED = 0.95

# Groups that are told by their returns, and the titles of their pictures.
_RETURNS = {
    'mountain_car': 'MountainCar-v0',
    'lunar_lander': 'LunarLander-v3',
    'cartpole_masked': 'CartPole-v1 without velocities',
    't_maze': 'T-maze',
    'mountain_car_masked': 'MountainCar-v0 without velocity',
    'minigrid_memory': 'MiniGrid-MemoryS7-v0',
    'door_key_pixels': 'MiniGrid-DoorKey-5x5-v0 from pixels',
}


def _first_env_steps(folder, phase, metric, threshold):
  """Environment steps when a metric first reached a threshold, or None."""
  rows = run_files.read_rows(folder)
  steps, values = run_files.series(rows, phase, metric)
  reached = np.flatnonzero(np.asarray(values) >= threshold)
  return int(steps[reached[0]]) if len(reached) else None


def _tells_of_success(folder):
  rows = run_files.read_rows(folder)
  return bool(len(run_files.series(rows, 'eval', 'success_rate')[0]))


def _last(folder, phase, metric):
  return float(run_files.read_metrics(folder, phase, metric)[1][-1])


def _env_steps(folder):
  return int(run_files.read_metrics(folder, 'eval', 'return_mean')[0][-1])


def _thousands(values):
  """Environment steps in thousands, '–' for never."""
  return ', '.join(
      '–' if value is None else f'{value / 1000:.0f}' for value in values
  )


def _median(values):
  """Median with 'never' as infinity."""
  return np.median([np.inf if value is None else value for value in values])


def report_returns(folders, group, pictures, title):
  """Final evaluations and first flags, and the learning curves."""
  rows = []
  for label, runs in folders.items():
    returns = [_last(run, 'eval', 'return_mean') for run in runs]
    flags = [
        _first_env_steps(run, 'train', 'terminated_rate', 1e-9) for run in runs
    ]
    seconds = [run_files.wall_time_s(run) for run in runs]
    rows.append((
        label,
        len(runs),
        f'{np.median(returns):.4g}',
        f'{min(returns):.4g}',
        ', '.join(f'{value:.3g}' for value in returns),
        f'{_median(flags) / 1000:.0f}',
        _thousands(flags),
        f'{np.median(seconds):.0f}',
    ))
  tables.print_table(
      (
          'agent',
          'seeds',
          'median',
          'worst',
          'each seed',
          'first termination, median (k steps)',
          'each seed (k steps)',
          'median time (s, one thread)',
      ),
      rows,
  )
  runs = {
      label: [run_files.read_metrics(f, 'eval', 'return_mean') for f in found]
      for label, found in folders.items()
  }
  learning_curves.draw_panels(
      [learning_curves.make_panel(runs)],
      os.path.join(pictures, f'{group}.png'),
      title,
  )


def report_solved(folders, group, pictures, title):
  """How many seeds of each label solved it, and when."""
  rows = []
  for label, runs in folders.items():
    solved = [
        _first_env_steps(run, 'eval', 'success_rate', _SOLVED) for run in runs
    ]
    good_at_end = [_last(run, 'eval', 'success_rate') for run in runs]
    median = _median(solved)
    rows.append((
        label,
        f'{sum(step is not None for step in solved)} of {len(runs)}',
        f'{sum(rate >= _SOLVED for rate in good_at_end)} of {len(runs)}',
        'never' if np.isinf(median) else f'{median / 1000:.0f}',
        _thousands(solved),
    ))
  tables.print_table(
      (
          'agent',
          'solved',
          'at the end',
          'median (k steps)',
          'each seed (k steps)',
      ),
      rows,
  )
  if group == 'deep_sea':
    plot_solved(folders, os.path.join(pictures, f'{group}.png'), title)


def plot_solved(folders, out, title):
  """Share of the seeds that have solved it, over environment steps."""
  figure = drawing.new_figure()
  axes = figure.subplots()
  for color, (label, runs) in zip(
      drawing.COLORS, folders.items(), strict=False
  ):
    end = max(_env_steps(run) for run in runs)
    solved = sorted(
        step
        for step in (
            _first_env_steps(run, 'eval', 'success_rate', _SOLVED)
            for run in runs
        )
        if step is not None
    )
    shares = [i / len(runs) for i in range(len(solved) + 1)]
    axes.step(
        [0, *solved, end],
        [*shares, shares[-1]],
        where='post',
        color=color,
        label=f'{label} ({len(runs)} seeds)',
    )
  axes.set(
      title=title,
      xlabel='Environment steps',
      ylabel='Share of seeds that have solved it',
      ylim=(-0.03, 1.03),
  )
  drawing.style(axes)
  drawing.step_axis(axes)
  axes.legend()
  drawing.save_figure(figure, out)


def report_scaling(folders, group, pictures):
  """Steps to solve DeepSea against its size."""
  points, rows = [], []
  for label, runs in folders.items():
    size = int(label.partition('=')[2])
    solved = [
        _first_env_steps(run, 'eval', 'success_rate', _SOLVED) for run in runs
    ]
    for run, step in zip(runs, solved, strict=True):
      points.append(
          (size, _env_steps(run) if step is None else step, step is not None)
      )
    random_steps = f'{size * 2.0**size:.1e}'
    rows.append((size, len(runs), _thousands(solved), random_steps))
  tables.print_table(
      ('N', 'seeds', 'solved at (k steps)', 'random policy, N 2^N steps'), rows
  )
  scaling_picture.plot_scaling(points, os.path.join(pictures, f'{group}.png'))


def main():
  """Reports the groups of the command line."""
  parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
  parser.add_argument('groups', nargs='+', choices=experiments.GROUPS)
  parser.add_argument('--out', default=os.path.join('runs', 'experiments'))
  parser.add_argument('--pictures', default=os.path.join('docs', 'images'))
  arguments = parser.parse_args()
  for group in arguments.groups:
    print(f'## {group}\n')
    folders = experiments.finished(
        arguments.out, group, experiments.GROUPS[group]
    )
    if not folders:
      print('No run is finished.\n')
      continue
    if group == 'deep_sea_scaling':
      report_scaling(folders, group, arguments.pictures)
    else:
      # Of a group of several tasks some may not tell of success.
      solvable = {
          label: runs
          for label, runs in folders.items()
          if group not in _RETURNS and _tells_of_success(runs[0])
      }
      others = {k: runs for k, runs in folders.items() if k not in solvable}
      if solvable:
        report_solved(solvable, group, arguments.pictures, 'DeepSea, N = 20')
      if others:
        title = _RETURNS.get(group, group)
        report_returns(others, group, arguments.pictures, title)


if __name__ == '__main__':
  main()
