# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals in hindsight, compared with a loop over the rows of an environment."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents import hierarchy

_NUM_ENVIRONMENTS, _NUM_ROWS, _NUM_STATES = 6, 9, 5
_VECTOR = tf.TensorSpec([_NUM_STATES], tf.float32)


def _rollout(rng, observation, goal):
  """A `Trajectory` [B, T+1] with ends of episodes anywhere."""
  shape = [_NUM_ENVIRONMENTS, _NUM_ROWS]
  is_last = rng.rand(*shape) < 0.2
  is_last[:, 1:] &= ~is_last[:, :-1]
  step_type = np.where(is_last, ts.StepType.LAST, ts.StepType.MID)
  step_type[:, 1:][is_last[:, :-1]] = ts.StepType.FIRST
  following = np.roll(step_type, -1, axis=1)
  return tf.nest.map_structure(
      tf.constant,
      trajectory.Trajectory(
          step_type=step_type.astype(np.int32),
          observation=observation,
          action=rng.randint(3, size=shape),
          policy_info=dict(goal=goal, other=rng.rand(*shape)),
          next_step_type=following.astype(np.int32),
          reward=rng.rand(*shape).astype(np.float32),
          discount=np.ones(shape, np.float32),
      ),
  )


def _reached(has, rollout, b):
  """Goals that a step of environment b reached: `has(row, goal)`."""
  found = set()
  for t in range(_NUM_ROWS - 1):
    if rollout.step_type[b, t] == ts.StepType.LAST:
      continue
    found |= {
        goal for goal in range(_NUM_STATES)
        if has(t + 1, goal) and not has(t, goal)
    }
  return found


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
def test_copies_have_goals_that_a_step_reached(in_graph):
  rng = np.random.RandomState(0)
  states = rng.randint(_NUM_STATES, size=[_NUM_ENVIRONMENTS, _NUM_ROWS])
  states[0] = 2  # Reaches nothing.
  rollout = _rollout(
      rng, np.eye(_NUM_STATES, dtype=np.float32)[states], states.copy()
  )
  num_copies = 400
  hindsight = hierarchy.HindsightGoals(
      hierarchy.EntryGoals(_VECTOR), num_copies, seed=1
  )
  call = tf.function(hindsight) if in_graph else hindsight
  found = call(rollout)
  goals = found.policy_info['goal'].numpy()
  np.testing.assert_array_equal(goals[:_NUM_ENVIRONMENTS], states)
  # Nothing else of a copy is another.
  goal_aside = found.replace(policy_info=found.policy_info['other'])
  tf.nest.map_structure(
      lambda x, y: np.testing.assert_array_equal(
          x, np.concatenate([y] * (num_copies + 1))
      ),
      goal_aside,
      rollout.replace(policy_info=rollout.policy_info['other']),
  )
  copies = goals.reshape([num_copies + 1, _NUM_ENVIRONMENTS, _NUM_ROWS])[1:]
  np.testing.assert_array_equal(
      copies, np.repeat(copies[:, :, :1], _NUM_ROWS, 2)
  )
  sizes = set()
  for b in range(_NUM_ENVIRONMENTS):
    expected = _reached(lambda t, goal, b=b: states[b, t] == goal, rollout, b)
    sizes.add(len(expected))
    expected = expected or set(range(_NUM_STATES))
    of_goals = np.bincount(copies[:, b, 0], minlength=_NUM_STATES) / num_copies
    # Four deviations of a share of 400 draws.
    even = np.isin(range(_NUM_STATES), list(expected)) / len(expected)
    np.testing.assert_allclose(of_goals, even, atol=0.1)
    assert set(np.flatnonzero(of_goals)) == expected
  assert len(sizes) > 2
  # The state of the generator goes on.
  assert np.any(call(rollout).policy_info['goal'].numpy() != goals)


def test_positions_in_hindsight_are_those_of_rows():
  rng = np.random.RandomState(1)
  spec = tf.TensorSpec([3], tf.float32)
  observation = np.cumsum(
      rng.normal(size=[_NUM_ENVIRONMENTS, _NUM_ROWS, 3]), axis=1
  ).astype(np.float32)
  goals = hierarchy.PositionGoals(
      spec, (2, 0), low=(-9, -9), high=(9, 9), tolerance=(0.5, 0.5)
  )
  positions = observation[..., [2, 0]]
  rollout = _rollout(rng, observation, np.zeros_like(positions))
  found = hierarchy.HindsightGoals(goals, 200, seed=2)(rollout)
  drawn = found.policy_info['goal'].numpy()[_NUM_ENVIRONMENTS:]
  drawn = drawn.reshape([200, *positions.shape])
  np.testing.assert_array_equal(drawn, np.repeat(drawn[:, :, :1], _NUM_ROWS, 2))
  for b in range(_NUM_ENVIRONMENTS):

    def has(t, row, b=b):
      return np.all(np.abs(positions[b, t] - positions[b, row]) <= 0.5)

    expected = {
        tuple(positions[b, row])
        for row in range(_NUM_ROWS)
        if any(
            has(t + 1, row) and not has(t, row)
            for t in range(_NUM_ROWS - 1)
            if rollout.step_type[b, t] != ts.StepType.LAST
        )
    }
    assert len(expected) > 2
    assert {tuple(goal) for goal in drawn[:, b, 0]} == expected


def test_a_seed_gives_the_same_draws():
  rng = np.random.RandomState(3)
  states = rng.randint(_NUM_STATES, size=[_NUM_ENVIRONMENTS, _NUM_ROWS])
  rollout = _rollout(rng, np.eye(_NUM_STATES, dtype=np.float32)[states], states)
  goals = hierarchy.EntryGoals(_VECTOR)
  first, again, other = (
      hierarchy.HindsightGoals(goals, 5, seed)(rollout).policy_info['goal']
      for seed in (7, 7, 8)
  )
  np.testing.assert_array_equal(first, again)
  assert np.any(first != other)


def test_goals_without_hindsight_and_no_copies_are_refused():

  class Near(hierarchy.Goals):

    def reached(self, observation, goal):
      return tf.abs(observation[..., 0] - goal[..., 0]) < 1

  goals = Near(
      _VECTOR, tensor_spec.BoundedTensorSpec([1], tf.float32, 0, 1, 'goal')
  )
  with pytest.raises(errors.InvalidValue, match='needs an in_hindsight of its'):
    hierarchy.HindsightGoals(goals, 1)
  with pytest.raises(errors.InvalidValue, match='num_copies must be'):
    hierarchy.HindsightGoals(hierarchy.EntryGoals(_VECTOR), 0)
