# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for q_learning's losses: worked numbers and closed-form gradients."""

import numpy as np
import pytest

from rnd_agents.ops import priorities
from rnd_agents.ops import q_learning
from tests import tensors
from tests.ops import q_sequences as seq

_Q = np.array([
    [1.0, 1.5, 0.2],
    [2.0, 1.1, 1.3],
    [0.3, 0.3, 0.3],
    [0.0, -1.0, 5.0],
])
_EXPERT = np.array([0, 0, 2, 2])
_DEMONSTRATION = np.array([True, True, True, False])


@tensors.in_every_mode
def test_valid_steps(run):
  is_last = np.array([[False, True, False, False], [False, False, True, True]])
  np.testing.assert_array_equal(
      run(q_learning.valid_steps, is_last),
      [[True, False, True], [True, True, False]],
  )


@tensors.in_every_mode
def test_large_margin(run):
  for margin, expected in (
      (0.8, [1.3, 0.1, 0.8, 0.0]),
      (1.0, [1.5, 0.3, 1.0, 0.0]),
      (0.0, [0.5, 0.0, 0.0, 0.0]),
  ):
    np.testing.assert_allclose(
        run(
            lambda q, a, m=margin: q_learning.large_margin_losses(q, a, m),
            _Q,
            _EXPERT,
        ),
        expected,
        atol=1e-12,
    )
  # Over time as well, in float32, and next to an action that is not allowed.
  q_values = np.float32(_Q).reshape([2, 2, 3])
  q_values[0, 0, 1] = -np.inf
  np.testing.assert_allclose(
      run(
          lambda q, a: q_learning.large_margin_losses(q, a, 0.8),
          q_values,
          _EXPERT.reshape([2, 2]),
      ),
      [[0.0, 0.1], [0.8, 0.0]],
      atol=1e-6,
  )


@tensors.in_every_mode
def test_large_margin_of_demonstrations_alone(run):
  def fn(q, a, d):
    return q_learning.large_margin_losses(q, a, 0.8, d)

  np.testing.assert_allclose(
      np.mean(run(fn, _Q, _EXPERT, _DEMONSTRATION)), 0.55
  )
  for dtype in (bool, np.float32, np.int32):
    flags = np.array([0, 1, 0, 1]).astype(dtype)
    np.testing.assert_allclose(
        run(fn, _Q, _EXPERT, flags), [0, 0.1, 0, 0], atol=1e-12
    )


def test_gradient_of_the_large_margin():
  def fn(q):
    return q_learning.large_margin_losses(q, _EXPERT, 0.8)

  [gradient] = tensors.gradient(fn, _Q)
  # Up goes the demonstrator's action, down whichever comes too near: two that
  # are equally near share. Where the demonstrator wins, nothing moves.
  np.testing.assert_array_equal(
      gradient, [[-1, 1, 0], [-1, 0, 1], [0.5, 0.5, -1], [0, 0, 0]]
  )
  [gradient] = tensors.gradient(
      lambda q: q_learning.large_margin_losses(
          q, _EXPERT, 0.8, ~_DEMONSTRATION
      ),
      _Q,
  )
  np.testing.assert_array_equal(gradient, np.zeros([4, 3]))


def test_arguments_of_the_large_margin():
  with pytest.raises(ValueError, match='at least 0, got -0.8'):
    q_learning.large_margin_losses(_Q, _EXPERT, -0.8)
  # A flag a sequence would be taken for one a step where B = T.
  with pytest.raises(ValueError, match='for each of its steps'):
    q_learning.large_margin_losses(
        _Q.reshape([2, 2, 3]), _EXPERT.reshape([2, 2]), 0.8, [True, False]
    )


def _errors(online, n):
  """Errors of the worked sequence, [1, T]."""
  targets = q_learning.n_step_targets(
      online,
      seq.TARGET,
      seq.REWARDS,
      seq.DEATH,
      seq.IS_LAST,
      seq.GAMMA,
      n,
      seq.EPSILON,
  )
  return q_learning.td_errors(online[:, :-1], seq.ACTIONS, targets, seq.VALID)


