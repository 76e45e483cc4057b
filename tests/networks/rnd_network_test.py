# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for RNDNetwork: its numbers from its weights, in plain numpy."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.networks import rnd_network

_BOX = tf.TensorSpec([3], tf.float32)


def _inputs(shape, seed=0):
  values = np.random.default_rng(seed).normal(size=shape)
  return values.astype(np.float32)


def _dense(values, variables):
  """ReLU layers and a linear last one."""
  pairs = list(zip(variables[::2], variables[1::2], strict=True))
  for kernel, bias in pairs[:-1]:
    values = np.maximum(values @ kernel.numpy() + bias.numpy(), 0)
  return values @ pairs[-1][0].numpy() + pairs[-1][1].numpy(), values


def test_last_layer_is_linear():
  network = rnd_network.RNDNetwork(_BOX, fc_layer_params=(8, 7), output_size=5)
  for variable in network.variables:
    if variable.shape.rank == 1:  # Biases that are not 0 show where they act.
      variable.assign(0.3 * _inputs(variable.shape, seed=9))
  inputs = _inputs([40, 3])
  outputs = network(inputs)[0].numpy()
  expected, hidden = _dense(inputs, network.variables)
  np.testing.assert_allclose(outputs, expected, atol=1e-5)
  # A third and more of the features are negative: a ReLU would zero them.
  assert 0.3 < (outputs < 0).mean() < 0.7
  # The hidden layers' ReLU is at work.
  assert 0.2 < (hidden == 0).mean() < 0.8


def test_weights():
  network = rnd_network.RNDNetwork(_BOX, fc_layer_params=(6, 6), output_size=6)
  kernels = [v.numpy() for v in network.variables if v.shape.rank == 2]
  assert [kernel.shape for kernel in kernels] == [(3, 6), (6, 6), (6, 6)]
  for kernel in kernels:
    np.testing.assert_allclose(np.linalg.svd(kernel)[1], 2**0.5, rtol=1e-5)
  assert np.abs(kernels[1] - kernels[2]).max() > 0.1
  for variable in network.variables:
    if variable.shape.rank == 1:
      np.testing.assert_array_equal(variable, 0 * variable)


def test_activation_of_convolutions():
  # One 2x2 kernel with stride 1 on a 3x3 image.
  network = rnd_network.RNDNetwork(
      tf.TensorSpec([3, 3, 1], tf.float32),
      fc_layer_params=(),
      output_size=4,
      conv_layers=((1, 2, 1),),
  )
  kernel, bias, dense_kernel, _ = network.variables
  kernel.assign(np.reshape([[1.0, 2], [-3, 1]], [2, 2, 1, 1]))
  bias.assign([0.5])
  dense_kernel.assign(tf.eye(4))
  image = np.float32([[1, 0, 2], [0, 1, 1], [2, 0, 0]])
  # Upper left: 1 + 0 - 0 + 1 + .5;  upper right: 0 + 4 - 3 + 1 + .5;
  # lower left: 0 + 2 - 6 + 0 + .5 = -3.5;  lower right: 1 + 2 - 0 + 0 + .5.
  outputs = network(image.reshape([1, 3, 3, 1]))[0]
  np.testing.assert_allclose(outputs, [[2.5, 2.5, -0.2 * 3.5, 3.5]], rtol=1e-6)


def _convolve(values, kernel, bias, stride):
  """VALID convolution [B, H, W, C] with leaky ReLU, place by place."""
  size = kernel.shape[0]
  places = range(0, values.shape[1] - size + 1, stride)
  rows = []
  for i in places:
    row = []
    for j in places:
      patch = values[:, i : i + size, j : j + size, :]
      row.append(np.tensordot(patch, kernel, axes=3) + bias)
    rows.append(np.stack(row, axis=1))
  result = np.stack(rows, axis=1)
  return np.where(result < 0, 0.2 * result, result)


@pytest.mark.parametrize(
    ('size', 'strides'), [(36, [4, 2, 1]), (15, [2, 2]), (9, [1, 1])]
)
def test_default_convolutions_place_by_place(size, strides):
  network = rnd_network.RNDNetwork(
      tf.TensorSpec([size, size, 2], tf.float32),
      fc_layer_params=(20,),
      output_size=4,
  )
  inputs = _inputs([2, size, size, 2])
  variables = network.variables
  values = inputs
  for layer, stride in enumerate(strides):
    kernel, bias = variables[2 * layer : 2 * layer + 2]
    values = _convolve(values, kernel.numpy(), bias.numpy(), stride)
  expected, _ = _dense(values.reshape([2, -1]), variables[2 * len(strides) :])
  np.testing.assert_allclose(network(inputs)[0], expected, rtol=1e-3, atol=1e-4)
  assert np.abs(expected).min() > 1e-2


def test_target_has_nothing_to_train():
  predictor = rnd_network.RNDNetwork(_BOX, fc_layer_params=(4,))
  target = rnd_network.RNDNetwork(_BOX, fc_layer_params=(4,), trainable=False)
  assert len(predictor.trainable_variables) == 4
  assert not target.trainable_variables
  assert len(target.non_trainable_variables) == 4
  # Calling it does not thaw it, and a copy is frozen too.
  target(_inputs([5, 3]), training=True)
  assert not target.trainable_variables
  assert not target.copy().trainable_variables


def test_no_two_networks_are_equal():
  network = rnd_network.RNDNetwork(_BOX)
  others = [rnd_network.RNDNetwork(_BOX), network.copy()]
  inputs = _inputs([10, 3])
  for other in others:
    error = np.square(network(inputs)[0] - other(inputs)[0]).mean(-1)
    assert error.mean() > 0.05
  tf.random.set_seed(3)
  first = rnd_network.RNDNetwork(_BOX)
  tf.random.set_seed(3)
  second = rnd_network.RNDNetwork(_BOX)
  np.testing.assert_array_equal(first(inputs)[0], second(inputs)[0])


def test_nested_input():
  network = rnd_network.RNDNetwork(
      {'b': tf.TensorSpec([2, 2], tf.float32), 'a': _BOX},
      fc_layer_params=(6,),
      output_size=3,
  )
  a, b = _inputs([4, 5, 3], 1), _inputs([4, 5, 2, 2], 2)
  inputs = np.concatenate([a, b.reshape([4, 5, 4])], axis=-1)
  np.testing.assert_allclose(
      network({'a': a, 'b': b})[0],
      _dense(inputs, network.variables)[0],
      atol=1e-5,
  )
