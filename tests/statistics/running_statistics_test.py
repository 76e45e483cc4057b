# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for normalizers, against numpy over everything that was taken in."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import rollout_parts
from rnd_agents.statistics import running_statistics

# A fresh statistic: this many samples of mean 0 and variance 1.
_PRIOR = 1e-4


def _pooled(samples):
  """Mean and variance [N, ...] with the fresh statistic's share."""
  count = _PRIOR + len(samples)
  mean = samples.sum(0) / count
  squares = (samples**2).sum(0) + _PRIOR
  return mean, squares / count - mean**2, count


def _assert_moments(moments, samples):
  found = [moments.mean, moments.variance, moments.count]
  for value, expected in zip(found, _pooled(samples), strict=True):
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


def _maybe_graph(fn, in_graph):
  return tf.function(fn, autograph=False) if in_graph else fn


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('shape', [(), (3,), (2, 3)])
@pytest.mark.parametrize('large', [False, True])
def test_moments_of_all_batches(monkeypatch, shape, in_graph, large):
  if large:  # Taken in row by row of the first axis.
    monkeypatch.setattr(rollout_parts, '_LARGE', 1)
  rng = np.random.default_rng(0)
  moments = running_statistics.RunningMoments(shape)
  _assert_moments(moments, np.zeros([0, *shape]))
  update = _maybe_graph(moments.update, in_graph)
  seen = []
  for outer_shape in ([5], [5], [2, 4], [1]):
    values = rng.normal(3, 2, size=outer_shape + list(shape))
    update(tf.constant(values))
    seen.append(values.reshape([-1, *shape]))
    _assert_moments(moments, np.concatenate(seen))


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('large', [False, True])
def test_moments_of_masked_batches(monkeypatch, in_graph, large):
  if large:
    monkeypatch.setattr(rollout_parts, '_LARGE', 1)
  rng = np.random.default_rng(1)
  moments = running_statistics.RunningMoments([3])
  update = _maybe_graph(moments.update, in_graph)
  seen, everything = [np.zeros([0, 3])], []
  for probability in (0.5, 0.0, 1.0, 0.3):
    values = rng.normal(-2, 4, size=[4, 6, 3])
    mask = rng.random([4, 6]) < probability
    update(tf.constant(values), tf.constant(mask))
    seen.append(values[mask])
    everything.append(values.reshape([-1, 3]))
    _assert_moments(moments, np.concatenate(seen))
  without_mask = _pooled(np.concatenate(everything))[1]
  assert np.abs(moments.variance - without_mask).max() > 0.05


def test_moments_keep_precision_where_float32_has_none():
  # 1e7 + {0, 1} in float32 steps of 1: variance 1/4.
  moments = running_statistics.RunningMoments([])
  for _ in range(50):
    moments.update(tf.constant([1e7, 1e7 + 1] * 10, tf.float32))
  # The fresh statistic's share decays as 1e-4 * 1e14 / n.
  share = _PRIOR / 1000 * 1e14
  np.testing.assert_allclose(moments.variance - share, 0.25, atol=0.01 * share)
  moments.mean.assign(1e7 + 0.5)
  moments.variance.assign(0.25)
  moments.update(tf.constant([1e7, 1e7 + 1], tf.float32))
  np.testing.assert_allclose(moments.variance, 0.25, rtol=1e-9)


def test_whitening_uses_the_moments():
  moments = running_statistics.RunningMoments([2])
  np.testing.assert_array_equal(
      moments.whiten(tf.constant([[0.5, -7.0]]), 5.0), [[0.5, -5.0]]
  )
  moments.mean.assign([2, 100])
  moments.variance.assign([4, 0.25])
  np.testing.assert_array_equal(
      moments.whiten(tf.constant([[3, 100.5], [14, 97]]), 5.0),
      [[0.5, 1], [5, -5]],
  )


_SPEC = {
    'image': tf.TensorSpec([2, 2, 1], tf.uint8),
    'pair': (tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32)),
    'scalar': tf.TensorSpec([], tf.float64),
    'legal': tf.TensorSpec([4], tf.bool),
}


