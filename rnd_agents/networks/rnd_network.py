# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predictor and target networks of Random Network Distillation."""

from collections.abc import Sequence

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.networks import encoders
from rnd_agents.networks import equal_rows
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision


class RNDNetwork(equal_rows.MergesEqualRows):
  """An `EncodingNetwork` whose last layer is linear.

  TF-Agents applies its activation to the last layer too: a ReLU there zeroes a
  third of the features and hides the error's sign. The sizes in use are those
  of the RND authors' code (leaky ReLU with slope 0.2 after convolutions, ReLU
  after the hidden layers, orthogonal weights with gain sqrt 2, zero biases).
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      fc_layer_params: Sequence[int] = (128,),
      output_size: int = 64,
      conv_layers: keras_layers.ConvLayers | None = None,
      trainable: bool = True,
      compute_dtype: str = precision.FLOAT32,
      merge_equal_observations: bool = False,
      name: str = 'RNDNetwork',
  ):
    """Creates the network.

    Args:
      observation_spec: A nest of float32 specs of RND's input.
      fc_layer_params: Units of the hidden layers. The predictor needs more
        layers than its target.
      output_size: Number of features, without an activation.
      conv_layers: Tuples (filters, kernel size, stride); None chooses them by
        the image's size.
      trainable: False for the target.
      compute_dtype: Type that all layers but the last compute in, see
        `precision.layer_policy`.
      merge_equal_observations: Whether equal observations of a batch are
        computed once (`equal_rows.over_distinct_rows`).
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
        merge_equal_observations=merge_equal_observations,
        name=name,
    )
    gain = 2**0.5
    self._dense_layers = [
        tf.keras.layers.Dense(
            units,
            activation='relu',
            kernel_initializer=keras_layers.FreshOrthogonal(gain),
            dtype=precision.layer_policy(compute_dtype),
        )
        for units in fc_layer_params
    ]
    self._dense_layers.append(
        tf.keras.layers.Dense(
            output_size, kernel_initializer=keras_layers.FreshOrthogonal(gain)
        )
    )
    self.create_variables()
    self.trainable = trainable

  def features(
      self, observation: types.NestedTensor, training: bool = False
  ) -> tf.Tensor:
    """Returns the float32 features [outer..., F] of observations."""
    features = super().features(observation, training)
    for layer in self._dense_layers:
      features = layer(features)
    return tf.cast(features, tf.float32)
