# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of large rollouts in parts give what the whole would."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import rollout_parts


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
@pytest.mark.parametrize(
    ('num_environments', 'num_frames', 'rows'),
    # At most 12 frames a part: the largest divisor of B that fits.
    [(6, 4, 3), (6, 3, 3), (6, 12, 1), (6, 20, 1), (7, 2, 1), (4, 1, 4)],
)
def test_parts_together_are_the_whole(
    monkeypatch, num_environments, num_frames, rows, in_graph
):
  monkeypatch.setattr(rollout_parts, '_max_frames', lambda: 12)
  rng = np.random.default_rng(num_environments * num_frames)
  images = rng.integers(
      0, 255, [num_environments, num_frames, 64, 64, 1], dtype=np.uint8
  )
  factors = rng.normal(size=[num_environments]).astype(np.float32)
  seen = []

  def function(observations, of_row):
    seen.append(observations['image'].shape[:2].as_list())
    sums = tf.reduce_sum(tf.cast(observations['image'], tf.float32), [2, 3, 4])
    return tf.cumsum(sums, axis=1) * of_row[:, tf.newaxis]

  def whole():
    return rollout_parts.by_environment(
        function, {'image': tf.constant(images)}, tf.constant(factors)
    )

  result = tf.function(whole, autograph=False)() if in_graph else whole()
  sums = images.astype(np.float64).sum((2, 3, 4))
  np.testing.assert_allclose(
      result, sums.cumsum(1) * factors[:, np.newaxis], rtol=1e-6
  )
  assert set(map(tuple, seen)) == {(rows, num_frames)}


def test_small_observations_stay_in_one_piece():
  seen = []

  def function(observations):
    seen.append(tuple(observations.shape))
    return observations[..., 0, 0]

  rollout_parts.by_environment(function, tf.ones([6, 400, 63, 64]))
  assert seen == [(6, 400, 63, 64)]


def test_a_batch_of_unknown_size_goes_one_by_one():
  @tf.function(input_signature=[tf.TensorSpec([None, 2, 64, 64], tf.float32)])
  def means(images):
    return rollout_parts.by_environment(
        lambda x: tf.reduce_mean(x, axis=[2, 3]) + 0.0, images
    )

  images = np.random.default_rng(0).normal(size=[3, 2, 64, 64])
  np.testing.assert_allclose(
      means(images.astype(np.float32)), images.mean((2, 3)), atol=1e-6
  )
