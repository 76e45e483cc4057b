# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for priorities: worked numbers and closed forms."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import q_learning
from tests import tensors
from tests.ops import q_sequences

_ERRORS = np.array([
    [-0.1, 0.5, 0.2, -0.4],
    [1.0, -1.0, 1.0, 1.0],
    [0.0, 0.0, 0.0, 0.0],
    [-2.0, 0.1, 0.05, 0.0],
])
_ALL = np.ones([4, 4], bool)


@tensors.in_every_mode
def test_worked_sequences(run):
  found = run(q_learning.sequence_priorities, _ERRORS, _ALL)
  np.testing.assert_allclose(found, [0.48, 1, 0, 1.85375], atol=1e-12)
  # What the replay makes of them.
  for alpha, expected in (
      (0.6, [0.208212, 0.323415, 0, 0.468373]),
      (0.9, [0.158484, 0.306810, 0, 0.534706]),
  ):
    np.testing.assert_allclose(
        found**alpha / np.sum(found**alpha), expected, atol=6e-7
    )


@tensors.in_every_mode
def test_ends_of_the_mixture(run):
  for weight, expected in ((1.0, [0.5, 1, 0, 2]), (0.0, [0.3, 1, 0, 2.15 / 4])):
    np.testing.assert_allclose(
        run(
            lambda e, m, w=weight: q_learning.sequence_priorities(e, m, w),
            _ERRORS,
            _ALL,
        ),
        expected,
        rtol=1e-12,
    )


@tensors.in_every_mode
def test_steps_that_do_not_count(run):
  # The worked sequence: four of its five steps count.
  one, two = q_sequences.ONE_STEP_ERRORS, q_sequences.TWO_STEP_ERRORS
  three = np.array([[0.445295, 0.405250, 0.275120, 0.034051, 0.0]])
  errors = np.concatenate([one, two, three])
  mask = np.tile(q_sequences.VALID, [3, 1])
  fn = q_learning.sequence_priorities
  expected = [0.155229, 0.293150, 0.429758]
  np.testing.assert_allclose(run(fn, errors, mask), expected, atol=1e-6)
  # Whatever stands there.
  for rubbish in (1e9, np.inf, np.nan):
    errors[:, 4] = rubbish
    np.testing.assert_allclose(run(fn, errors, mask), expected, atol=1e-6)
    np.testing.assert_array_equal(run(fn, errors, mask & False), [0, 0, 0])
  # A row of a batch may count nothing.
  mask[1] = False
  np.testing.assert_allclose(
      run(fn, errors, mask), [0.155229, 0, 0.429758], atol=1e-6
  )


def test_priorities_are_no_part_of_the_loss():
  [gradient, _] = tensors.gradient(
      lambda e, m: q_learning.sequence_priorities(e, m > 0),
      _ERRORS,
      np.ones([4, 4]),
  )
  assert gradient is None


def test_mask_of_another_shape():
  with pytest.raises(ValueError, match=r'must both be \[B, T\]'):
    q_learning.sequence_priorities(_ERRORS, _ALL[:, :1])


_P = np.array([0.5, 0.3, 0.15, 0.05])


@tensors.in_every_mode
def test_worked_weights(run):
  sizes = np.full(4, 4, np.int64)
  for beta, expected in (
      (0.4, [0.398107, 0.488359, 0.644394, 1]),
      (0.6, [0.251189, 0.341279, 0.517282, 1]),
      (0.0, [1, 1, 1, 1]),
      (1.0, [0.1, 1 / 6, 1 / 3, 1]),
  ):
    found = run(
        lambda p, n, b=beta: q_learning.importance_weights(p, n, b), _P, sizes
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=6e-7)
  # An exponent that is annealed is a tensor.
  found = run(q_learning.importance_weights, _P, sizes, np.float32(0.4))
  np.testing.assert_allclose(found[0], 0.398107, atol=6e-7)


@tensors.in_every_mode
def test_weights_over_two_tables(run):
  # Drawn uniformly from tables of 10 and 1000: no correction in either.
  p, sizes = np.array([0.1, 0.1, 1e-3]), np.array([10, 10, 1000])
  weigh = q_learning.importance_weights
  np.testing.assert_allclose(run(weigh, p, sizes, 0.6), [1, 1, 1])
  # N P is 5, .5 and 2: the weights follow from that, not from P alone.
  p = np.array([0.5, 0.05, 2e-3])
  np.testing.assert_allclose(
      run(weigh, p, sizes, 0.5), [0.1**0.5, 1, 0.25**0.5], rtol=1e-6
  )


@tensors.in_every_mode
def test_weights_of_rare_items_stay_finite(run):
  # As powers, the weights would overflow float32.
  p = np.array([1e-60, 1e-58])
  np.testing.assert_allclose(
      run(q_learning.importance_weights, p, np.array([2, 2]), 1.0),
      [1, 0.01],
      rtol=1e-6,
  )


@tensors.in_every_mode
def test_nothing_is_drawn_with_probability_zero(run):
  with pytest.raises(tf.errors.InvalidArgumentError, match='probability 0'):
    run(
        q_learning.importance_weights,
        np.array([0.5, 0.0]),
        np.array([2, 2]),
        0.5,
    )
