# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Goals that an upper level sets, and whether they are reached."""

import abc
from collections.abc import Sequence
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors


class Goals(abc.ABC):
  """The goals of an environment; all methods take tensors [outer..., ...]."""

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      spec: tensor_spec.BoundedTensorSpec,
  ):
    """Creates the goals.

    Args:
      observation_spec: A nest of tensor specs: the environment's observation.
      spec: Spec of a goal, which is the action of the upper level.
    """
    self.observation_spec = observation_spec
    self.spec = spec

  @property
  def lower_observation_spec(self) -> types.NestedTensorSpec:
    """Spec of the lower level's observation, a nest of tensor specs."""
    return dict(observation=self.observation_spec, goal=self.spec)

  def observe(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> types.NestedTensor:
    """Returns the lower level's observation, a nest [outer..., ...]."""
    return dict(observation=observation, goal=goal)

  @property
  def upper_observation_spec(self) -> types.NestedTensorSpec:
    """Spec of the upper level's observation, a nest of tensor specs."""
    return self.observation_spec

  def observe_above(
      self, observation: types.NestedTensor
  ) -> types.NestedTensor:
    """Returns the upper level's observation, a nest [outer..., ...]."""
    return observation

  @abc.abstractmethod
  def reached(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    """Returns whether an observation fulfils a goal.

    Args:
      observation: A nest [outer..., ...].
      goal: Goals [outer..., ...].

    Returns:
      Booleans [outer...].
    """

  def reached_by_step(
      self, experience: trajectory.Trajectory, goal: types.NestedTensor
  ) -> tf.Tensor:
    """Returns whether steps fulfil goals that were not fulfilled before.

    Args:
      experience: A `Trajectory` [B, T+1].
      goal: Goals [B, T+1, ...] of the steps from these rows.

    Returns:
      Booleans [B, T+1]; False in the last row, whose step is not known yet, and
      at the end of an episode, which no step follows.
    """
    arrived = tf.nest.map_structure(
        lambda x: tf.concat([x[:, 1:], x[:, -1:]], axis=1),
        experience.observation,
    )
    return (
        self.reached(arrived, goal)
        & ~self.reached(experience.observation, goal)
        & ~experience.is_boundary()
    )

  def given_up(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    """Returns whether to choose another goal at once, booleans [outer...]."""
    return tf.zeros_like(self.reached(observation, goal))

  def in_hindsight(self, observation: types.NestedTensor) -> types.NestedTensor:
    """Returns candidates for the goals that a rollout reached.

    `HindsightGoals` draws from the candidates that a step has reached.

    Args:
      observation: A nest [B, T+1, ...].

    Returns:
      Goals [B, C, ...], the same number for each environment; by default all
      goals, which must be integers then.
    """
    if self.spec.shape.rank or not self.spec.dtype.is_integer:
      raise errors.InvalidValue(
          f'The goals of {type(self).__name__} are {self.spec} and not'
          ' integers: for goals in hindsight, override in_hindsight so that it'
          ' returns goals which a rollout may have reached.'
      )
    every = tf.range(
        self.spec.minimum, self.spec.maximum + 1, dtype=self.spec.dtype
    )
    batch_size = tf.shape(tf.nest.flatten(observation)[0])[0]
    return tf.repeat(every[tf.newaxis], batch_size, axis=0)

  def reward(self, reached: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    """Returns the lower level's reward of steps.

    Args:
      reached: Booleans [outer...]: whether the goal was reached by the step.
      reward: The environment's reward, [outer...].

    Returns:
      Floats [outer...]: 1 where the goal was reached (as in h-DQN, Kulkarni et
      al., 2016, section 3).
    """
    return tf.cast(reached, tf.float32)


def _only_vector(owner: str, observation_spec: types.NestedTensorSpec) -> int:
  """Returns the length of a vector; raises InvalidValue for other specs."""
  specs = tf.nest.flatten(observation_spec)
  if len(specs) != 1 or specs[0].shape.rank != 1:
    raise errors.InvalidValue(
        f'{owner} needs observations of one vector, got {observation_spec}:'
        ' derive a class of your own from hierarchy.Goals.'
    )
  return specs[0].shape[0]


@gin.configurable(module='rnd_agents', denylist=['observation_spec'])
class EntryGoals(Goals):
  """Goals that are reached where all entries of the goal are 1.

  For observations that encode a state as a one-hot vector, or the contents of
  the cells of a grid.
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      entries: (
          Sequence[Sequence[int] | Sequence[Sequence[int]]] | None
      ) = None,
  ):
    """Creates the goals.

    Args:
      observation_spec: Spec of one array.
      entries: The entry of each goal, a tuple with an index for each dimension
        of the observation, or several such tuples; None for a goal for each
        entry of a vector.
    """
    if entries is None:
      size = _only_vector('EntryGoals', observation_spec)
      entries = [(i,) for i in range(size)]
    shapes = [spec.shape for spec in tf.nest.flatten(observation_spec)]
    of_goals: list[list[Any]] = [
        [entry] if all(isinstance(i, int) for i in entry) else [*entry]
        for entry in entries
    ]
    if not of_goals or not all(
        len(shapes) == 1
        and len(entry) == len(shapes[0])
        and all(0 <= i < size for i, size in zip(entry, shapes[0]))
        for of_goal in of_goals
        for entry in of_goal
    ):
      raise errors.InvalidValue(
          'EntryGoals.entries must be indices into the one array of the'
          f' observation, got {entries} for {shapes}.'
      )
    last = len(of_goals) - 1
    super().__init__(
        observation_spec,
        tensor_spec.BoundedTensorSpec([], tf.int64, 0, last, 'goal'),
    )
    # [goals, entries of a goal]: indices into the observation as a vector. A
    # goal with fewer entries than another repeats its first one.
    most = max(map(len, of_goals))
    self._indices = np.array([
        np.ravel_multi_index(tuple(np.transpose(of_goal)), shapes[0])[
            np.maximum(np.arange(most) - most + len(of_goal), 0)
        ]
        for of_goal in of_goals
    ])

  def reached(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    (array,) = tf.nest.flatten(observation)
    outer = tf.shape(goal)
    vector = tf.reshape(array, tf.concat([outer, [-1]], 0))
    needed = tf.gather(
        vector, tf.gather(self._indices, goal), batch_dims=goal.shape.rank
    )
    # An episode that has ended may show zeros only.
    return tf.reduce_all(tf.cast(needed, tf.float32) > 0.5, axis=-1)


@gin.configurable(module='rnd_agents', denylist=['observation_spec'])
class PositionGoals(Goals):
  """Goals that are positions: points in some entries of the observation."""

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      entries: Sequence[int],
      low: Sequence[float],
      high: Sequence[float],
      tolerance: Sequence[float],
  ):
    """Creates the goals.

    Args:
      observation_spec: Spec of one vector.
      entries: Indices of the entries that make a position.
      low: Least value of each entry.
      high: Greatest value of each entry.
      tolerance: Largest distance of each entry from the goal's.
    """
    num_entries = _only_vector('PositionGoals', observation_spec)
    if not entries or not all(0 <= i < num_entries for i in entries):
      raise errors.InvalidValue(
          f'PositionGoals.entries must name some of the {num_entries} entries'
          f' of the observation, from 0, got {list(entries)}.'
      )
    for name, values in dict(low=low, high=high, tolerance=tolerance).items():
      if len(values) != len(entries):
        raise errors.InvalidValue(
            f'PositionGoals.{name} must have a number for each of the'
            f' {len(entries)} entries, got {values}.'
        )
    if not (
        np.all(np.isfinite([low, high, tolerance]))
        and np.all(np.less(low, high))
        and np.all(np.greater_equal(tolerance, 0.0))
    ):
      raise errors.InvalidValue(
          'PositionGoals needs finite numbers, each low below its high and each'
          f' tolerance at least 0, got low = {low}, high = {high}, tolerance ='
          f' {tolerance}.'
      )
    super().__init__(
        observation_spec,
        tensor_spec.BoundedTensorSpec(
            [len(low)], tf.float32, low, high, 'goal'
        ),
    )
    self._entries = list(entries)
    self._tolerance = tf.constant(tolerance, tf.float32)

  def in_hindsight(self, observation: types.NestedTensor) -> types.NestedTensor:
    """Returns the positions of the rows."""
    (vector,) = tf.nest.flatten(observation)
    return tf.gather(tf.cast(vector, tf.float32), self._entries, axis=-1)

  def reached(
      self, observation: types.NestedTensor, goal: types.NestedTensor
  ) -> tf.Tensor:
    distance = tf.abs(self.in_hindsight(observation) - goal)
    return tf.reduce_all(distance <= self._tolerance, axis=-1)
