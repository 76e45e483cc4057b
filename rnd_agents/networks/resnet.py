# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The residual convolutions of IMPALA, for images."""

from collections.abc import Sequence
from typing import Any

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.networks import keras_layers


@gin.configurable(
    module='rnd_agents',
    denylist=['activation', 'scale', 'dtype'],  # `create_encoder` passes them.
)
@tf.keras.utils.register_keras_serializable('rnd_agents')
class ResNet(tf.keras.layers.Layer):
  """Residual convolutions over one image leaf [B, H, W, C], flattened.

  Espeholt et al., 2018, figure 3, right, without the dense layer at its end
  (`fc_layer_params = (256,)`). Each section has a 3x3 convolution, a 3x3
  max-pooling of stride 2 and blocks x + conv(f(conv(f(x)))), where f is the
  activation, which also follows the last section. Padding is SAME. The networks
  of R2D3 (Paine et al., 2019) also begin with a ResNet.
  """

  def __init__(
      self,
      channels: Sequence[int] = (16, 32, 32),
      num_blocks: int = 2,
      activation: keras_layers.Activation = 'relu',
      scale: float = 1.0,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      channels: Channels of each section.
      num_blocks: Residual blocks of each section.
      activation: A Keras activation.
      scale: Factor on the input: 1/255 for bytes.
      **kwargs: Arguments of `tf.keras.layers.Layer`, such as the `dtype` from
        `precision.layer_policy`.
    """
    super().__init__(**kwargs)
    if not isinstance(channels, (tuple, list)) or not channels:
      raise errors.InvalidValue(
          'ResNet.channels must hold the channels of each section, such as'
          f' (16, 32, 32), got {channels!r}.'
      )
    sizes = {f'channels[{i}]': size for i, size in enumerate(channels)}
    sizes['num_blocks'] = num_blocks
    ranges.check(dict.fromkeys(sizes, ranges.COUNT), sizes, 'ResNet.')
    self._channels = tuple(channels)
    self._num_blocks = num_blocks
    self._activation = activation
    self._activation_fn = tf.keras.activations.get(activation)
    self._scale = scale
    # For each section the first convolution, then two for each block.
    filters = [
        size for size in self._channels for _ in range(1 + 2 * num_blocks)
    ]
    self._convolutions = [
        keras_layers.ScaledConv2D(
            size,
            3,
            scale=scale if i == 0 else 1.0,
            padding='same',
            # With variance 1 / fan-in, as in the authors' code.
            kernel_initializer=keras_layers.FreshOrthogonal(),
            dtype=self.dtype_policy,
        )
        for i, size in enumerate(filters)
    ]
    self._flatten = tf.keras.layers.Flatten(dtype=self.dtype_policy)

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    features = tf.cast(inputs, self.compute_dtype)
    convolutions = iter(self._convolutions)
    for _ in self._channels:
      features = next(convolutions)(features)
      features = tf.nn.max_pool2d(features, 3, 2, 'SAME')
      for _ in range(self._num_blocks):
        shortcut = features
        for _ in range(2):
          features = next(convolutions)(self._activation_fn(features))
        features += shortcut
    return self._flatten(self._activation_fn(features))

  def get_config(self) -> dict[str, Any]:
    return dict(
        super().get_config(),
        channels=self._channels,
        num_blocks=self._num_blocks,
        activation=self._activation,
        scale=self._scale,
    )