def _terms(online):
  """(d_2, d_1, J_E) of the worked sequence, all of it a demonstration."""
  margin_losses = q_learning.large_margin_losses(
      online[:, :-1], seq.ACTIONS, 0.8, np.ones_like(seq.ACTIONS)
  )
  return _errors(online, 2), _errors(online, 1), margin_losses


@tensors.in_every_mode
def test_loss_of_r2d2(run):
  def fn(online):
    losses = q_learning.step_losses(_errors(online, 2))
    return q_learning.sequence_losses(losses, seq.VALID)

  np.testing.assert_allclose(run(fn, seq.ONLINE), [0.104767], atol=1e-6)


@tensors.in_every_mode
def test_all_terms_together(run):
  def fn(online):
    terms = _terms(online)
    halves = q_learning.step_losses(*terms)
    wholes = q_learning.step_losses(*terms, squared_error_scale=1.0)
    n_step, one_step = abs(terms[0]), abs(terms[1])
    return {
        'margin': terms[2],
        'sum': q_learning.sequence_losses(halves, seq.VALID),
        'mean': q_learning.sequence_losses(halves, seq.VALID, True),
        'whole steps': wholes,
        'whole sum': q_learning.sequence_losses(wholes, seq.VALID),
        'whole mean': q_learning.sequence_losses(wholes, seq.VALID, True),
        'priority': priorities.sequence_priorities(terms[0], seq.VALID),
        'two errors': priorities.sequence_priorities(
            n_step + one_step, seq.VALID
        ),
        'loss as priority': priorities.sequence_priorities(wholes, seq.VALID),
    }

  found = run(fn, seq.ONLINE)
  for name, expected in (
      ('sum', 2.720268),
      ('mean', 0.680067),
      ('whole sum', 2.840537),
      ('whole mean', 0.710134),
      ('priority', 0.293150),
      ('two errors', 0.448380),
      ('loss as priority', 0.808278),
  ):
    np.testing.assert_allclose(found[name], [expected], atol=1e-6, err_msg=name)
  np.testing.assert_allclose(
      found['margin'][0, :4], [0.7, 0.6, 0.6, 0.7], atol=1e-12
  )
  np.testing.assert_allclose(
      found['whole steps'][0, :4],
      [0.819183, 0.643213, 0.675822, 0.702319],
      atol=1e-6,
  )


@tensors.in_every_mode
def test_weights_of_the_terms(run):
  terms = [[2.0, 0.0]], [[0.0, 4.0]], [[1.0, 3.0]]
  np.testing.assert_allclose(
      run(
          lambda *x: q_learning.step_losses(
              *x, n_step_weight=10.0, one_step_weight=0.5, margin_weight=0.1
          ),
          *terms,
      ),
      [[10 * 0.5 * 4 + 0.1, 0.5 * 0.5 * 16 + 0.3]],
      rtol=1e-6,
  )
  # Terms that are left out.
  np.testing.assert_allclose(
      run(lambda n, o: q_learning.step_losses(n, o), *terms[:2]), [[2, 8]]
  )
  np.testing.assert_allclose(
      run(
          lambda n, m: q_learning.step_losses(n, margin_losses=m),
          terms[0],
          terms[2],
      ),
      [[3, 3]],
  )


@tensors.in_every_mode
def test_steps_without_a_loss(run):
  losses = [[1.0, 2.0, np.nan], [np.inf, np.nan, 4.0], [np.nan] * 3]
  mask = np.array([[True, True, False], [False, False, True], [False] * 3])
  sums, means = run(
      lambda x, m: (
          q_learning.sequence_losses(x, m),
          q_learning.sequence_losses(x, m, mean_over_time=True),
      ),
      losses,
      mask,
  )
  np.testing.assert_array_equal(sums, [3, 4, 0])
  np.testing.assert_array_equal(means, [1.5, 4, 0])


