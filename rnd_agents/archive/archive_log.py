# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the course of an archive exploration."""

import os
import time

import numpy as np

from rnd_agents import run_files
from rnd_agents.training import metrics_log

_COLUMNS = (
    'phase', 'iteration', 'env_steps', 'frames', 'cells', 'best_score',
    'best_length', 'solved_worlds',
)


class ArchiveLog:
  """Writes rows of `metrics.csv` and `timings.csv`.

  As in a training, `metrics.csv` holds what the seed determines.
  """

  def __init__(self, root_dir, explorer, target_score=None):
    """Opens the log.

    Args:
      root_dir: Folder of the exploration. Rows after the iteration of the
        explorer are dropped: that work is done again.
      explorer: An `Explorer`.
      target_score: Of a solved world; None where any trajectory solves it.
    """
    self._explorer = explorer
    self._target_score = -np.inf if target_score is None else target_score
    last = dict(iteration=explorer.iteration) if explorer.iteration else None
    self._metrics = metrics_log.Table(
        os.path.join(root_dir, run_files.METRICS_FILE), _COLUMNS, last
    )
    self._timings = metrics_log.Table(
        os.path.join(root_dir, run_files.TIMINGS_FILE),
        (*_COLUMNS[:3], 'wall_time_s', 'replayed_env_steps'),
        last,
    )
    self._env_steps, wall_time_s = -1, 0.0  # Of the last row.
    self._replayed_before = 0  # By earlier starts.
    for row in self._timings.rows():
      self._env_steps = int(row['env_steps'])
      wall_time_s = float(row['wall_time_s'])
      self._replayed_before = int(row['replayed_env_steps'])
    self._start_s = time.monotonic() - wall_time_s
    # Frames an environment step, where it skips some.
    env = explorer.env
    skips = env.has_wrapper_attr('frame_skip')
    self._frame_skip = env.get_wrapper_attr('frame_skip') if skips else 1

  def write(self):
    """Writes a row, unless nothing was done since the last one."""
    explorer = self._explorer
    if explorer.env_steps == self._env_steps:
      return
    self._env_steps = explorer.env_steps
    archive = explorer.archive
    row = dict(
        phase='train',
        iteration=explorer.iteration,
        env_steps=explorer.env_steps,
    )
    score, length = archive.best_of_all()
    self._metrics.add({
        **row,
        'frames': explorer.env_steps * self._frame_skip,
        'cells': len(archive),
        'best_score': '' if score is None else f'{score:.8g}',
        'best_length': '' if length is None else length,
        'solved_worlds': int(archive.solved_worlds(self._target_score).sum()),
    })
    self._timings.add({
        **row,
        'wall_time_s': f'{time.monotonic() - self._start_s:.6g}',
        'replayed_env_steps': (
            self._replayed_before + explorer.returner.replayed_env_steps
        ),
    })

  def line(self, num_env_steps):
    """Returns the progress towards `num_env_steps` as a line of text."""
    explorer = self._explorer
    score, length = explorer.archive.best_of_all()
    best = 'none' if score is None else f'{score:.6g} in {length} steps'
    full = ' (full: explore.max_cells)' if explorer.archive.is_full else ''
    return (
        f'{explorer.env_steps:,} of {num_env_steps:,} environment steps,'
        f' {len(explorer.archive):,} cells{full}, best {best}'
    )
