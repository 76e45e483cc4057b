# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras layers for images, and the initializer of all layers."""

from collections.abc import Callable, Sequence
import math
from typing import Any

import gin
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import words

Activation = str | Callable[[tf.Tensor], tf.Tensor]
# Convolutions as (filters, kernel size, stride).
ConvLayers = Sequence[tuple[int, int, int]]


def check_activation(name: str, activation: Any) -> None:
  """Raises InvalidValue, with the parameter's name, for an unknown one."""
  try:
    tf.keras.activations.get(activation)
  except (TypeError, ValueError) as error:
    raise errors.InvalidValue(
        f'{name}: unknown Keras activation {activation!r}; try'
        " 'tanh', 'relu' or 'elu'."
    ) from error


class FreshOrthogonal(tf.keras.initializers.Initializer):
  """Draws new orthogonal weights at every call.

  Keras's own initializer object repeats its draw: two layers of one shape that
  share it start with equal weights, and an RND predictor that shares it with
  its target starts with an error of exactly 0, so that no observation earns a
  bonus. This one draws a seed from TensorFlow's global generator at each call,
  so `tf.random.set_seed` still determines all weights.
  """

  def __init__(self, gain: float = 1.0):
    """Creates the initializer.

    Args:
      gain: Factor on the orthogonal matrix: `2 ** 0.5` before a ReLU.
    """
    self._gain = gain

  def __call__(
      self, shape: types.Shape, dtype: tf.DType = tf.float32, **kwargs: Any
  ) -> tf.Tensor:
    with tf.init_scope():
      seed = int(tf.random.uniform([], 1, 2**31 - 1, dtype=tf.int32))
    orthogonal = tf.keras.initializers.Orthogonal(self._gain, seed=seed)
    return orthogonal(shape, dtype=dtype, **kwargs)

  def get_config(self) -> dict[str, Any]:
    return {'gain': self._gain}


