# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""IMPALA's residual convolutions against loops over pixels."""

import functools
import math

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import keras_layers
from rnd_agents.networks import precision
from rnd_agents.networks import q_network
from rnd_agents.networks import recurrent_cores

_IMAGE = tensor_spec.BoundedTensorSpec([7, 6, 2], tf.uint8, 0, 255)
_ACTION = encoders.discrete_spec(3)
_GIN = """
    create_encoder.image_layer_fn = @ResNet
    ResNet.channels = (3, 4)
    ResNet.num_blocks = 1
"""


def _images(batch_shape, seed=0):
  rng = np.random.default_rng(seed)
  shape = [*batch_shape, *_IMAGE.shape]
  return tf.constant(rng.integers(0, 256, shape), tf.uint8)


def _stir(variables, scale=0.2):
  """Moves all variables, also biases from 0."""
  rng = np.random.default_rng(0)
  for variable in variables:
    variable.assign_add(scale * rng.normal(size=variable.shape))


# ------------------------------------------------------------------ slow layers
def _slow_conv(x, kernel, bias):
  """3x3, stride 1, a frame of zeros: one output number after the other."""
  height, width, _ = x.shape
  result = np.zeros([height, width, len(bias)])
  for i in range(height):
    for j in range(width):
      total = bias.astype(np.float64)
      for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
          if 0 <= i + di < height and 0 <= j + dj < width:
            total = total + x[i + di, j + dj] @ kernel[di + 1, dj + 1]
      result[i, j] = total
  return result


def _slow_pool(x):
  """Largest of 3x3, stride 2; missing pixels are shared, the odd one behind."""
  shape = [math.ceil(n / 2) for n in x.shape[:2]]
  before = [
      max((m - 1) * 2 + 3 - n, 0) // 2 for m, n in zip(shape, x.shape[:2])
  ]
  result = np.zeros([*shape, x.shape[2]])
  for i in range(shape[0]):
    for j in range(shape[1]):
      top, left = 2 * i - before[0], 2 * j - before[1]
      part = x[max(top, 0) : top + 3, max(left, 0) : left + 3]
      result[i, j] = part.max(axis=(0, 1))
  return result


def _slow_resnet(
    x, weights, num_sections, num_blocks, activation, begins_with_cells=False
):
  """Figure 3, right: `weights` are kernels and biases from bottom to top."""
  weights = iter(np.asarray(w, np.float64) for w in weights)

  def conv(x):
    return _slow_conv(x, next(weights), next(weights))

  for section in range(num_sections):
    if section or not begins_with_cells:
      x = _slow_pool(conv(x))
    for _ in range(num_blocks):
      first = conv(activation(x))
      x = x + conv(activation(first))
  assert not list(weights)
  return activation(x).reshape([-1])


@pytest.mark.parametrize('wrap', [lambda f: f, tf.function])
@pytest.mark.parametrize('num_blocks', [1, 2])
@pytest.mark.parametrize('activation', ['relu', 'tanh'])
def test_is_figure_3(wrap, num_blocks, activation):
  gin.bind_parameter('ResNet.channels', (3, 4))
  gin.bind_parameter('ResNet.num_blocks', num_blocks)
  encoder = encoders.create_encoder(
      _IMAGE, (), conv_activation=activation, image_layer_fn=keras_layers.ResNet
  )
  encoder.create_variables()
  _stir(encoder.variables)
  images = _images([3])
  features = wrap(lambda x: encoder(x)[0])(images)
  fn = np.tanh if activation == 'tanh' else lambda x: np.maximum(x, 0)
  # 7 x 6, 4 x 3, 2 x 2.
  assert features.shape == [3, 2 * 2 * 4]
  for image, row in zip(images.numpy(), features, strict=True):
    np.testing.assert_allclose(
        row,
        _slow_resnet(image / 255, encoder.variables, 2, num_blocks, fn),
        rtol=1e-4,
        atol=1e-5,
    )


def test_begins_with_patches():
  make = functools.partial(keras_layers.ResNet, (3, 4), 1, patch_size=2)
  # 7 x 6: the last row of pixels is not seen.
  encoder = encoders.create_encoder(_IMAGE, (), image_layer_fn=make)
  encoder.create_variables()
  _stir(encoder.variables)
  images = _images([3])
  kernel, bias, *others = (x.numpy() for x in encoder.variables)
  assert kernel.shape == (2, 2, 2, 3)
  for image, row in zip(images.numpy(), encoder(images)[0], strict=True):
    cells = np.array([
        [
            bias + np.tensordot(image[i : i + 2, j : j + 2] / 255, kernel, 3)
            for j in (0, 2, 4)
        ]
        for i in (0, 2, 4)
    ])
    np.testing.assert_allclose(
        row,
        _slow_resnet(cells, others, 2, 1, lambda x: np.maximum(x, 0), True),
        rtol=1e-4,
        atol=1e-5,
    )


