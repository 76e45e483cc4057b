# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of what benchmarks/experiments.py has run.

    python -m benchmarks.report GROUP... [--out=DIRECTORY]
        [--pictures=docs/images]

Tables go to the terminal, as Markdown: a row for each setting, with the number
of each seed and their median. Numbers come from metrics.csv, seconds from
timings.csv. A step is an environment step.
"""

import functools
import os

import numpy as np

from benchmarks import coverage
from benchmarks import experiments
from benchmarks import report_pictures
from benchmarks import tables
from rnd_agents import run_files

_NUM_CELLS = 4 * 8 * 8 + 4  # FourRooms: rooms, and gaps between them.
_LAST = 10  # Iterations whose mean stands for the end.
_LEAST_EPISODES = 32  # Of these iterations, for a share of them.
_SMOOTH = 5  # Iterations of a running mean.
_SOLVED = 0.95


def series(folder, phase, metric):
  """Returns steps and values of a metric, both empty if it is not there."""
  return run_files.series(run_files.read_rows(folder), phase, metric)


def smoothed(values, width=_SMOOTH):
  """Means of each value with those before it, `width` altogether."""
  return np.array([
      np.mean(values[max(end - width, 0) : end])
      for end in range(1, len(values) + 1)
  ])


def _thousands_until(steps, is_reached):
  """Thousands of steps until the first that is reached, or inf."""
  reached = np.flatnonzero(is_reached)
  return steps[reached[0]] / 1000 if len(reached) else np.inf


# Functions of a column: from the folder of a run to a number.
def _last(phase, metric, folder):
  values = series(folder, phase, metric)[1]
  return values[-1] if len(values) else np.nan


def _end(folder):
  """Mean return of the training episodes of the last iterations."""
  return smoothed(series(folder, 'train', 'return_mean')[1])[-_LAST:].mean()


def _terminated(folder):
  """Steps, and the share of terminated episodes of the last iterations.

  Of all episodes together: where episodes fail at a time limit those that begin
  together end together, and most iterations have successes alone.
  """
  rows = [
      row
      for row in run_files.read_rows(folder)
      if row.phase == 'train' and row.values.get('episodes')
  ]
  num = np.array([row.values['episodes'] for row in rows])
  terminated = num * [row.values['terminated_rate'] for row in rows]
  of_last = [slice(max(end - _LAST, 0), end) for end in range(1, len(num) + 1)]
  totals = np.array([num[part].sum() for part in of_last])
  successes = np.array([terminated[part].sum() for part in of_last])
  # A first success among few episodes is no share: then 0.
  shares = np.where(totals >= _LEAST_EPISODES, successes / totals, 0)
  return [row.env_steps for row in rows], shares


def _first_terminated(share, folder):
  """Thousands of steps until so many of the episodes terminated, or inf."""
  steps, shares = _terminated(folder)
  return _thousands_until(steps, shares >= share)


def _first(phase, metric, threshold, folder):
  """Thousands of steps until a metric first reached a threshold, or inf."""
  steps, values = series(folder, phase, metric)
  if phase == 'train' and metric == 'return_mean':
    values = smoothed(values)
  return _thousands_until(steps, np.asarray(values) >= threshold)


def _last_terminated(folder):
  shares = _terminated(folder)[1]
  return shares[-1] if len(shares) else np.nan


def _cells(share, folder):
  """Thousands of steps until so many cells of FourRooms were visited."""
  steps, cells = coverage.read_curve(folder)
  return _thousands_until(steps, cells >= share * _NUM_CELLS)


def _all_cells(folder):
  return coverage.read_curve(folder)[1][-1] / _NUM_CELLS


def _cells_of_episode(folder):
  mean = coverage.mean_of_episodes(folder, 'rooms_visited_mean')
  return mean / _NUM_CELLS


def _late_success(folder):
  since = 0.8 * coverage.read_curve(folder)[0][-1]
  return coverage.mean_of_episodes(folder, 'terminated_rate', since)


_partial = functools.partial
# {heading: (function, format)}.
_RETURN = {
    'greedy return at the end': (_partial(_last, 'eval', 'return_mean'), '.4g'),
}
_SECONDS = {'seconds': (run_files.wall_time_s, '.0f')}
_RETURNS = {
    **_RETURN,
    'first termination (k steps)': (
        _partial(_first, 'train', 'terminated_rate', 1e-9), '.0f'
    ),
    **_SECONDS,
}
_SUCCESSES = {
    'solved at (k steps)': (
        _partial(_first, 'eval', 'success_rate', _SOLVED), '.0f'
    ),
    'success at the end': (_partial(_last, 'eval', 'success_rate'), '.2f'),
    **_SECONDS,
}
_LEVELS = {
    **{
        f'training return {level} at (k steps)': (
            _partial(_first, 'train', 'return_mean', level), '.0f'
        )
        for level in (0.1, 0.5, 0.8)
    },
    'at the end': (_end, '.2f'),
    **_RETURN,
}
_TERMINATIONS = {
    'first success (k steps)': (
        _partial(_first, 'train', 'terminated_rate', 1e-9), '.0f'
    ),
    **{
        f'{share} of the episodes succeed at (k steps)': (
            _partial(_first_terminated, share), '.0f'
        )
        for share in (0.5, 0.8)
    },
    'at the end': (_last_terminated, '.2f'),
    'evaluated at the end': (_partial(_last, 'eval', 'terminated_rate'), '.2f'),
    **_SECONDS,
}
_COVERAGE = {
    'share of the cells visited': (_all_cells, '.2f'),
    'half of them at (k steps)': (_partial(_cells, 0.5), '.0f'),
    '90 % at (k steps)': (_partial(_cells, 0.9), '.0f'),
    'in an episode': (_cells_of_episode, '.2f'),
    'goal first found (k steps)': (
        _partial(_first, 'train', 'terminated_rate', 1e-9), '.0f'
    ),
    'success, last fifth': (_late_success, '.2f'),
    **_SECONDS,
}
# Groups whose columns do not follow from whether they report success.
_COLUMNS = {
    'default': {**_RETURNS, **_LEVELS},
    'default_ppo': {**_RETURNS, **_LEVELS},
    'door_key': {
        'greedy return 0.9 at (k steps)': (
            _partial(_first, 'eval', 'return_mean', 0.9), '.1f'
        ),
        **_RETURN,
    },
    'four_rooms': _COVERAGE,
    'obstructed_maze': _TERMINATIONS,
    'key_corridor': _TERMINATIONS,
    'ten_rooms': _TERMINATIONS,
    'pong': {
        'greedy return 18 at (k steps)': (
            _partial(_first, 'eval', 'return_mean', 18), '.1f'
        ),
        **_RETURN,
    },
    **dict.fromkeys(
        ('r2d3_ratios', 'r2d3_pretraining'),
        {
            'solved at (k steps)': (
                _partial(_first, 'eval', 'success_rate', _SOLVED), '.1f'
            ),
            **_SECONDS,
        },
    ),
    'r2d3_three_properties': {
        'greedy return 0.9 at (k steps)': (
            _partial(_first, 'eval', 'return_mean', 0.9), '.0f'
        ),
        **_RETURN,
    },
    'r2d3_pools': {
        'greedy return 0.94 at (k steps)': (
            _partial(_first, 'eval', 'return_mean', 0.94), '.1f'
        ),
        **_SECONDS,
    },
    **dict.fromkeys(
        (
            'default_door_key',
            'default_multi_room',
            'default_key_corridor',
            'default_obstructed_maze',
            'noisy_tile',
            'scale_river_swim',
            'unlock_pickup',
        ),
        _LEVELS,
    ),
}
# Groups with a picture of their returns, and its title.
_CURVES = {
    'mountain_car': 'MountainCar-v0',
    'lunar_lander': 'LunarLander-v3',
    'cartpole_masked': 'CartPole-v1 without velocities',
    't_maze': 'T-maze',
    'mountain_car_masked': 'MountainCar-v0 without velocity',
    'door_key_pixels': 'MiniGrid-DoorKey-5x5-v0 from pixels',
}


def cell(numbers, style):
  """Text of the numbers of all seeds, and of their median."""
  texts = [
      'never' if np.isinf(number) else format(number, style)
      for number in numbers
  ]
  text = ', '.join(texts)
  if len(numbers) > 2:
    median = np.median(numbers)
    text += '; **never**' if np.isinf(median) else f'; **{median:{style}}**'
  return text


def columns_of(group, folders):
  """The columns of a group's table."""
  if group in _COLUMNS:
    return _COLUMNS[group]
  reports = any(
      len(series(runs[0], 'eval', 'success_rate')[0])
      for runs in folders.values()
  )
  return _SUCCESSES if reports else _RETURNS


