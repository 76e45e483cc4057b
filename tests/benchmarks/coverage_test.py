# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests the counts of benchmarks/coverage.py."""

import os
import types

import numpy as np

from benchmarks import coverage
from tests import environments_for_tests


class _Walk(environments_for_tests.Steps):
  """Goes along a path, whatever the action."""

  path = ((1, 1), (2, 1), (1, 1), (1, 2), (1, 2))

  @property
  def agent_pos(self):
    return self.path[self.num_steps]


def test_cells_of_an_episode():
  env = coverage.CellsVisited(_Walk(4))
  for _ in range(2):
    infos = [env.reset()[1]] + [env.step(0)[-1] for _ in range(4)]
    assert [info['rooms_visited'] for info in infos] == [1, 2, 2, 3, 3]


def test_coverage_so_far_also_after_a_kill(tmp_path, monkeypatch):
  counts = np.zeros([2, 3], np.int64)
  monkeypatch.setattr(
      coverage.visits.VisitCounts,
      'from_states',
      lambda states: types.SimpleNamespace(counts=lambda: states),
  )
  run = types.SimpleNamespace(
      path=lambda name: os.path.join(tmp_path, name),
      collector=types.SimpleNamespace(visits=lambda: counts),
      counters=types.SimpleNamespace(env_steps=0),
  )
  log = coverage.CoverageLog()
  for env_steps, cell in ((5, 0), (10, 3), (15, 3), (10, 3), (15, 3), (20, 5)):
    run.counters.env_steps = env_steps
    counts.flat[cell] += 1
    log.after_iteration(run, None)
  steps, cells = coverage.read_curve(tmp_path)
  np.testing.assert_array_equal(steps, [5, 10, 15, 20])
  np.testing.assert_array_equal(cells, [1, 2, 2, 3])
  np.testing.assert_array_equal(
      coverage.read_visits(tmp_path), [[1, 0, 0], [4, 0, 1]]
  )


def test_means_count_each_episode_once(tmp_path):
  with open(tmp_path / 'metrics.csv', 'w', encoding='utf-8') as file:
    file.write('phase,iteration,env_steps,train_steps,episodes,success\n')
    file.write('train,1,10,1,4,0.5\ntrain,2,20,2,,\n')
    file.write('train,3,30,3,1,1.0\neval,3,30,3,9,0.0\ntrain,4,40,4,3,0.0\n')
  assert coverage.mean_of_episodes(tmp_path, 'success') == 3 / 8
  assert coverage.mean_of_episodes(tmp_path, 'success', 30) == 1 / 4
