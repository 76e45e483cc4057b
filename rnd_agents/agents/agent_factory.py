# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds agents, with their networks and optimizers, for an environment."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gin
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.agents import auxiliary_loss as auxiliary_loss_lib
from rnd_agents.agents import optimizers
from rnd_agents.agents import r2d3_agent
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.curiosity import curiosity as curiosity_lib
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import factory
from rnd_agents.networks import q_network

# As in the RND authors' code.
_ADAM_EPSILON = 1e-8

LearningRate: TypeAlias = (
    types.Float | tf.keras.optimizers.schedules.LearningRateSchedule
)

# As gin.tf.external_configurables, which fails with TensorFlow above 2.15.
for _schedule in (
    tf.keras.optimizers.schedules.CosineDecay,
    tf.keras.optimizers.schedules.CosineDecayRestarts,
    tf.keras.optimizers.schedules.ExponentialDecay,
    tf.keras.optimizers.schedules.InverseTimeDecay,
    tf.keras.optimizers.schedules.PiecewiseConstantDecay,
    tf.keras.optimizers.schedules.PolynomialDecay,
):
  gin.external_configurable(_schedule, module='tf.keras.optimizers.schedules')


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_rnd_ppo_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    learning_rate: LearningRate = 3e-4,
    rnd_learning_rate: LearningRate | None = None,
    curiosity_fn: (
        curiosity_lib.CuriosityFn | Sequence[curiosity_lib.CuriosityFn] | None
    ) = None,
    agent_class: type[rnd_ppo_agent.RNDPPOAgent] = rnd_ppo_agent.RNDPPOAgent,
    networks_fn: Callable[..., factory.Networks] = factory.create_networks,
    auxiliary_loss_fn: auxiliary_loss_lib.AuxiliaryLossFn | None = None,
) -> rnd_ppo_agent.RNDPPOAgent:
  """Builds an `RNDPPOAgent` on networks of `create_networks`, or your own.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
    learning_rate: Learning rate of Adam for policy and values: a number, or one
      of Keras's schedules over optimizer steps.
    rnd_learning_rate: Learning rate of a second Adam, for the curiosity; None
      trains everything with one.
    curiosity_fn: Function from (time_step_spec, action_spec) to the agent's
      `Curiosity`, or a list of them, each for a return stream of its own; None
      for `create_rnd`. To train without one set
      `RNDPPOAgent.intrinsic_advantage_coefficient = 0`.
    agent_class: `RNDPPOAgent` or a subclass.
    networks_fn: Function from (observation_spec, action_spec) to `Networks`, of
      which `actor_net` and `value_net` are used; RND's come from `create_rnd`.
    auxiliary_loss_fn: Function from (time_step_spec, action_spec, number of the
      trunk's features) to an `AuxiliaryLoss`, such as
      `create_inverse_dynamics`; None for none.

  Returns:
    The agent, initialized.
  """
  owner = 'create_rnd_ppo_agent.'
  ranges.check_learning_rates(owner, learning_rate=learning_rate)
  if not (
      isinstance(agent_class, type)
      and issubclass(agent_class, rnd_ppo_agent.RNDPPOAgent)
  ):
    raise errors.InvalidType(
        f'{owner}agent_class must be RNDPPOAgent or a subclass, such as'
        f' @RNDPPOAgent, not {agent_class!r}.'
    )
  optimizer = _adam(learning_rate)
  rnd_optimizer = None
  if rnd_learning_rate is not None:
    ranges.check_learning_rates(owner, rnd_learning_rate=rnd_learning_rate)
    rnd_optimizer = _adam(rnd_learning_rate)
  rnd_curiosity = []

  def create_rnd(
      unused_observation_spec: types.NestedTensorSpec
  ) -> tuple[network.Network, network.Network]:
    # Between the network and its views, which draw random numbers, too: a
    # seed's runs stay.
    rnd = random_network_distillation.create_rnd(time_step_spec, action_spec)
    rnd_curiosity.append(rnd)
    return rnd.rnd_network, rnd.target_rnd_network

  specs = time_step_spec.observation, action_spec
  if networks_fn is factory.create_networks:
    networks = factory.create_networks(
        *specs, rnd_networks_fn=create_rnd if curiosity_fn is None else None
    )
  else:
    networks = networks_of(
        f'{owner}networks_fn',
        networks_fn,
        specs,
        factory.Networks,
        'Networks(actor_net, value_net, None, None)',
    )
    if curiosity_fn is None:
      create_rnd(time_step_spec.observation)
  if curiosity_fn is None:
    curiosity = rnd_curiosity[0]
  elif isinstance(curiosity_fn, (list, tuple)):
    curiosity = [
        _curiosity(owner, fn, time_step_spec, action_spec)
        for fn in curiosity_fn
    ]
  else:
    curiosity = _curiosity(owner, curiosity_fn, time_step_spec, action_spec)
  more: dict[str, Any] = {}
  if auxiliary_loss_fn is not None:
    num_features = 1  # The agent refuses networks without such a trunk.
    if isinstance(networks.actor_net, actor_critic_network.HeadView):
      num_features = networks.actor_net.actor_critic.num_features
    more['auxiliary_loss'] = auxiliary_loss_fn(
        time_step_spec, action_spec, num_features
    )
  agent = agent_class(
      time_step_spec,
      action_spec,
      optimizer=optimizer,
      actor_net=networks.actor_net,
      value_net=networks.value_net,
      rnd_optimizer=rnd_optimizer,
      curiosity=curiosity,
      train_step_counter=create_train_step_counter(),
      **more,
  )
  agent.initialize()
  return agent


