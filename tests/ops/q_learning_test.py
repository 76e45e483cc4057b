# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for q_learning's targets: worked numbers and a slow plain loop."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import q_learning
from rnd_agents.ops import value_rescaling
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
      tensors.eager(value_rescaling.inverse_rescale, found), returns, atol=2e-6
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
      tensors.eager(value_rescaling.inverse_rescale, found), returns, atol=2e-6
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
