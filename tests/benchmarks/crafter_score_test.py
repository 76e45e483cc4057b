# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests Crafter's score against values worked out by hand."""

import pytest

from benchmarks import crafter_score
from rnd_agents import run_files

_ROWS = '''phase,iteration,env_steps,episodes,info_achievements_wood_mean,\
info_achievements_iron_mean
train,1,100,0,,
train,2,200,1,1,0
eval,2,200,9,1,1
train,3,300,3,0.5,0
train,4,400,7,1,1
'''


def test_success_rates_count_each_training_episode_of_the_budget(tmp_path):
  (tmp_path / 'metrics.csv').write_text(_ROWS)
  rows = run_files.read_rows(str(tmp_path))
  assert crafter_score.success_rates(rows, 300) == {
      'wood': (1 + 3 * 0.5) / 4, 'iron': 0.0
  }
  assert crafter_score.success_rates(rows, 400) == {
      'wood': (1 + 3 * 0.5 + 7) / 11, 'iron': 7 / 11
  }
  assert crafter_score.success_rates(rows, 100) == {}


def test_score_is_the_geometric_mean_of_one_plus_percent():
  # (1 + 0) (1 + 8) (1 + 2) = 27, whose cube root is 3.
  rates = dict(wood=0.0, iron=0.08, coal=0.02)
  assert crafter_score.score(rates) == pytest.approx(2.0, abs=1e-12)
