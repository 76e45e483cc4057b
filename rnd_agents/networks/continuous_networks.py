# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Actors and critics of continuous actions, for SAC, TD3 and DDPG."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.agents.sac import sac_agent
from tf_agents.agents.sac import tanh_normal_projection_network
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import action_ranges
from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import keras_layers


class TrunkNetwork(encoders.ScalesIntegers):
  """A network of any observations with a trunk of its own."""

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      fc_layer_params: Sequence[int],
      conv_layers: keras_layers.ConvLayers | None,
      name: str,
  ):
    """Creates the trunk.

    Args:
      observation_spec: A nest of tensor specs.
      fc_layer_params: Units of its hidden layers, with ReLU.
      conv_layers: Convolutions as (filters, kernel size, stride); None chooses
        them by the image's size.
      name: Name of the network.
    """
    super().__init__(observation_spec, state_spec=(), name=name)
    self._encoder = encoders.create_encoder(
        observation_spec,
        fc_layer_params,
        conv_layers,
        activation='relu',
        name=f'{name}Trunk',
    )

  def _features(self, inputs: types.NestedTensor, training: bool) -> tf.Tensor:
    return self._encoder(inputs, training=training)[0]


class ActorNetwork(TrunkNetwork):
  """Computes actions between the bounds of their spec, or distributions.

  The distributions are normals, squashed to the bounds by tanh (Haarnoja et
  al., 2018, arXiv 1812.05905, appendix C).
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      action_spec: types.NestedTensorSpec,
      fc_layer_params: Sequence[int] = (256, 256),
      conv_layers: keras_layers.ConvLayers | None = None,
      is_stochastic: bool = True,
      name: str = 'ActorNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of tensor specs.
      action_spec: A nest of floating `BoundedTensorSpec`s.
      fc_layer_params: As for `TrunkNetwork`.
      conv_layers: As for `TrunkNetwork`.
      is_stochastic: Whether to return distributions.
      name: Name of the network.
    """
    super().__init__(observation_spec, fc_layer_params, conv_layers, name)
    self._action_spec = action_spec
    flat_spec = tf.nest.flatten(action_spec)
    for spec in flat_spec:
      if not (spec.dtype.is_floating and action_ranges.has_bounds(spec)):
        raise errors.InvalidValue(
            'create_sac_agent and create_td3_agent need continuous actions'
            f' between bounds, got {spec}: for discrete ones set'
            ' create_curious_agent.agent_fn = @create_dqn_agent, and give'
            ' others bounds by a wrapper (load_environment.wrappers).'
        )
      if is_stochastic and np.any(spec.minimum >= spec.maximum):
        raise errors.InvalidValue(
            'create_sac_agent needs a lowest below the highest value of each'
            f' action, got {spec}: leave out those that cannot change, by a'
            ' wrapper (load_environment.wrappers), or take create_td3_agent.'
        )
      if is_stochastic and spec.shape.rank != 1:
        raise errors.InvalidValue(
            f'create_sac_agent needs actions that are vectors, got {spec}: make'
            ' them vectors by a wrapper (load_environment.wrappers), or take'
            ' create_td3_agent.'
        )
    self._heads: list[Any] = [
        tanh_normal_projection_network.TanhNormalProjectionNetwork(
            spec, std_transform=sac_agent.std_clip_transform
        )
        if is_stochastic
        else encoders.dense_layers((), spec.shape.num_elements(), gain=0.01)
        for spec in flat_spec
    ]
    self._is_stochastic = is_stochastic
    self.create_variables(observation_spec)

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[Any, types.NestedTensor]:
    """Returns (actions or distributions, network_state)."""
    features = self._features(observation, training)
    if self._is_stochastic:
      outputs = [head(features, 1)[0] for head in self._heads]
    else:
      outputs = [
          _scaled(tf.tanh(head(features)), spec)
          for head, spec in zip(
              self._heads, tf.nest.flatten(self._action_spec), strict=True
          )
      ]
    return tf.nest.pack_sequence_as(self._action_spec, outputs), network_state


class CriticNetwork(TrunkNetwork):
  """Computes Q(s, a) of (observation, action), or one of each stream."""

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      action_spec: types.NestedTensorSpec,
      fc_layer_params: Sequence[int] = (256, 256),
      conv_layers: keras_layers.ConvLayers | None = None,
      num_streams: int | None = None,
      name: str = 'CriticNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of tensor specs.
      action_spec: A nest of floating `BoundedTensorSpec`s, whose actions its
        layers see scaled to [-1, 1].
      fc_layer_params: As for `TrunkNetwork`.
      conv_layers: As for `TrunkNetwork`.
      num_streams: Number of values S; None for one value without an axis.
      name: Name of the network.
    """
    super().__init__(
        (observation_spec, action_spec), fc_layer_params, conv_layers, name
    )
    self._action_spec = action_spec
    self._num_streams = num_streams
    self._head = encoders.dense_layers((), num_streams or 1, name='Value')
    self.create_variables((observation_spec, action_spec))

  def call(
      self,
      inputs: tuple[types.NestedTensor, types.NestedTensor],
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    """Returns (Q values [B] or [B, S], network_state)."""
    observation, actions = inputs
    actions = tf.nest.map_structure(_unscaled, actions, self._action_spec)
    values = self._head(self._features((observation, actions), training))
    return values if self._num_streams else values[:, 0], network_state


def copies(
    network_class: type[network.Network], num: int, *args: Any, **kwargs: Any
) -> list[network.Network]:
  """Returns networks of one kind, each with weights of its own."""
  return [network_class(*args, **kwargs) for _ in range(num)]


def _scaled(x: tf.Tensor, spec: tensor_spec.BoundedTensorSpec) -> tf.Tensor:
  """Returns actions between the bounds for numbers from -1 to 1, [B, n]."""
  x = tf.cast(tf.reshape(x, [-1, *spec.shape]), spec.dtype)
  low, high = (tf.cast(y, spec.dtype) for y in (spec.minimum, spec.maximum))
  return low + (high - low) * (x + 1.0) / 2.0


def _unscaled(
    actions: tf.Tensor, spec: tensor_spec.BoundedTensorSpec
) -> tf.Tensor:
  """Returns numbers from -1 to 1 for actions between the bounds, [B, ...]."""
  low, high = (tf.cast(y, spec.dtype) for y in (spec.minimum, spec.maximum))
  # In this order -1 and 1 change nothing, not by rounding either.
  shifted = actions - (low + high) / 2.0
  return tf.math.divide_no_nan(shifted, (high - low) / 2.0)
