# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for rnd_agents.ops.episodic against loops over rows in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import episodic

NUM_ENVS = 5
RIDGE = 0.3


def _rollouts(seed, num_rollouts=4, num_rows=9):
  """Random (starts, counts) [B, R] of rollouts; some begin with a start."""
  rng = np.random.default_rng(seed)
  for _ in range(num_rollouts):
    starts = rng.random([NUM_ENVS, num_rows]) < 0.2
    counts = np.ones_like(starts)
    counts[:, 0] = starts[:, 0]
    yield rng, starts, counts


def _compiled(function, in_graph):
  return tf.function(function, autograph=False) if in_graph else function


@pytest.mark.parametrize('in_graph', [False, True])
def test_first_visits_equal_sets(in_graph):
  visit = _compiled(
      lambda *arguments: episodic.first_visits(*arguments, max_keys=100),
      in_graph,
  )
  seen = [set() for _ in range(NUM_ENVS)]
  memory = tf.zeros([NUM_ENVS, 0], tf.int64)
  num_first = 0
  for rng, starts, counts in _rollouts(0):
    keys = rng.integers(1, 7, starts.shape)
    is_first, memory = visit(
        tf.constant(keys), tf.constant(starts), tf.constant(counts), memory
    )
    for b, t in np.ndindex(starts.shape):
      if starts[b, t]:
        seen[b] = set()
      is_new = counts[b, t] and keys[b, t] not in seen[b]
      assert is_first.numpy()[b, t] == is_new
      num_first += is_new
      if counts[b, t]:
        seen[b].add(keys[b, t])
    assert [set(row[row != 0]) for row in memory.numpy()] == seen
  assert 50 < num_first < 130  # Of 180: both cases are frequent.


def test_the_newest_keys_are_kept():
  keys = tf.constant([[4, 5, 6, 4], [7, 7, 7, 8]], tf.int64)
  nothing = tf.zeros([2, 4], tf.bool)
  memory = tf.constant([[1, 2, 3], [9, 0, 0]], tf.int64)
  _, memory = episodic.first_visits(keys, nothing, ~nothing, memory, 4)
  np.testing.assert_array_equal(memory, [[3, 4, 5, 6], [9, 7, 8, 0]])


@pytest.mark.parametrize('in_graph', [False, True])
def test_elliptical_bonuses_equal_rank_one_updates(in_graph):
  bonuses = _compiled(
      lambda *arguments: episodic.elliptical_bonuses(*arguments, RIDGE),
      in_graph,
  )
  inverses = [np.eye(4) / RIDGE for _ in range(NUM_ENVS)]
  covariance = tf.zeros([NUM_ENVS, 4, 4], tf.float64)
  for rng, starts, counts in _rollouts(1):
    features = rng.normal(size=[*starts.shape, 4]).astype(np.float32)
    bonus, covariance = bonuses(
        *map(tf.constant, (features, starts, counts)), covariance
    )
    for b, t in np.ndindex(starts.shape):
      if starts[b, t]:
        inverses[b] = np.eye(4) / RIDGE
      if not counts[b, t]:
        assert bonus.numpy()[b, t] == 0
        continue
      moved = inverses[b] @ features[b, t].astype(np.float64)
      expected = features[b, t] @ moved
      np.testing.assert_allclose(bonus.numpy()[b, t], expected, rtol=1e-6)
      inverses[b] -= np.outer(moved, moved) / (1 + expected)
  np.testing.assert_allclose(
      np.linalg.inv(covariance + RIDGE * np.eye(4)), inverses, rtol=1e-8
  )


def test_no_error_grows_in_a_long_episode():
  rng = np.random.default_rng(2)
  # Features of very different sizes: the condition of C becomes 1e9.
  features = rng.normal(size=[1, 10_000, 8]) * 10.0 ** -np.arange(8) * 100
  features = features.astype(np.float32)
  covariance = tf.zeros([1, 8, 8], tf.float64)
  slow = np.zeros([8, 8])
  step = tf.function(
      lambda *arguments: episodic.elliptical_bonuses(*arguments, 0.1)
  )
  for start in range(0, 10_000, 100):
    rows = features[:, start : start + 100]
    nothing = np.zeros([1, 100], bool)
    bonus, covariance = step(
        *map(tf.constant, (rows, nothing, ~nothing)), covariance
    )
    before_last = rows[0, :-1].astype(np.float64)
    inverse = np.linalg.inv(
        slow + before_last.T @ before_last + 0.1 * np.eye(8)
    )
    last = rows[0, -1].astype(np.float64)
    np.testing.assert_allclose(bonus[0, -1], last @ inverse @ last, rtol=1e-6)
    slow += rows[0].T.astype(np.float64) @ rows[0]


def test_near_features_far_from_zero_have_their_distances():
  rng = np.random.default_rng(3)
  features = (50.0 + 0.01 * rng.normal(size=[1, 6, 16])).astype(np.float32)
  found = episodic.squared_distances(*map(tf.constant, (features, features)))
  rows = features[0].astype(np.float64)
  slow = np.sum((rows[:, np.newaxis] - rows) ** 2, axis=-1)
  np.testing.assert_allclose(found[0], slow, rtol=1e-5, atol=1e-9)


def test_one_hot_features_count_visits():
  places = np.array([[2, 0, 2, 2, 1, 0, 2]])
  counts = np.ones_like(places, bool)
  starts = np.zeros_like(counts)
  starts[0, 5] = True
  bonus, _ = episodic.elliptical_bonuses(
      tf.one_hot(places, 3),
      tf.constant(starts),
      tf.constant(counts),
      tf.zeros([1, 3, 3], tf.float64),
      0.1,
  )
  before = np.array([0, 0, 1, 2, 0, 0, 0])
  np.testing.assert_allclose(bonus[0], 1 / (before + 0.1), rtol=1e-6)
