# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals of which an upper level may choose only those that do not hold yet."""

from collections.abc import Callable

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.hierarchy import goals as goals_lib


@gin.configurable(module='rnd_agents', denylist=['observation_spec'])
class OpenGoals(goals_lib.Goals):
  """Other goals, of which those that hold are forbidden to the upper level.

  To choose a goal that holds means to leave it and to return, which pays the
  lower level and takes the upper one nowhere. The upper level observes which
  goals do not hold as an action mask, beside what it sees with the other goals
  alone; where all of them hold, all are allowed.
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      goals_fn: Callable[[types.NestedTensorSpec], goals_lib.Goals] = (
          goals_lib.EntryGoals
      ),
  ):
    """Creates the goals.

    Args:
      observation_spec: A nest of tensor specs: the environment's observation.
      goals_fn: Function from it to the other goals, which are numbers from 0.
    """
    self._goals = goals_fn(observation_spec)
    spec = self._goals.spec
    if spec.shape.rank or not spec.dtype.is_integer or spec.minimum != 0:
      raise errors.InvalidValue(
          'OpenGoals.goals_fn must make goals that are numbers from 0, got'
          f' {spec}.'
      )
    super().__init__(observation_spec, spec)
    self._num_goals = int(spec.maximum) + 1

  @property
  def lower_observation_spec(self) -> types.NestedTensorSpec:
    return self._goals.lower_observation_spec

  @property
  def upper_observation_spec(self) -> types.NestedTensorSpec:
    return action_masks.ObservationWithMask(
        action_masks.without_mask(self._goals.upper_observation_spec),
        tensor_spec.BoundedTensorSpec(
            [self._num_goals], tf.uint8, 0, 1, 'open_goals'
        ),
    )

  def observe(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> types.NestedTensor:
    return self._goals.observe(observation, goal)

  def observe_above(
      self, observation: types.NestedTensor
  ) -> types.NestedTensor:
    leaf = tf.nest.flatten(observation)[0]
    spec = tf.nest.flatten(self.observation_spec)[0]
    outer_shape = tf.shape(leaf)[: leaf.shape.rank - spec.shape.rank]

    def holds(goal: int) -> tf.Tensor:
      goals = tf.fill(outer_shape, tf.constant(goal, self.spec.dtype))
      return self.reached(observation, goals)

    is_open = ~tf.stack(
        [holds(goal) for goal in range(self._num_goals)], axis=-1
    )
    shown, mask = action_masks.split_mask(
        self._goals.observe_above(observation)
    )
    is_allowed = tf.ones_like(is_open) if mask is None else mask > 0
    is_open &= is_allowed
    is_open |= is_allowed & ~tf.reduce_any(is_open, axis=-1, keepdims=True)
    return action_masks.ObservationWithMask(shown, tf.cast(is_open, tf.uint8))

  def reached(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    return self._goals.reached(observation, goal)

  def reached_by_step(
      self, experience: trajectory.Trajectory, goal: types.NestedTensor
  ) -> tf.Tensor:
    return self._goals.reached_by_step(experience, goal)

  def given_up(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    return self._goals.given_up(observation, goal)

  def in_hindsight(self, observation: types.NestedTensor) -> types.NestedTensor:
    return self._goals.in_hindsight(observation)

  def reward(self, reached: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    return self._goals.reward(reached, reward)
