# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""FourRooms: novelty in goals against novelty in states.

    python -m benchmarks.four_rooms four_rooms [--jobs=2] [--out=DIRECTORY]

Runs what is not finished, as experiments.py does; then prints the table of
docs/hierarchy.md, and draws its picture to docs/images/four_rooms.png.
"""

import os
import sys

import numpy as np

from benchmarks import coverage
from benchmarks import experiments
from benchmarks import tables
from rnd_agents import run_files
from rnd_agents.plotting import heat_maps

_NUM_CELLS = 4 * 8 * 8 + 4  # Rooms, and gaps in the walls between them.
_LAST_SHARE = 0.2  # Of a run, that stands for its end.
_PICTURE = os.path.join(experiments.ROOT, 'docs', 'images', 'four_rooms.png')
_AGENTS = {
    'two levels, RND above': ('four_rooms_two_level.gin',),
    'two levels, no bonus': (
        'four_rooms_two_level.gin',
        'upper/RNDPPOAgent.intrinsic_advantage_coefficient = 0',
    ),
    'RND-PPO': ('four_rooms.gin',),
    'PPO': (
        'four_rooms.gin',
        'RNDPPOAgent.intrinsic_advantage_coefficient = 0',
    ),
}
GROUPS = {
    'four_rooms': [
        experiments.Job(
            label,
            gin_file,
            seed,
            (
                'import benchmarks.coverage',
                'train/load_environment.wrappers ='
                ' [@SomeActions, @FixedWorld, @CellsVisited]',
                f'FixedWorld.world_seed = {seed}',
                'train_eval.callbacks = [@CoverageLog()]',
                'train_eval.save_policies = False',
                *bindings,
            ),
        )
        for seed in range(5)
        for label, (gin_file, *bindings) in _AGENTS.items()
    ],
}


def _first(steps, reached):
  """Thousands of environment steps until something is so, as text."""
  indices = np.flatnonzero(reached)
  return f'{steps[indices[0]] / 1000:.0f}' if len(indices) else 'never'


def _numbers(folder):
  """The numbers of a run, as text."""
  steps, cells = coverage.read_curve(folder)
  end = (1 - _LAST_SHARE) * steps[-1]
  solved = run_files.read_metrics(folder, 'train', 'terminated_rate')
  of_episode = coverage.mean_of_episodes(folder, 'rooms_visited_mean')
  success = coverage.mean_of_episodes(folder, 'terminated_rate', end)
  return (
      f'{cells[-1] / _NUM_CELLS:.2f}',
      _first(steps, cells >= 0.5 * _NUM_CELLS),
      _first(steps, cells >= 0.9 * _NUM_CELLS),
      f'{of_episode / _NUM_CELLS:.2f}',
      _first(solved[0], solved[1] > 0),
      f'{success:.2f}',
      f'{run_files.wall_time_s(folder):.0f}',
  )


def report(folders):
  """Prints a table: for each agent the numbers of its seeds.

  Args:
    folders: {label: folders of finished runs}.
  """
  tables.print_table(
      (
          'share of cells visited',
          'in all',
          'half of them after (k steps)',
          '90 % after',
          'in an episode (mean)',
          'the goal first found (k steps)',
          'success at the end',
          'seconds',
      ),
      [
          (label, *map(', '.join, zip(*map(_numbers, runs), strict=True)))
          for label, runs in folders.items()
      ],
  )


def draw(folders, path):
  """Draws the visits of the first seed of each of four agents."""
  images = [
      heat_maps.grid_image(
          coverage.read_visits(runs[0]), f'{label}: visits of seed 0'
      )
      for label, runs in folders.items()
  ]
  rows = [np.concatenate(images[i : i + 2], axis=1) for i in (0, 2)]
  heat_maps.save_image(np.concatenate(rows), path)


def main():
  """Runs the groups of the command line and reports what is finished."""
  arguments = experiments.parse(__doc__, GROUPS)
  status = experiments.run(GROUPS, arguments)
  folders = experiments.finished(
      arguments.out, 'four_rooms', GROUPS['four_rooms']
  )
  report(folders)
  if len(folders) == len(_AGENTS):
    draw(folders, _PICTURE)
  sys.exit(status)


if __name__ == '__main__':
  main()
