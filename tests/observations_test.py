# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what observations become: one rule for all networks."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec

from rnd_agents import observations
from rnd_agents.curiosity import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.statistics import running_statistics

_INT32 = np.iinfo(np.int32)


def _spec(shape, dtype, low, high):
  return tensor_spec.from_spec(
      array_spec.BoundedArraySpec(shape, dtype, low, high, 'seen')
  )


# Spec, and the last words of the line in the log.
_TABLE = {
    'choice': (_spec([], np.int64, 3, 6), 'one-hot of 4, dense'),
    'largest choice': (_spec([], np.int64, 1, 4096), 'one-hot of 4096, dense'),
    'negative choice': (_spec([], np.int64, -2, 0), 'one-hot of 3, dense'),
    'byte': (_spec([], np.uint8, 0, 1), 'one-hot of 2, dense'),
    'many': (
        _spec([], np.int64, 0, 4096), 'whitened by running moments, dense'),
    'bits': (_spec([5], np.int32, 0, 1), 'as it is, dense'),
    'flags': (tf.TensorSpec([3], tf.bool, 'seen'), 'as it is, dense'),
    'choices': (
        _spec([2], np.int64, [0, 1], [5, 3]), 'one-hot of 6, dense'),
    'ram': (
        _spec([128], np.uint8, 0, 255),
        'divided by 255 (whitened with normalize_observations), dense'),
    'stacked ram': (
        _spec([8, 128], np.uint8, 0, 255),
        'divided by 255 (whitened with normalize_observations), dense'),
    'dim picture': (
        _spec([40, 40, 3], np.uint8, 0, 100),
        'divided by 255, a picture [40, 40, 3]'),
    'map of many': (
        _spec([20, 20], np.int32, 0, 70),
        'a random code of 16 numbers for each value, a picture [20, 20, 16]'),
    'counter': (
        _spec([1], np.int32, 0, 100),
        'divided by 100 (whitened with normalize_observations), dense'),
    'signed': (
        _spec([6], np.int32, -128, 127),
        'scaled to 0..1 (whitened with normalize_observations), dense'),
    'blstats': (
        _spec([27], np.int64, _INT32.min, _INT32.max),
        'whitened by running moments, dense'),
    'unbounded': (
        tf.TensorSpec([], tf.int32, 'seen'),
        'whitened by running moments, dense'),
    'last': (_spec([40, 40, 3], np.uint8, 0, 255), 'a picture [40, 40, 3]'),
    'first': (_spec([3, 40, 40], np.uint8, 0, 255), 'a picture [40, 40, 3]'),
    'long': (_spec([3, 210, 160], np.uint8, 0, 255), 'picture [210, 160, 3]'),
    'grey': (_spec([40, 40], np.uint8, 0, 255), 'a picture [40, 40, 1]'),
    'frames': (_spec([4, 84, 84], np.uint8, 0, 255), 'a picture [84, 84, 4]'),
    'colours': (
        _spec([4, 84, 84, 3], np.uint8, 0, 255), 'a picture [84, 84, 12]'),
    'stacked first': (
        _spec([4, 3, 84, 84], np.uint8, 0, 255), 'a picture [84, 84, 12]'),
    'integers': (
        _spec([3, 40, 40], np.int32, 0, 255),
        'divided by 255, a picture [40, 40, 3]'),
    'floats': (
        _spec([40, 40], np.float32, 0, 255),
        'divided by 255, a picture [40, 40, 1]'),
    'scaled': (
        _spec([4, 84, 84], np.float32, 0, 1),
        'as it is (whitened with normalize_observations), a picture [84, 84, 4]'
    ),
    'planes': (
        _spec([7, 7, 20], np.uint8, 0, 1), 'as it is, a picture [7, 7, 20]'),
    'board': (
        _spec([3, 6, 7], np.int32, 0, 1), 'as it is, a picture [6, 7, 3]'),
    'wide board': (
        _spec([6, 7, 10], np.int32, 0, 1), 'as it is, a picture [6, 7, 10]'),
    'kinds': (
        _spec([7, 7, 3], np.uint8, 0, 10), 'one-hot of 11, a picture [7, 7, 33]'
    ),
    'map': (_spec([8, 9], np.int64, 0, 3), 'one-hot of 4, a picture [8, 9, 4]'),
    'glyphs': (
        _spec([21, 79], np.int32, 0, 5976),
        'a random code of 16 numbers for each value, a picture [21, 79, 16]'),
    'numbers': (
        tf.TensorSpec([4], tf.float32, 'seen'),
        'as it is (whitened with normalize_observations), dense'),
    'DeepSea': (
        _spec([10, 10], np.float32, 0, 1),
        'as it is (whitened with normalize_observations), dense'),
}


