# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for moments: pooled statistics and the forward filter of the bonus.

Numbers named TV1, TV2 and TV12 were worked out beside the RND authors' code
(openai/random-network-distillation, ppo_agent.py and mpi_util.py).
"""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import discounting
from rnd_agents.ops import moments
from tests import tensors

# What a running statistic knows before its first sample.
_FRESH = (np.float64(0), np.float64(1), np.float64(1e-4))
_GAMMA = 0.99
# TV1: intrinsic rewards of two environments, [B, T].
_FIRST_ROLLOUT = np.array([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
_SECOND_ROLLOUT = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 2.0]])
_FIRST_NORMALIZED = [
    [0.261092, 0.783275, 1.305458],
    [0.522183, 1.044366, 1.566549],
]


def _take_in(state, values, mask=None, num_outer_dims=1):
  batch = moments.batch_moments(values, mask, num_outer_dims)
  return moments.merge_moments(*state, *batch)


def _take_in_one(mean, variance, count, values):
  return _take_in((mean, variance, count), values)


def _rollout(rewards, sums, *state, gamma=_GAMMA):
  """One rollout as the authors do it: filter, merge, divide."""
  filtered, last = discounting.discounted_return_filter(
      rewards, gamma, sums, tf.ones_like(rewards, tf.bool)
  )
  state = _take_in(state, filtered, num_outer_dims=2)
  return filtered, last, state, rewards / tf.sqrt(state[1])


@tensors.in_every_mode
def test_two_rollouts(run):
  # TV1.
  filtered, last, state, normalized = run(
      _rollout, _FIRST_ROLLOUT, np.zeros(2), *_FRESH
  )
  np.testing.assert_allclose(
      filtered.T, [[1, 2], [3.99, 5.98], [8.9501, 11.9202]], atol=5e-7
  )
  np.testing.assert_allclose(last, [8.9501, 11.9202], atol=5e-7)
  np.testing.assert_allclose(state, [5.639956, 14.669465, 6.0001], atol=1e-6)
  np.testing.assert_allclose(np.sqrt(state[1]), 3.830074, atol=1e-6)
  np.testing.assert_allclose(normalized, _FIRST_NORMALIZED, atol=1e-6)

  filtered, _, state, normalized = run(_rollout, _SECOND_ROLLOUT, last, *state)
  np.testing.assert_allclose(
      filtered.T,
      [[8.860599, 13.800998], [9.771993, 13.662988], [9.674273, 15.526358]],
      atol=1e-6,
  )
  np.testing.assert_allclose(state, [8.761386, 20.29416, 12.0001], atol=1e-6)
  np.testing.assert_allclose(np.sqrt(state[1]), 4.504904, atol=1e-6)
  np.testing.assert_allclose(
      normalized, [[0, 0.22198, 0], [0.443961, 0, 0.443961]], atol=1e-6
  )


@tensors.in_every_mode
def test_scale_of_the_reward_cancels(run):
  # TV12: 1000 times the reward. The fresh statistic's own variance of 1 weighs
  # 1e-4 samples, so the two agree to about 1e-6.
  normalized = run(_rollout, 1000 * _FIRST_ROLLOUT, np.zeros(2), *_FRESH)[3]
  np.testing.assert_allclose(
      normalized[0], [0.261092, 0.783275, 1.305459], atol=1e-6
  )
  np.testing.assert_allclose(normalized, _FIRST_NORMALIZED, atol=2e-6)
  # Rewards in thousandths: 6e-6 * 14.6695 of squares beside the fresh 1e-4.
  small = 1e-3 * _FIRST_ROLLOUT
  *_, state, normalized = run(_rollout, small, np.zeros(2), *_FRESH)
  np.testing.assert_allclose(state[1], 1.466922e-5 + 1e-4 / 6.0001, rtol=1e-4)
  assert normalized.max() > 1


@tensors.in_every_mode
def test_running_mean_and_variance(run):
  # TV2.
  state = run(_take_in_one, *_FRESH, np.arange(1.0, 5.0))
  np.testing.assert_allclose(state, [2.499938, 1.25015, 4.0001], atol=5e-7)
  state = run(_take_in_one, *state, np.array([10.0, 20.0]))
  np.testing.assert_allclose(state, [6.666556, 43.888915, 6.0001], atol=5e-7)
  # The whole at once, without the fresh statistic's 1e-4 samples.
  np.testing.assert_allclose(state[:2], [6.666667, 43.888889], atol=2e-4)


@tensors.in_every_mode
def test_each_inner_entry_has_its_own_moments(run):
  # TV2b.
  fresh = (np.zeros(2), np.ones(2), np.float64(1e-4))
  state = run(_take_in_one, *fresh, np.array([[0.0, 10.0], [2.0, 14.0]]))
  state = run(_take_in_one, *state, np.array([[4.0, 18.0]]))
  np.testing.assert_allclose(state[0], [1.999933, 13.999533], atol=5e-7)
  np.testing.assert_allclose(state[1], [2.666744, 10.672877], atol=5e-7)
  np.testing.assert_allclose(state[2], 3.0001, atol=5e-7)


@pytest.mark.parametrize('inner_shape', [(), (2,), (2, 3)])
@pytest.mark.parametrize('masked', [False, True])
@tensors.in_every_mode
def test_batch_moments_equal_numpy(run, masked, inner_shape):
  rng = np.random.default_rng(3)
  values = rng.normal(2.0, 3.0, size=(4, 5) + inner_shape)
  mask = rng.random([4, 5]) < 0.4 if masked else np.ones([4, 5], bool)

  def fn(values, mask):
    # Shapes of one sample are always known: only outer ones may not be.
    values = tf.ensure_shape(values, [None, None, *inner_shape])
    return moments.batch_moments(values, mask if masked else None, 2)

  mean, variance, count = run(fn, values, mask)
  np.testing.assert_allclose(mean, values[mask].mean(0), rtol=1e-12)
  np.testing.assert_allclose(variance, values[mask].var(0), rtol=1e-12)
  assert count == mask.sum()
  if masked:
    assert 0 < mask.sum() < 20
    assert np.abs(mean - values.mean((0, 1))).max() > 0.1


@tensors.in_every_mode
def test_an_empty_set_changes_nothing(run):
  values, mask = np.full([3, 2], 7.0), np.zeros(3, bool)
  mean, variance, count = run(moments.batch_moments, values, mask)
  np.testing.assert_array_equal(mean, [0, 0])
  np.testing.assert_array_equal(variance, [0, 0])
  assert count == 0
  state = (np.array([1.5, -2.25]), np.array([4.0, 0.5]), np.float64(17.0))
  merged = run(moments.merge_moments, *state, mean, variance, count)
  for before, after in zip(state, merged, strict=True):
    np.testing.assert_array_equal(before, after)


@tensors.in_every_mode
def test_merged_parts_equal_the_whole(run):
  rng = np.random.default_rng(4)
  parts = [rng.normal(i, 1 + i, size=[n, 2]) for i, n in enumerate([1, 7, 40])]
  state = run(moments.batch_moments, parts[0])
  for part in parts[1:]:
    state = run(_take_in_one, *state, part)
  whole = np.concatenate(parts)
  np.testing.assert_allclose(state[0], whole.mean(0), rtol=1e-12)
  np.testing.assert_allclose(state[1], whole.var(0), rtol=1e-12)
  assert state[2] == 48


@tensors.in_every_mode
def test_a_large_offset_costs_no_precision(run):
  values = 1e6 + np.random.default_rng(5).normal(size=[20, 50])

  def all_rows(values):
    state = moments.batch_moments(values[0])
    for row in range(1, 20):
      state = _take_in(state, values[row])
    return state

  mean, variance, _ = run(all_rows, values)
  np.testing.assert_allclose(mean, values.mean(), rtol=1e-14)
  np.testing.assert_allclose(variance, values.var(), rtol=1e-9)


def test_a_mask_of_another_shape_is_refused():
  # [4] against [4, 3] would broadcast along the wrong axis.
  for mask in (np.ones([3], bool), np.ones([4, 3], bool)):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
      moments.batch_moments(np.ones([4, 3]), mask)
  # [T, B] for [B, T] has the right number of entries.
  with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
    moments.batch_moments(np.ones([4, 3]), np.ones([3, 4], bool), 2)


def _filter_loop(rewards, discounts, initial, valid):
  result = np.zeros_like(rewards)
  for row in range(rewards.shape[0]):
    total = initial[row]
    for t in range(rewards.shape[1]):
      if valid[row, t]:
        total = discounts[row, t] * total + rewards[row, t]
      result[row, t] = total
  return result


@pytest.mark.parametrize('num_steps', [1, 2, 3, 7, 128])
@tensors.in_every_mode
def test_filter_equals_a_loop(run, num_steps):
  rng = np.random.default_rng(num_steps)
  shape = [9, num_steps]
  rewards = rng.normal(size=shape)
  discounts = np.where(rng.random(shape) < 0.2, 0.0, 0.95)
  valid = rng.random(shape) < 0.7
  valid[0, 0], valid[1, -1] = False, False
  initial = rng.normal(size=9)
  # What stands in a row that does not count never matters.
  filtered, last = run(
      discounting.discounted_return_filter,
      np.where(valid, rewards, np.nan),
      np.where(valid, discounts, np.nan),
      initial,
      valid,
  )
  expected = _filter_loop(rewards, discounts, initial, valid)
  np.testing.assert_allclose(filtered, expected, rtol=1e-10, atol=1e-12)
  np.testing.assert_array_equal(last, filtered[:, -1])
  counting_all = _filter_loop(rewards, discounts, initial, valid | True)
  assert np.abs(counting_all - expected).max() > 0.1


@tensors.in_every_mode
def test_filter_takes_one_discount_for_all(run):
  rewards, valid = np.ones([2, 4]), np.ones([2, 4], bool)
  one = run(
      lambda r, i, v: discounting.discounted_return_filter(r, 0.5, i, v),
      rewards,
      np.array([0.0, 8.0]),
      valid,
  )[0]
  np.testing.assert_allclose(
      one, [[1, 1.5, 1.75, 1.875], [5, 3.5, 2.75, 2.375]], rtol=1e-12
  )
