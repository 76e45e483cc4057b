# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for factory: the sizes of the RND authors' networks, layer by layer."""

import functools

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import recurrent_cores

# Of the authors' policy: their code has a 4x4 third kernel.
_POLICY_CONV_LAYERS = ((32, 8, 4), (64, 4, 2), (64, 4, 1))


def _create_atari_networks(num_actions):
  """The networks of the RND authors' code for 84x84 Atari frames."""
  return factory.create_networks(
      tf.TensorSpec([84, 84, 4], tf.uint8),
      encoders.discrete_spec(num_actions),
      tf.TensorSpec([84, 84, 1], tf.float32),
      fc_layer_params=(256, 448),
      activation='relu',
      conv_layers=_POLICY_CONV_LAYERS,
      residual_heads=True,
      rnd_networks_fn=functools.partial(
          factory.create_rnd_networks,
          fc_layer_params=(512, 512),
          target_fc_layer_params=(),
          output_size=512,
          conv_layers=encoders.NATURE_CONV_LAYERS,
      ),
  )


@pytest.fixture(name='atari', scope='module')
def _atari():
  return _create_atari_networks(18)


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
  networks = _create_atari_networks(6)
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
  assert _sizes(networks.actor_net) == [9 * 64, 65 * 64, 65 * 2, 65, 65]
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
      rnd_networks_fn=functools.partial(
          factory.create_rnd_networks,
          fc_layer_params=(10,),
          target_fc_layer_params=(11, 12),
          output_size=5,
          conv_layers=((4, 3, 3),),
      ),
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
  with pytest.raises(ValueError, match='one width'):
    factory.create_networks(
        tf.TensorSpec([3], tf.float32),
        encoders.discrete_spec(2),
        fc_layer_params=units,
        value_fc_layer_params=value_units,
        residual_heads=True,
    )


@pytest.mark.parametrize(
    'settings, message',
    [
        (dict(fc_layer_params=(0,)), 'fc_layer_params .*integers'),
        (dict(fc_layer_params=64), r'fc_layer_params .*\(64,\)'),
        (dict(target_fc_layer_params=(1.5,)), 'target_fc_layer_params'),
        (dict(output_size=0), 'output_size .*got 0'),
        (dict(conv_layers=((8, 3, 1),)), 'conv_layers .*image'),
    ],
)
def test_sizes_that_make_no_networks_of_rnd(settings, message):
  with pytest.raises(errors.UserError, match=f'create_rnd_networks.{message}'):
    factory.create_rnd_networks(tf.TensorSpec([3], tf.float32), **settings)


def test_a_convolution_larger_than_its_input_is_refused():
  image = tf.TensorSpec([9, 8, 3], tf.uint8)
  layers = ((4, 4, 2), (4, 3, 1))  # The second one has an input of 3 x 3.
  factory.create_rnd_networks(image, conv_layers=layers)
  for large in (((4, 9, 1),), (*layers, (4, 2, 1))):
    with pytest.raises(errors.InvalidValue, match='convolution .* 1 x 1|9 x 8'):
      factory.create_rnd_networks(image, conv_layers=large)


# -------------------------------------------------------------------- with core
def _recurrent(core, **kwargs):
  """Networks on three numbers."""
  return factory.create_networks(
      tf.TensorSpec([3], tf.float32),
      encoders.discrete_spec(2),
      core=core,
      **kwargs,
  )


def _count(network):
  return sum(int(np.prod(v.shape)) for v in network.variables)


def test_recurrent_atari_policy():
  # The RND authors' CnnGruPolicy: their trunk to 256 features, 256 units of
  # memory, a residual layer for the policy and one for the values.
  networks = factory.create_networks(
      tf.TensorSpec([84, 84, 4], tf.uint8),
      encoders.discrete_spec(18),
      rnd_observation_spec=tf.TensorSpec([2], tf.float32),
      fc_layer_params=(256,),
      activation='relu',
      conv_layers=_POLICY_CONV_LAYERS,
      residual_heads=True,
      core=recurrent_cores.GRUCore(256),
  )
  expected = [
      8 * 8 * 4 * 32 + 32,
      4 * 4 * 32 * 64 + 64,
      4 * 4 * 64 * 64 + 64,
      # 84 -> 20 -> 9 -> 6: 6 * 6 * 64 = 2304 features.
      2304 * 256 + 256,
      # Two gates and a candidate see features, outputs and a bias.
      3 * (256 * 256 + 256 * 256 + 256),
      256 * 256 + 256,
      256 * 256 + 256,
      256 * 18 + 18,
      256 + 1,
      256 + 1,
  ]
  assert sum(expected) == 1_227_444
  assert _count(networks.actor_net) == _count(networks.value_net) == 1_227_444
  shapes = [tuple(v.shape) for v in networks.actor_net.variables]
  assert shapes[6:15] == [
      (2304, 256), (256,), (256, 768), (256, 768), (768,),
      (256, 256), (256,), (256, 256), (256,),
  ]


