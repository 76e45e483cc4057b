# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds TF-Agents' SAC and TD3, agents of continuous actions."""

from collections.abc import Callable, Sequence
import functools
import math
from typing import Any

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents.agents import agent_factory
from rnd_agents.agents import off_policy_factory
from rnd_agents.agents import optimizers
from rnd_agents.agents import scaled_sac
from rnd_agents.agents import scaled_td3
from rnd_agents.agents import two_stream_sac
from rnd_agents.networks import continuous_networks
from rnd_agents.networks import factory
from rnd_agents.networks import keras_layers


@gin.configurable(
    module='rnd_agents',
    denylist=['time_step_spec', 'action_spec', 'collect_epsilon'],
)
def create_sac_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    collect_epsilon: types.Float | None = None,
    learning_rate: agent_factory.LearningRate = 3e-4,
    discount_factor: float = 0.99,
    target_update_tau: float = 0.005,
    target_update_period_train_steps: int = 1,
    target_entropy: float | None = None,
    initial_alpha: float = 1.0,
    gradient_clipping: float | None = None,
    fc_layer_params: Sequence[int] = (256, 256),
    conv_layers: keras_layers.ConvLayers | None = None,
    bonus_discount_factor: float | None = None,
) -> scaled_sac.ScaledSacAgent:
  """Builds TF-Agents' SAC, an `agent_fn` of `create_curious_agent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of floating `BoundedTensorSpec`s of vectors.
    collect_epsilon: Ignored: the policy itself is random.
    learning_rate: Learning rate of Adam for actor, critics and alpha: a number,
      or one of Keras's schedules over optimizer steps.
    discount_factor: gamma.
    target_update_tau: Share of the online weights in a target update.
    target_update_period_train_steps: Train steps between target updates.
    target_entropy: Entropy to which alpha is adapted, of actions that are
      scaled to [-1, 1]; None for minus the number of actions. A higher one
      explores more.
    initial_alpha: First weight of the entropy.
    gradient_clipping: Largest norm of the gradient of each variable; None for
      any.
    fc_layer_params: Hidden units of actor and critics.
    conv_layers: Convolutions of both as (filters, kernel size, stride); None
      chooses them by the image's size.
    bonus_discount_factor: gamma of the bonus, of which the critics then have
      values of their own (`TwoStreamSacAgent`); None adds the bonus to the
      rewards, and `discount_factor` is that of both.

  Returns:
    The agent, not initialized.
  """
  del collect_epsilon
  off_policy_factory.check_numbers('create_sac_agent.', locals())
  specs = time_step_spec.observation, action_spec
  _check_layers('create_sac_agent', specs[0], fc_layer_params, conv_layers)
  if target_entropy is None:
    target_entropy = -float(
        sum(spec.shape.num_elements() for spec in tf.nest.flatten(action_spec))
    )
  actor = continuous_networks.ActorNetwork(*specs, fc_layer_params, conv_layers)
  num_streams = None if bonus_discount_factor is None else 2
  critics = _critics(*specs, fc_layer_params, conv_layers, num_streams)
  actor_optimizer, critic_optimizer, alpha_optimizer = (
      off_policy_factory.adam(learning_rate) for _ in range(3)
  )
  create: Callable[..., scaled_sac.ScaledSacAgent] = scaled_sac.ScaledSacAgent
  if bonus_discount_factor is not None:
    create = functools.partial(
        two_stream_sac.TwoStreamSacAgent,
        bonus_discount_factor=bonus_discount_factor,
    )
  agent = create(
      time_step_spec,
      action_spec,
      actor_network=actor,
      **critics,
      actor_optimizer=actor_optimizer,
      critic_optimizer=critic_optimizer,
      alpha_optimizer=alpha_optimizer,
      target_update_tau=target_update_tau,
      target_update_period=target_update_period_train_steps,
      gamma=discount_factor,
      target_entropy=target_entropy,
      initial_log_alpha=math.log(initial_alpha),
      gradient_clipping=gradient_clipping,
      train_step_counter=agent_factory.create_train_step_counter(),
  )
  optimizers.build(actor_optimizer, list(actor.trainable_variables))
  optimizers.build(critic_optimizer, _online_variables(critics))
  # pylint: disable-next=protected-access
  optimizers.build(alpha_optimizer, [agent._log_alpha])
  return agent


