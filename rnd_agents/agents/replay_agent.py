# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The base of agents that learn from a replay, with a curiosity.

An old transition is worth what its novelty is now: bonuses of sampled
transitions are computed again, by the present predictor and statistics.
"""

from collections.abc import Callable

import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import switched_off
from rnd_agents.agents import optimizers
from rnd_agents.agents import r2d3_policy
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.ops import q_learning
from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics

# Transitions [B * T] of replayed sequences, and the curiosity's constants.
Replayed = tuple[curiosity_lib.Transitions, types.NestedTensor]


class ReplayAgent(tf_agent.TFAgent):
  """An agent whose `train` takes sequences [B, L] of a replay.

  Its `train` has the arguments of `R2D3Agent.train`, and its `LossInfo.extra`
  an entry `priorities`, [B] or None. Statistics of the curiosity follow the
  collected rows (`update_statistics`), because a return is a sum over
  consecutive steps, and a replay counts old rows many times. The predictor
  learns from the sampled ones, or from the collected ones.
  """

  observation_normalizer: running_statistics.ObservationNormalizer | None = None
  _curiosity: curiosity_lib.Curiosity | None = None
  _rnd_optimizer: types.Optimizer | None = None
  _bonus_weight: types.Float | Callable[[tf.Tensor], tf.Tensor] = 1.0
  _learns_from_sampled = True

  def _take_curiosity(
      self,
      curiosity: curiosity_lib.Curiosity | None,
      rnd_optimizer: types.Optimizer | None,
      bonus_weight: types.Float | Callable[[tf.Tensor], tf.Tensor],
      learns_from_sampled: bool = True,
  ) -> None:
    """Takes over a checked curiosity; call it after `TFAgent.__init__`.

    Args:
      curiosity: A `Curiosity`, or None.
      rnd_optimizer: Trains it; required if it has trainable variables.
      bonus_weight: Factor of the normalized bonus: a number, a tensor, or a
        function from the train step to one, such as Keras's schedules.
      learns_from_sampled: Whether the predictor learns from sampled
        transitions; else from each collected one, once.
    """
    self._curiosity = curiosity
    self._learns_from_sampled = learns_from_sampled
    self._bonus_weight = bonus_weight
    if curiosity is not None:
      self._previous_row = curiosity_lib.PreviousRow(self.collect_data_spec)
      if curiosity.trainable_variables:
        self._rnd_optimizer = rnd_optimizer
        optimizers.build(rnd_optimizer, list(curiosity.trainable_variables))

  @property
  def curiosity(self) -> curiosity_lib.Curiosity | None:
    """The agent's `Curiosity`, or None."""
    return self._curiosity

  @property
  def acts_by_statistics(self) -> bool:
    """Whether the collect policy depends on `update_statistics`."""
    return self.observation_normalizer is not None

  @property
  def counts_steps(self) -> bool:
    """Whether a step counts as often as `update_statistics` gets it."""
    return self._curiosity is not None

  @property
  def collect_epsilon(self) -> types.Float | None:
    """Probability of random actions when collecting; None without any."""
    return r2d3_policy.epsilon_of(self.collect_policy)

  @property
  def sampled_policy(self) -> tf_policy.TFPolicy:
    """The collect policy for any batch: with the mean of its epsilons."""
    return r2d3_policy.for_any_batch(self.collect_policy)

  def idle_settings(self) -> switched_off.Settings:
    """Returns settings in gin that this agent makes no use of."""
    return {}

  def check_unroll_length(self, unroll_length: int) -> None:
    """Raises InvalidValue if sequences are too short to learn from.

    Args:
      unroll_length: Number of their steps, without the burn-in.
    """
    curiosity = self._curiosity
    if (
        curiosity is not None
        and curiosity.learns_from_sequences
        and self._learns_from_sampled
        and unroll_length < 2
    ):
      raise errors.InvalidValue(
          f'{type(curiosity).__name__} learns from observations some steps'
          ' apart, and the sequences have a single step: set'
          ' ReplayTraining.unroll_length above 1.'
      )

  def update_statistics(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None = None
  ) -> types.NestedTensor:
    """Updates statistics with a row of all environments.

    An observer of a driver, for those of the curiosity and those that the
    collect policy depends on; without both it does nothing. Statistics follow
    the collected rows, in their order, and not the replayed ones.

    Args:
      row: A `Trajectory` [B]; row b of every call belongs to environment b.
      mask: Booleans [B]: False for environments without a row; None if all have
        one.

    Returns:
      The curiosity's `episodic` of the transition to the row, which the policy
      info of the replayed row must hold as an entry `episodic`; () if there is
      none.
    """
    if self._curiosity is None and not self.acts_by_statistics:
      return ()
    numbers = dict(observation=row.observation)
    with tf.control_dependencies(finite.verify(numbers, outer_rank=1)):
      self._update_acting(row, mask)
      if self._curiosity is None:
        return ()
      transitions = self._previous_row.join(row, mask)
      episodic = self._curiosity.watch(transitions)
      if not self._learns_from_sampled:
        constants = self._curiosity.constants(transitions.add_time())
        learned = (
            transitions._replace(episodic=episodic),
            curiosity_lib.merge_time(constants),
        )
        tf.cond(
            tf.reduce_any(transitions.valid),
            lambda: self._train_curiosity(learned),
            lambda: tf.constant(0.0),
        )
      return episodic

  def _update_acting(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None
  ) -> None:
    """Updates the statistics that the collect policy depends on."""
    if self.observation_normalizer is not None:
      self.observation_normalizer.update(row.observation, mask)

  def _replayed_transitions(
      self, frames: trajectory.Trajectory
  ) -> Replayed | None:
    """Returns the transitions that the curiosity pays for and learns from.

    Args:
      frames: A `Trajectory` [B, T+1].

    Returns:
      A tuple (`Transitions` [B * T], the curiosity's `constants` of them); None
      without a curiosity.
    """
    if self._curiosity is None:
      return None
    transitions = curiosity_lib.Transitions.of_trajectory(frames)
    # Of sequences: ETD looks for a later step of the same one.
    constants = self._curiosity.constants(transitions)
    return transitions.flatten(), curiosity_lib.merge_time(constants)

  def _add_bonus(
      self,
      rewards: tf.Tensor,
      frames: trajectory.Trajectory,
      replayed: Replayed | None,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns rewards [B, T] with the present bonus, and the bonus's mean."""
    if self._curiosity is None or replayed is None:
      return rewards, tf.constant(0.0)
    bonus = tf.reshape(self._curiosity.rewards(*replayed), tf.shape(rewards))
    weight = self._bonus_weight
    if callable(weight):
      weight = weight(self.train_step_counter)
    paid = rewards + tf.cast(weight * bonus, tf.float32)
    valid = q_learning.valid_steps(frames.is_boundary())
    return paid, mean(paid - rewards, valid)

  def _train_curiosity(
      self, learned: Replayed | None, takes_step: bool = True
  ) -> tf.Tensor:
    """Returns the curiosity's loss, and takes an optimizer step on it."""
    if self._curiosity is None or learned is None:
      return tf.constant(0.0)
    transitions, constants = learned
    variables = list(self._curiosity.trainable_variables) if takes_step else []
    with tf.GradientTape() as tape:
      loss = self._curiosity.loss(transitions, constants=constants)
    if variables:
      optimizers.apply(
          self._rnd_optimizer, tape.gradient(loss, variables), variables
      )
    return loss


def check_reward(owner: str, time_step_spec: ts.TimeStep) -> None:
  """Raises InvalidValue unless there is one reward a step.

  Args:
    owner: Name of the agent's class.
    time_step_spec: A `TimeStep` spec.
  """
  shape = time_step_spec.reward.shape
  if shape.rank:
    raise errors.InvalidValue(
        f'{owner} learns from one reward a step, and they are a vector {shape}:'
        ' let load_environment.reward_fn return one, or take RNDPPOAgent with'
        ' a ReturnStream for each.'
    )


def check_curiosity(
    owner: str,
    curiosity: curiosity_lib.Curiosity | None,
    optimizer: types.Optimizer | None,
    rnd_optimizer: types.Optimizer | None,
) -> None:
  """Raises an error if a curiosity has no optimizer of its own to train it.

  Args:
    owner: Name of the agent's class, with a dot, for messages.
    curiosity: Argument `curiosity` of the agent.
    optimizer: Trains the agent's networks.
    rnd_optimizer: Trains the curiosity.
  """
  if curiosity is None:
    return
  if not isinstance(curiosity, curiosity_lib.Curiosity):
    raise errors.InvalidType(
        f'{owner}curiosity must be a Curiosity, such as'
        f' RandomNetworkDistillation, got {type(curiosity).__name__}.'
    )
  if not curiosity.trainable_variables:
    return
  if rnd_optimizer is None:
    raise errors.InvalidValue(
        f'{owner}rnd_optimizer is missing: the curiosity has trainable'
        ' variables and needs one to learn.'
    )
  if rnd_optimizer is optimizer:
    raise errors.InvalidValue(
        f'{owner}optimizer and rnd_optimizer are one object, which would take'
        ' two steps an update: give each an optimizer of its own.'
    )


def mean(values: tf.Tensor | None, mask: tf.Tensor) -> tf.Tensor:
  """Returns the mean of values where the mask is True; 0 without values."""
  if values is None:
    return tf.constant(0.0)
  values = tf.where(mask, tf.cast(values, tf.float32), 0.0)
  count = tf.reduce_sum(tf.cast(mask, tf.float32))
  return tf.math.divide_no_nan(tf.reduce_sum(values), count)
