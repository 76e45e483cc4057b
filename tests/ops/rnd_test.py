# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for rnd: whitening, error and loss, by hand and by differences."""

import numpy as np
import pytest

from rnd_agents.ops import losses
from rnd_agents.ops import moments
from tests import tensors

_MEAN = np.array([2.0, 100.0])
_VARIANCE = np.array([4.0, 0.25])
_VALUES = [[3.0, 100.5], [14.0, 97.0], [-9.0, 102.5]]
_PREDICTIONS = [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]]
_TARGETS = [[1.0, 0.0, 3.0, 2.0], [0.5, -0.5, 0.5, -0.5]]
# TV10: a uniform number a sample, kept below 0.25.
_UNIFORMS = np.array([0.1, 0.3, 0.24, 0.9])
_ERRORS = [4.0, 1.0, 2.0, 8.0]


def _whiten(values, mean, variance):
  return moments.whiten_and_clip(values, mean, variance, 5.0)


@tensors.in_every_mode
def test_whitening(run):
  # TV3; moments in float64 beside values in float32.
  whitened = run(_whiten, _VALUES, _MEAN, _VARIANCE)
  assert whitened.dtype == np.float32
  np.testing.assert_array_equal(whitened, [[0.5, 1], [5, -5], [-5, 5]])
  # MountainCar's velocity: 0.02 is two deviations, without an epsilon.
  np.testing.assert_allclose(
      run(_whiten, [[[0.02]]], np.zeros(1), np.array([1e-4])), [[[2.0]]], 1e-6
  )


@tensors.in_every_mode
def test_whitening_without_clipping(run):
  np.testing.assert_allclose(
      run(
          lambda *x: moments.whiten_and_clip(*x, None),
          _VALUES,
          _MEAN,
          _VARIANCE,
      ),
      [[0.5, 1], [6, -6], [-5.5, 5]],
      rtol=1e-6,
  )
  np.testing.assert_allclose(
      run(
          lambda *x: moments.whiten_and_clip(*x, 0.75),
          _VALUES,
          _MEAN,
          _VARIANCE,
      ),
      [[0.5, 0.75], [0.75, -0.75], [-0.75, 0.75]],
      rtol=1e-6,
  )


@tensors.in_every_mode
def test_error_is_the_mean_over_the_features(run):
  # TV4.
  error = run(losses.rnd_error, _PREDICTIONS, _TARGETS)
  np.testing.assert_array_equal(error, [2.0, 0.25])
  # Any number of outer dimensions.
  np.testing.assert_array_equal(
      run(losses.rnd_error, [[_PREDICTIONS]], [[_TARGETS]]), [[[2.0, 0.25]]]
  )


def test_shapes_that_would_broadcast_are_refused():
  for targets in (np.zeros([2, 1]), np.zeros([4]), np.zeros([1, 4])):
    with pytest.raises(ValueError, match='equal shapes, got'):
      losses.rnd_error(np.zeros([2, 4]), targets)


def test_gradient_of_the_error():
  by_prediction, by_target = tensors.gradient(
      losses.rnd_error, _PREDICTIONS, _TARGETS
  )
  # 2 (f^ - f) / F: of a sum it would be four times that.
  np.testing.assert_allclose(
      by_prediction, [[0, 1, 0, 1], [-0.25, 0.25, -0.25, 0.25]]
  )
  assert by_target is None


@tensors.in_every_mode
def test_loss_is_the_mean_of_the_kept(run):
  # TV10.
  mask = _UNIFORMS < 0.25
  np.testing.assert_array_equal(mask, [True, False, True, False])
  assert run(losses.predictor_loss, _ERRORS, mask) == 3.0
  assert run(losses.predictor_loss, _ERRORS, mask & False) == 0.0
  assert run(losses.predictor_loss, _ERRORS, mask | True) == 3.75
  # Weights: (.5 * 4 + 0 * 2) / 2. They are factors, whatever their sum.
  weights = np.float32([0.5, 1.0, 0.0, 2.0])
  assert run(losses.predictor_loss, _ERRORS, mask, weights) == 1.0
  assert run(losses.predictor_loss, _ERRORS, mask, weights / 64) == 1 / 64


@pytest.mark.parametrize('kept', [[1, 0, 1, 1, 0], [0, 0, 0, 0, 0]])
def test_gradient_of_the_loss_equals_finite_differences(kept):
  rng = np.random.default_rng(0)
  predictions, targets = rng.normal(size=[2, 5, 3])
  mask = np.array(kept, bool)

  def loss(p, t):
    return losses.predictor_loss(losses.rnd_error(p, t), mask)

  by_prediction, by_target = tensors.gradient(loss, predictions, targets)
  assert by_target is None
  for index in np.ndindex(5, 3):
    step = np.zeros([5, 3])
    step[index] = 1e-5
    slope = (
        loss(predictions + step, targets) - loss(predictions - step, targets)
    ) / 2e-5
    np.testing.assert_allclose(by_prediction[index], slope, atol=1e-9)
    assert (by_prediction[index] != 0) == mask[index[0]]