def test_sizes_with_a_core():
  lstm = recurrent_cores.LSTMCore(5)
  networks = _recurrent(lstm, fc_layer_params=(8, 7))
  # Four gates of an LSTM; the heads stand on its 5 outputs.
  trunk, memory, heads = 4 * 8 + 9 * 7, 4 * 5 * (7 + 5 + 1), 6 * 2 + 6 + 6
  assert _count(networks.actor_net) == trunk + memory + heads
  # Residual layers are as wide as the core, whatever the trunk ends in.
  gru = recurrent_cores.GRUCore(5)
  networks = _recurrent(gru, fc_layer_params=(8, 7), residual_heads=True)
  memory, residuals = 3 * 5 * (7 + 5 + 1), 2 * 6 * 5
  assert _count(networks.actor_net) == trunk + memory + residuals + heads
  # No trunk at all: the core sees the three numbers.
  gru = recurrent_cores.GRUCore(5)
  networks = _recurrent(gru, fc_layer_params=(), residual_heads=True)
  assert _count(networks.actor_net) == (3 * 5 * (3 + 5 + 1) + residuals + heads)
  # RND has no memory.
  assert networks.actor_net.state_spec == gru.state_spec
  assert networks.rnd_network.state_spec == ()
  assert networks.target_rnd_network.state_spec == ()
  assert _sizes(networks.rnd_network) == [4 * 128, 129 * 128, 129 * 64]


def test_core_from_gin():
  gin.parse_config("""
      create_networks.core = @GRUCore()
      GRUCore.units = 4
      create_networks.fc_layer_params = (6,)
  """)
  first, second = [
      factory.create_networks(
          tf.TensorSpec([3], tf.float32), encoders.discrete_spec(2)
      )
      for _ in range(2)
  ]
  size = 4 * 6 + 3 * 4 * (6 + 4 + 1) + 5 * 2 + 5 + 5
  assert _count(first.actor_net) == _count(second.actor_net) == size
  # Each call makes a core of its own.
  assert not {v.ref() for v in first.actor_net.variables} & {
      v.ref() for v in second.actor_net.variables
  }


@pytest.mark.parametrize(
    'core',
    [recurrent_cores.LSTMCore, 'LSTMCore', 64, tf.keras.layers.LSTMCell(4)],
)
def test_what_is_no_core_is_refused(core):
  with pytest.raises(ValueError, match=r'@LSTMCore\(\)'):
    _recurrent(core)


@pytest.mark.parametrize('value_units', [(64, 64), ()])
def test_core_on_two_trunks_is_refused(value_units):
  with pytest.raises(ValueError, match='value_fc_layer_params = None'):
    _recurrent(recurrent_cores.LSTMCore(4), value_fc_layer_params=value_units)


def test_specs_of_python_environments_serve_as_well():
  outputs = []
  for convert in (lambda x: x, tensor_spec.from_spec):
    tf.random.set_seed(0)
    nets = factory.create_networks(
        convert({
            'image': array_spec.BoundedArraySpec([8, 8, 1], np.uint8, 0, 255),
            'state': array_spec.BoundedArraySpec([], np.int64, 0, 3),
        }),
        convert(array_spec.BoundedArraySpec([], np.int64, 0, 2)),
        conv_layers=((4, 4, 2),),
        rnd_networks_fn=functools.partial(
            factory.create_rnd_networks, conv_layers=((4, 4, 2),)
        ),
    )
    observation = {
        'image': tf.fill([1, 8, 8, 1], tf.constant(7, tf.uint8)),
        'state': tf.constant([2], tf.int64),
    }
    outputs.append(nets.value_net(observation)[0])
  assert outputs[0].shape == [1, 2]
  np.testing.assert_array_equal(*outputs)


def test_a_core_serves_one_set_of_networks():
  core = recurrent_cores.GRUCore(4)
  spec = tf.TensorSpec([3], tf.float32)
  factory.create_networks(spec, encoders.discrete_spec(2), core=core)
  with pytest.raises(ValueError, match='other networks'):
    factory.create_networks(spec, encoders.discrete_spec(2), core=core)