def test_whole_numbers_may_be_written_as_floats():
  layer = keras_layers.ResNet((3.0, 4.0), 1.0, patch_size=2.0)
  assert layer(_images([3])).shape == [3, 2 * 2 * 4]


def test_a_patch_is_no_larger_than_the_image():
  make = functools.partial(keras_layers.ResNet, patch_size=7)
  encoder = encoders.create_encoder(_IMAGE, (), image_layer_fn=make)
  with pytest.raises(
      ValueError, match=r'ResNet.patch_size .* at most 6, .*\(7, 6\), got 7'
  ):
    encoder.create_variables()


def test_sees_pixels_raised_to_a_power():
  dim = encoders.create_encoder(
      _IMAGE, (), image_layer_fn=keras_layers.ResNet, pixel_exponent=0.5
  )
  given = encoders.create_encoder(
      tf.TensorSpec(_IMAGE.shape, tf.float32),
      (),
      image_layer_fn=keras_layers.ResNet,
  )
  for encoder in (dim, given):
    encoder.create_variables()
  _stir(dim.variables)
  for theirs, ours in zip(given.variables, dim.variables, strict=True):
    theirs.assign(ours)
  images = _images([3])
  features = dim(images)[0]
  assert np.abs(features).max() > 0.1
  np.testing.assert_allclose(
      features, given(np.sqrt(images.numpy() / 255, dtype=np.float32))[0],
      rtol=1e-4, atol=1e-5,
  )


def test_sizes_of_the_paper():
  encoder = encoders.create_encoder(
      tf.TensorSpec([84, 84, 4], tf.uint8),
      (256,),
      activation='relu',
      image_layer_fn=keras_layers.ResNet,
  )
  encoder.create_variables()
  count = 0
  before = 4
  for channels in (16, 32, 32):
    count += 9 * before * channels + channels
    count += 2 * 2 * (9 * channels**2 + channels)
    before = channels
  count += 11 * 11 * 32 * 256 + 256  # 84, 42, 21, 11.
  found = sum(int(np.prod(v.shape)) for v in encoder.trainable_variables)
  assert found == count
  kernels = [v for v in encoder.variables if v.shape.rank == 4]
  assert len(kernels) == 15
  for kernel in kernels:  # Variance 1 / fan-in: columns of length 1.
    columns = kernel.numpy().reshape([-1, kernel.shape[-1]])
    np.testing.assert_allclose(np.square(columns).sum(0), 1.0, rtol=1e-4)
  # No two begin alike.
  assert np.abs(kernels[1] - kernels[2]).max() > 0.01


def test_bfloat16_in_between():
  gin.parse_config(_GIN)

  def create(dtype):
    return q_network.create_q_networks(
        _IMAGE,
        _ACTION,
        fc_layer_params=(32,),
        core=recurrent_cores.GRUCore(8),
        compute_dtype=dtype,
    ).q_network

  exact, short = create('float32'), create('bfloat16')
  for ours, theirs in zip(short.variables, exact.variables, strict=True):
    assert ours.dtype == theirs.dtype == tf.float32
    ours.assign(theirs)
  layer = keras_layers.ResNet(dtype=precision.layer_policy('bfloat16'))
  assert layer(_images([2])).dtype == tf.bfloat16
  images = _images([64, 3])
  values, expected = (net(images)[0] for net in (short, exact))
  assert values.dtype == tf.float32
  error = np.abs(values - expected).max() / np.abs(expected).max()
  assert 1e-5 < error < 0.03


def _agent(build, seed):
  tf.random.set_seed(seed)
  return build(ts.time_step_spec(_IMAGE), _ACTION)


