# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The PPO policy of an agent with several value heads and curiosities."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tf_agents.agents.ppo import ppo_policy
from tf_agents.agents.ppo import ppo_utils
from tf_agents.networks import network
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.curiosity import curiosity
from rnd_agents.statistics import finite


class JointValueNetwork(network.Network):
  """The values of several networks of one value each as [..., N].

  For TF-Agents' `ValueNetwork` and `ValueRnnNetwork`. Each network keeps a
  state of its own.
  """

  def __init__(
      self,
      value_nets: Sequence[network.Network],
      name: str = 'JointValueNetwork',
  ):
    """Creates the network.

    Args:
      value_nets: N `Network`s with outputs [...] or [..., 1].
      name: Name of the network.
    """
    states = tuple(net.state_spec for net in value_nets)
    super().__init__(
        value_nets[0].input_tensor_spec,
        state_spec=states if tf.nest.flatten(states) else (),
        name=name,
    )
    self._value_nets = list(value_nets)

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    values, new_states = [], []
    states = network_state or ((),) * len(self._value_nets)
    for net, state in zip(self._value_nets, states, strict=True):
      value, new_state = net(
          observation, step_type, network_state=state, training=training
      )
      if net.create_variables().shape.rank:
        value = value[..., 0]
      values.append(value)
      new_states.append(new_state)
    return tf.stack(values, axis=-1), (
        tuple(new_states) if self.state_spec else ()
    )


def joined(
    value_net: network.Network | Sequence[network.Network],
    observation_spec: types.NestedTensorSpec,
) -> network.Network:
  """Returns a network with values [..., N] of one or of several networks.

  Args:
    value_net: A `Network` with outputs [..., N], or [...] for one stream; or
      one of outputs [...] or [..., 1] for each stream.
    observation_spec: Spec of the environment's observations.
  """
  nets: list[network.Network] = []
  if isinstance(value_net, network.Network):
    nets.append(value_net)
  else:
    nets += value_net
  specs = [net.create_variables(observation_spec) for net in nets]
  shapes = [getattr(spec, 'shape', None) for spec in specs]
  if isinstance(value_net, network.Network) and shapes != [[]]:
    return value_net
  if any(shape not in ([], [1]) for shape in shapes):
    raise errors.InvalidValue(
        'Each network of a value_net that is a tuple has one value a state, as'
        f' ValueNetwork does, got outputs of shapes {shapes}.'
    )
  if len({id(net) for net in nets}) < len(nets):
    raise errors.InvalidValue(
        'value_net has one network twice: give each stream a network of its'
        ' own.'
    )
  return JointValueNetwork(nets)


class FirstValueNetwork(network.Network):
  """The first head of a value network, for TF-Agents.

  `PPOPolicy` and `PPOLearner` accept one value a state.
  """

  def __init__(
      self, value_net: network.Network, name: str = 'FirstValueNetwork'
  ):
    """Creates the view.

    Args:
      value_net: A `Network` with outputs [..., N].
      name: Name of the view.
    """
    super().__init__(
        value_net.input_tensor_spec,
        state_spec=value_net.state_spec,
        name=name,
    )
    self.value_net = value_net
    self.built = True  # `value_net` is: its variables are this network's.

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    values, network_state = self.value_net(
        observation, step_type, network_state=network_state, training=training
    )
    return values[..., 0], network_state


