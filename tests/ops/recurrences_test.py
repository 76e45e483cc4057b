# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for recurrences, against loops of one step at a time."""

import numpy as np
import pytest

from rnd_agents.ops import discounting
from tests import tensors

_LENGTHS = pytest.mark.parametrize('num_steps', [1, 2, 3, 7, 8, 9, 128])


def _backward_loop(inputs, weights):
  result = np.zeros_like(inputs)
  for row in range(inputs.shape[0]):
    following = 0.0
    for t in reversed(range(inputs.shape[1])):
      following = inputs[row, t] + weights[row, t] * following
      result[row, t] = following
  return result


def _forward_loop(inputs, weights, initial):
  result = np.zeros_like(inputs)
  for row in range(inputs.shape[0]):
    previous = initial[row]
    for t in range(inputs.shape[1]):
      previous = inputs[row, t] + weights[row, t] * previous
      result[row, t] = previous
  return result


def _random(seed, num_steps, batch_size=6):
  """Inputs and weights [B, T], float64; some weights 0, 1 or negative."""
  rng = np.random.default_rng(seed)
  inputs = rng.normal(size=[batch_size, num_steps])
  weights = rng.uniform(-0.5, 1.0, size=[batch_size, num_steps])
  weights[rng.random(weights.shape) < 0.1] = 0.0
  weights[rng.random(weights.shape) < 0.1] = 1.0
  return inputs, weights


@tensors.in_every_mode
def test_three_steps_by_hand(run):
  inputs, weights = [[1.0, 2.0, 3.0]], [[0.5, 0.1, 9.0]]
  # 3;  2 + .1 * 3 = 2.3;  1 + .5 * 2.3 = 2.15
  np.testing.assert_allclose(
      run(discounting.reverse_linear_recurrence, inputs, weights),
      [[2.15, 2.3, 3.0]],
      rtol=1e-6,
  )
  # 1 + .5 * 4 = 3;  2 + .1 * 3 = 2.3;  3 + 9 * 2.3 = 23.7
  np.testing.assert_allclose(
      run(discounting.linear_recurrence, inputs, weights, [4.0]),
      [[3.0, 2.3, 23.7]],
      rtol=1e-6,
  )


@_LENGTHS
@tensors.in_every_mode
def test_equal_to_loops(run, num_steps):
  inputs, weights = _random(num_steps, num_steps)
  initial = np.array([-2.0, 0.0, 5.0, 1.0, -1.0, 3.0])
  backward = _backward_loop(inputs, weights)
  forward = _forward_loop(inputs, weights, initial)
  np.testing.assert_allclose(
      run(discounting.reverse_linear_recurrence, inputs, weights),
      backward,
      rtol=1e-10,
      atol=1e-12,
  )
  np.testing.assert_allclose(
      run(discounting.linear_recurrence, inputs, weights, initial),
      forward,
      rtol=1e-10,
      atol=1e-12,
  )
  # Direction and initial state matter on these data.
  assert np.abs(forward - backward).max() > 0.1
  assert np.abs(forward - _forward_loop(inputs, weights, 0 * initial)).max() > 1


@pytest.mark.parametrize('num_steps', [1, 5])
@tensors.in_every_mode
def test_last_weight_is_never_read(run, num_steps):
  inputs, weights = _random(1, num_steps)
  expected = _backward_loop(inputs, weights)
  weights[:, -1] = np.resize([np.nan, np.inf, -np.inf], len(weights))
  np.testing.assert_allclose(
      run(discounting.reverse_linear_recurrence, inputs, weights),
      expected,
      rtol=1e-12,
  )


def test_gradients_equal_finite_differences():
  inputs, weights = _random(2, 6, batch_size=2)
  direction = np.random.default_rng(0).normal(size=inputs.shape)

  def value(x, w):
    return (direction * _backward_loop(x, w)).sum()

  gradients = tensors.gradient(
      lambda x, w: direction * discounting.reverse_linear_recurrence(x, w),
      inputs,
      weights,
  )
  for index in np.ndindex(*inputs.shape):
    step = np.zeros_like(inputs)
    step[index] = 1e-6
    for argument, by_argument in enumerate(gradients):
      steps = (step, 0) if argument == 0 else (0, step)
      slope = (
          value(inputs + steps[0], weights + steps[1])
          - value(inputs - steps[0], weights - steps[1])
      ) / 2e-6
      np.testing.assert_allclose(by_argument[index], slope, atol=1e-7)


def test_only_batches_of_sequences():
  with pytest.raises(ValueError, match=r'inputs must be \[B, T\]'):
    discounting.reverse_linear_recurrence([1.0, 2.0], [[1.0, 2.0]])
  with pytest.raises(ValueError, match=r'weights must be \[B, T\]'):
    discounting.reverse_linear_recurrence([[1.0, 2.0]], [1.0, 2.0])
