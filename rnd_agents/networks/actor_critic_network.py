# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network with a policy head and value heads, on one trunk or two."""

from typing import Any

import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.networks import initializers
from rnd_agents.networks import policy_heads
from rnd_agents.networks import precision
from rnd_agents.networks import recurrent_cores


class ActorCriticNetwork(network.Network):
  """Computes the action distribution and all values in one pass.

  With a core the network is recurrent: trunk, core, heads; its inputs are
  sequences [B, T, ...] or single steps [B, ...], and its state is the core's.

  TF-Agents' components expect a policy network and a value network: `views`
  returns two networks that share the weights of this one. `RNDPPOAgent`
  recognises two views of one network and runs it once for each sample.
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      action_spec: types.NestedTensorSpec,
      encoder: network.Network,
      value_encoder: network.Network | None = None,
      residual_units: int | None = None,
      policy_init_gain: float = 0.01,
      value_init_gain: float = 0.01,
      core: recurrent_cores.RecurrentCore | None = None,
      num_values: int = 2,
      compute_dtype: str = precision.FLOAT32,
      name: str = 'ActorCriticNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of tensor specs.
      action_spec: A nest of bounded tensor specs.
      encoder: A `Network` from observations to features: the trunk.
      value_encoder: A second trunk for the values; None shares the first. Must
        be None with a core.
      residual_units: Units of a residual layer `x + relu(W x)` before each
        head, as in the RND authors' code; None for no such layers.
      policy_init_gain: Gain of the policy head's orthogonal weights.
      value_init_gain: Gain of the value heads' orthogonal weights.
      core: A `RecurrentCore` on the trunk; None for a feed-forward network.
      num_values: Number of value heads.
      compute_dtype: Type that the residual layers compute in, see
        `precision.layer_policy`; the heads compute in float32.
      name: Name of the network.
    """
    if core is not None and value_encoder is not None:
      raise errors.InvalidValue(
          'A recurrent ActorCriticNetwork has one trunk and one core: leave'
          ' value_encoder at None.'
      )
    super().__init__(
        observation_spec,
        state_spec=() if core is None else core.state_spec,
        name=name,
    )
    self._encoder = encoder
    self._core = core
    self._value_encoder = value_encoder
    self._policy_residual = None
    self._value_residual = None
    if residual_units is not None:
      self._policy_residual = _residual_layer(residual_units, compute_dtype)
      self._value_residual = _residual_layer(residual_units, compute_dtype)
    self._flat_heads = [
        policy_heads.create_policy_head(spec, policy_init_gain)
        for spec in tf.nest.flatten(action_spec)
    ]
    self._action_structure = tf.nest.map_structure(lambda _: None, action_spec)
    # One Dense of several units would make the heads orthogonal to each other:
    # each head is a layer of its own, as in the authors' code.
    self._value_heads = [
        tf.keras.layers.Dense(
            1,
            kernel_initializer=initializers.FreshOrthogonal(value_init_gain),
            name=f'value_{head}',
        )
        for head in range(num_values)
    ]
    self.__call__(
        tensor_spec.sample_spec_nest(observation_spec, outer_dims=(1,))
    )

  def copy(self, **kwargs: Any) -> 'ActorCriticNetwork':
    """Returns a network like this one, with parameters of its own.

    TF-Agents' own `copy` would share trunks and core.

    Args:
      **kwargs: Arguments of the constructor that differ in the copy.
    """
    trunks = dict(encoder=self._encoder, value_encoder=self._value_encoder)
    own = {name: net.copy() for name, net in trunks.items() if net is not None}
    if self._core is not None:
      own['core'] = self._core.fresh()
    return super().copy(**{**own, **kwargs})

  def views(self) -> tuple['HeadView', 'HeadView']:
    """Returns (policy network, value network [..., N]) on these weights."""
    # Built at each call: as attributes they would form a cycle of layers, which
    # Keras follows when it collects weights.
    return (
        HeadView(self, 0, name='PolicyNetwork'),
        HeadView(self, 1, name='ValueNetwork'),
    )

  def weights_behind(self, index: int) -> list[tf.Variable]:
    """Returns the trainable weights that one output depends on.

    Args:
      index: 0 for the distributions, 1 for the values.

    Returns:
      A list of variables.
    """
    if index == 0:
      layers = [self._encoder, self._core, self._policy_residual]
      layers += self._flat_heads
    else:
      encoder = self._value_encoder
      layers = [self._encoder if encoder is None else encoder, self._core]
      layers += [self._value_residual, *self._value_heads]
    return [
        weight
        for layer in layers
        if layer is not None
        for weight in layer.trainable_weights
    ]

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tuple[types.NestedDistribution, tf.Tensor], types.NestedTensor]:
    """Returns ((distributions, values [..., N]), network_state)."""
    features, _ = self._encoder(observation, step_type, training=training)
    if self._core is not None:
      features, network_state = self._core(
          features, step_type, network_state, training=training
      )
    value_features = features
    if self._value_encoder is not None:
      value_features, _ = self._value_encoder(
          observation, step_type, training=training
      )
    if self._policy_residual is not None:
      features = _add(features, self._policy_residual)
      value_features = _add(value_features, self._value_residual)
    distributions = tf.nest.pack_sequence_as(
        self._action_structure, [head(features) for head in self._flat_heads]
    )
    values = tf.concat(
        [head(value_features) for head in self._value_heads], axis=-1
    )
    return (distributions, tf.cast(values, tf.float32)), network_state


class HeadView(network.Network):
  """A `Network` that returns one output of an `ActorCriticNetwork`."""

  def __init__(self, actor_critic: ActorCriticNetwork, index: int, name: str):
    """Creates the view.

    Args:
      actor_critic: The network.
      index: 0 for the distributions, 1 for the values.
      name: Name of the view.
    """
    super().__init__(
        actor_critic.input_tensor_spec,
        state_spec=actor_critic.state_spec,
        name=name,
    )
    self.actor_critic = actor_critic
    self._index = index
    self.create_variables()

  def copy(self, **kwargs: Any) -> 'HeadView':
    """Returns a view of a copy of the `ActorCriticNetwork`."""
    return super().copy(**{'actor_critic': self.actor_critic.copy(), **kwargs})

  @property
  def weights_behind(self) -> list[tf.Variable]:
    """Trainable weights that the output depends on."""
    return self.actor_critic.weights_behind(self._index)

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[Any, types.NestedTensor]:
    outputs, network_state = self.actor_critic(
        observation, step_type, network_state, training=training
    )
    return outputs[self._index], network_state


def _add(
    features: tf.Tensor, residual_layer: tf.keras.layers.Layer
) -> tf.Tensor:
  """Returns `x + relu(W x)` in the type of the features."""
  return features + tf.cast(residual_layer(features), features.dtype)


def _residual_layer(units: int, compute_dtype: str) -> tf.keras.layers.Layer:
  return tf.keras.layers.Dense(
      units,
      activation='relu',
      kernel_initializer=initializers.FreshOrthogonal(0.1),
      dtype=precision.layer_policy(compute_dtype),
  )