@pytest.mark.parametrize('name', _TABLE)
def test_every_kind_of_space(name):
  spec, words = _TABLE[name]
  (line,) = observations.describe_observations(spec)
  assert line.startswith("observation 'seen': ") and line.endswith(words)
  value = tensor_spec.sample_spec_nest(spec, seed=0, outer_dims=(2, 3))
  if name == 'numbers':
    value = tf.zeros_like(value)
  own = observations.treatment(spec)
  encoded = own.encode(value)
  assert encoded.shape[2:] == own.encoded_shape
  # Whoever whitens nothing gives networks inputs that do not saturate them.
  features = encoders.create_encoder(spec, (16,))(value)[0]
  assert features.shape == [2, 3, 16]
  assert np.mean(np.abs(features) > 0.99) < 0.2
  # Curiosities see the same.
  seen = curiosity.SeenObservations(spec)
  assert seen.spec.shape == own.encoded_shape
  np.testing.assert_array_equal(
      tf.cast(seen.select(value), tf.float32), tf.cast(encoded, tf.float32)
  )


def test_layouts_of_a_picture_are_one_picture():
  frames = np.random.default_rng(0).integers(0, 256, [4, 60, 80, 3], np.uint8)
  expected = np.moveaxis(frames, 0, 2).reshape([60, 80, 12])
  for shown, picture in (
      (frames, expected),  # Gymnasium's stack of colours.
      (np.moveaxis(frames, 3, 1), expected),
      (np.moveaxis(expected, 2, 0), expected),
      (expected, expected),
      (np.moveaxis(frames, 0, -2), expected),
      (frames[0, ..., 0], frames[0, ..., :1]),
  ):
    own = observations.treatment(_spec(shown.shape, np.uint8, 0, 255))
    assert own.kind == observations.PIXELS
    np.testing.assert_array_equal(own.encode(shown[np.newaxis])[0], picture)


@pytest.mark.parametrize('spec', [
    _spec([], np.int64, 0, 4),
    _spec([2], np.int64, 0, 4),
    _spec([16, 16, 3], np.uint8, 0, 255),
])
def test_a_key_called_words_is_no_text(spec):
  named = tensor_spec.BoundedTensorSpec(
      spec.shape, spec.dtype, spec.minimum, spec.maximum, 'observation/words'
  )
  assert observations.treatment(named) == observations.treatment(spec)


_clock = curiosity.key_observation_fn('clock')


@pytest.mark.parametrize(
    ('dtype', 'base', 'observation_fn'),
    [
        (np.int64, 2**40, None),
        (np.int64, 2**40, _clock),
        (np.int32, 1_700_000_000, _clock),
        (np.int64, 1_700_000_000, lambda x: tf.cast(_clock(x), tf.uint32)),
    ],
)
def test_curiosities_tell_clocks_apart(dtype, base, observation_fn):
  spec = {
      'byte': _spec([], np.uint8, 0, 255),
      'clock': _spec([], dtype, 0, np.iinfo(dtype).max),
  }
  values = np.arange(base, base + 1001, dtype=dtype)
  given = {'byte': np.zeros(1001, np.uint8), 'clock': values}
  if observation_fn is None:
    spec, given = spec['clock'], values
  seen = curiosity.SeenObservations(spec, observation_fn)
  seen.update(given)
  whitened = seen.whiten(given)
  assert whitened.dtype == tf.float32
  # float32 holds every 128th second of today.
  assert len(np.unique(whitened)) == 1001
  np.testing.assert_allclose(
      whitened, (values - values.mean()) / values.std(), atol=1e-3
  )


