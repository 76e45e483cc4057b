# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for encoders: what reaches the first layer, and what it makes of it."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents import words
from rnd_agents.networks import encoders

_BOX = tf.TensorSpec([2], tf.float32)
_CHOICE = tensor_spec.BoundedTensorSpec([], tf.int32, 3, 6)


def _image_spec(shape, maximum, dtype=tf.uint8):
  return tensor_spec.BoundedTensorSpec(shape, dtype, 0, maximum)


def _features(spec, observation, **kwargs):
  """What the fully connected layers would be given."""
  encoder = encoders.create_encoder(spec, fc_layer_params=(), **kwargs)
  return encoder(observation)[0].numpy()


def test_one_hot_counts_from_the_minimum():
  one_hot = encoders.encode_discrete(tf.constant([3, 4, 6]), _CHOICE)
  expected = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
  np.testing.assert_array_equal(one_hot, expected)
  observation = tf.constant([3, 4, 6], tf.int32)
  np.testing.assert_array_equal(_features(_CHOICE, observation), expected)


_WORDS = tensor_spec.BoundedTensorSpec(
    [5], tf.uint8, 0, 9, words.spec_name('mission')
)


def test_words_are_embedded_in_their_order_and_padding_is_nothing():
  texts = tf.constant(
      [[2, 3, 0, 0, 0], [3, 2, 0, 0, 0], [2, 3, 4, 5, 6], [1, 3, 0, 0, 0],
       [0, 0, 0, 0, 0]],
      tf.uint8,
  )
  encoder = encoders.create_encoder(_WORDS, fc_layer_params=())
  features = encoder(texts)[0].numpy()
  assert features.shape == (5, 64)
  assert len(np.unique(features, axis=0)) == 5
  # Whatever else is in the batch.
  np.testing.assert_allclose(encoder(texts[:1])[0], features[:1], atol=1e-6)
  # Axes of batch and time.
  sequences = encoder(texts[:, None])[0]
  np.testing.assert_allclose(sequences[:, 0], features, atol=1e-6)


def test_curiosities_see_which_words_there_are():
  text = tf.constant([[2, 3, 3, 0, 0]], tf.uint8)
  seen = encoders.encode_discrete(text, _WORDS)
  np.testing.assert_array_equal(seen, [[1, 0, 1, 1, 0, 0, 0, 0, 0, 0]])
  assert encoders.float_spec(_WORDS).shape == [10]


def test_one_hot_below_zero():
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, -2, 0)
  np.testing.assert_array_equal(
      _features(spec, tf.constant([-2, 0], tf.int64)), [[1, 0, 0], [0, 0, 1]]
  )


def _one_pixel_conv(spec, image, activation='linear', rtol=1e-5, **kwargs):
  """A 1x1 convolution with weight 2 and bias -0.5 over an image."""
  encoder = encoders.create_encoder(
      spec,
      fc_layer_params=(),
      conv_layers=((1, 1, 1),),
      conv_activation=activation,
      **kwargs,
  )
  encoder.create_variables()
  kernel, bias = encoder.variables
  kernel.assign(tf.fill(kernel.shape, 2.0))
  bias.assign([-0.5])
  eager = encoder(image)[0].numpy()
  graph = tf.function(lambda x: encoder(x)[0], autograph=False)(image).numpy()
  np.testing.assert_allclose(graph, eager, rtol)
  return eager


@pytest.mark.parametrize(
    ('spec', 'scale'),
    [
        (_image_spec([2, 3, 1], 255), 1 / 255),
        (tf.TensorSpec([2, 3, 1], tf.uint8), 1 / 255),
        (_image_spec([2, 3, 1], 33), 1 / 255),
        (_image_spec([2, 3, 1], 255, tf.float32), 1 / 255),
        (_image_spec([2, 3, 1], 255, tf.int32), 1 / 255),
        (_image_spec([2, 3, 1], 1), 1),  # MiniGrid's planes.
        (_image_spec([2, 3, 1], 30, tf.float32), 1),
    ],
)
def test_bytes_are_scaled_and_small_ranges_are_not(spec, scale):
  image = np.array([[0, 1, 30], [2, 3, 5]]).reshape([1, 2, 3, 1])
  features = _one_pixel_conv(spec, tf.cast(image, spec.dtype))
  np.testing.assert_allclose(
      features, image.reshape([1, 6]) * scale * 2 - 0.5, rtol=1e-5
  )


