# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals that hold are not chosen."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import action_masks
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


class _First(hierarchy.EntryGoals):
  """Shows the upper level the first two entries, and may forbid goal 0."""

  def __init__(self, observation_spec, forbids=False):
    super().__init__(observation_spec, ((0,), (2,), (4,)))
    self._forbids = forbids

  @property
  def upper_observation_spec(self):
    spec = tf.TensorSpec([2], tf.float32)
    if self._forbids:
      mask = tensor_spec.BoundedTensorSpec([3], tf.uint8, 0, 1)
      return action_masks.ObservationWithMask(spec, mask)
    return spec

  def observe_above(self, observation):
    if self._forbids:
      mask = tf.ones_like(observation[..., :3], tf.uint8) * [0, 1, 1]
      return action_masks.ObservationWithMask(observation[..., :2], mask)
    return observation[..., :2]


@pytest.mark.parametrize(
    ('forbids', 'masks'),
    [(False, ([0, 1, 1], [1, 1, 1])), (True, ([0, 1, 1], [0, 1, 1]))],
)
def test_the_upper_level_sees_what_the_other_goals_show(forbids, masks):
  goals = hierarchy.OpenGoals(_SPEC, lambda spec: _First(spec, forbids))
  observations = tf.constant([[1.0, 5, 0, 0, 0], [1.0, 5, 1, 0, 1]])
  above = goals.observe_above(observations)
  np.testing.assert_array_equal(above.observation, [[1, 5], [1, 5]])
  np.testing.assert_array_equal(above.action_mask, masks)
  spec = goals.upper_observation_spec
  assert spec.observation.shape == [2] and spec.action_mask.shape == [3]


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
