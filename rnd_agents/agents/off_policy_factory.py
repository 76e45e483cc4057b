# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds a curiosity around any off-policy agent, and TF-Agents' DQN."""

from collections.abc import Callable
from typing import Any

import gin
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.dqn import dqn_agent
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import observations
from rnd_agents import ranges
from rnd_agents.agents import agent_factory
from rnd_agents.agents import curious_agent
from rnd_agents.agents import double_dqn
from rnd_agents.agents import optimizers
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.networks import q_network as q_network_lib
from rnd_agents.statistics import running_statistics

# Builds an agent from time step spec, action spec and epsilon.
AgentFn = Callable[..., tf_agent.TFAgent]


@gin.configurable(
    module='rnd_agents',
    denylist=[
        'time_step_spec', 'action_spec', 'burn_in_length', 'collect_epsilon'
    ],
)
def create_curious_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    burn_in_length: int = 0,
    collect_epsilon: types.Float = 0.1,
    agent_fn: AgentFn | None = None,
    curiosity_fn: curiosity_lib.CuriosityFn | None = None,
    rnd_learning_rate: agent_factory.LearningRate | None = None,
    normalize_observations: bool = False,
) -> curious_agent.CuriousAgent:
  """Builds a `CuriousAgent`; a value of `ReplayTraining.create_agent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    burn_in_length: Must be 0: networks without a memory need no burn-in.
    collect_epsilon: Probability of random actions when collecting.
    agent_fn: Function from (time_step_spec, action_spec, collect_epsilon) to a
      `TFAgent` that learns from single transitions: `create_sac_agent`,
      `create_td3_agent`, `create_dqn_agent`, or one of your own.
    curiosity_fn: Function from (time_step_spec, action_spec) to the agent's
      `Curiosity`, such as `create_rnd`; None for the agent alone.
    rnd_learning_rate: Learning rate of the curiosity's Adam; None for 1e-4.
    normalize_observations: Whether the agent sees numbers of observations
      whitened by running statistics of the collected rows. Integers of more
      than 256 values always are, since their bounds give no scale.

  Returns:
    The agent, initialized.
  """
  owner = 'create_curious_agent.'
  ranges.check_flags(owner, normalize_observations=normalize_observations)
  if not callable(agent_fn):
    raise errors.InvalidType(
        f'{owner}agent_fn must be a function that builds an agent, such as'
        f' @create_sac_agent (without brackets), got {agent_fn!r}.'
    )
  if burn_in_length:
    raise errors.InvalidValue(
        'ReplayTraining.burn_in_length must be 0, because the networks of a'
        f' CuriousAgent have no memory, got {burn_in_length}.'
    )
  curiosity, rnd_optimizer = agent_factory.create_curiosity(
      owner, curiosity_fn, rnd_learning_rate, time_step_spec, action_spec
  )
  shown = time_step_spec.observation
  normalizer = running_statistics.create_observation_normalizer(
      shown, observations.network_spec(shown), normalize_observations
  )
  seen_spec = time_step_spec
  if normalizer is not None:
    seen_spec = seen_spec._replace(observation=normalizer.normalized_spec)
  agent = curious_agent.CuriousAgent(
      agent_fn(seen_spec, action_spec, collect_epsilon),
      curiosity,
      rnd_optimizer,
      observation_normalizer=normalizer,
  )
  agent.initialize()
  return agent


