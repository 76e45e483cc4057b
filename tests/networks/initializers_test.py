# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for FreshOrthogonal, beside Keras's own initializer."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.networks import keras_layers


def _two_kernels(initializer, in_graph=False):
  """Kernels of two layers of one shape that share an initializer."""
  layers = [
      tf.keras.layers.Dense(4, kernel_initializer=initializer)
      for _ in range(2)
  ]

  def call(x):
    return [layer(x) for layer in layers]

  (tf.function(call, autograph=False) if in_graph else call)(tf.ones([1, 6]))
  return [layer.kernel.numpy() for layer in layers]


@pytest.mark.parametrize('gain', [1.0, 2**0.5, 0.01])
@pytest.mark.parametrize(
    'shape', [(8, 3), (3, 8), (5, 5), (7, 1), (3, 3, 2, 4), (1, 1, 2, 9)]
)
def test_rows_or_columns_are_orthogonal(shape, gain):
  kernel = keras_layers.FreshOrthogonal(gain)(shape).numpy()
  assert kernel.shape == shape
  # As a dense layer sees it: all inputs of one place by the outputs.
  matrix = kernel.reshape([-1, shape[-1]])
  inputs, outputs = matrix.shape
  product = matrix @ matrix.T if inputs < outputs else matrix.T @ matrix
  np.testing.assert_allclose(
      product / gain**2, np.eye(min(inputs, outputs)), atol=1e-5
  )


@pytest.mark.parametrize('in_graph', [False, True])
def test_layers_that_share_it_differ(in_graph):
  first, second = _two_kernels(keras_layers.FreshOrthogonal(), in_graph)
  # Columns of two independent draws have no more than chance in common.
  assert np.abs(first - second).max() > 0.1
  np.testing.assert_allclose(first.T @ first, np.eye(4), atol=1e-5)
  np.testing.assert_allclose(second.T @ second, np.eye(4), atol=1e-5)


def test_global_seed_decides():
  def draw(seed):
    tf.random.set_seed(seed)
    return np.stack(_two_kernels(keras_layers.FreshOrthogonal()))

  first = draw(7)
  np.testing.assert_array_equal(first, draw(7))
  assert np.abs(first - draw(8)).max() > 0.1


def test_inside_a_graph_without_a_layer():
  # Keras layers lift their initializers out of the graph; others do not.
  initializer = keras_layers.FreshOrthogonal()

  @tf.function(autograph=False)
  def draw_two():
    return [initializer([6, 4]), initializer([6, 4])]

  draws = draw_two()
  for draw in draws:
    np.testing.assert_allclose(
        tf.matmul(draw, draw, transpose_a=True), np.eye(4), atol=1e-5
    )
  assert np.abs(draws[0] - draws[1]).max() > 0.1


def test_config_keeps_the_gain():
  initializer = keras_layers.FreshOrthogonal(0.25)
  copy = keras_layers.FreshOrthogonal.from_config(initializer.get_config())
  np.testing.assert_allclose(
      np.linalg.svd(copy([5, 3]).numpy())[1], [0.25] * 3, rtol=1e-5
  )
