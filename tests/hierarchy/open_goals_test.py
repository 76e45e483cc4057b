# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals that hold are not chosen."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import hierarchy
from rnd_agents.collecting import collector
from tests import tiny_runs

_SPEC = tf.TensorSpec([5], tf.float32)


def _open(entries=((0,), (2,), ((3,), (4,)))):
  return hierarchy.OpenGoals(
      _SPEC, lambda spec: hierarchy.EntryGoals(spec, entries)
  )


def test_the_mask_has_the_goals_that_do_not_hold():
  generator = np.random.default_rng(0)
  observations = generator.integers(0, 2, [6, 7, 5]).astype(np.float32)
  observations[0, 0] = 1.0  # All goals hold: all are allowed.
  above = _open().observe_above(tf.constant(observations))
  np.testing.assert_array_equal(above.observation, observations)
  for b, t in np.ndindex(6, 7):
    x = observations[b, t]
    expected = [x[0] < 1, x[2] < 1, min(x[3], x[4]) < 1]
    if not any(expected):
      expected = [True] * 3
    np.testing.assert_array_equal(above.action_mask[b, t], expected)


def test_goals_must_be_numbers():
  with pytest.raises(errors.InvalidValue, match='OpenGoals.goals_fn'):
    hierarchy.OpenGoals(
        _SPEC, lambda spec: hierarchy.PositionGoals(spec, [0], [0], [1], [0.1])
    )


def test_no_decision_of_a_run_takes_a_goal_that_holds(tmp_path, monkeypatch):
  rows, collect = [], collector.Shards.collect

  def collecting(*args):
    rollout = collect(*args)
    rows.append(rollout.trajectory)
    return rollout

  monkeypatch.setattr(collector.Shards, 'collect', collecting)
  tiny_runs.train(
      tmp_path,
      160,
      'TwoLevelTraining.goals_fn = @OpenGoals',
      settings=tiny_runs.PLAIN_LEVELS,
  )
  num_decisions = 0
  for each in rows:  # Random steps, the initial and the trained policy.
    decided = each.policy_info['is_decision']
    goals = each.policy_info['goal'][decided]
    observed = each.observation[decided]  # One-hot: one goal holds.
    assert not observed[np.arange(len(goals)), goals].any()
    num_decisions += len(goals)
  assert num_decisions > 30