@pytest.mark.parametrize('exponent', [0.5, 0.25, 0.3, 2.0])
@pytest.mark.parametrize(
    ('compute_dtype', 'rtol'), [('float32', 1e-5), ('bfloat16', 0.02)]
)
def test_pixels_are_raised_to_a_power(exponent, compute_dtype, rtol):
  image = np.array([[0, 1, 16], [94, 254, 255]]).reshape([1, 2, 3, 1])
  features = _one_pixel_conv(
      _image_spec([2, 3, 1], 255),
      tf.cast(image, tf.uint8),
      pixel_exponent=exponent,
      compute_dtype=compute_dtype,
      rtol=rtol,
  )
  expected = (image.reshape([1, 6]) / 255) ** exponent * 2 - 0.5
  np.testing.assert_allclose(features, expected, rtol, atol=rtol)


@pytest.mark.parametrize('exponent', [1.0, 0.5])
@pytest.mark.parametrize(
    ('compute_dtype', 'rtol'), [('float32', 1e-5), ('bfloat16', 0.02)]
)
def test_pixels_are_standardized(exponent, compute_dtype, rtol):
  image = np.array([[0, 1, 16], [94, 254, 255]]).reshape([1, 2, 3, 1])
  features = _one_pixel_conv(
      _image_spec([2, 3, 1], 255),
      tf.cast(image, tf.uint8),
      pixel_exponent=exponent,
      pixel_mean=0.4,
      pixel_deviation=0.25,
      compute_dtype=compute_dtype,
      rtol=rtol,
  )
  pixels = (image.reshape([1, 6]) / 255) ** exponent
  expected = (pixels - 0.4) / 0.25 * 2 - 0.5
  np.testing.assert_allclose(features, expected, rtol, atol=4 * rtol)


@pytest.mark.parametrize('compute_dtype', ['float32', 'bfloat16'])
def test_frames_and_floats_are_standardized_in_clones_too(compute_dtype):
  spec = dict(
      floats=_image_spec([5, 5, 1], 255, tf.float32),
      frames=_image_spec([2, 5, 5, 1], 255),
      vector=_BOX,
  )
  rng = np.random.default_rng(0)
  floats = rng.integers(256, size=[3, 5, 5, 1])
  frames = rng.integers(256, size=[3, 2, 5, 5, 1])
  vector = rng.integers(3, size=[3, 2])
  encoder = encoders.create_encoder(
      spec,
      fc_layer_params=(),
      conv_layers=((1, 1, 1),),
      conv_activation='linear',
      pixel_exponent=0.5,
      pixel_mean=0.4,
      pixel_deviation=0.25,
      compute_dtype=compute_dtype,
  )
  clone = encoder.copy(name='Clone')
  observation = dict(
      floats=tf.cast(floats, tf.float32),
      frames=tf.cast(frames, tf.uint8),
      vector=tf.cast(vector, tf.float32),
  )

  def seen(pixels):
    return (np.sqrt(pixels / 255) - 0.4) / 0.25

  expected = np.concatenate(
      [
          3 * seen(floats).reshape([3, 25]) + 3,
          3 * seen(frames).sum(axis=1).reshape([3, 25]) + 3,
          vector,
      ],
      axis=1,
  )
  rtol = 1e-5 if compute_dtype == 'float32' else 0.02
  for network in (encoder, clone):
    network.create_variables()
    for variable in network.variables:
      variable.assign(tf.fill(variable.shape, 3.0))
    np.testing.assert_allclose(
        network(observation)[0].numpy(), expected, rtol, atol=4 * rtol
    )


def test_codes_beside_pixels_are_no_pixels():
  spec = (_image_spec([2, 3, 1], 255), _image_spec([2, 3, 1], 1))
  image = tf.cast(np.full([1, 2, 3, 1], 1), tf.uint8)
  encoder = encoders.create_encoder(
      spec,
      fc_layer_params=(),
      conv_layers=((1, 1, 1),),
      pixel_exponent=0.5,
  )
  encoder.create_variables()
  for variable in encoder.variables:
    variable.assign(tf.fill(variable.shape, 3.0))
  features = encoder((image, image))[0].numpy()
  np.testing.assert_allclose(
      features, [[(1 / 255) ** 0.5 * 3 + 3] * 6 + [1 * 3 + 3] * 6], rtol=1e-5
  )