@gin.configurable(
    module='rnd_agents',
    denylist=['time_step_spec', 'action_spec', 'collect_epsilon'],
)
def create_dqn_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    collect_epsilon: types.Float = 0.1,
    eval_epsilon: float = 0.0,
    learning_rate: agent_factory.LearningRate = 1e-4,
    discount_factor: float = 0.99,
    target_update_tau: float = 1.0,
    target_update_period_train_steps: int = 1_000,
    gradient_clipping: float | None = None,
    q_networks_fn: Callable[
        ..., q_network_lib.QNetworks
    ] = q_network_lib.create_q_networks,
    optimism: float = 0.0,
    optimism_exponent: float = 2.0,
) -> dqn_agent.DqnAgent:
  """Builds TF-Agents' double DQN, an `agent_fn` of `create_curious_agent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: One discrete action from 0.
    collect_epsilon: Probability of random actions when collecting.
    eval_epsilon: The same for the policy that is evaluated and saved. 0 is
      greedy, and may repeat an action that changes nothing to the end of an
      episode; DQN's evaluations have 0.05 (Mnih et al., 2015, Methods).
    learning_rate: Learning rate of Adam: a number, or one of Keras's schedules
      over optimizer steps.
    discount_factor: gamma.
    target_update_tau: Share of the online weights in a target update; 1 copies
      them.
    target_update_period_train_steps: Train steps between target updates.
    gradient_clipping: Largest norm of the gradient of each variable; None for
      any.
    q_networks_fn: As for `create_r2d3_agent`; the networks have no memory.
    optimism: C. An action that was tried N times at an observation is worth
      C / (N + 1)^M more when collecting and in targets
      (`double_dqn.OptimisticDqnAgent`), on the scale of returns: for tasks with
      few different observations. 0 for double DQN.
    optimism_exponent: M.

  Returns:
    The agent, not initialized.
  """
  owner = 'create_dqn_agent.'
  check_numbers(owner, locals())
  networks = agent_factory.networks_of(
      f'{owner}q_networks_fn',
      q_networks_fn,
      (time_step_spec.observation, action_spec),
      q_network_lib.QNetworks,
      'QNetworks(q_network, target_q_network)',
  )
  optimizer = adam(learning_rate)
  agent_class: type[dqn_agent.DqnAgent] = double_dqn.EpsilonDqnAgent
  more: dict[str, float] = {}
  if optimism:
    agent_class = double_dqn.OptimisticDqnAgent
    more = dict(optimism=optimism, optimism_exponent=optimism_exponent)
  agent = agent_class(
      time_step_spec,
      action_spec,
      **networks._asdict(),
      optimizer=optimizer,
      epsilon_greedy=collect_epsilon,
      eval_epsilon=eval_epsilon,
      target_update_tau=target_update_tau,
      target_update_period=target_update_period_train_steps,
      gamma=discount_factor,
      gradient_clipping=gradient_clipping,
      train_step_counter=agent_factory.create_train_step_counter(),
      **more,
  )
  optimizers.build(optimizer, list(networks.q_network.trainable_variables))
  return agent


_RANGES = dict(
    eval_epsilon=ranges.WITHIN_0_AND_1,
    discount_factor=ranges.WITHIN_0_AND_1,
    bonus_discount_factor=ranges.WITHIN_0_AND_1.or_none(),
    target_update_tau=ranges.SHARE,
    target_update_period_train_steps=ranges.COUNT,
    policy_update_period_train_steps=ranges.COUNT,
    target_entropy=ranges.FINITE.or_none(),
    initial_alpha=ranges.ABOVE_0,
    exploration_noise=ranges.AT_LEAST_0,
    target_policy_noise=ranges.AT_LEAST_0,
    target_policy_noise_clip=ranges.AT_LEAST_0,
    gradient_clipping=ranges.ABOVE_0.or_none(),
    optimism=ranges.AT_LEAST_0,
    optimism_exponent=ranges.ABOVE_0,
)


def check_numbers(owner: str, arguments: dict[str, Any]) -> None:
  """Raises an error for arguments of a factory that are out of range."""
  ranges.check_learning_rates(owner, learning_rate=arguments['learning_rate'])
  ranges.check(_RANGES, arguments, owner)


def adam(
    learning_rate: agent_factory.LearningRate
) -> tf.keras.optimizers.legacy.Optimizer:
  """Returns Keras's legacy Adam, into which `SacAgent` turns any other."""
  return tf.keras.optimizers.legacy.Adam(learning_rate)
