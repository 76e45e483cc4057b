# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The base class of curiosities, and the transitions that they judge."""

import abc
from typing import NamedTuple, Optional

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import normalizers


class Transitions(NamedTuple):
  """Transitions [B, T] of a rollout in their order, or a minibatch [M] of them.

  Attributes:
    next_observation: nest of tensors [outer..., ...]: raw observations.
    valid: booleans [outer...]; False for an entry that is no transition:
      padding, or the step from the end of an episode to the next episode. None
      where all are transitions.
    observation: nest like `next_observation`. It and those below are None where
      the caller knows next observations alone, as a `PPOLearner` does.
    action: nest of tensors [outer..., ...].
    is_first: booleans [outer...]: whether an episode begins with the
      transition.
    episodic: of replayed transitions, what `Curiosity.watch` returned when they
      were collected; None where the curiosity has to compute it.
  """

  next_observation: types.NestedTensor
  valid: Optional[tf.Tensor] = None
  observation: Optional[types.NestedTensor] = None
  action: Optional[types.NestedTensor] = None
  is_first: Optional[tf.Tensor] = None
  episodic: Optional[types.NestedTensor] = None

  @classmethod
  def of_trajectory(cls, experience):
    """Returns the transitions [B, T] between rows [B, T+1] of a trajectory.

    Args:
      experience: A `Trajectory`. Where its policy info is a dict with an entry
        `episodic`, that is of the transition to the row.
    """

    def begin(nest):
      return tf.nest.map_structure(lambda x: x[:, :-1], nest)

    def end(nest):
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
    )

  def flatten(self):
    """Returns transitions [B, T] as a minibatch [B * T]."""
    return merge_time(self)

  def add_time(self):
    """Returns transitions [B] as rollouts [B, 1]."""
    return tf.nest.map_structure(
        lambda x: None if x is None else x[:, tf.newaxis], self
    )

  @property
  def is_rollout(self):
    """Whether these are rollouts [B, T], and not [M]."""
    return self.is_first.shape.rank == 2

  def rows(self):
    """Returns the observations [B, T+1] of rollouts [B, T]."""
    return tf.nest.map_structure(
        lambda first, following: tf.concat([first[:, :1], following], axis=1),
        self.observation,
        self.next_observation,
    )

  def require_whole(self, owner):
    """Refuses transitions of which only the next observations are known.

    Args:
      owner: Who needs more, in the message.

    Raises:
      ValueError: If an attribute is missing.
    """
    if self.observation is None or self.action is None or self.is_first is None:
      raise errors.InvalidValue(
          f'{owner} needs whole transitions: observations, actions and where'
          ' episodes begin. A PPOLearner hands over next observations alone:'
          ' call agent.train on whole rollouts.'
      )