@pytest.mark.parametrize(
    ('spec', 'exponent', 'words'),
    [
        (_image_spec([6, 6, 1], 255), 0.0, 'must be above 0'),
        (_image_spec([6, 6, 1], 9), 0.5, 'has no effect'),
        (_image_spec([6, 6, 1], 1, tf.float32), 0.5, 'has no effect'),
        (_image_spec([4, 4, 1], 255), 0.5, 'has no effect'),  # Too small.
        (_BOX, 0.5, 'has no effect'),
    ],
)
def test_exponents_in_vain_are_refused(spec, exponent, words):
  with pytest.raises(ValueError, match=f'pixel_exponent {words}'):
    encoders.create_encoder(spec, pixel_exponent=exponent)


@pytest.mark.parametrize(
    ('spec', 'name', 'value', 'words'),
    [
        (_image_spec([6, 6, 1], 255), 'pixel_mean', 102, 'between 0 and 1'),
        (_image_spec([6, 6, 1], 255), 'pixel_deviation', 0.0, 'above 0'),
        (_BOX, 'pixel_mean', 0.4, 'has no effect'),
        (_image_spec([6, 6, 1], 9), 'pixel_deviation', 0.3, 'has no effect'),
    ],
)
def test_standards_of_pixels_are_checked(spec, name, value, words):
  with pytest.raises(ValueError, match=f'{name}.* {words}'):
    encoders.create_encoder(spec, **{name: value})


def test_activation_of_convolutions():
  image = tf.constant([[[[0.0], [0.25]], [[1.0], [0.1]]]])
  spec = tf.TensorSpec([2, 2, 1], tf.float32)
  np.testing.assert_allclose(
      _one_pixel_conv(spec, image, 'relu'), [[0, 0, 1.5, 0]]
  )


@pytest.mark.parametrize(
    ('shape', 'kernels'),
    [
        ([84, 84, 4], [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64)]),
        ([36, 50, 1], [(8, 8, 1, 32), (4, 4, 32, 64), (3, 3, 64, 64)]),
        ([50, 35, 1], [(4, 4, 1, 16), (3, 3, 16, 32)]),
        ([12, 12, 3], [(4, 4, 3, 16), (3, 3, 16, 32)]),
        ([11, 30, 3], [(3, 3, 3, 32), (3, 3, 32, 64)]),
        ([7, 7, 3], [(3, 3, 3, 32), (3, 3, 32, 64)]),
        ([5, 5, 3], [(3, 3, 3, 32), (3, 3, 32, 64)]),
        ([4, 9, 3], []),
    ],
)
def test_convolutions_fit_the_image(shape, kernels):
  spec = _image_spec(shape, 255)
  encoder = encoders.create_encoder(spec, fc_layer_params=())
  encoder.create_variables()
  found = [tuple(v.shape) for v in encoder.variables if v.shape.rank == 4]
  assert found == kernels


def test_without_convolutions_images_are_vectors():
  image = np.arange(2 * 4 * 4 * 3).reshape([2, 4, 4, 3]).astype(np.uint8)
  for kwargs in ({}, {'conv_layers': ()}):
    np.testing.assert_allclose(
        _features(_image_spec([4, 4, 3], 255), image, **kwargs),
        image.reshape([2, -1]) / 255,
        rtol=1e-6,
    )


_MIXED = {
    'b': _BOX,
    'c': _CHOICE,
    'a': tf.TensorSpec([2, 2], tf.float64),
    'd': (tf.TensorSpec([], tf.bool),),
}


def _mixed(batch_shape, seed=0):
  rng = np.random.default_rng(seed)
  return {
      'b': tf.constant(rng.normal(size=batch_shape + [2]), tf.float32),
      'c': tf.constant(rng.integers(3, 7, batch_shape), tf.int32),
      'a': tf.constant(rng.normal(size=batch_shape + [2, 2])),
      'd': (tf.constant(rng.random(batch_shape) < 0.5),),
  }


