# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for q_learning: worked numbers, a slow plain loop, closed gradients."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import q_learning
from tests import tensors
from tests.ops import q_sequences as seq

_WORTH = [[0.209539, 0.957320, 0.438947, 1.099313, 1.883599, 0.820286]]
# n: (G, y) of steps 0 to 3.
_DEATH = {
    1: (
        [0.861588, 1.395052, 0.989382, 2.000000],
        [0.365262, 0.548991, 0.411444, 0.734051],
    ),
    2: (
        [1.255547, 1.890444, 1.800000, 2.000000],
        [0.503103, 0.702021, 0.675120, 0.734051],
    ),
    3: (
        [1.701399, 2.620000, 1.800000, 2.000000],
        [0.645295, 0.905250, 0.675120, 0.734051],
    ),
}
_TIME_LIMIT = {
    2: (
        [1.255547, 1.890444, 3.325715, 3.695239],
        [0.503103, 0.702021, 1.083161, 1.170545],
    ),
    3: (
        [1.701399, 3.993144, 3.325715, 3.695239],
        [0.645295, 1.238528, 1.083161, 1.170545],
    ),
}
_SUM_OF_SQUARES = {1: 0.031002, 2: 0.209535, 3: 0.439365}


def _targets(run, n, discounts=seq.DEATH, epsilon=seq.EPSILON, **kwargs):
  """Targets of the worked sequence's steps 0 to 3."""

  def fn(*arrays):
    return q_learning.n_step_targets(
        *arrays, seq.GAMMA, n, rescaling_epsilon=epsilon, **kwargs
    )

  arrays = seq.ONLINE, seq.TARGET, seq.REWARDS, discounts, seq.IS_LAST
  targets = run(fn, *arrays)
  assert targets.shape == (1, 5)
  assert targets[0, 4] == 0  # No action was taken there.
  return targets[0, :4]


@tensors.in_every_mode
def test_bootstrap_values(run):
  def fn(online, target):
    return (
        q_learning.bootstrap_values(online, target, 1e-3),
        q_learning.bootstrap_values(online, target),
        q_learning.bootstrap_values(online, target, double_q=False),
    )

  rescaled, double, single = run(fn, seq.ONLINE, seq.TARGET)
  np.testing.assert_allclose(rescaled, _WORTH, atol=6e-7)
  # a* = 1, 0, 1, 2, 0, 2.
  np.testing.assert_array_equal(double, [[0.1, 0.4, 0.2, 0.45, 0.7, 0.35]])
  np.testing.assert_array_equal(single, [[0.2, 0.6, 0.5, 0.8, 0.9, 0.35]])


@tensors.in_every_mode
def test_actions_that_are_not_allowed_are_worth_nothing(run):
  forbidden = np.where(seq.ONLINE == seq.ONLINE.max(-1, keepdims=True), -1, 0)
  forbidden = np.where(forbidden, -np.inf, 0.0)
  # The second best of the online network: a* = 0, 1, 2, 0, 1, 0.
  np.testing.assert_array_equal(
      run(q_learning.bootstrap_values, seq.ONLINE + forbidden, seq.TARGET),
      [[0.0, 0.6, 0.5, 0.8, 0.9, 0.15]],
  )
  np.testing.assert_array_equal(
      run(
          lambda o, t: q_learning.bootstrap_values(o, t, double_q=False),
          seq.ONLINE,
          seq.TARGET + forbidden,
      ),
      [[0.2, 0.6, 0.5, 0.8, 0.9, 0.25]],
  )


@pytest.mark.parametrize('n', [1, 2, 3])
@tensors.in_every_mode
def test_an_episode_that_ends_with_a_death(run, n):
  returns, targets = _DEATH[n]
  found = _targets(run, n)
  np.testing.assert_allclose(found, targets, atol=6e-7)
  np.testing.assert_allclose(
      tensors.eager(q_learning.inverse_rescale, found), returns, atol=2e-6
  )
  # The errors, by way of the actions taken.
  errors = run(
      q_learning.td_errors,
      seq.ONLINE[:, :-1],
      seq.ACTIONS,
      np.append(found, 7.0)[np.newaxis],
      seq.VALID,
  )
  np.testing.assert_allclose(
      errors[0, :4], np.subtract(targets, [0.2, 0.5, 0.4, 0.7]), atol=6e-7
  )
  assert errors[0, 4] == 0
  np.testing.assert_allclose(np.sum(errors**2), _SUM_OF_SQUARES[n], atol=1e-6)


