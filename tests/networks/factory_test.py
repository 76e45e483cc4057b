# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for factory: the sizes of the RND authors' networks, layer by layer."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents.networks import encoders
from rnd_agents.networks import factory


@pytest.fixture(name='atari', scope='module')
def _atari():
  return factory.create_atari_networks()


def _sizes(network):
  """Parameters of each layer: kernel and bias."""
  sizes = [int(np.prod(v.shape)) for v in network.variables]
  return [a + b for a, b in zip(sizes[::2], sizes[1::2], strict=True)]


# Convolutions: height * width * inputs * filters + filters.
_RND_CONVOLUTIONS = [
    8 * 8 * 1 * 32 + 32, 4 * 4 * 32 * 64 + 64, 3 * 3 * 64 * 64 + 64
]


def test_atari_policy(atari):
  expected = [
      8 * 8 * 4 * 32 + 32,
      4 * 4 * 32 * 64 + 64,
      4 * 4 * 64 * 64 + 64,
      # 84 -> 20 -> 9 -> 6: 6 * 6 * 64 = 2304 features.
      2304 * 256 + 256,
      256 * 448 + 448,
      448 * 448 + 448,
      448 * 448 + 448,
      448 * 18 + 18,
      448 + 1,
      448 + 1,
  ]
  assert sum(expected) == 1_223_156
  assert _sizes(atari.actor_net) == expected
  assert _sizes(atari.value_net) == expected
  assert atari.actor_net.actor_critic is atari.value_net.actor_critic


def test_atari_rnd_networks(atari):
  # 84 -> 20 -> 9 -> 7: 7 * 7 * 64 = 3136 features.
  target = _RND_CONVOLUTIONS + [3136 * 512 + 512]
  predictor = target + 2 * [512 * 512 + 512]
  assert sum(target) == 1_677_984
  assert sum(predictor) == 2_203_296
  assert _sizes(atari.target_rnd_network) == target
  assert _sizes(atari.rnd_network) == predictor
  assert not atari.target_rnd_network.trainable_variables
  assert len(atari.rnd_network.trainable_variables) == 12


def test_atari_networks_see_frames(atari):
  frames = tf.cast(tf.reshape(tf.range(2 * 84 * 84 * 4) % 256, [2, 84, 84, 4]),
                   tf.uint8)
  bright = atari.value_net(frames)[0]
  np.testing.assert_allclose(
      atari.actor_net(frames)[0].probs_parameter(), 1 / 18, atol=0.01
  )
  # Values and residual layers are small at first, and bytes are divided by
  # 255: not, and they would be hundreds.
  assert 1e-4 < np.abs(bright).max() < 1
  assert np.abs(atari.value_net(frames // 2)[0] - bright).max() > 1e-5
  # RND's input is whitened: it takes floats of any sign as they are.
  whitened = tf.random.stateless_normal([2, 84, 84, 1], seed=[1, 2])
  predictions = atari.rnd_network(whitened)[0].numpy()
  targets = atari.target_rnd_network(whitened)[0].numpy()
  assert predictions.shape == targets.shape == (2, 512)
  assert np.square(predictions - targets).mean() > 0.01


def test_number_of_atari_actions():
  networks = factory.create_atari_networks(num_actions=6)
  assert sum(_sizes(networks.actor_net)) == 1_223_156 - 449 * 12


def test_default_networks():
  networks = factory.create_networks(
      {'x': tf.TensorSpec([3], tf.float32), 'n': encoders.discrete_spec(5)},
      encoders.discrete_spec(2),
  )
  assert networks._fields == (
      'actor_net', 'value_net', 'rnd_network', 'target_rnd_network'
  )
  # 5 + 3 inputs; RND sees the same, as floats.
  assert _sizes(networks.actor_net) == [
      9 * 64, 65 * 64, 65 * 2, 65, 65
  ]
  assert _sizes(networks.rnd_network) == [9 * 128, 129 * 128, 129 * 64]
  assert _sizes(networks.target_rnd_network) == [9 * 128, 129 * 64]
  inputs = {'x': tf.ones([1, 3]), 'n': tf.one_hot([2], 5)}
  error = np.square(
      networks.rnd_network(inputs)[0] - networks.target_rnd_network(inputs)[0]
  )
  assert error.mean() > 0.01


def test_every_option_reaches_its_network():
  networks = factory.create_networks(
      tensor_spec.BoundedTensorSpec([6, 6, 2], tf.uint8, 0, 255),
      tensor_spec.BoundedTensorSpec([2], tf.float32, -1, 1),
      rnd_observation_spec=tf.TensorSpec([6, 6, 1], tf.float32),
      fc_layer_params=(7,),
      value_fc_layer_params=(9, 7),
      activation='relu',
      conv_layers=((3, 2, 2),),
      residual_heads=True,
      rnd_fc_layer_params=(10,),
      target_rnd_fc_layer_params=(11, 12),
      rnd_output_size=5,
      rnd_conv_layers=((4, 3, 3),),
  )
  conv = 2 * 2 * 2 * 3 + 3  # 6 -> 3: 27 features.
  sizes = [conv, 28 * 7, conv, 28 * 9, 10 * 7, 8 * 7, 8 * 7, 8 * 2, 8, 8]
  # The scale of the normal distribution is a variable of its own.
  found = [int(np.prod(v.shape)) for v in networks.actor_net.variables]
  assert sum(found) == sum(sizes) + 2
  rnd_conv = 3 * 3 * 1 * 4 + 4  # 6 -> 2: 16 features.
  assert _sizes(networks.rnd_network) == [rnd_conv, 17 * 10, 11 * 5]
  assert _sizes(networks.target_rnd_network) == [
      rnd_conv, 17 * 11, 12 * 12, 13 * 5
  ]


@pytest.mark.parametrize('activation', ['tanh', 'relu'])
def test_activation_of_the_trunk(activation):
  networks = factory.create_networks(
      tf.TensorSpec([1], tf.float32),
      encoders.discrete_spec(2),
      fc_layer_params=(4,),
      activation=activation,
  )
  kernel, _, _, _, head, _, _, _ = networks.value_net.variables
  kernel.assign([[1.0, 0, 0, 0]])
  head.assign([[1.0], [0], [0], [0]])
  values = networks.value_net(tf.constant([[-0.5], [3.0]]))[0][:, 0]
  expected = np.tanh([-0.5, 3]) if activation == 'tanh' else [0, 3]
  np.testing.assert_allclose(values, expected, rtol=1e-5)


@pytest.mark.parametrize(
    'units, value_units', [((8, 4), (8, 1)), ((8, 4), (8,)), ((), None)]
)
def test_residual_heads_on_trunks_of_other_widths_are_refused(
    units, value_units
):
  with pytest.raises(ValueError, match='end in layers of one width'):
    factory.create_networks(
        tf.TensorSpec([3], tf.float32),
        encoders.discrete_spec(2),
        fc_layer_params=units,
        value_fc_layer_params=value_units,
        residual_heads=True,
    )
