# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for losses, against worked numbers and closed forms.

Numbers named TV6 and TV11 continue TV5 of gae_test.
"""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import losses
from tests import tensors

_EXTRINSIC = [[0.679020, 0.400000, 2.671371, 2.499100]]
_INTRINSIC = [[1.595409, 0.649026, 1.546014, 0.588000]]
_COMBINED = [[2.953449, 1.449026, 6.888756, 5.586200]]
_ALL = np.ones([1, 4], bool)
# TV11.
_RATIOS = [1.05, 0.8, 1.3, 1.0]


def _normalize(*arguments, **settings):
  return losses.normalize_advantages(*arguments, **settings)[0]


@tensors.in_every_mode
def test_two_streams_make_one_advantage(run):
  # TV6.
  combined = run(
      lambda e, i: losses.combine_advantages([e, i], [2.0, 1.0]),
      _EXTRINSIC,
      _INTRINSIC,
  )
  np.testing.assert_allclose(combined, _COMBINED, atol=2e-6)


@tensors.in_every_mode
def test_normalized_advantages(run):
  # TV6.
  normalized = run(_normalize, _COMBINED, _ALL)
  np.testing.assert_allclose(
      normalized, [[-0.592310, -1.296218, 1.248992, 0.639536]], atol=2e-6
  )


@tensors.in_every_mode
def test_rows_without_an_action_do_not_shift_the_others(run):
  padded, mask = [[1.0, 2.0, 3.0, 0.0]], np.array([[True, True, True, False]])
  root = 1.5**0.5
  np.testing.assert_allclose(
      run(_normalize, padded, mask), [[-root, 0, root, 0]], rtol=1e-6
  )
  # Whatever number stands in such a row.
  np.testing.assert_allclose(
      run(_normalize, [[1.0, 2.0, 3.0, 1e4]], mask),
      [[-root, 0, root, 0]],
      atol=1e-6,
  )


@tensors.in_every_mode
def test_normalizing_over_the_whole_batch(run):
  rng = np.random.default_rng(0)
  advantages, mask = rng.normal(3, 2, size=[4, 6]), rng.random([4, 6]) < 0.7
  kept = advantages[mask]
  expected = np.where(mask, (advantages - kept.mean()) / kept.std(), 0)
  normalized = run(_normalize, advantages, mask)
  np.testing.assert_allclose(normalized, expected, rtol=1e-6)
  # Each environment on its own would be centred on its own.
  assert np.abs(normalized.mean(1)).min() > 0.01


@tensors.in_every_mode
def test_normalizing_what_does_not_vary(run):
  for mask in (_ALL, ~_ALL, np.array([[False, True, False, False]])):
    np.testing.assert_array_equal(
        run(_normalize, [[3.0] * 4], mask), [[0.0] * 4]
    )
  # Epsilon is added to the variance 1, not to the deviation.
  np.testing.assert_allclose(
      run(
          lambda a, m: _normalize(a, m, epsilon=3.0),
          [[-1.0, 1.0, 1.0, -1.0]],
          _ALL,
      ),
      [[-0.5, 0.5, 0.5, -0.5]],
  )


@tensors.in_every_mode
def test_clipped_surrogate(run):
  # TV11, from old log-probabilities that are not 0.
  old = np.float32([-0.7, -2.0, -1.1, -0.2])
  new = old + np.log(_RATIOS).astype(np.float32)
  advantages = np.float32(_COMBINED[0])
  loss, ratio = run(
      lambda *x: losses.clipped_surrogate_loss(*x, 0.1), new, old, advantages
  )
  np.testing.assert_allclose(ratio, _RATIOS, rtol=1e-6)
  np.testing.assert_allclose(loss.mean(), -4.356043, atol=2e-6)
  # Sample by sample: inside, below (kept: it is worse), above (clipped).
  np.testing.assert_allclose(
      loss / -advantages, [1.05, 0.8, 1.1, 1.0], rtol=1e-6
  )
  # With negative advantages, the other side is cut.
  loss, _ = run(
      lambda *x: losses.clipped_surrogate_loss(*x, 0.1), new, old, -advantages
  )
  np.testing.assert_allclose(
      loss / advantages, [1.05, 0.9, 1.3, 1.0], rtol=1e-6
  )


def test_surrogate_moves_only_inside_the_clip():
  new = np.log([1.05, 0.8, 1.3, 0.8, 1.3]).astype(np.float32)
  advantages = np.float32([2.0, 2.0, 2.0, -2.0, -2.0])
  by_new, by_old, _ = tensors.gradient(
      lambda *x: losses.clipped_surrogate_loss(*x, 0.1)[0],
      new,
      np.zeros(5, np.float32),
      advantages,
  )
  # d/d log p of -A rho is -A rho; past the clip, where that would help, 0.
  np.testing.assert_allclose(
      by_new, [-2.1, -1.6, 0.0, 0.0, 2.6], rtol=1e-6, atol=1e-7
  )
  np.testing.assert_allclose(by_old, -by_new)


@tensors.in_every_mode
def test_dual_clip_bounds_the_loss_of_negative_advantages(run):
  ratios = np.float32([0.5, 1.0, 2.9, 3.1, 1e4, 1e4])
  advantages = np.float32([-2, -2, -2, -2, -2, 2])
  loss, _ = run(
      lambda *x: losses.clipped_surrogate_loss(*x, 0.1, 3.0),
      np.log(ratios),
      np.zeros(6, np.float32),
      advantages,
  )
  np.testing.assert_allclose(loss, [1.8, 2, 5.8, 6, 6, -2.2], rtol=1e-6)
  by_new, *_ = tensors.gradient(
      lambda *x: losses.clipped_surrogate_loss(*x, 0.1, 3.0)[0],
      np.log(ratios),
      np.zeros(6, np.float32),
      advantages,
  )
  np.testing.assert_allclose(by_new, [0, 2, 5.8, 0, 0, 0], rtol=1e-6)


@tensors.in_every_mode
def test_value_losses(run):
  # TV11.
  extrinsic = run(
      losses.squared_value_error,
      [0.35, 0.55, 0.2, 0.3],
      [0.979020, 1.000000, 2.771371, 2.899100],
  )
  intrinsic = run(
      losses.squared_value_error,
      [1.1, 1.4, 0.6, 0.8],
      [2.595409, 2.149026, 2.046014, 1.288000],
  )
  means = 0.5 * extrinsic.mean(), 0.5 * intrinsic.mean()
  np.testing.assert_allclose(means, [1.745679, 0.640799], atol=1e-6)
  np.testing.assert_allclose(sum(means), 2.386478, atol=1e-6)
  # Sample by sample: .65^2 is not |.65|.
  np.testing.assert_allclose(
      run(losses.squared_value_error, [0.35, 2.0], [1.0, 1.0]),
      [0.4225, 1.0],
      rtol=1e-6,
  )


@tensors.in_every_mode
def test_value_clipping(run):
  def clipped(v, r, o):
    return losses.squared_value_error(v, r, o, 0.2)

  #           inside  towards R     past R    away, up  away, down
  values = [1.1, 2.0, 0.5, 2.0, 0.0]
  old = [1.0, 1.0, 1.0, 1.0, 1.0]
  returns = [3.0, 3.0, 0.6, 0.0, 3.0]
  # (V - R)^2:         3.61 1.0  0.01 4.0  9.0
  # (V_old + c - R)^2: 3.61 3.24 0.04 1.44 4.84
  np.testing.assert_allclose(
      run(clipped, values, returns, old),
      [3.61, 3.24, 0.04, 4.0, 9.0],
      rtol=1e-5,
  )
  for options in ({}, {'old_values': old}, {'clip_value': 0.0}):
    np.testing.assert_allclose(
        run(
            lambda v, r, options=options: losses.squared_value_error(
                v, r, **options
            ),
            values,
            returns,
        ),
        [3.61, 1.0, 0.01, 4.0, 9.0],
        rtol=1e-5,
    )


def test_value_clipping_needs_old_values():
  with pytest.raises(ValueError, match='needs old_values'):
    losses.squared_value_error(tf.ones(2), tf.ones(2), clip_value=0.2)


@tensors.in_every_mode
def test_explained_variance(run):
  rng = np.random.default_rng(1)
  returns = rng.normal(5, 2, size=[3, 8])
  values = returns + rng.normal(1, 0.5, size=[3, 8])
  mask = rng.random([3, 8]) < 0.6
  explained = run(losses.explained_variance, values, returns, mask)
  kept = (returns - values)[mask].var() / returns[mask].var()
  np.testing.assert_allclose(explained, 1 - kept, rtol=1e-6)
  assert abs(1 - (returns - values).var() / returns.var() - explained) > 1e-3


@tensors.in_every_mode
def test_explained_variance_of_special_values(run):
  returns = np.array([[1.0, 2.0, 3.0, 4.0]])
  cases = [
      (returns, 1.0),
      (returns + 7, 1.0),  # An offset is no error of the shape.
      (0 * returns + 2.5, 0.0),
      (-returns, -3.0),  # 1 - Var(2 R) / Var(R)
      (returns / 2, 0.75),
  ]
  for values, expected in cases:
    np.testing.assert_allclose(
        run(losses.explained_variance, values, returns, _ALL), expected
    )
  # Returns that do not vary; nothing to look at.
  assert run(losses.explained_variance, returns, 0 * returns, _ALL) == 0
  assert run(losses.explained_variance, returns, returns, ~_ALL) == 0
