# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals in hindsight, compared with a loop over the rows of an environment."""

import collections
import itertools

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


def _reaches(step_types, has):
  """Which goals the step from each row of an environment reaches, as sets."""
  found = []
  for t in range(_NUM_ROWS):
    found.append(set())
    if t + 1 < _NUM_ROWS and step_types[t] != ts.StepType.LAST:
      found[t] = {
          goal
          for goal in range(has.shape[1])
          if has[t + 1, goal] and not has[t, goal]
      }
  return found


def _choices(step_types, reaches, goals):
  """Yields (row, goals to choose from) of one copy, and checks all others.

  Args:
    step_types: Of the rows of an environment.
    reaches: As returned by `_reaches`.
    goals: The copy's goal of each row.
  """
  for t, goal in enumerate(goals):
    is_first = step_types[t] == ts.StepType.FIRST
    if t and not is_first and goals[t - 1] not in reaches[t - 1]:
      assert goal == goals[t - 1]
      continue
    end = t
    while end + 1 < _NUM_ROWS and step_types[end] != ts.StepType.LAST:
      end += 1
    later = set().union(*reaches[t:end])
    assert goal in later or not later
    yield t, later


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
def test_copies_have_goals_that_later_steps_reach(in_graph):
  rng = np.random.RandomState(0)
  states = rng.randint(_NUM_STATES, size=[_NUM_ENVIRONMENTS, _NUM_ROWS])
  states[0] = 2  # Reaches nothing.
  observation = np.eye(_NUM_STATES, dtype=np.float32)[states]
  rollout = _rollout(rng, observation, states.copy())
  num_copies = 400
  hindsight = hierarchy.HindsightGoals(
      hierarchy.EntryGoals(_VECTOR), num_copies, seed=1
  )
  call = tf.function(hindsight, autograph=False) if in_graph else hindsight
  found = call(rollout)
  goals = found.policy_info['goal'].numpy()
  np.testing.assert_array_equal(goals[:_NUM_ENVIRONMENTS], states)
  # Nothing else of a copy is another.
  tf.nest.map_structure(
      lambda x, y: np.testing.assert_array_equal(
          x, np.concatenate([y] * (num_copies + 1))
      ),
      found.replace(policy_info=found.policy_info['other']),
      rollout.replace(policy_info=rollout.policy_info['other']),
  )
  copies = goals.reshape([num_copies + 1, _NUM_ENVIRONMENTS, _NUM_ROWS])[1:]
  shares = {}  # By the number of goals to choose from.
  for b in range(_NUM_ENVIRONMENTS):
    step_types = rollout.step_type[b].numpy()
    reaches = _reaches(step_types, observation[b] > 0)
    drawn = collections.defaultdict(list)  # By row.
    for copy in copies[:, b]:
      for t, later in _choices(step_types, reaches, copy):
        drawn[t, frozenset(later or range(_NUM_STATES))].append(copy[t])
    for (_, later), of_row in drawn.items():
      if len(of_row) == num_copies:  # In all copies: four deviations of 400.
        share = np.bincount(of_row, minlength=_NUM_STATES) / num_copies
        even = np.isin(range(_NUM_STATES), list(later)) / len(later)
        np.testing.assert_allclose(share, even, atol=0.1)
        shares[len(later)] = share
  assert shares.keys() >= {1, 2, 4, _NUM_STATES}
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
  found = hierarchy.HindsightGoals(goals, 50, seed=2)(rollout)
  drawn = found.policy_info['goal'].numpy()[_NUM_ENVIRONMENTS:]
  drawn = drawn.reshape([50, *positions.shape])
  num_choices = 0
  for copy, b in itertools.product(range(50), range(_NUM_ENVIRONMENTS)):
    distance = np.abs(positions[b][:, np.newaxis] - positions[b])
    step_types = rollout.step_type[b].numpy()
    reaches = _reaches(step_types, np.all(distance <= 0.5, axis=-1))
    is_goal = np.all(drawn[copy, b][:, np.newaxis] == positions[b], axis=-1)
    assert np.all(is_goal.sum(axis=1) == 1)
    for _, later in _choices(step_types, reaches, is_goal.argmax(axis=1)):
      num_choices += bool(later)
  assert num_choices > 500


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
  with pytest.raises(errors.InvalidValue, match='in_hindsight'):
    hierarchy.HindsightGoals(goals, 1)


@pytest.mark.parametrize('num_copies', [0, 1.5])
def test_there_are_whole_copies(num_copies):
  with pytest.raises(errors.InvalidValue, match='num_copies .*int'):
    hierarchy.HindsightGoals(hierarchy.EntryGoals(_VECTOR), num_copies)
