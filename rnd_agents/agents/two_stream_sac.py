# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC whose bonus has a value and a discount of its own."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import common

from rnd_agents.agents import scaled_sac


class TwoStreamSacAgent(scaled_sac.ScaledSacAgent):
  """SAC with critics of two heads: one for the rewards, one for the bonus.

  Both heads take the lower one of two critics i, and only that of the rewards
  counts the entropy:

      y_E = r + gamma   d (min_i Q_E,i(s', a') - alpha log pi(a' | s'))
      y_I = b + gamma_I d  min_i Q_I,i(s', a')

  The actor maximizes min_i Q_E,i + min_i Q_I,i - alpha log pi.
  """

  def __init__(self, *args: Any, bonus_discount_factor: float, **kwargs: Any):
    """Creates the agent.

    Args:
      *args: Arguments of `SacAgent`, whose critics return values [N, 2].
      bonus_discount_factor: gamma_I. A higher one makes it follow a bonus that
        is farther away.
      **kwargs: More of them.
    """
    self.bonus_discount_factor = bonus_discount_factor
    self._bonus: tf.Tensor | None = None
    self._bonus_discount: tf.Tensor | None = None
    super().__init__(*args, **kwargs)

  def _train(
      self,
      experience: trajectory.Trajectory,
      weights: tf.Tensor | None = None,
      bonus: tf.Tensor | None = None,
      bonus_discount: tf.Tensor | None = None,
  ) -> tf_agent.LossInfo:
    """Takes an optimizer step of critics, actor and alpha.

    Args:
      experience: A `Trajectory` [N, 2].
      weights: Weights [N]; None for 1.
      bonus: The bonus of each step, [N]; None for 0.
      bonus_discount: The discount d of each step's y_I, [N], where n steps are
        joined with gamma_I^(n-1); None for that of the experience.
    """
    self._bonus, self._bonus_discount = bonus, bonus_discount
    try:  # What `SacAgent._train` passes on has no place for them.
      return super()._train(experience, weights)
    finally:
      self._bonus = self._bonus_discount = None

  def critic_loss(
      self,
      time_steps: ts.TimeStep,
      actions: types.NestedTensor,
      next_time_steps: ts.TimeStep,
      td_errors_loss_fn: types.LossFn,
      gamma: types.Float = 1.0,
      reward_scale_factor: types.Float = 1.0,
      weights: tf.Tensor | None = None,
      training: bool = False,
  ) -> tf.Tensor:
    """Returns the loss of both critics and heads; see `SacAgent`."""
    next_actions, log_pi = self._actions_and_log_probs(next_time_steps)
    targets = self._target_critic_network_1, self._target_critic_network_2
    values = _lowest(targets, next_time_steps, next_actions)
    reward, discount = next_time_steps.reward, next_time_steps.discount
    bonus, bonus_discount = self._bonus, self._bonus_discount
    if bonus is None:
      bonus = tf.zeros_like(reward)
    if bonus_discount is None:
      bonus_discount = discount
    entropy = -tf.exp(self._log_alpha) * log_pi
    wanted = tf.stop_gradient(tf.stack(
        [
            reward_scale_factor * reward
            + gamma * discount * (values[:, 0] + entropy),
            bonus + self.bonus_discount_factor * bonus_discount * values[:, 1],
        ],
        axis=1,
    ))
    critics = self._critic_network_1, self._critic_network_2
    found = _values(critics, time_steps, actions, training)
    losses = tf.add_n([td_errors_loss_fn(wanted, each) for each in found])
    return _mean(tf.reduce_sum(losses, axis=1), weights, critics)

  def actor_loss(
      self,
      time_steps: ts.TimeStep,
      weights: tf.Tensor | None = None,
      training: bool | None = True,
  ) -> tf.Tensor:
    """Returns the loss of the actor by both heads; see `SacAgent`."""
    actions, log_pi = self._actions_and_log_probs(time_steps, training)
    critics = self._critic_network_1, self._critic_network_2
    value = tf.reduce_sum(_lowest(critics, time_steps, actions), axis=1)
    loss = tf.exp(self._log_alpha) * log_pi - value
    return _mean(loss, weights, (self._actor_network,))


def _values(
    critics: Sequence[network.Network],
    steps: ts.TimeStep,
    actions: types.NestedTensor,
    training: bool = False,
) -> list[tf.Tensor]:
  """Returns the values [N, 2] of each critic."""
  inputs = steps.observation, actions
  return [
      critic(inputs, step_type=steps.step_type, training=training)[0]
      for critic in critics
  ]


def _lowest(
    critics: Sequence[network.Network],
    steps: ts.TimeStep,
    actions: types.NestedTensor,
) -> tf.Tensor:
  """Returns the lower value of each head, [N, 2]."""
  return tf.minimum(*_values(critics, steps, actions))


def _mean(
    losses: tf.Tensor,
    weights: tf.Tensor | None,
    networks: Sequence[network.Network],
) -> tf.Tensor:
  """Returns the weighted mean of losses [N], with those of the layers."""
  return common.aggregate_losses(
      per_example_loss=losses,
      sample_weight=weights,
      regularization_loss=[loss for each in networks for loss in each.losses],
  ).total_loss
