# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Transitions between observations, as curiosities take them."""

from typing import NamedTuple

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import nest_utils

from rnd_agents import errors
from rnd_agents.statistics import environment_rows


class Transitions(NamedTuple):
  """Transitions [B, T] of a rollout in their order, or a minibatch [M] of them.

  Attributes:
    next_observation: nest of tensors [outer..., ...]: raw observations.
    valid: booleans [outer...]; False for an entry without a transition:
      padding, or the step from the end of an episode to the next episode. None
      if all are transitions.
    observation: nest like `next_observation`. It and the next attributes are
      None if the caller has only next observations, like a `PPOLearner`.
    action: nest of tensors [outer..., ...].
    is_first: booleans [outer...]: whether an episode begins with the
      transition.
    episodic: result of `Curiosity.watch` when replayed transitions were
      collected; None if the curiosity has to compute it.
    next_is_first: booleans [outer...]: whether an episode begins with the next
      observation. None if it does after every entry that is not valid, as in
      transitions without padding.
  """

  next_observation: types.NestedTensor
  valid: tf.Tensor | None = None
  observation: types.NestedTensor | None = None
  action: types.NestedTensor | None = None
  is_first: tf.Tensor | None = None
  episodic: types.NestedTensor | None = None
  next_is_first: tf.Tensor | None = None

  @classmethod
  def of_trajectory(cls, experience: trajectory.Trajectory) -> 'Transitions':
    """Returns the transitions [B, T] between rows [B, T+1] of a trajectory.

    Args:
      experience: A `Trajectory`. An entry `episodic` of its policy info belongs
        to the transition to the row.
    """

    def begin(nest: types.NestedTensor) -> types.NestedTensor:
      return tf.nest.map_structure(lambda x: x[:, :-1], nest)

    def end(nest: types.NestedTensor) -> types.NestedTensor:
      return tf.nest.map_structure(lambda x: x[:, 1:], nest)

    step_type = begin(experience.step_type)
    info = experience.policy_info
    has_episodic = isinstance(info, dict) and 'episodic' in info
    return cls(
        next_observation=end(experience.observation),
        valid=tf.not_equal(step_type, ts.StepType.LAST),
        observation=begin(experience.observation),
        action=begin(experience.action),
        is_first=tf.equal(step_type, ts.StepType.FIRST),
        episodic=end(info['episodic']) if has_episodic else None,
        next_is_first=tf.equal(end(experience.step_type), ts.StepType.FIRST),
    )

  def flatten(self) -> 'Transitions':
    """Returns transitions [B, T] as a minibatch [B * T]."""
    return merge_time(self)

  def add_time(self) -> 'Transitions':
    """Returns transitions [B] as rollouts [B, 1]."""
    return tf.nest.map_structure(
        lambda x: None if x is None else x[:, tf.newaxis], self
    )

  @property
  def is_rollout(self) -> bool:
    """Whether these are rollouts [B, T], and not [M]."""
    return self.is_first is not None and self.is_first.shape.rank == 2

  def rows(self) -> types.NestedTensor:
    """Returns the observations [B, T+1] of rollouts [B, T]."""
    return tf.nest.map_structure(
        lambda first, following: tf.concat([first[:, :1], following], axis=1),
        self.observation,
        self.next_observation,
    )

  def require_whole(self, owner: str) -> None:
    """Raises InvalidValue if only the next observations are known.

    Args:
      owner: Name of the curiosity, for the message.
    """
    if self.observation is None or self.action is None or self.is_first is None:
      raise errors.InvalidValue(
          f'{owner} needs whole transitions: observations, actions and where'
          ' episodes begin. Here only next observations are known: take a'
          ' curiosity that needs no more, such as RND; or, with a PPOLearner,'
          ' call agent.train on whole rollouts.'
      )


class PreviousRow(tf.Module):
  """Joins the rows that a driver passes one after the other to transitions."""

  def __init__(
      self, trajectory_spec: trajectory.Trajectory, name: str = 'PreviousRow'
  ):
    """Creates the memory of one row.

    Args:
      trajectory_spec: A `Trajectory` spec of the rows.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._rows = environment_rows.EnvironmentRows(_kept(trajectory_spec))

  def join(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None = None
  ) -> Transitions:
    """Returns the transitions from the row before to this one.

    Args:
      row: A `Trajectory` [B]; entry b of every call belongs to environment b.
      mask: Booleans [B]: False for environments without a row; None if all have
        one.

    Returns:
      `Transitions` [B], valid where there is a row and one before it. None is
      valid if the number of environments has changed.
    """
    batch_size = tf.shape(row.step_type)[0]
    is_known = self._rows.are_for(batch_size)
    before = self._rows.read(batch_size)
    observation, action, step_type = before
    kept = _kept(row)
    valid = is_known & ~row.is_first()
    next_is_first = ~valid
    if mask is not None:
      valid, next_is_first = valid & mask, next_is_first & mask
      kept = nest_utils.where(mask, kept, before)
    self._rows.assign(kept)
    return Transitions(
        next_observation=row.observation,
        valid=valid,
        observation=observation,
        action=action,
        is_first=tf.equal(step_type, ts.StepType.FIRST),
        next_is_first=next_is_first,
    )


def _kept(row: trajectory.Trajectory) -> tuple[types.NestedTensor, ...]:
  return row.observation, row.action, row.step_type


def merge_time(nest: types.NestedTensor) -> types.NestedTensor:
  """[B, T, ...] -> [B * T, ...] in every tensor of a nest; None stays."""

  def merge(x: tf.Tensor | None) -> tf.Tensor | None:
    if x is None:
      return None
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0))

  return tf.nest.map_structure(merge, nest)
