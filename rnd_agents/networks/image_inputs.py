# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""First layers of an encoder for images."""

import math

import tensorflow as tf

from rnd_agents.networks import initializers


@tf.keras.utils.register_keras_serializable('rnd_agents')
class ScaledConv2D(tf.keras.layers.Conv2D):
  """Convolution of an image times a number, by a kernel times that number.

  The kernel is the smaller of the two, and bytes are exact in bfloat16.
  """

  def __init__(self, filters, kernel_size, strides=1, scale=1.0, **kwargs):
    """Creates the layer.

    Args:
      filters: As for `Conv2D`.
      kernel_size: Likewise.
      strides: Likewise.
      scale: Factor on the image: 1/255 for bytes.
      **kwargs: Likewise.
    """
    super().__init__(filters, kernel_size, strides, **kwargs)
    self._scale = scale

  def convolution_op(self, inputs, kernel):
    """Called by `Conv2D.call`, before bias and activation."""
    if self._scale != 1.0:
      kernel = kernel * self._scale  # In place it would change the variable.
    return super().convolution_op(inputs, kernel)

  def get_config(self):
    return dict(super().get_config(), scale=self._scale)


@tf.keras.utils.register_keras_serializable('rnd_agents')
class ImageInput(tf.keras.layers.Layer):
  """Convolutions over one image leaf [B, H, W, C], flattened.

  The cast from uint8 and the scaling happen here, so that replay keeps bytes.
  """

  def __init__(self, conv_layers, activation, scale=1.0, **kwargs):
    """Creates the layer.

    Args:
      conv_layers: Tuples (filters, kernel size, stride).
      activation: A Keras activation, for every convolution.
      scale: Factor on the input: 1/255 for bytes.
      **kwargs: Of `tf.keras.layers.Layer`, such as the `dtype` that
        `precision.layer_policy` gives.
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
            kernel_initializer=initializers.FreshOrthogonal(2**0.5),
            dtype=self.dtype_policy,
        )
        for i, (filters, kernel_size, strides) in enumerate(self._conv_layers)
    ]
    self._flatten = tf.keras.layers.Flatten(dtype=self.dtype_policy)

  def call(self, inputs):
    features = tf.cast(inputs, self.compute_dtype)
    for convolution in self._convolutions:
      features = convolution(features)
    return self._flatten(features)

  def get_config(self):
    return dict(
        super().get_config(),
        conv_layers=self._conv_layers,
        activation=self._activation,
        scale=self._scale,
    )


@tf.keras.utils.register_keras_serializable('rnd_agents')
class PixelPower(tf.keras.layers.Layer):
  """Raises the pixels of images [B, H, W, C] to a power.

  One below 1 brightens what is dim.
  """

  def __init__(self, exponent, **kwargs):
    """Creates the layer.

    Args:
      exponent: Above 0.
      **kwargs: Of `tf.keras.layers.Layer`, such as `dtype`.
    """
    super().__init__(**kwargs)
    self._exponent = exponent

  def call(self, inputs):
    pixels = tf.cast(inputs, tf.float32)
    square_roots = -math.log2(self._exponent)  # One of 1/2, two of 1/4.
    if square_roots > 0 and square_roots.is_integer():
      for _ in range(int(square_roots)):
        pixels = tf.sqrt(pixels)  # In no time, where `pow` takes a convolution.
    else:
      pixels = tf.pow(pixels, self._exponent)
    return tf.cast(pixels, self.compute_dtype)

  def get_config(self):
    return dict(super().get_config(), exponent=self._exponent)