@pytest.mark.parametrize('value', [np.inf, np.nan, 1e30])
def test_a_death_leaves_nothing_to_expect(value):
  worth = np.array([[1.0, 1.0, value]])
  found = tensors.eager(
      lambda r, d, v, e: q_learning.n_step_returns(r, d, v, e, 0.5, 2),
      np.array([[1.0, 4.0]]),
      np.array([[1.0, 0.0]]),
      worth,
      np.array([[False, False, True]]),
  )
  np.testing.assert_array_equal(found, [[3, 4]])


@pytest.mark.parametrize('n', [2, 3])
@tensors.in_every_mode
def test_an_episode_that_ends_with_a_time_limit(run, n):
  returns, targets = _TIME_LIMIT[n]
  found = _targets(run, n, seq.TIME_LIMIT)
  np.testing.assert_allclose(found, targets, atol=6e-7)
  np.testing.assert_allclose(
      tensors.eager(q_learning.inverse_rescale, found), returns, atol=2e-6
  )


@tensors.in_every_mode
def test_controls(run):
  for kwargs, expected in (
      ({'epsilon': None}, [1.062000, 1.364500, 1.800000, 2.000000]),
      ({'double_q': False}, [0.707627, 0.954191, 0.675120, 0.734051]),
      ({'epsilon': 1e-2}, [0.511834, 0.712181, 0.691320, 0.752051]),
  ):
    np.testing.assert_allclose(_targets(run, 2, **kwargs), expected, atol=6e-7)


@tensors.in_every_mode
def test_the_end_of_the_sequence(run):
  # No episode ends: with T = 2 the sums are over 2 and 1 rewards, however
  # large n is, and the last frame's own reward does not exist.
  values, rewards = np.array([[7.0, 7.0, 100.0]]), np.array([[1.0, 10.0]])
  none, ones = np.zeros([1, 3], bool), np.ones([1, 2])
  for n, expected in (
      (1, [1 + 3.5, 10 + 50]),
      (2, [1 + 5 + 25, 10 + 50]),
      (3, [1 + 5 + 25, 10 + 50]),
      (50, [1 + 5 + 25, 10 + 50]),
  ):
    np.testing.assert_allclose(
        run(
            lambda r, d, v, e, n=n: q_learning.n_step_returns(
                r, d, v, e, 0.5, n
            ),
            rewards,
            ones,
            values,
            none,
        ),
        [expected],
    )


@tensors.in_every_mode
def test_a_sequence_of_padding_alone(run):
  nan = np.full([2, 3], np.nan)
  found = run(
      lambda *x: q_learning.n_step_targets(*x, 0.9, 2, 1e-3),
      np.full([2, 4, 3], np.nan),
      np.full([2, 4, 3], np.nan),
      nan,
      nan,
      np.ones([2, 4], bool),
  )
  np.testing.assert_array_equal(found, np.zeros([2, 3]))


def _compare(run, n, num_steps, dtype, tolerance, **kwargs):
  data = seq.random_sequences(n, num_steps)
  data = {k: v if v.dtype == bool else v.astype(dtype) for k, v in data.items()}
  names = 'online', 'target', 'rewards', 'discounts', 'is_last'
  arrays = [data[name] for name in names]
  found = run(
      lambda *x: q_learning.n_step_targets(*x, 0.97, n, **kwargs), *arrays
  )
  assert found.dtype == dtype
  kinds = set()
  for row in range(len(found)):
    expected = seq.slow_targets(
        *(array[row] for array in arrays),
        0.97,
        n,
        kwargs.get('rescaling_epsilon'),
        kwargs.get('double_q', True),
    )
    for t, y in enumerate(expected):
      kinds.add(y is None)
      y = 0.0 if y is None else y
      assert abs(found[row, t] - y) < tolerance, (row, t)
  assert kinds == {False, True}


@pytest.mark.parametrize('num_steps', [1, 2, 3, 7, 20])
@pytest.mark.parametrize('n', [1, 2, 3, 4, 5, 6])
def test_random_sequences(n, num_steps):
  _compare(tensors.eager, n, num_steps, np.float32, 1e-5)
  for epsilon in (None, 1e-2):
    for double_q in (True, False):
      _compare(
          tensors.eager,
          n,
          num_steps,
          np.float64,
          1e-9,
          rescaling_epsilon=epsilon,
          double_q=double_q,
      )


