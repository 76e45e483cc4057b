# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predictor and target networks of Random Network Distillation."""

import tensorflow as tf
from tf_agents.networks import encoding_network

from rnd_agents.networks import encoders
from rnd_agents.networks import initializers
from rnd_agents.networks import precision


class RNDNetwork(encoding_network.EncodingNetwork):
  """An `EncodingNetwork` whose last layer is linear.

  TF-Agents applies its activation to the last layer too: a ReLU there zeroes a
  third of the features and hides the error's sign. The sizes in use are those
  of the RND authors' code (leaky ReLU with slope 0.2 after convolutions, ReLU
  after the hidden layers, orthogonal weights with gain sqrt 2, zero biases).
  """

  def __init__(
      self,
      observation_spec,
      fc_layer_params=(128,),
      output_size=64,
      conv_layers=None,
      trainable=True,
      compute_dtype=precision.FLOAT32,
      name='RNDNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of float32 specs: what RND sees, whitened.
      fc_layer_params: Units of the hidden layers. The predictor wants more of
        them than its target.
      output_size: Number of features, without an activation.
      conv_layers: Tuples (filters, kernel size, stride); None picks by the
        image's size.
      trainable: False for the target.
      compute_dtype: Of all layers but the last, whose errors are what counts;
        see `precision.layer_policy`.
      name: Name of the network.
    """
    super().__init__(
        observation_spec,
        **encoders.preprocessing(
            observation_spec,
            conv_layers,
            tf.nn.leaky_relu,  # Slope 0.2; Keras's own has 0.3.
            compute_dtype,
        ),
        name=name,
    )
    gain = 2**0.5
    self._dense_layers = [
        tf.keras.layers.Dense(
            units,
            activation='relu',
            kernel_initializer=initializers.FreshOrthogonal(gain),
            dtype=precision.layer_policy(compute_dtype),
        )
        for units in fc_layer_params
    ]
    self._dense_layers.append(
        tf.keras.layers.Dense(
            output_size, kernel_initializer=initializers.FreshOrthogonal(gain)
        )
    )
    self.create_variables()
    self.trainable = trainable

  def call(self, observation, step_type=None, network_state=(), training=False):
    features, network_state = super().call(
        observation, step_type, network_state, training
    )
    for layer in self._dense_layers:
      features = layer(features)
    return tf.cast(features, tf.float32), network_state