def _observations(rng, outer_shape):
  def normal(mean, scale, *shape):
    return rng.normal(mean, scale, size=[*outer_shape, *shape])

  return {
      'image': tf.constant(rng.integers(0, 256, [*outer_shape, 2, 2, 1]),
                           tf.uint8),
      'pair': (
          tf.constant(normal([4, 5, 6], [0.01, 0.03, 0.02], 3), tf.float32),
          tf.constant(rng.integers(0, 9, outer_shape), tf.int32),
      ),
      'scalar': tf.constant(normal(-100, 30), tf.float64),
      'legal': tf.constant(normal(0, 1, 4) > 0),
  }


@pytest.mark.parametrize('masked', [False, True])
@pytest.mark.parametrize('in_graph', [False, True])
def test_observations_of_all_batches(in_graph, masked):
  rng = np.random.default_rng(2)
  normalizer = running_statistics.ObservationNormalizer(_SPEC, clip_value=1.0)
  update = _maybe_graph(normalizer.update, in_graph)
  normalize = _maybe_graph(normalizer.normalize, in_graph)
  vectors, scalars = [], []
  for outer_shape in ([4, 6], [4, 6], [7]):
    observations = _observations(rng, outer_shape)
    mask = rng.random(outer_shape) < (0.5 if masked else 2)
    update(observations, tf.constant(mask) if masked else None)
    vectors.append(observations['pair'][0].numpy()[mask].astype(np.float64))
    scalars.append(observations['scalar'].numpy()[mask])
  result = normalize(observations)

  for leaf, found, seen in (
      (observations['pair'][0], result['pair'][0], vectors),
      (observations['scalar'], result['scalar'], scalars),
  ):
    mean, variance, _ = _pooled(np.concatenate(seen))
    whitened = (leaf.numpy() - mean) / np.sqrt(variance)
    np.testing.assert_allclose(
        found, whitened.clip(-1, 1), rtol=1e-3, atol=1e-3
    )
    assert found.dtype == leaf.dtype
    assert (np.abs(whitened) > 1).any()
  for leaf in ('image', 'legal'):
    np.testing.assert_array_equal(result[leaf], observations[leaf])
    assert result[leaf].dtype == observations[leaf].dtype
  np.testing.assert_array_equal(result['pair'][1], observations['pair'][1])
  # The same nest, so that the networks take it.
  tf.nest.assert_same_structure(result, observations)


def test_untouched_normalizer_changes_nothing():
  normalizer = running_statistics.ObservationNormalizer(
      tf.TensorSpec([2], tf.float32)
  )
  np.testing.assert_array_equal(
      normalizer.normalize(tf.constant([[0.25, -6.0]])), [[0.25, -5.0]]
  )


def test_normalizer_comes_back_from_a_checkpoint(tmp_path):
  rng = np.random.default_rng(3)
  normalizer = running_statistics.ObservationNormalizer(_SPEC)
  normalizer.update(_observations(rng, [8]))
  probe = _observations(rng, [5])
  before = normalizer.normalize(probe)
  path = tf.train.Checkpoint(normalizer=normalizer).save(tmp_path / 'c')

  other = running_statistics.ObservationNormalizer(_SPEC)
  assert np.abs(other.normalize(probe)['scalar'] - before['scalar']).max() > 1
  status = tf.train.Checkpoint(normalizer=other).restore(path)
  status.assert_consumed()
  after = other.normalize(probe)
  more = _observations(rng, [8])
  normalizer.update(more)
  other.update(more)
  tf.nest.map_structure(np.testing.assert_array_equal, before, after)
  tf.nest.map_structure(
      np.testing.assert_array_equal,
      normalizer.normalize(probe),
      other.normalize(probe),
  )
  # Two floating leaves of three variables each; nothing else is kept.
  assert len(normalizer.variables) == 6
  assert not normalizer.trainable_variables
