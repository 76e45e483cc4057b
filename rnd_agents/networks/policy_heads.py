# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Policy heads: action distributions from features, for each action spec."""


import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents.networks import initializers

# Logit of an action that does not exist: probability exactly 0 in float32, and
# unlike minus infinity it leaves the entropy finite.
_IMPOSSIBLE_LOGIT = -1e9


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
          ' rnd_agents.environments does for Discrete(start=...).'
      )
    self._action_dtype = action_spec.dtype
    self._action_shape = tuple(action_spec.shape)
    counts = np.broadcast_to(action_spec.maximum, self._action_shape) + 1
    num_logits = int(np.max(counts))
    # [*action_shape, num_logits]
    self._impossible = (
        np.arange(num_logits) >= np.asarray(counts)[..., np.newaxis]
    )
    self._num_logits = num_logits
    self._dense = tf.keras.layers.Dense(
        int(np.prod(self._action_shape, dtype=int)) * num_logits,
        kernel_initializer=initializers.FreshOrthogonal(init_gain),
    )

  def call(self, features: tf.Tensor) -> tfp.distributions.Distribution:
    logits = self._dense(features)
    outer_shape = tf.shape(features)[:-1]
    inner_shape = self._action_shape + (self._num_logits,)
    static_shape = features.shape[:-1].concatenate(inner_shape)
    logits = tf.reshape(logits, tf.concat([outer_shape, inner_shape], 0))
    logits = tf.ensure_shape(logits, static_shape)
    if self._impossible.any():
      logits = tf.where(self._impossible, _IMPOSSIBLE_LOGIT, logits)
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
  environment clips them.
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
    middle = np.zeros(self._action_shape, np.float32)
    half_range = np.ones(self._action_shape, np.float32)
    if tensor_spec.is_bounded(action_spec):
      low = np.broadcast_to(action_spec.minimum, self._action_shape)
      high = np.broadcast_to(action_spec.maximum, self._action_shape)
      # Box spaces without bounds have huge or infinite ones.
      finite = (np.abs(low) < 1e6) & (np.abs(high) < 1e6)
      low, high = np.where(finite, low, -1), np.where(finite, high, 1)
      middle = ((low + high) / 2).astype(np.float32)
      half_range = ((high - low) / 2).astype(np.float32)
      # A single value: any scale but 0 is fine.
      half_range = np.where(half_range > 0, half_range, 1).astype(np.float32)
    self._middle = middle
    self._half_range = half_range
    self._dense = tf.keras.layers.Dense(
        int(np.prod(self._action_shape, dtype=int)),
        kernel_initializer=initializers.FreshOrthogonal(init_gain),
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
    scale = self._half_range * tf.exp(self._log_scale) * tf.ones_like(location)
    return _joint(tfp.distributions.Normal(location, scale), self._action_shape)


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
