# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for RandomNetworkDistillation: what it refuses, and what it says."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.networks import sequential

from rnd_agents import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import rnd_network

_to = curiosity.Transitions

_BOX = tf.TensorSpec([3], tf.float32)


def _network(trainable=True, output_size=4, spec=_BOX, fc_layer_params=(6,)):
  return rnd_network.RNDNetwork(
      spec, fc_layer_params, output_size, trainable=trainable
  )


def _encoder(initializer, spec=_BOX):
  return encoding_network.EncodingNetwork(
      spec, fc_layer_params=(6, 4), kernel_initializer=initializer
  )


def _frozen(network):
  network.create_variables()
  network.trainable = False
  return network


def _make(predictor, target, spec=_BOX, **kwargs):
  return curiosity.RandomNetworkDistillation(spec, predictor, target, **kwargs)


def _copies():
  original = _encoder(tf.keras.initializers.Orthogonal(seed=1))
  return original, _frozen(original.copy())


def _shared_initializer():
  shared = tf.keras.initializers.Orthogonal(2**0.5)
  return _encoder(shared), _frozen(_encoder(shared))


def _same_seed():
  first, second = (
      _encoder(tf.keras.initializers.GlorotUniform(seed=3)) for _ in range(2)
  )
  return first, _frozen(second)


def _copied_weights():
  predictor, target = _network(), _network(False)
  for ours, theirs in zip(predictor.variables, target.variables, strict=True):
    theirs.assign(ours)
  return predictor, target


def _silent():
  """Different weights, but outputs that are 0 for any input."""
  predictor, target = _network(), _network(False)
  for network in (predictor, target):
    for variable in network.variables[-2:]:
      variable.assign(tf.zeros_like(variable))
  return predictor, target


@pytest.mark.filterwarnings('ignore:The initializer Orthogonal is unseeded')
@pytest.mark.parametrize(
    'pair', [_copies, _shared_initializer, _same_seed, _copied_weights, _silent]
)
def test_equal_networks_are_refused(pair):
  with pytest.raises(
      ValueError, match='error is 0.*give each layer an initializer of its own'
  ):
    _make(*pair())


def test_a_copy_of_our_network_is_another_network():
  predictor = _network()
  rnd = _make(predictor, _frozen(predictor.copy()))
  assert (rnd.bonus(_to(tf.ones([2, 3]))).numpy() > 1e-3).all()


def test_one_network_is_no_pair():
  network = _network(trainable=False)
  with pytest.raises(ValueError, match='one object.*Build two networks'):
    _make(network, network)


def test_outputs_of_one_shape():
  with pytest.raises(ValueError, match=r'one shape, got \(4,\) and \(5,\)'):
    _make(_network(), _network(False, output_size=5))
  # 1 would broadcast.
  with pytest.raises(ValueError, match=r'one shape, got \(4,\) and \(1,\)'):
    _make(_network(), _network(False, output_size=1))


def test_target_must_be_frozen():
  with pytest.raises(
      ValueError, match='4 trainable variables.*target_rnd_network.trainable ='
  ):
    _make(_network(), _network())


@pytest.mark.parametrize('which', ['rnd_network', 'target_rnd_network'])
@pytest.mark.parametrize(
    'wrong',
    [
        tf.TensorSpec([2], tf.float32),
        tf.TensorSpec([3, 1], tf.float32),
        {'x': _BOX},
        (_BOX, _BOX),
        tf.TensorSpec([3], tf.int32),
    ],
    ids=['size', 'rank', 'dict', 'tuple', 'dtype'],
)
def test_wrong_input_is_refused(wrong, which):
  networks = {'rnd_network': _network(), 'target_rnd_network': _network(False)}
  networks[which] = _network(which == 'rnd_network', spec=wrong)
  with pytest.raises(
      ValueError, match=rf'^{which} does not take.*curiosity.observation_spec'
  ):
    _make(networks['rnd_network'], networks['target_rnd_network'])


def test_networks_on_the_environments_own_spec_are_refused():
  # Discrete observations reach RND one-hot, bytes as floats, and of stacked
  # frames one alone: building on the raw spec is the likely mistake.
  choice = encoders.discrete_spec(5)
  frames = tf.TensorSpec([6, 6, 4], tf.uint8)
  newest = curiosity.newest_frame_observation_fn
  for spec, observation_fn in (
      (choice, None), (frames, None), (frames, newest)
  ):
    with pytest.raises(ValueError, match='curiosity.observation_spec'):
      _make(
          _network(spec=spec),
          _network(False, spec=spec),
          spec,
          observation_fn=observation_fn,
      )
    right = curiosity.observation_spec(spec, observation_fn)
    rnd = _make(
        _network(spec=right),
        _network(False, spec=right),
        spec,
        observation_fn=observation_fn,
    )
    bonus = rnd.bonus(_to(tf.ones([2, 3] + spec.shape, spec.dtype)))
    assert bonus.shape == [2, 3] and (bonus.numpy() > 0).all()


@pytest.mark.parametrize(
    ('observation_fn', 'message'),
    [
        (
            curiosity.key_observation_fn('imgae'),
            r"fails on .* shapes \{'image': \[6, 6, 4\]\}: KeyError",
        ),
        (
            curiosity.newest_frame_observation_fn,
            # KeyError since Python 3.12, in which slices can be keys.
            '^observation_fn newest_frame_observation_fn fails on .*'
            '(Type|Key)Error',
        ),
    ],
)
def test_a_function_of_other_observations(observation_fn, message):
  spec = {'image': tf.TensorSpec([6, 6, 4], tf.uint8)}
  with pytest.raises(ValueError, match=message):
    curiosity.observation_spec(spec, observation_fn)
  right = curiosity.observation_spec(
      spec, curiosity.key_observation_fn('image')
  )
  assert right == tf.TensorSpec([6, 6, 4], tf.float32)


def test_networks_built_late():
  # A network that was given no input spec is built on what RND sees.
  def late(trainable):
    network = sequential.Sequential([tf.keras.layers.Dense(4)])
    if not trainable:
      network.trainable = False
    return network

  rnd = _make(late(True), late(False))
  assert [tuple(v.shape) for v in rnd.trainable_variables] == [(3, 4), (4,)]
  kernels = [
      network.variables[0].numpy()
      for network in (rnd.rnd_network, rnd.target_rnd_network)
  ]
  inputs = np.float32([[1.0, -2.0, 0.5]])
  np.testing.assert_allclose(
      rnd.bonus(_to(inputs)),
      np.square(inputs @ (kernels[0] - kernels[1])).mean(-1),
      rtol=1e-5,
  )