@gin.configurable(
    module='rnd_agents',
    denylist=['time_step_spec', 'action_spec', 'collect_epsilon'],
)
def create_td3_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    collect_epsilon: types.Float | None = None,
    learning_rate: agent_factory.LearningRate = 1e-3,
    discount_factor: float = 0.99,
    target_update_tau: float = 0.005,
    policy_update_period_train_steps: int = 2,
    exploration_noise: float = 0.1,
    target_policy_noise: float = 0.2,
    target_policy_noise_clip: float = 0.5,
    gradient_clipping: float | None = None,
    fc_layer_params: Sequence[int] = (256, 256),
    conv_layers: keras_layers.ConvLayers | None = None,
) -> scaled_td3.ScaledTd3Agent:
  """Builds TF-Agents' TD3, an `agent_fn` of `create_curious_agent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of floating `BoundedTensorSpec`s.
    collect_epsilon: Ignored: `exploration_noise` explores.
    learning_rate: Learning rate of Adam for actor and critics: a number, or one
      of Keras's schedules over optimizer steps.
    discount_factor: gamma.
    target_update_tau: Share of the online weights in a target update.
    policy_update_period_train_steps: Updates of the critics for one of actor
      and targets.
    exploration_noise: Deviation of the noise of collected actions, of half the
      range of each, as the next two.
    target_policy_noise: Deviation of the noise of target actions.
    target_policy_noise_clip: Largest size of that noise.
    gradient_clipping: As for `create_sac_agent`.
    fc_layer_params: As for `create_sac_agent`.
    conv_layers: As for `create_sac_agent`.

  Returns:
    The agent, not initialized.
  """
  del collect_epsilon
  off_policy_factory.check_numbers('create_td3_agent.', locals())
  specs = time_step_spec.observation, action_spec
  _check_layers('create_td3_agent', specs[0], fc_layer_params, conv_layers)
  actor, target_actor = continuous_networks.copies(
      continuous_networks.ActorNetwork,
      2,
      *specs,
      fc_layer_params,
      conv_layers,
      is_stochastic=False,
  )
  critics = _critics(*specs, fc_layer_params, conv_layers)
  actor_optimizer, critic_optimizer = (
      off_policy_factory.adam(learning_rate) for _ in range(2)
  )
  agent = scaled_td3.ScaledTd3Agent(
      time_step_spec,
      action_spec,
      actor_network=actor,
      target_actor_network=target_actor,
      **critics,
      actor_optimizer=actor_optimizer,
      critic_optimizer=critic_optimizer,
      exploration_noise_std=exploration_noise,
      target_update_tau=target_update_tau,
      target_update_period=policy_update_period_train_steps,
      actor_update_period=policy_update_period_train_steps,
      td_errors_loss_fn=tf.math.squared_difference,
      gamma=discount_factor,
      target_policy_noise=target_policy_noise,
      target_policy_noise_clip=target_policy_noise_clip,
      gradient_clipping=gradient_clipping,
      train_step_counter=agent_factory.create_train_step_counter(),
  )
  optimizers.build(actor_optimizer, list(actor.trainable_variables))
  optimizers.build(critic_optimizer, _online_variables(critics))
  return agent


def _check_layers(
    owner: str,
    observation_spec: types.NestedTensorSpec,
    fc_layer_params: Sequence[int],
    conv_layers: keras_layers.ConvLayers | None,
) -> None:
  factory.check_units(owner, fc_layer_params=fc_layer_params)
  factory.check_convolutions(owner, observation_spec, conv_layers=conv_layers)


def _critics(*args: Any) -> dict[str, continuous_networks.CriticNetwork]:
  """Returns two critics and their targets, by the names of SAC and TD3."""
  names = (
      'critic_network',
      'critic_network_2',
      'target_critic_network',
      'target_critic_network_2',
  )
  return dict(
      zip(
          names,
          continuous_networks.copies(
              continuous_networks.CriticNetwork, 4, *args
          ),
          strict=True,
      )
  )


def _online_variables(
    critics: dict[str, continuous_networks.CriticNetwork]
) -> list[tf.Variable]:
  return [
      variable
      for name in ('critic_network', 'critic_network_2')
      for variable in critics[name].trainable_variables
  ]