@tf.keras.utils.register_keras_serializable('rnd_agents')
class ScaledConv2D(tf.keras.layers.Conv2D):
  """A convolution of a scaled image, computed with a scaled kernel.

  The kernel is smaller than the image, and bytes are exact in bfloat16.
  """

  def __init__(
      self,
      filters: int,
      kernel_size: int,
      strides: int = 1,
      scale: float = 1.0,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      filters: As for `Conv2D`.
      kernel_size: As for `Conv2D`.
      strides: As for `Conv2D`.
      scale: Factor on the image: 1/255 for bytes.
      **kwargs: Further arguments of `Conv2D`.
    """
    super().__init__(filters, kernel_size, strides, **kwargs)
    self._scale = scale

  def convolution_op(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Convolves with the scaled kernel; `Conv2D.call` calls it."""
    if self._scale != 1.0:
      kernel = kernel * self._scale  # In place it would change the variable.
    return super().convolution_op(inputs, kernel)

  def get_config(self) -> dict[str, Any]:
    return dict(super().get_config(), scale=self._scale)


@tf.keras.utils.register_keras_serializable('rnd_agents')
class WordsInput(tf.keras.layers.Layer):
  """A GRU over the embeddings of words [B, length]; padding has no effect."""

  def __init__(
      self,
      num_ids: int,
      embedding_size: int = 32,
      units: int = 64,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      num_ids: Number of different words.
      embedding_size: Numbers for each word.
      units: Number of output features.
      **kwargs: Arguments of `tf.keras.layers.Layer`.
    """
    super().__init__(**kwargs)
    self._arguments = dict(
        num_ids=num_ids, embedding_size=embedding_size, units=units
    )
    self._embedding = tf.keras.layers.Embedding(
        num_ids, embedding_size, FreshOrthogonal()
    )
    self._rnn = tf.keras.layers.RNN(
        tf.keras.layers.GRUCell(
            units,
            kernel_initializer=FreshOrthogonal(),
            recurrent_initializer=FreshOrthogonal(),
        )
    )

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    is_word = tf.not_equal(inputs, words.PADDING)
    num_words = tf.reduce_sum(tf.cast(is_word, tf.int32), axis=-1)
    # The longest text of the batch decides how long the GRU takes.
    longest = tf.maximum(tf.reduce_max(num_words), 1)
    embedded = self._embedding(tf.cast(inputs[:, :longest], tf.int32))
    return self._rnn(embedded, mask=is_word[:, :longest])

  def get_config(self) -> dict[str, Any]:
    return dict(super().get_config(), **self._arguments)


@tf.keras.utils.register_keras_serializable('rnd_agents')
class ImageInput(tf.keras.layers.Layer):
  """Convolutions over one image leaf [B, H, W, C], flattened.

  The cast from uint8 and the scaling happen here, so that replay keeps bytes.
  """

  def __init__(
      self,
      conv_layers: ConvLayers,
      activation: Activation,
      scale: float = 1.0,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      conv_layers: Tuples (filters, kernel size, stride).
      activation: A Keras activation, for every convolution.
      scale: Factor on the input: 1/255 for bytes.
      **kwargs: Arguments of `tf.keras.layers.Layer`, such as the `dtype` from
        `precision.layer_policy`.
    """
    super().__init__(**kwargs)
    self._conv_layers = [tuple(layer) for layer in conv_layers]
    self._activation = activation
    self._scale = scale
    self._convolutions = [
        ScaledConv2D(
            filters,
            kernel_size,
            strides,
            scale if i == 0 else 1.0,
            activation=activation,
            kernel_initializer=FreshOrthogonal(2**0.5),
            dtype=self.dtype_policy,
        )
        for i, (filters, kernel_size, strides) in enumerate(self._conv_layers)
    ]
    self._flatten = tf.keras.layers.Flatten(dtype=self.dtype_policy)

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    features = tf.cast(inputs, self.compute_dtype)
    for convolution in self._convolutions:
      features = convolution(features)
    return self._flatten(features)

  def get_config(self) -> dict[str, Any]:
    return dict(
        super().get_config(),
        conv_layers=self._conv_layers,
        activation=self._activation,
        scale=self._scale,
    )


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

  With `patch_size` the first section begins with one vector for each patch of
  the image, and has no pooling: for pictures of cells, each of which is a few
  pixels wide, such as Crafter's.
  """

  def __init__(
      self,
      channels: Sequence[int] = (16, 32, 32),
      num_blocks: int = 2,
      patch_size: int | None = None,
      activation: Activation = 'relu',
      scale: float = 1.0,
      **kwargs: Any,
  ):
    """Creates the layer.

    Args:
      channels: Channels of each section.
      num_blocks: Residual blocks of each section.
      patch_size: Side of a patch in pixels; a rest at the right and at the
        bottom is not seen. None for the first section of the paper.
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
    limits = dict.fromkeys(sizes, ranges.COUNT)
    limits['patch_size'] = ranges.COUNT.or_none()
    ranges.check(limits, dict(sizes, patch_size=patch_size), 'ResNet.')
    self._channels = tuple(map(int, channels))
    self._num_blocks = num_blocks = int(num_blocks)
    if patch_size is not None:
      patch_size = int(patch_size)
    self._patch_size = patch_size
    self._activation = activation
    self._activation_fn = tf.keras.activations.get(activation)
    self._scale = scale
    # For each section the first convolution, then two for each block.
    filters = [
        size for size in self._channels for _ in range(1 + 2 * num_blocks)
    ]
    # (kernel size, stride, padding) of the first one, and of the others.
    kernels = [(3, 1, 'same')] * len(filters)
    if patch_size is not None:
      kernels[0] = (patch_size, patch_size, 'valid')
    self._convolutions = [
        ScaledConv2D(
            size,
            kernel_size,
            stride,
            scale if i == 0 else 1.0,
            padding=padding,
            # With variance 1 / fan-in, as in the authors' code.
            kernel_initializer=FreshOrthogonal(),
            dtype=self.dtype_policy,
        )
        for i, (size, (kernel_size, stride, padding)) in enumerate(
            zip(filters, kernels, strict=True)
        )
    ]
    self._flatten = tf.keras.layers.Flatten(dtype=self.dtype_policy)

  def build(self, input_shape: types.Shape) -> None:
    sides = tuple(input_shape)[1:3]
    if self._patch_size is not None and self._patch_size > min(sides):
      raise errors.InvalidValue(
          f'ResNet.patch_size must be at most {min(sides)}, the shorter side of'
          f' the image {sides}, got {self._patch_size}.'
      )
    super().build(input_shape)

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    features = tf.cast(inputs, self.compute_dtype)
    convolutions = iter(self._convolutions)
    for i in range(len(self._channels)):
      features = next(convolutions)(features)
      if i or self._patch_size is None:
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
        patch_size=self._patch_size,
        activation=self._activation,
        scale=self._scale,
    )


@tf.keras.utils.register_keras_serializable('rnd_agents')
class NormalizedDense(tf.keras.layers.Layer):
  """Fully connected layers on the concatenation of features [B, F_i].

  Each is normalized over its units (Ba et al., 2016), scaled and shifted before
  its activation.
  """

  def __init__(
      self, units: Sequence[int], activation: Activation, **kwargs: Any
  ):
    """Creates the layers.

    Args:
      units: Units of each.
      activation: A Keras activation, for each.
      **kwargs: Arguments of `tf.keras.layers.Layer`, such as the `dtype` from
        `precision.layer_policy`.
    """
    super().__init__(**kwargs)
    self._units = tuple(units)
    self._activation = activation
    dtype = self.dtype_policy
    self._layers = [
        layer
        for size in self._units
        for layer in (
            tf.keras.layers.Dense(
                size, kernel_initializer=FreshOrthogonal(2**0.5), dtype=dtype
            ),
            tf.keras.layers.LayerNormalization(dtype=dtype),
            tf.keras.layers.Activation(activation, dtype=dtype),
        )
    ]

  def call(self, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
    features = tf.concat(inputs, axis=-1)
    for layer in self._layers:
      features = layer(features)
    return features

  def get_config(self) -> dict[str, Any]:
    return dict(
        super().get_config(), units=self._units, activation=self._activation
    )


@tf.keras.utils.register_keras_serializable('rnd_agents')
class PixelTransform(tf.keras.layers.Layer):
  """Raises the pixels of images [B, H, W, C] to a power and subtracts a mean.

  An exponent below 1 brightens dark pixels.
  """

  def __init__(self, exponent: float = 1.0, mean: float = 0.0, **kwargs: Any):
    """Creates the layer.

    Args:
      exponent: The power, above 0.
      mean: What is subtracted then, in units of the images, raised as well.
      **kwargs: Arguments of `tf.keras.layers.Layer`, such as `dtype`.
    """
    super().__init__(**kwargs)
    self._exponent = exponent
    self._mean = mean

  def call(self, inputs: tf.Tensor) -> tf.Tensor:
    pixels = tf.cast(inputs, tf.float32)
    square_roots = -math.log2(self._exponent)  # One of 1/2, two of 1/4.
    if square_roots >= 0 and square_roots.is_integer():
      for _ in range(int(square_roots)):
        pixels = tf.sqrt(pixels)  # `pow` takes as long as a convolution.
    else:
      pixels = tf.pow(pixels, self._exponent)
    return tf.cast(pixels - self._mean, self.compute_dtype)

  def get_config(self) -> dict[str, Any]:
    return dict(
        super().get_config(), exponent=self._exponent, mean=self._mean
    )