@tensors.in_every_mode
def test_the_last_step_counts_for_its_repeats(run):
  # x5 x6 end x6 x6, as 'fill' cuts it; the same padded; without an end; nothing
  # but padding; a sequence whose last frame alone is missing; two episodes.
  is_last = np.array([
      [0, 0, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1],
      [0, 0, 0, 1, 1], [0, 1, 0, 1, 1],
  ], bool)
  next_is_last = np.array([
      [0, 1, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0],
      [0, 0, 1, 0, 1], [1, 0, 1, 0, 1],
  ], bool)
  weights = run(q_learning.step_weights, is_last, next_is_last)
  np.testing.assert_array_equal(weights, [
      [1, 3, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 2, 0],
      [1, 0, 2, 0],
  ])
  losses = np.float32([[10, 4, np.nan, 7]] * 6)
  sums, means = run(
      lambda x, w: (
          q_learning.sequence_losses(x, w),
          q_learning.sequence_losses(x, w, mean_over_time=True),
      ),
      losses[:2],
      weights[:2],
  )
  np.testing.assert_array_equal(sums, [10 + 4 + 4 + 4, 10 + 4])
  np.testing.assert_array_equal(means, [22 / 4, 14 / 2])


@tensors.in_every_mode
def test_weighted_batch(run):
  losses, weights = [1.0, 2.0, 6.0], [1.0, 0.5, 0.25]
  # Divided by 3 sequences; by the sum of the weights it would be 2.
  np.testing.assert_allclose(
      run(q_learning.batch_loss, losses, weights), 3.5 / 3, rtol=1e-6
  )
  np.testing.assert_allclose(run(q_learning.batch_loss, losses), 3)


def test_arguments_of_the_batch():
  with pytest.raises(ValueError, match=r'must both be \[B\]'):
    q_learning.batch_loss([1.0, 2.0], [[1.0], [1.0]])
  losses, weights = np.array([2.0, 4.0]), np.array([1.0, 0.5])
  by_loss, by_weight = tensors.gradient(q_learning.batch_loss, losses, weights)
  np.testing.assert_array_equal(by_loss, [0.5, 0.25])
  assert by_weight is None


def test_gradient_of_the_loss():
  # Descent moves Q(s_t, a_t) by its error and nothing else: not the frame of
  # the episode's last observation, nor the one that only bootstraps.
  def loss(online):
    losses = q_learning.step_losses(_errors(online, 2))
    return q_learning.batch_loss(
        q_learning.sequence_losses(losses, seq.VALID), [0.5]
    )

  expected = np.zeros_like(seq.ONLINE)
  for t in range(4):
    expected[0, t, seq.ACTIONS[0, t]] = -0.5 * seq.TWO_STEP_ERRORS[0, t]
  [gradient] = tensors.gradient(loss, seq.ONLINE)
  np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_gradient_is_finite_beside_padding():
  def loss(online, target):
    padded = [[False, False, True, True, True]]
    targets = q_learning.n_step_targets(
        online, target, [[1.0, 2, 9, 9]], [[1.0, 0, 1, 1]], padded, 0.9, 3
    )
    errors = q_learning.td_errors(
        online[:, :-1], [[0, 1, 0, 0]], targets, q_learning.valid_steps(padded)
    )
    return q_learning.step_losses(errors)

  online = np.full([1, 5, 2], np.nan, np.float32)
  online[0, :3] = 0.0
  gradient, by_target = tensors.gradient(loss, online, online)
  expected = np.zeros([1, 5, 2])
  expected[0, 0, 0], expected[0, 1, 1] = -(1 + 0.9 * 2), -2
  np.testing.assert_allclose(gradient, expected, rtol=1e-6)
  assert by_target is None