class Curiosity(tf.Module, abc.ABC):
  """Pays a bonus for transitions and learns from them.

  Agents take any curiosity. A new one implements `bonus`, and what it needs of
  `loss`, `constants` and the two updates of its statistics. The running
  deviation of the bonus's return, by which the bonus is divided, is here.

  With each rollout an agent does, in this order:

      bonus = curiosity.bonus(transitions)                    # [B, T]
      curiosity.update_return_statistics(bonus, transitions.valid)
      rewards = curiosity.normalize_bonus(bonus)
      curiosity.update_statistics(transitions)
      constants = curiosity.constants(transitions)
      # For each minibatch:
      loss = curiosity.loss(minibatch, weights, constants_of_minibatch)
  """

  def __init__(
      self,
      discount_factor=0.99,
      name=None,
      scale_horizon_env_steps=None,
      least_scale_share=0.0,
  ):
    """Creates the statistics of the return.

    Args:
      discount_factor: Discount of the return whose standard deviation divides
        the bonus.
      name: Name of the module.
      scale_horizon_env_steps: Environment steps after which that deviation has
        forgotten most of an earlier return; None for never, as in the paper,
        where the first rollouts decide the scale permanently.
      least_scale_share: Share of the largest deviation so far below which the
        divisor does not fall: or the noise of a curiosity that has learned
        everything would become as large as its first bonus.

    Raises:
      TypeError: If a number is something else.
      ValueError: If one is out of range.
    """
    super().__init__(name=name)
    ranges.check(
        dict(
            scale_horizon_env_steps=ranges.COUNT.or_none(),
            least_scale_share=ranges.WITHIN_0_AND_1,
        ),
        dict(
            scale_horizon_env_steps=scale_horizon_env_steps,
            least_scale_share=least_scale_share,
        ),
        f'{type(self).__name__}.',
    )
    self._return_scaler = normalizers.ReturnScaler(
        discount_factor,
        horizon=scale_horizon_env_steps,
        least_share=least_scale_share,
    )

  @abc.abstractmethod
  def bonus(self, transitions, constants=None):
    """Returns the raw bonus of transitions, without a gradient.

    Args:
      transitions: `Transitions`. The bonus of those that are not valid is not
        looked at.
      constants: `constants(transitions)` where already known.

    Returns:
      A float tensor [outer...].
    """

  @property
  def episodic_spec(self):
    """Specs of what `episodic` returns of a transition; () for nothing."""
    return ()

  def episodic(self, transitions):
    """Returns the part of the bonus that depends on the episode so far.

    It depends on a memory of each environment's episode, which
    `update_statistics` extends by the same transitions afterwards.

    Args:
      transitions: `Transitions` [B, T] or [B] that follow on those of the last
        `update_statistics`; row b of every call belongs to environment b.

    Returns:
      A nest of tensors [B, T] or [B] like `episodic_spec`.
    """
    del transitions
    return ()

  def episodic_of_rows(self, episode):
    """Returns what `watch` would of each row of a whole episode.

    For demonstrations, which nothing watched; no memory changes.

    Args:
      episode: A `Trajectory` [T+1] from FIRST to LAST.

    Returns:
      A nest of tensors [T+1, ...]; 0 for the first row, which no step led to.
    """
    if not tf.nest.flatten(self.episodic_spec):
      return ()
    batch = tf.nest.map_structure(
        lambda x: tf.convert_to_tensor(x)[tf.newaxis], episode
    )
    return tf.nest.map_structure(
        lambda x: tf.pad(x[0], [[1, 0]] + [[0, 0]] * (x.shape.rank - 2)),
        self.episodic(Transitions.of_trajectory(batch)),
    )

  def episodic_part(self, transitions):
    """Returns `transitions.episodic`, or computes it of a rollout."""
    if transitions.episodic is not None:
      return transitions.episodic
    return self.episodic(transitions)

  def loss(self, transitions, weights=None, constants=None):
    """Returns what `trainable_variables` minimize; 0 if there are none.

    Args:
      transitions: `Transitions` [M]. The loss is a mean over the valid ones.
      weights: Floats [M], a factor of each one's loss in that mean; None for 1.
      constants: `constants(transitions)` where already known.

    Returns:
      A float scalar.
    """
    del transitions, weights, constants
    return tf.constant(0.0)

  def constants(self, transitions):
    """Returns tensors that stay the same until the statistics change.

    Agents compute them once an update and gather them with each minibatch.

    Args:
      transitions: `Transitions`.

    Returns:
      A nest of tensors [outer..., ...]; () for none.
    """
    del transitions
    return ()

  def update_statistics(self, transitions):
    """Takes transitions into all statistics but those of the return.

    Args:
      transitions: `Transitions`, each of which is handed over once.
    """
    self.update_observation_statistics(
        transitions.next_observation, transitions.valid
    )

  def update_observation_statistics(self, observations, mask=None):
    """Takes observations into the statistics, such as a random policy's.

    Args:
      observations: A nest of raw tensors [outer..., ...].
      mask: Booleans [outer...]; None for all.
    """

  def update_return_statistics(self, bonus, valid=None):
    """Takes the returns of a rollout's bonus into their statistics.

    The sum is never reset: not at an episode's end, not between rollouts
    (Burda et al., 2018, section 2.3: the intrinsic return is non-episodic).

    Args:
      bonus: Raw bonus, a float tensor [B, T]; row b of every call belongs to
        environment b. Another B than before starts all sums at 0.
      valid: Booleans [B, T]; False entries are passed over.
    """
    if valid is None:
      valid = tf.ones_like(bonus, tf.bool)
    self._return_scaler.update(bonus, valid)

  def normalize_bonus(self, bonus):
    """Returns the bonus over the running standard deviation of its return.

    No mean is subtracted and nothing is clipped (Burda et al., 2018, section
    2.4).

    Args:
      bonus: A float tensor.
    """
    return self._return_scaler.scale(bonus)

  def watch(self, transitions):
    """Takes one transition of each environment into all statistics.

    For agents that learn from replayed experience: statistics follow what is
    collected, in its order.

    Args:
      transitions: `Transitions` [B]; entry b of every call belongs to
        environment b.

    Returns:
      Their `episodic`, to be kept with them for `rewards`.
    """
    transitions = transitions._replace(episodic=self.episodic(transitions))
    self.update_statistics(transitions)
    # [B] -> [B, 1]: one step in time of the return of each environment.
    self.update_return_statistics(
        self.bonus(transitions)[:, tf.newaxis],
        transitions.valid[:, tf.newaxis],
    )
    return transitions.episodic

  def rewards(self, transitions, constants=None):
    """Returns the normalized bonus of transitions, 0 where they are not valid.

    The bonus of replayed transitions: what their novelty is worth today, not
    when they were collected. What depends on the episode stays as it was.

    Args:
      transitions: `Transitions`.
      constants: `constants(transitions)` where already known.

    Raises:
      ValueError: If they lack `episodic` and the curiosity needs it.
    """
    if tf.nest.flatten(self.episodic_spec) and transitions.episodic is None:
      raise errors.InvalidValue(
          f'{type(self).__name__} pays by the episode so far, which replayed'
          ' transitions do not tell: keep what `watch` returns with each row,'
          " as policy_info['episodic'] (examples/curiosity_for_any_agent.py)."
      )
    rewards = self.normalize_bonus(self.bonus(transitions, constants))
    if transitions.valid is None:
      return rewards
    return tf.where(transitions.valid, rewards, 0.0)