def _mixed_by_hand(observation):
  """Leaves in the order of their keys, flattened."""
  return np.concatenate(
      [
          observation['a'].numpy().reshape([-1, 4]),
          observation['b'].numpy(),
          np.eye(4)[observation['c'].numpy() - 3],
          observation['d'][0].numpy().reshape([-1, 1]),
      ],
      axis=1,
  )


def test_leaves_are_concatenated():
  observation = _mixed([5])
  expected = _mixed_by_hand(observation)
  assert expected.shape == (5, 11) and len(np.unique(expected[:, -1])) == 2
  np.testing.assert_allclose(
      _features(_MIXED, observation), expected, rtol=1e-6
  )


@pytest.mark.parametrize('activation', ['tanh', 'relu'])
def test_dense_layers_by_hand(activation):
  observation = _mixed([5])
  encoder = encoders.create_encoder(
      _MIXED, fc_layer_params=(8, 6, 6), activation=activation
  )
  features = encoder(observation)[0].numpy()
  expected = _mixed_by_hand(observation)
  fn = np.tanh if activation == 'tanh' else lambda x: np.maximum(x, 0)
  kernels = []
  for kernel, bias in zip(
      encoder.variables[::2], encoder.variables[1::2], strict=True
  ):
    np.testing.assert_array_equal(bias, 0 * bias)
    expected = fn(expected @ kernel.numpy() + bias.numpy())
    kernels.append(kernel.numpy())
  np.testing.assert_allclose(features, expected, atol=1e-5)
  # Orthogonal with gain sqrt 2; layers of one shape differ.
  for kernel in kernels:
    np.testing.assert_allclose(np.linalg.svd(kernel)[1], 2**0.5, rtol=1e-5)


@pytest.mark.parametrize('spec', ['several leaves', 'one leaf'])
def test_layer_norm_by_hand(spec):
  observation = _mixed([3, 5])
  leaves = _mixed_by_hand(
      tf.nest.map_structure(
          lambda x: tf.reshape(x, [15, *x.shape[2:]]), observation
      )
  )
  spec, observation, expected = {
      'several leaves': (_MIXED, observation, leaves),
      'one leaf': (_BOX, observation['b'], leaves[:, 4:6]),
  }[spec]
  encoder = encoders.create_encoder(spec, (8, 6), layer_norm=True)
  encoder.create_variables()
  rng = np.random.default_rng(3)
  for variable in encoder.variables:
    variable.assign(rng.normal(size=variable.shape))
  # Of each layer: kernel, bias; scale and offset of the normalization.
  weights = iter([variable.numpy() for variable in encoder.variables])
  for kernel, bias, scale, offset in zip(*4 * [weights], strict=True):
    assert scale.shape == offset.shape == bias.shape
    outputs = expected @ kernel + bias
    centred = outputs - outputs.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-3)
    expected = np.tanh(scale * centred / deviation + offset)
  np.testing.assert_allclose(
      encoder(observation)[0], expected.reshape([3, 5, 6]), atol=1e-5
  )


def test_layer_norm_without_layers_is_refused():
  with pytest.raises(errors.InvalidValue, match='layer_norm'):
    encoders.create_encoder(_BOX, (), layer_norm=True)


@pytest.mark.parametrize(
    ('spec', 'observation'),
    [
        (_MIXED, _mixed([3, 4])),
        (_CHOICE, _mixed([3, 4])['c']),
        (_BOX, _mixed([3, 4])['b']),
        (
            _image_spec([6, 6, 2], 255),
            tf.cast(tf.reshape(tf.range(864) % 251, [3, 4, 6, 6, 2]), tf.uint8),
        ),
    ],
    ids=['mixed', 'choice', 'box', 'image'],
)
def test_time_is_one_more_batch_dimension(spec, observation):
  encoder = encoders.create_encoder(spec, fc_layer_params=(8,))
  by_time = encoder(observation)[0].numpy()
  merged = tf.nest.map_structure(
      lambda x: tf.reshape(x, [12] + x.shape[2:]), observation
  )
  at_once = encoder(merged)[0].numpy()
  np.testing.assert_allclose(by_time.reshape([12, 8]), at_once, atol=1e-6)
  assert len(np.unique(at_once[:, 0])) > 1
