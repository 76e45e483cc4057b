# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network with a policy head and value heads, on one trunk or two.

Policy heads make action distributions of features, for each action spec.
"""

from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import action_ranges
from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.networks import recurrent_cores

# Of the logarithm of a deviation in half ranges: as in TF-Agents' SAC and skrl.
_LOG_SCALE_BOUNDS = -20.0, 2.0


class ActorCriticNetwork(encoders.ScalesIntegers):
  """Computes the action distribution and all values in one pass.

  With a core the network is recurrent: trunk, core, heads; its inputs are
  sequences [B, T, ...] or single steps [B, ...], and its state is the core's.

  TF-Agents' components expect a policy network and a value network: `views`
  returns two networks that share the weights of this one. `RNDPPOAgent`
  recognises two views of one network and runs it once for each sample.

  Attributes:
    num_features: Number of features of the policy's trunk.
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
        create_policy_head(spec, policy_init_gain)
        for spec in tf.nest.flatten(action_spec)
    ]
    _, mask_spec = action_masks.split_mask(observation_spec)
    _check_mask(mask_spec, self._flat_heads)
    self._action_structure = tf.nest.map_structure(lambda _: None, action_spec)
    # One Dense of several units would make the heads orthogonal to each other:
    # each head is a layer of its own, as in the authors' code.
    self._value_heads = [
        tf.keras.layers.Dense(
            1,
            kernel_initializer=keras_layers.FreshOrthogonal(value_init_gain),
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

  def features(self, observation: types.NestedTensor) -> tf.Tensor:
    """Returns features of the policy's trunk, without core, [outer..., F]."""
    observation, _ = action_masks.split_mask(observation)
    features, _ = self._encoder(observation, training=True)
    return features

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
    observation, mask = action_masks.split_mask(observation)
    features, _ = self._encoder(observation, step_type, training=training)
    # Asked for its spec, the encoder would draw a random number.
    self.num_features: int = features.shape[-1]
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
        self._action_structure,
        [
            head(features) if mask is None else head(features, mask)
            for head in self._flat_heads
        ],
    )
    values = tf.concat(
        [head(value_features) for head in self._value_heads], axis=-1
    )
    return (distributions, tf.cast(values, tf.float32)), network_state


class HeadView(encoders.ScalesIntegers):
  """A `Network` that returns one output of an `ActorCriticNetwork`."""

  def __init__(self, actor_critic: ActorCriticNetwork, index: int, name: str):
    """Creates the view.

    Args:
      actor_critic: The network.
      index: 0 for the distributions, 1 for the values.
      name: Name of the view.
    """
    super().__init__(
        actor_critic.observation_spec,
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


def _check_mask(
    mask_spec: tf.TensorSpec | None, heads: list[tf.keras.layers.Layer]
) -> None:
  """Raises InvalidValue for a mask that is not one of a discrete action."""
  if mask_spec is None:
    return
  shapes = [getattr(head, 'mask_shape', None) for head in heads]
  if shapes != [tuple(mask_spec.shape)]:
    raise errors.InvalidValue(
        'An action mask is for one discrete action, of shape'
        f' [*action, values], got {mask_spec.shape}.'
    )


def _add(
    features: tf.Tensor, residual_layer: tf.keras.layers.Layer
) -> tf.Tensor:
  """Returns `x + relu(W x)` in the type of the features."""
  return features + tf.cast(residual_layer(features), features.dtype)


def _residual_layer(units: int, compute_dtype: str) -> tf.keras.layers.Layer:
  return tf.keras.layers.Dense(
      units,
      activation='relu',
      kernel_initializer=keras_layers.FreshOrthogonal(0.1),
      dtype=precision.layer_policy(compute_dtype),
  )


# -----------------------------------------------------------------------------
# Policy heads.


class CategoricalHead(tf.keras.layers.Layer):
  """Independent categorical choices: `Discrete` and `MultiDiscrete` actions."""

  def __init__(
      self,
      action_spec: tensor_spec.BoundedTensorSpec,
      init_gain: float = 0.01,
      name: str = 'CategoricalHead',
  ):
    """Creates the head.

    Args:
      action_spec: A `BoundedTensorSpec` of int32 or int64 with minimum 0; its
        maximum may differ from one entry to the next.
      init_gain: Gain of the orthogonal weights. Small: the first policy is
        nearly uniform.
      name: Name of the layer.
    """
    super().__init__(name=name)
    if action_spec.dtype not in (tf.int32, tf.int64):
      raise errors.InvalidValue(
          'Discrete actions must be int32 or int64, the types for which'
          ' TensorFlow computes log probabilities, got'
          f' {action_spec.dtype.name}. Convert them in the environment.'
      )
    if np.any(np.asarray(action_spec.minimum) != 0):
      raise errors.InvalidValue(
          'Discrete actions must start at 0, got the minimum'
          f' {action_spec.minimum}. Shift them in the environment, as'
          ' rnd_agents.environments does.'
      )
    self._action_dtype = action_spec.dtype
    self._action_shape = tuple(action_spec.shape)
    counts = np.broadcast_to(action_spec.maximum, self._action_shape) + 1.0
    num_entries = int(np.prod(self._action_shape, dtype=int))
    num_logits = int(np.max(counts))
    action_ranges.check_num_values(action_spec.name, num_entries * num_logits)
    self.mask_shape = (*self._action_shape, num_logits)
    self._impossible = (
        np.arange(num_logits) >= np.asarray(counts)[..., np.newaxis]
    )
    self._num_logits = num_logits
    self._dense = tf.keras.layers.Dense(
        num_entries * num_logits,
        kernel_initializer=keras_layers.FreshOrthogonal(init_gain),
    )

  def call(
      self, features: tf.Tensor, mask: tf.Tensor | None = None
  ) -> tfp.distributions.Distribution:
    """Returns the distribution; `mask` is that of `ObservationWithMask`."""
    logits = self._dense(features)
    outer_shape = tf.shape(features)[:-1]
    inner_shape = self._action_shape + (self._num_logits,)
    static_shape = features.shape[:-1].concatenate(inner_shape)
    logits = tf.reshape(logits, tf.concat([outer_shape, inner_shape], 0))
    logits = tf.ensure_shape(logits, static_shape)
    impossible_logit = action_masks.IMPOSSIBLE_LOGIT
    if self._impossible.any():
      logits = tf.where(self._impossible, impossible_logit, logits)
    if mask is not None:
      logits = tf.where(tf.cast(mask, tf.bool), logits, impossible_logit)
    return _joint(
        tfp.distributions.Categorical(
            logits=tf.cast(logits, tf.float32), dtype=self._action_dtype
        ),
        self._action_shape,
    )


class NormalHead(tf.keras.layers.Layer):
  """A diagonal normal with a state-independent scale: `Box` actions.

  Location and scale are measured in half ranges around the middle of the spec,
  so that one initial scale suits any range. Samples may leave the range; the
  environment clips them. The scale is at most e^2 half ranges: the entropy
  bonus alone would raise that of an action on which nothing depends for ever.
  """

  def __init__(
      self,
      action_spec: tensor_spec.BoundedTensorSpec,
      init_gain: float = 0.01,
      init_scale: float = 0.6,
      name: str = 'NormalHead',
  ):
    """Creates the head.

    Args:
      action_spec: A floating `TensorSpec`, bounded or not.
      init_gain: Gain of the orthogonal weights.
      init_scale: First standard deviation, in half ranges.
      name: Name of the layer.
    """
    super().__init__(name=name)
    self._action_shape = tuple(action_spec.shape)
    low, high = action_ranges.finite_range(action_spec)
    middle = ((low + high) / 2).astype(np.float32)
    half_range = ((high - low) / 2).astype(np.float32)
    # A single value: any scale but 0 is fine.
    half_range = np.where(half_range > 0, half_range, 1).astype(np.float32)
    self._middle = middle
    self._half_range = half_range
    self._dense = tf.keras.layers.Dense(
        int(np.prod(self._action_shape, dtype=int)),
        kernel_initializer=keras_layers.FreshOrthogonal(init_gain),
    )
    self._log_scale = self.add_weight(
        'log_scale',
        shape=self._action_shape,
        initializer=tf.keras.initializers.Constant(np.log(init_scale)),
    )

  def call(self, features: tf.Tensor) -> tfp.distributions.Distribution:
    outer_shape = tf.shape(features)[:-1]
    mean = tf.reshape(
        self._dense(features), tf.concat([outer_shape, self._action_shape], 0)
    )
    mean = tf.ensure_shape(
        mean, features.shape[:-1].concatenate(self._action_shape)
    )
    location = self._middle + self._half_range * tf.cast(mean, tf.float32)
    log_scale = _reflect(self._log_scale)
    scale = self._half_range * tf.exp(log_scale) * tf.ones_like(location)
    return _joint(tfp.distributions.Normal(location, scale), self._action_shape)


def _reflect(log_scale: tf.Tensor) -> tf.Tensor:
  """Reflects what is beyond a bound back inside.

  Clipping would have a gradient of 0 beyond a bound, from where no scale would
  return; here descent that leads beyond turns round.
  """
  low, high = _LOG_SCALE_BOUNDS
  log_scale = tf.where(log_scale > high, 2 * high - log_scale, log_scale)
  return tf.where(log_scale < low, 2 * low - log_scale, log_scale)


def _joint(
    distribution: tfp.distributions.Distribution, action_shape: tuple[int, ...]
) -> tfp.distributions.Distribution:
  """Returns one distribution of whole actions, as TF-Agents expects."""
  if not action_shape:
    return distribution
  return tfp.distributions.Independent(distribution, len(action_shape))


def create_policy_head(
    action_spec: tensor_spec.BoundedTensorSpec, init_gain: float = 0.01
) -> tf.keras.layers.Layer:
  """Builds the head for one leaf of an action spec."""
  if action_spec.dtype.is_integer:
    if not tensor_spec.is_bounded(action_spec):
      raise errors.InvalidValue(
          f'Discrete actions need bounds, got {action_spec}.'
      )
    return CategoricalHead(action_spec, init_gain)
  return NormalHead(action_spec, init_gain)