class PreviousRow(tf.Module):
  """Joins the rows that a driver hands over one by one to transitions."""

  def __init__(self, trajectory_spec, name='PreviousRow'):
    """Creates the memory of one row.

    Args:
      trajectory_spec: A `Trajectory` spec of the rows.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._spec = _kept(trajectory_spec)
    # The first row says how many environments there are.
    self._flat = [
        tf.Variable(
            tf.zeros([0, *spec.shape], spec.dtype),
            shape=[None, *spec.shape],
            trainable=False,
            validate_shape=False,
            name='previous',
        )
        for spec in tf.nest.flatten(self._spec)
    ]
    self._num_rows = tf.Variable(0, trainable=False, name='num_rows')

  def join(self, row):
    """Returns the transitions from the row before to this one.

    Args:
      row: A `Trajectory` [B]; entry b of every call belongs to environment b.

    Returns:
      `Transitions` [B]. None of them is valid where there is no row before, or
      one of another number of environments.
    """
    flat = tf.nest.flatten(_kept(row))
    batch_size = tf.shape(row.step_type)[0]
    is_known = tf.equal(self._num_rows, batch_size)
    previous = tf.cond(
        is_known,
        lambda: [variable.read_value() for variable in self._flat],
        lambda: [tf.zeros_like(value) for value in flat],
    )
    observation, action, step_type = tf.nest.pack_sequence_as(
        self._spec, previous
    )
    with tf.control_dependencies(previous):
      for variable, value in zip(self._flat, flat, strict=True):
        variable.assign(value)
      self._num_rows.assign(batch_size)
    return Transitions(
        next_observation=row.observation,
        valid=is_known & ~row.is_first(),
        observation=observation,
        action=action,
        is_first=tf.equal(step_type, ts.StepType.FIRST),
    )


def _kept(row):
  return row.observation, row.action, row.step_type


def merge_time(nest):
  """[B, T, ...] -> [B * T, ...] in every tensor of a nest; None stays."""

  def merge(x):
    if x is None:
      return None
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0))

  return tf.nest.map_structure(merge, nest)