@pytest.mark.parametrize('run', [tensors.graph, tensors.unknown_shapes])
def test_random_sequences_in_graphs(run):
  for n in (1, 5):
    _compare(run, n, 9, np.float32, 1e-5, rescaling_epsilon=1e-3)


def test_no_gradient_passes_the_targets():
  by_online, by_target, by_reward, by_discount = tensors.gradient(
      lambda o, t, r, d: q_learning.n_step_targets(
          o, t, r, d, seq.IS_LAST, 0.9, 2, 1e-3
      ),
      seq.ONLINE,
      seq.TARGET,
      seq.REWARDS,
      seq.DEATH,
  )
  assert by_online is by_target is by_reward is by_discount is None
  # It is the targets that stop it: there would be one.
  [by_target] = tensors.gradient(
      lambda t: q_learning.bootstrap_values(seq.ONLINE, t), seq.TARGET
  )
  assert by_target.sum() == 6


def test_n_is_a_number_of_steps():
  arrays = seq.REWARDS, seq.DEATH, seq.TARGET[..., 0], seq.IS_LAST
  for n in (0, -1):
    with pytest.raises(ValueError, match=f'at least 1, got {n}'):
      q_learning.n_step_returns(*arrays, 0.9, n)
  for n in (2.0, True, '2'):
    with pytest.raises(TypeError, match='must be an integer'):
      q_learning.n_step_returns(*arrays, 0.9, n)


def test_more_steps_than_a_sequence_has_are_as_many_as_it_has():
  arrays = seq.REWARDS, seq.DEATH, seq.TARGET[..., 0], seq.IS_LAST
  whole, more = (
      q_learning.n_step_returns(*arrays, 0.9, n)
      for n in (seq.REWARDS.shape[1], 10**12)
  )
  np.testing.assert_array_equal(whole, more)


def test_shapes():
  # Rows of one more or less would broadcast where T is 1.
  one, two = np.ones([3, 1]), np.ones([3, 2])
  last = np.zeros([3, 2], bool)
  q_learning.n_step_returns(one, one, two, last, 0.9, 1)
  for arrays in (
      (two, one, two, last),
      (one, two, two, last),
      (one, one, np.ones([3, 3]), last),
      (one, one, two, last[:, :1]),
      (one, one, two[:1], last),
      (one[:, 0], one, two, last),
  ):
    with pytest.raises(ValueError, match='drop the last frame'):
      q_learning.n_step_returns(*arrays, 0.9, 1)


@tensors.in_every_mode
def test_dueling(run):
  values, advantages = np.array([[0.5], [2.0]]), [[1, -2, 0.4], [3.0, 1, 2]]
  np.testing.assert_allclose(
      run(q_learning.dueling_q_values, values, np.array(advantages)),
      [[1.7, -1.3, 1.1], [3, 1, 2]],
      atol=1e-12,
  )


@tensors.in_every_mode
def test_action_values(run):
  q_values = np.arange(24.0).reshape([2, 4, 3])
  actions = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
  expected = np.array([[0, 5, 7, 10], [14, 17, 18, 22]])
  for dtype in (np.int32, np.int64):
    found = run(q_learning.action_values, q_values, actions.astype(dtype))
    np.testing.assert_array_equal(found, expected)
  # Without a time axis, too.
  np.testing.assert_array_equal(
      run(q_learning.action_values, q_values[0], actions[0]), expected[0]
  )


def test_epsilon_ladder():
  np.testing.assert_allclose(
      q_learning.epsilon_ladder(8),
      [0.4, 0.16, 0.064, 0.0256, 0.01024, 0.004096, 0.0016384, 0.00065536],
      rtol=1e-6,
  )
  np.testing.assert_allclose(q_learning.epsilon_ladder(1), [0.4])
  np.testing.assert_allclose(
      q_learning.epsilon_ladder(2, base=0.1, exponent=2.0), [0.1, 1e-3]
  )
  assert tf.convert_to_tensor(q_learning.epsilon_ladder(3)).dtype == tf.float32
  with pytest.raises(ValueError, match='at least 1, got 0'):
    q_learning.epsilon_ladder(0)
  with pytest.raises(ValueError, match='probability, got 1.5'):
    q_learning.epsilon_ladder(2, base=1.5)


# Losses.
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
        'priority': q_learning.sequence_priorities(terms[0], seq.VALID),
        'two errors': q_learning.sequence_priorities(
            n_step + one_step, seq.VALID
        ),
        'loss as priority': q_learning.sequence_priorities(wholes, seq.VALID),
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
