# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for networks that compute equal observations once."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents.networks import encoders
from rnd_agents.networks import equal_rows
from rnd_agents.networks import rnd_network

_SPEC = {
    'cell': tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3),
    'view': tensor_spec.BoundedTensorSpec([6, 6, 2], tf.uint8, 0, 255),
}


def _observations(num_rows, num_views, seed=0):
  """Rows of `num_views` views and four cells, in random order."""
  generator = np.random.default_rng(seed)
  views = generator.integers(0, 256, [num_views, 6, 6, 2], np.uint8)
  return {
      'cell': generator.integers(0, 4, num_rows),
      'view': views[generator.integers(0, num_views, num_rows)],
  }


def _tensors(observations, outer_shape=(-1,)):
  return {
      key: tf.constant(value.reshape([*outer_shape, *value.shape[1:]]))
      for key, value in observations.items()
  }


def _networks():
  """The same encoder, and the same predictor, merging or not."""
  pairs = [
      [
          encoders.create_encoder(_SPEC, (7,), merge_equal_observations=merges)
          for merges in (False, True)
      ],
      [
          rnd_network.RNDNetwork(
              encoders.float_spec(_SPEC), (7,), 5, merge_equal_observations=m
          )
          for m in (False, True)
      ],
  ]
  for plain, merging in pairs:
    plain.create_variables()
    merging.create_variables()
    for source, target in zip(plain.variables, merging.variables, strict=True):
      target.assign(source)
  return pairs


@pytest.mark.parametrize('outer_shape', [(-1,), (20, 15)])
@pytest.mark.parametrize('index', [0, 1], ids=['encoder', 'RND'])
def test_features_and_gradients_are_those_of_all_rows(index, outer_shape):
  plain, merging = _networks()[index]
  observations = _tensors(_observations(300, 9), outer_shape)
  if index == 1:
    observations = tf.nest.map_structure(
        encoders.encode_discrete, observations, _SPEC
    )
    observations = tf.nest.map_structure(
        lambda x: tf.cast(x, tf.float32), observations
    )
  weights = tf.random.stateless_normal([300, 1], [1, 2])

  @tf.function
  def results(network):
    with tf.GradientTape() as tape:
      features = network(observations)[0]
      rows = tf.reshape(features, [300, -1])
      loss = tf.reduce_sum(weights * tf.sin(rows))
    return features, tape.gradient(loss, network.trainable_variables)

  expected, got = results(plain), results(merging)
  assert got[0].shape == expected[0].shape
  np.testing.assert_allclose(got[0], expected[0], atol=1e-5)
  for one, other in zip(got[1], expected[1], strict=True):
    largest = np.abs(other).max()
    np.testing.assert_allclose(one, other, atol=1e-5 * largest, rtol=0)
  # The order of sums does not depend on the threads: runs resume bit for bit.
  tf.nest.map_structure(
      np.testing.assert_array_equal, got[1], results(merging)[1]
  )


def _seen(observations, outer_shape=(-1,), num_rows=None):
  """Returns the rows that a function is given, in a graph."""
  seen = []

  def function(nest):
    seen.append(nest)
    return tf.cast(nest['cell'], tf.float32)

  @tf.function
  def call(nest):
    result = equal_rows.over_distinct_rows(function, nest, _SPEC)
    return result, seen[-1]

  tensors = _tensors(observations, outer_shape)
  if num_rows is None:
    return tf.nest.map_structure(np.asarray, call(tensors))
  signature = tf.nest.map_structure(
      lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), tensors
  )
  call = call.get_concrete_function(signature)
  return tf.nest.map_structure(np.asarray, call(tensors))


def _distinct_by_hand(observations, multiple=64):
  """Returns the first of equal rows in their order, then row 0 again.

  So often that there are a multiple of 64, or as many as all.
  """
  rows = {}
  for i in range(len(observations['cell'])):
    key = (int(observations['cell'][i]), observations['view'][i].tobytes())
    rows.setdefault(key, i)
  first = list(rows.values())
  while len(first) % multiple and len(first) < len(observations['cell']):
    first.append(0)
  return {key: value[first] for key, value in observations.items()}


def test_each_distinct_row_is_computed_once():
  observations = _observations(200, 5)
  result, seen = _seen(observations)
  expected = _distinct_by_hand(observations)
  assert len(_distinct_by_hand(observations, multiple=1)['cell']) == 20
  assert len(expected['cell']) == 64
  tf.nest.map_structure(np.testing.assert_array_equal, seen, expected)
  np.testing.assert_array_equal(result, observations['cell'])


def test_rows_that_differ_in_one_byte_are_kept_apart():
  view = np.zeros([145, 6, 6, 2], np.uint8)
  view.reshape(145, 72)[np.arange(144), np.arange(144) % 72] = 1
  view[72:144, 0, 0, 0] += 1
  observations = {'cell': np.zeros(145, np.int64), 'view': view}
  _, seen = _seen(observations)
  tf.nest.map_structure(
      np.testing.assert_array_equal, seen, _distinct_by_hand(observations)
  )


@pytest.mark.parametrize('num_rows', [0, 1, 40])
def test_few_rows(num_rows):
  observations = _observations(num_rows, 2)
  result, seen = _seen(observations)
  assert len(seen['cell']) == num_rows  # A step of the policy: as they are.
  np.testing.assert_array_equal(result, observations['cell'])
  # Where the graph does not know how many there are.
  result, seen = _seen(observations, num_rows='unknown')
  assert len(seen['cell']) == len(_distinct_by_hand(observations)['cell'])
  np.testing.assert_array_equal(result, observations['cell'])