def test_policies_are_saved_and_restored(tmp_path):
  gin.parse_config(_GIN)
  gin.parse_config('create_q_networks.core = @GRUCore()')
  first, second = (_agent(agents.create_r2d3_agent, seed) for seed in (1, 2))
  _stir(first.policy.variables(), 0.7)
  # From black to white: else one action is best for all.
  brightness = np.linspace(0, 1, 40)[:, np.newaxis, np.newaxis, np.newaxis]
  images = tf.cast(_images([40]).numpy() * brightness, tf.uint8)
  time_step = ts.restart(images, 40)

  def actions(policy):
    state = policy.get_initial_state(40)
    return policy.action(time_step, state).action.numpy()

  expected = actions(first.policy)
  assert len(set(expected)) > 1
  policy_saver.PolicySaver(first.policy, batch_size=None).save(
      str(tmp_path / 'policy')
  )
  loaded = tf.saved_model.load(str(tmp_path / 'policy'))
  np.testing.assert_array_equal(actions(loaded), expected)

  kernels = [v for v in first.policy.variables() if v.shape.rank == 4]
  assert len(kernels) == 2 * 3
  path = tf.train.Checkpoint(agent=first).save(str(tmp_path / 'agent'))
  assert not np.array_equal(actions(second.policy), expected)
  tf.train.Checkpoint(agent=second).restore(path).assert_consumed()
  np.testing.assert_array_equal(actions(second.policy), expected)
  for x, y in zip(
      first.policy.variables(), second.policy.variables(), strict=True
  ):
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ('spec', 'settings', 'words'),
    [
        (_IMAGE, {'image_layer_fn': 3}, '.*function'),
        (
            _IMAGE,
            {'image_layer_fn': keras_layers.ResNet()},
            '.*@ResNet .without brackets',
        ),
        (
            _IMAGE,
            {
                'image_layer_fn': keras_layers.ResNet,
                'conv_layers': ((4, 3, 1),),
            },
            r'.*conv_layers=\(\(4, 3, 1\),\)',
        ),
        (
            tf.TensorSpec([7], tf.float32),
            {'image_layer_fn': keras_layers.ResNet},
            'has no effect',
        ),
    ],
)
def test_layers_that_are_not_asked_for(spec, settings, words):
  with pytest.raises(
      (TypeError, ValueError), match=f'create_encoder.image_layer_fn {words}'
  ):
    encoders.create_encoder(spec, **settings)


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'channels': ()}, 'channels .*section'),
        ({'channels': 16}, 'channels .*section'),
        ({'channels': (16, 0)}, r'channels\[1\] .*integer'),
        ({'num_blocks': 1.5}, 'num_blocks .*integer'),
        ({'patch_size': 0}, 'patch_size .*integer'),
    ],
)
def test_sizes_that_make_no_network(settings, words):
  with pytest.raises(ValueError, match=f'ResNet.{words}'):
    keras_layers.ResNet(**settings)


class _Unregistered(tf.keras.layers.Layer):
  """A layer with get_config whose class Keras does not find by its name."""

  def __init__(self, activation=None, scale=1.0, **kwargs):
    super().__init__(**kwargs)
    self._scale = scale
    self._flatten = tf.keras.layers.Flatten()

  def call(self, inputs):
    return self._flatten(tf.cast(inputs, tf.float32) * self._scale)

  def get_config(self):
    return dict(super().get_config(), scale=self._scale)


class _WithoutConfig(_Unregistered):
  get_config = tf.keras.layers.Layer.get_config


_FRAMES = tensor_spec.BoundedTensorSpec([2, 7, 6, 1], tf.uint8, 0, 255)


@pytest.mark.parametrize(
    ('spec', 'make', 'settings', 'words'),
    [
        (_IMAGE, _WithoutConfig, {}, 'has get_config'),
        (_IMAGE, _Unregistered, {'pixel_mean': 0.3}, 'register_keras'),
        (_IMAGE, _Unregistered, {'pixel_deviation': 0.3}, 'register_keras'),
        (_FRAMES, _Unregistered, {}, 'register_keras'),
        (_IMAGE, lambda **_: 3, {}, 'a Keras layer, got 3'),
    ],
)
def test_layers_that_cannot_be_copied(spec, make, settings, words):
  with pytest.raises(
      errors.InvalidType,
      match=f'^create_encoder.image_layer_fn must return .*{words}',
  ):
    encoders.create_encoder(spec, (), image_layer_fn=make, **settings)


def test_unregistered_layers_that_nothing_comes_before():
  encoder = encoders.create_encoder(_IMAGE, (), image_layer_fn=_Unregistered)
  images = _images([3])
  np.testing.assert_allclose(
      encoder(images)[0], np.reshape(images, [3, 84]) / 255, rtol=1e-6
  )