def networks_of(
    name: str,
    networks_fn: Any,
    specs: tuple[types.NestedTensorSpec, types.NestedTensorSpec],
    kind: type[Any],
    form: str,
) -> Any:
  """Returns the networks of a user's function; raises InvalidType if none.

  Args:
    name: Name of the parameter, after which the function is called `create_*`.
    networks_fn: The function, of observation spec and action spec.
    specs: These specs.
    kind: Class of what it returns.
    form: That class with its arguments, for messages.
  """
  if not callable(networks_fn):
    default = f'@create_{name.rpartition(".")[2].removesuffix("_fn")}'
    raise errors.InvalidType(
        f'{name} must be a function, such as {default} (without brackets), got'
        f' {networks_fn!r}.'
    )
  networks = networks_fn(*specs)
  if not isinstance(networks, kind):
    raise errors.InvalidType(
        f'{name} must return rnd_agents.networks.{form}, got {networks!r}.'
    )
  return networks


@gin.configurable(
    module='rnd_agents',
    denylist=[
        'time_step_spec', 'action_spec', 'burn_in_length', 'collect_epsilon'
    ],
)
def create_r2d3_agent(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    burn_in_length: int = 0,
    collect_epsilon: types.Float = 0.1,
    learning_rate: LearningRate = 1e-3,
    adam_epsilon: float = 1e-3,
    weight_decay: float | None = None,
    curiosity_fn: curiosity_lib.CuriosityFn | None = None,
    rnd_learning_rate: LearningRate | None = None,
    q_networks_fn: Callable[
        ..., q_network.QNetworks
    ] = q_network.create_q_networks,
) -> r2d3_agent.R2D3Agent:
  """Builds an `R2D3Agent`.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: One discrete action from 0.
    burn_in_length: Number of first frames of a sequence that only warm up the
      states.
    collect_epsilon: Probability of random actions when collecting.
    learning_rate: Learning rate of Adam for the Q network: a number, or one of
      Keras's schedules over optimizer steps.
    adam_epsilon: Epsilon of that Adam.
    weight_decay: Decoupled weight decay (AdamW); None for none.
    curiosity_fn: Function from (time_step_spec, action_spec) to the agent's
      `Curiosity`, such as `create_rnd`; None for no curiosity.
    rnd_learning_rate: Learning rate of the curiosity's Adam; None for 1e-4.
    q_networks_fn: Function from (observation_spec, action_spec) to `QNetworks`
      of any TF-Agents networks; `create_q_networks` or one of your own.

  Returns:
    The agent, initialized.
  """
  owner = 'create_r2d3_agent.'
  ranges.check_learning_rates(owner, learning_rate=learning_rate)
  ranges.check(
      dict(
          adam_epsilon=ranges.ABOVE_0, weight_decay=ranges.AT_LEAST_0.or_none()
      ),
      dict(adam_epsilon=adam_epsilon, weight_decay=weight_decay),
      owner,
  )
  optimizer = _adam(learning_rate, adam_epsilon, weight_decay)
  curiosity, rnd_optimizer = create_curiosity(
      owner, curiosity_fn, rnd_learning_rate, time_step_spec, action_spec
  )
  networks = networks_of(
      f'{owner}q_networks_fn',
      q_networks_fn,
      (time_step_spec.observation, action_spec),
      q_network.QNetworks,
      'QNetworks(q_network, target_q_network)',
  )
  agent = r2d3_agent.R2D3Agent(
      time_step_spec,
      action_spec,
      **networks._asdict(),
      optimizer=optimizer,
      burn_in_length=burn_in_length,
      collect_epsilon=collect_epsilon,
      curiosity=curiosity,
      rnd_optimizer=rnd_optimizer,
      train_step_counter=create_train_step_counter(),
  )
  agent.initialize()
  return agent


def create_curiosity(
    owner: str,
    curiosity_fn: curiosity_lib.CuriosityFn | None,
    rnd_learning_rate: LearningRate | None,
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
) -> tuple[curiosity_lib.Curiosity | None, optimizers.Adam | None]:
  """Returns a curiosity and its optimizer; (None, None) without a function.

  Args:
    owner: Name of the factory with the arguments, with a dot, for messages.
    curiosity_fn: Function from the two specs to a `Curiosity`, or None.
    rnd_learning_rate: Learning rate of its Adam; None for 1e-4. Without
      effect without a function.
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.
  """
  if curiosity_fn is None:
    return None, None
  if rnd_learning_rate is None:
    rnd_learning_rate = 1e-4
  ranges.check_learning_rates(owner, rnd_learning_rate=rnd_learning_rate)
  rnd_optimizer = _adam(rnd_learning_rate)
  return (
      _curiosity(owner, curiosity_fn, time_step_spec, action_spec),
      rnd_optimizer,
  )


def _curiosity(owner: str, *args: Any) -> curiosity_lib.Curiosity:
  return curiosity_lib.from_function(f'{owner}curiosity_fn', *args)


def _adam(
    learning_rate: LearningRate,
    epsilon: float = _ADAM_EPSILON,
    weight_decay: float | None = None,
) -> optimizers.Adam:
  return optimizers.Adam(
      learning_rate, epsilon=epsilon, weight_decay=weight_decay
  )


def create_train_step_counter() -> tf.Variable:
  """Returns a counter of an agent's own, in place of the global step."""
  return tf.Variable(0, dtype=tf.int64, name='train_step')