class RNDPPOPolicy(ppo_policy.PPOPolicy):
  """A `PPOPolicy` that records all values and keeps the curiosities.

  With `collect` the policy info has, besides `dist_params`,

  * without `compute_value_and_advantage_in_train` each value by its name;
  * with `stores_state` a `network_state`: the states of recurrent networks
    before the step, as a flat tuple.

  A SavedModel or checkpoint of it keeps the variables of the curiosities, too.
  """

  def __init__(
      self,
      *args: Any,
      value_network: FirstValueNetwork,
      value_names: Sequence[str],
      training_info: Sequence[str],
      curiosities: Sequence[curiosity.Curiosity],
      collect: bool,
      stores_state: bool,
      **kwargs: Any,
  ) -> None:
    """Creates the policy.

    Args:
      *args: As for `PPOPolicy`.
      value_network: A `FirstValueNetwork`.
      value_names: Names of the values in the policy info, the first of which is
        `value_prediction`.
      training_info: Names of the scalars that `preprocess_sequence` adds to the
        policy info.
      curiosities: `Curiosity`s to save with the policy.
      collect: As for `PPOPolicy`.
      stores_state: Whether the policy info of recurrent networks has their
        state.
      **kwargs: As for `PPOPolicy`.
    """
    super().__init__(
        *args, value_network=value_network, collect=collect, **kwargs
    )
    self._value_names = tuple(value_names)
    self._training_info = tuple(training_info)
    # Read nowhere: `tf.Module` finds their variables by it.
    self._curiosities = list(curiosities)
    # The network whose two views actor and values are, if they are.
    shared = getattr(self._actor_network, 'actor_critic', None)
    values_of = getattr(value_network.value_net, 'actor_critic', None)
    self._shared = shared if shared is values_of else None
    self._records_values = (
        collect and not self._compute_value_and_advantage_in_train
    )
    self._build_state_spec(collect)
    self._stores_state = bool(
        collect and stores_state and self._policy_state_spec
    )
    self._build_info_spec()
    self._setup_specs()

  def _build_state_spec(self, collect: bool) -> None:
    """Defines a state for each recurrent network, one for views of the same."""
    spec = {}
    if self._actor_network.state_spec:
      spec['actor_network_state'] = self._actor_network.state_spec
    if collect and self._value_network.state_spec and self._shared is None:
      spec['value_network_state'] = self._value_network.state_spec
    self._policy_state_spec = spec or ()

  def _build_info_spec(self) -> None:
    info_spec = self.info_spec
    if self._records_values:
      spec = info_spec['value_prediction']
      info_spec = dict(
          info_spec,
          **{
              name: tf.TensorSpec(spec.shape, spec.dtype, name)
              for name in self._value_names[1:]
          },
      )
    if self._stores_state:
      network_state = _pack_flat(self._policy_state_spec)
      info_spec = dict(info_spec, network_state=network_state)
    self._info_spec = info_spec

  def training_info_spec(self) -> types.NestedTensorSpec:
    """Returns the spec of the policy infos that `RNDPPOAgent.train` takes.

    If the agent computes returns itself, they are the policy infos of the
    collection; else `preprocess_sequence` has added the streams of the whole
    rollout.
    """
    if not self._records_values:
      return self.info_spec
    return dict(
        self.info_spec,
        **dict.fromkeys(self._training_info, tf.TensorSpec([], tf.float32)),
        next_observation=self.time_step_spec.observation,
    )

  @property
  def is_legacy(self) -> bool:
    """Whether the policy network is of TF-Agents' older kind."""
    return isinstance(self._actor_network, network.DistributionNetwork)

  def unpack_state(
      self, network_state: Sequence[tf.Tensor]
  ) -> types.NestedTensor:
    """Returns policy states from the `network_state` of a policy info."""
    return tf.nest.pack_sequence_as(
        self._policy_state_spec, list(network_state)
    )

  def normalize(self, observations: types.NestedTensor) -> types.NestedTensor:
    """Returns observations as the networks take them."""
    if self._observation_normalizer is None:
      return observations
    return self._observation_normalizer.normalize(observations)

  def values(
      self,
      observations: types.NestedTensor,
      step_types: tf.Tensor | None = None,
      states: types.NestedTensor = (),
  ) -> tf.Tensor:
    """Returns all values of raw observations.

    Args:
      observations: A nest of tensors [outer..., *shape]; of recurrent networks
        [B, T, *shape].
      step_types: Optional integer tensor [outer...].
      states: Policy states [B, ...] before the first step; () for 0.

    Returns:
      A float tensor [outer..., N].
    """
    values, _ = self._apply_value_net(
        observations, step_types, states, training=False
    )
    return values

  def distribution_and_values(
      self,
      observations: types.NestedTensor,
      step_types: tf.Tensor,
      states: types.NestedTensor = (),
  ) -> tuple[types.NestedDistribution, tf.Tensor]:
    """Returns action distributions and values, in one pass if shared.

    Args:
      observations: A nest of raw tensors [M, *shape], or [M, L, *shape] to
        unroll recurrent networks.
      step_types: An integer tensor [M] or [M, L].
      states: Policy states [M, ...] before the first step; () for 0.

    Returns:
      A tuple (nest of distributions, values [M, N] or [M, L, N]), for training.
    """
    distributions, values, _ = self._apply_both(
        observations, step_types, states, training=True
    )
    return distributions, values

  def states_after(
      self,
      observations: types.NestedTensor,
      step_types: tf.Tensor,
      states: types.NestedTensor,
  ) -> types.NestedTensor:
    """Returns policy states after sequences.

    Args:
      observations: A nest of raw tensors [M, L, *shape].
      step_types: An integer tensor [M, L].
      states: Policy states [M, ...] before the first step.

    Returns:
      Policy states [M, ...].
    """
    return self._apply_both(observations, step_types, states)[2]

  def _apply_both(
      self,
      observations: types.NestedTensor,
      step_types: tf.Tensor | None,
      states: types.NestedTensor,
      training: bool = False,
  ) -> tuple[types.NestedDistribution, tf.Tensor, types.NestedTensor]:
    """Returns (distributions, values, new policy states)."""
    if self._shared is not None:
      (distributions, values), state = self._shared(
          self.normalize(observations),
          step_types,
          network_state=_state_of('actor', states),
          training=training,
      )
      new_states = {'actor_network_state': state}
    else:
      # `network_state` has no default in TF-Agents' ActorDistributionNetwork.
      distributions, actor_state = self._actor_network(
          self.normalize(observations),
          step_types,
          network_state=_state_of('actor', states),
          training=training,
      )
      values, value_state = self._apply_value_net(
          observations, step_types, states, training
      )
      new_states = {
          'actor_network_state': actor_state,
          'value_network_state': value_state,
      }
    return distributions, values, self._kept(new_states)

  def _apply_value_net(
      self,
      observations: types.NestedTensor,
      step_types: tf.Tensor | None,
      states: types.NestedTensor,
      training: bool,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    network = 'value' if self._shared is None else 'actor'
    return self._value_network.value_net(
        self.normalize(observations),
        step_types,
        network_state=_state_of(network, states),
        training=training,
    )

  def _kept(self, states: dict[str, types.NestedTensor]) -> types.NestedTensor:
    """Returns the states that are part of the policy's state."""
    if not self._policy_state_spec:
      return ()
    return {name: states[name] for name in self._policy_state_spec}

  @tf.autograph.experimental.do_not_convert
  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    step = super()._action(time_step, policy_state, seed)
    # No environment may get an action that was drawn from NaN.
    with tf.control_dependencies(tf.nest.flatten(step.info)):
      return step._replace(
          action=tf.nest.map_structure(tf.identity, step.action)
      )

  @tf.autograph.experimental.do_not_convert
  def _distribution(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      training: bool = False,
  ) -> policy_step.PolicyStep:
    if self._policy_state_spec and not policy_state:
      policy_state = self.get_initial_state(tf.shape(time_step.step_type)[0])
    if self._records_values or 'value_network_state' in policy_state:
      distributions, values, new_states = self._apply_both(
          time_step.observation, time_step.step_type, policy_state, training
      )
    else:
      distributions, state = self._apply_actor_network(
          time_step, _state_of('actor', policy_state), training
      )
      new_states = self._kept({'actor_network_state': state})
    if not self._collect:
      return policy_step.PolicyStep(distributions, new_states, ())
    dist_params = ppo_utils.get_distribution_params(
        distributions,
        legacy_distribution_network=self.is_legacy,
    )
    info = dict(
        dist_params=tf.nest.map_structure(
            lambda x: finite.without_nan("The policy's distribution", x),
            dist_params,
        )
    )
    if self._records_values:
      info.update(
          zip(self._value_names, tf.unstack(values, axis=-1), strict=True)
      )
    if self._stores_state:
      info['network_state'] = _pack_flat(policy_state)
    return policy_step.PolicyStep(distributions, new_states, info)


def _state_of(
    network_name: str, policy_states: types.NestedTensor
) -> types.NestedTensor:
  """Returns the state of the 'actor' or the 'value' network."""
  if not policy_states:
    return ()
  return policy_states.get(f'{network_name}_network_state', ())


def _pack_flat(states: types.NestedTensor) -> tuple[tf.Tensor, ...]:
  """Returns a nest as a tuple: Reverb's tables refuse lists in nests."""
  return tuple(tf.nest.flatten(states))
