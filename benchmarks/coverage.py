# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records which cells of a grid a run visits, for the group four_rooms."""

import gin
import numpy as np

from rnd_agents import run_files
from rnd_agents.environments import wrappers
from rnd_agents.evaluation import visits
from rnd_agents.training import callbacks

_CURVE, _COUNTS = 'coverage.csv', 'visits.npy'


@gin.configurable(module='benchmarks', denylist=['env'])
class CellsVisited(wrappers.InfoWrapper):
  """Counts MiniGrid's cells of an episode, as `RoomsVisited` counts rooms."""

  def _told(self, begins):
    if begins:
      self._cells = set()
    self._cells.add(tuple(self.unwrapped.agent_pos))
    return {'rooms_visited': len(self._cells)}


@gin.configurable(module='benchmarks')
class CoverageLog(callbacks.Callback):
  """Writes how many cells were visited so far, and the visits of each."""

  def after_iteration(self, run, iteration):
    counts = visits.VisitCounts.from_states(run.collector.visits()).counts()
    with open(run.path(_CURVE), 'a', encoding='utf-8') as file:
      file.write(f'{run.counters.env_steps},{np.count_nonzero(counts)}\n')
    np.save(run.path(_COUNTS), counts)


def read_curve(folder):
  """Returns (environment steps, cells visited so far), int64 [n] each."""
  rows = np.loadtxt(f'{folder}/{_CURVE}', np.int64, delimiter=',', ndmin=2)
  # Iterations after the last checkpoint of a run that was killed come again.
  return np.unique(rows, axis=0).T


def read_visits(folder):
  """Returns the visits of each cell, int64 [height, width]."""
  return np.load(f'{folder}/{_COUNTS}')


def mean_of_episodes(folder, metric, since_env_steps=0):
  """Returns the mean of a metric over the training episodes of a run.

  Args:
    folder: Folder of a run.
    metric: A column of metrics.csv that is a mean over episodes.
    since_env_steps: Episodes that ended earlier are left out.
  """
  rows = [
      row.values
      for row in run_files.read_rows(folder)
      if row.phase == run_files.TRAIN
      and row.env_steps >= since_env_steps
      and metric in row.values
  ]
  return np.average(
      [row[metric] for row in rows], weights=[row['episodes'] for row in rows]
  )