def print_report(group, folders):
  """Prints the table of a group.

  Args:
    group: its name.
    folders: {label: folders of finished runs}.
  """
  columns = columns_of(group, folders)
  tables.print_table(
      ('', 'seeds', *columns),
      [
          (
              label,
              len(runs),
              *(
                  cell([function(run) for run in runs], style)
                  for function, style in columns.values()
              ),
          )
          for label, runs in folders.items()
      ],
  )


def _draw(group, folders, pictures):
  """Draws the picture of a group, if it has one."""
  out = os.path.join(pictures, f'{group}.png')
  solved = _partial(_first, 'eval', 'success_rate', _SOLVED)
  ended = {
      label: [
          (1000 * solved(run), series(run, 'eval', 'return_mean')[0][-1])
          for run in runs
      ]
      for label, runs in folders.items()
  }
  if group in _CURVES:
    report_pictures.plot_returns(folders, out, _CURVES[group])
  elif group == 'deep_sea':
    report_pictures.plot_solved(ended, out, 'DeepSea, N = 20')
  elif group == 'deep_sea_scaling':
    points = [
        (int(label.partition('=')[2]), min(step, end), np.isfinite(step))
        for label, runs in ended.items()
        for step, end in runs
    ]
    report_pictures.plot_scaling(points, out)
  elif group == 'four_rooms' and len(folders) == 4:
    report_pictures.draw_visits(folders, out)


def main():
  """Reports the groups of the command line."""
  arguments = experiments.parser(__doc__)
  arguments.add_argument('--pictures', default=os.path.join('docs', 'images'))
  arguments = arguments.parse_args()
  for group in arguments.groups:
    print(f'## {group}\n')
    folders = experiments.finished(arguments.out, group)
    if not folders:
      print('No run is finished.\n')
      continue
    print_report(group, folders)
    _draw(group, folders, arguments.pictures)


if __name__ == '__main__':
  main()