def test_what_functions_select_is_float64_where_float32_is_too_small():
  spec = {
      'byte': _spec([2], np.uint8, 0, 255),
      'clock': _spec([], np.int64, 0, 2**50),
      'float': _spec([2], np.float32, -1, 1),
      'name': _spec([], np.int64, 0, 4),
  }
  zeros = tf.nest.map_structure(
      lambda leaf: tf.zeros([3, *leaf.shape], leaf.dtype), spec
  )
  seen = curiosity.SeenObservations(spec, lambda observation: observation)
  selected = seen.select(zeros)
  assert {key: leaf.dtype.name for key, leaf in selected.items()} == dict(
      byte='float32', clock='float64', float='float32', name='float32'
  )


def test_codes_by_hand():
  grid = np.random.default_rng(0).integers(0, 3, [5, 6])
  own = observations.treatment(_spec([5, 6], np.int64, 0, 2))
  np.testing.assert_array_equal(own.encode(grid), np.eye(3)[grid])
  own = observations.treatment(_spec([2], np.int64, [1, 0], [3, 1]))
  np.testing.assert_array_equal(
      own.encode(np.array([[3, 1]])), [[0, 0, 0, 1, 0, 1, 0, 0]]
  )
  own = observations.treatment(_spec([5, 6], np.int32, 0, 999))
  values = np.array([7, 7, 8])[:, np.newaxis, np.newaxis]
  first, same, other = own.encode(np.broadcast_to(values, [3, 5, 6]))
  np.testing.assert_array_equal(first, same)
  assert np.abs(first - other).max() > 0.5


@pytest.mark.parametrize('normalize', [False, True])
def test_what_agents_whiten(normalize):
  spec = {
      'byte': _spec([2], np.uint8, 0, 255),
      'clock': _spec([1], np.int64, 0, 2**40),
      'float': tf.TensorSpec([2], tf.float32),
      'picture': _spec([40, 40], np.uint8, 0, 255),
      'pair': _spec([2], np.int64, 0, 4),
  }
  network = factory.create_networks(
      spec, encoders.discrete_spec(2), rnd_networks_fn=None
  ).actor_net
  normalizer = running_statistics.create_observation_normalizer(
      spec, network.input_tensor_spec, normalize
  )
  assert normalizer.whitened == [normalize, True, normalize, False, False]
  rng = np.random.default_rng(0)
  value = {
      'byte': tf.constant(rng.integers(100, 110, [64, 2], np.uint8)),
      # 24 bits would not tell these apart.
      'clock': tf.constant(2**39 + rng.integers(0, 100, [64, 1])),
      'float': tf.constant(rng.normal(100, 3, [64, 2]), tf.float32),
      'picture': tf.zeros([64, 40, 40], tf.uint8),
      'pair': tf.constant(rng.integers(0, 5, [64, 2])),
  }
  normalizer.update(value)
  whitened = normalizer.normalize(value)
  for name in ('byte', 'clock', 'float') if normalize else ('clock',):
    assert whitened[name].dtype == tf.float32
    np.testing.assert_allclose(np.std(whitened[name], 0), 1, rtol=1e-2)
    np.testing.assert_allclose(np.mean(whitened[name], 0), 0, atol=1e-2)
  network(whitened)  # Takes both.
  network(value)
  # Networks of other builders take integers as integers, as they say.
  assert running_statistics.create_observation_normalizer(
      spec['clock'], spec['clock'], False
  ) is None


@pytest.mark.parametrize(
    ('whitened', 'told'),
    [
        ((), ['far', 'clock']),  # An agent that whitens nothing.
        ([True, False, True], []),
        ([False, False, True], ['far']),
        (None, ['far']),  # What R2D3Agent and RNDPPOAgent do by default.
    ],
)
def test_what_networks_see_out_of_scale(whitened, told):
  spec = [
      tensor_spec.BoundedTensorSpec([2], tf.float32, -1e9, 1e9, 'far'),
      tensor_spec.BoundedTensorSpec([2], tf.uint8, 0, 255, 'byte'),
      tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2**40, 'clock'),
  ]
  lines = list(observations.out_of_scale(spec, [101.0, 255, 7], whitened))
  assert [line.split("'")[1] for line in lines] == told
