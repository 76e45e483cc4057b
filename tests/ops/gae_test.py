# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for gae: worked numbers, closed forms and a loop over episodes.

Numbers named TV5 to TV9 were worked out beside the RND authors' code
(openai/random-network-distillation, ppo_agent.py).
"""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import discounting
from tests import tensors
from tests.ops import episodes

# TV5 and TV7: four actions, the episode ends after the second, so that row 2 is
# the last observation of the first episode.
_ACTED = [0, 1, 3, 4]
_IS_LAST = np.array([[False, False, True, False, False, False]])
_INTRINSIC_REWARDS = np.float32([[0.5, 0.2, 0.0, 0.8, 0.1]])
_INTRINSIC_VALUES = np.float32([[1.0, 1.5, 9.0, 0.5, 0.7, 1.2]])
_EXTRINSIC_REWARDS = np.float32([[0.0, 1.0, 0.0, 0.0, 2.0]])
_EXTRINSIC_VALUES = np.float32([[0.3, 0.6, 0.77, 0.1, 0.4, 0.9]])
_EXTRINSIC_ADVANTAGES = [0.679020, 0.400000, 2.671371, 2.499100]
_DEATH = np.float32([[1, 0, 1, 1, 1]])
_TIME_LIMIT = np.float32([[1, 1, 1, 1, 1]])


def _continuing(rewards, values, is_last, gamma=0.99, lam=0.95):
  """The intrinsic stream, from rows [B, T] and [B, T+1]."""
  is_boundary = is_last[:, :-1]
  values = discounting.bridge_boundary_values(values, is_boundary)
  weights = discounting.continuing_weights(gamma, lam, is_boundary)
  return discounting.generalized_advantage_estimation(
      rewards, values[:, :-1], values[:, -1], *weights
  )


def _episodic(rewards, values, discounts, is_last, gamma, lam, **kwargs):
  """The extrinsic stream, from rows [B, T] and [B, T+1]."""
  weights = discounting.episodic_weights(
      gamma, lam, discounts, is_last[:, 1:], is_last[:, :-1], **kwargs
  )
  return discounting.generalized_advantage_estimation(
      rewards, values[:, :-1], values[:, -1], *weights
  )


def _extrinsic(run, discounts, values=_EXTRINSIC_VALUES, **kwargs):
  return run(
      lambda *x: _episodic(*x, 0.999, 0.95, **kwargs),
      _EXTRINSIC_REWARDS,
      values,
      discounts,
      _IS_LAST,
  )[0, _ACTED]


@tensors.in_every_mode
def test_intrinsic_stream(run):
  # TV5 and TV7: whatever the value of the last observation is.
  advantages = run(_continuing, _INTRINSIC_REWARDS, _INTRINSIC_VALUES, _IS_LAST)
  np.testing.assert_allclose(
      advantages,
      [[1.595409, 0.649026, 1.546014, 1.546014, 0.588000]],
      atol=1e-6,
  )
  np.testing.assert_allclose(
      advantages[0, _ACTED] + _INTRINSIC_VALUES[0, _ACTED],
      [2.595409, 2.149026, 2.046014, 1.288000],
      atol=1e-6,
  )
  # With lambda 0 the advantages are the deltas.
  np.testing.assert_allclose(
      run(
          lambda *x: _continuing(*x, lam=0.0),
          _INTRINSIC_REWARDS,
          _INTRINSIC_VALUES,
          _IS_LAST,
      )[0, _ACTED],
      [0.985, -0.805, 0.993, 0.588],
      atol=1e-6,
  )


@tensors.in_every_mode
def test_extrinsic_stream(run):
  # TV5 and TV7.
  advantages = _extrinsic(run, _DEATH)
  np.testing.assert_allclose(advantages, _EXTRINSIC_ADVANTAGES, atol=1e-6)
  np.testing.assert_allclose(
      advantages + _EXTRINSIC_VALUES[0, _ACTED],
      [0.979020, 1.0, 2.771371, 2.8991],
      atol=1e-6,
  )
  # A death leaves nothing to expect, whatever the value head says of it.
  values = _EXTRINSIC_VALUES.copy()
  values[0, 2] = 100.0
  np.testing.assert_array_equal(_extrinsic(run, _DEATH, values), advantages)


@tensors.in_every_mode
def test_time_limit_is_no_death(run):
  # TV8.
  advantages = _extrinsic(run, _TIME_LIMIT)
  np.testing.assert_allclose(
      advantages, [1.409058, 1.169230] + _EXTRINSIC_ADVANTAGES[2:], atol=1e-6
  )
  # TF-Agents' own mask, and the RND authors' code, take it for one.
  np.testing.assert_allclose(
      _extrinsic(run, _TIME_LIMIT, bootstrap_at_time_limit=False),
      _EXTRINSIC_ADVANTAGES,
      atol=1e-6,
  )


@tensors.in_every_mode
def test_an_endless_reward_of_one(run):
  # V = 1 / (1 - gamma) is exact, so that no advantage is left where a clock
  # cuts the episode.
  rewards, values = np.ones([2, 5]), np.full([2, 6], 100.0)
  is_last = np.zeros([2, 6], bool)
  is_last[:, 5] = True
  arguments = (rewards, values, rewards, is_last)
  np.testing.assert_allclose(
      run(lambda *x: _episodic(*x, 0.99, 0.95), *arguments),
      np.zeros([2, 5]),
      atol=1e-10,
  )


@tensors.in_every_mode
def test_final_value_is_that_of_the_state_after_the_last_action(run):
  # TV9.
  rewards, values, ones = [[1.0, 0, 2]], [[0.5, 1, 2]], np.ones([1, 3], 'f')
  arguments = (0.9 * ones, 0.72 * ones)
  estimate = discounting.generalized_advantage_estimation
  np.testing.assert_allclose(
      run(estimate, rewards, values, [4.0], *arguments),
      [[3.842240, 3.392, 3.6]],
      atol=1e-6,
  )


@tensors.in_every_mode
def test_bridged_values(run):
  values = np.tile([[1.0, 2, 3, 4]], [4, 1])
  # Two in a row: the second is padding.
  is_boundary = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 1, 1]], bool)
  np.testing.assert_array_equal(
      run(discounting.bridge_boundary_values, values, is_boundary),
      [[2, 2, 4, 4], [1, 3, 3, 4], [3, 3, 3, 4], [1, 4, 4, 4]],
  )


@tensors.in_every_mode
def test_weights_of_the_table(run):
  # Inside, a death, a time limit, a boundary, inside with a discount of .5, a
  # life lost.
  environment_discounts = np.float32([[1, 0, 1, np.nan, 0.5, 0]])
  next_is_last = np.array([[False, True, True, False, False, False]])
  is_boundary = np.array([[False, False, False, True, False, False]])
  discounts, weights = run(
      lambda *x: discounting.episodic_weights(0.9, 0.5, *x),
      environment_discounts,
      next_is_last,
      is_boundary,
  )
  np.testing.assert_allclose(discounts, [[0.9, 0, 0.9, 0, 0.45, 0]])
  np.testing.assert_allclose(weights, [[0.45, 0, 0, 0, 0.225, 0]])
  discounts, weights = run(
      lambda *x: discounting.episodic_weights(0.9, 0.5, *x, False),
      environment_discounts,
      next_is_last,
      is_boundary,
  )
  np.testing.assert_allclose(discounts, [[0.9, 0, 0, 0, 0.45, 0]])
  np.testing.assert_allclose(weights, [[0.45, 0, 0, 0, 0.225, 0]])
  discounts, weights = run(
      lambda x: discounting.continuing_weights(0.9, 0.5, x), is_boundary
  )
  np.testing.assert_allclose(discounts, [[0.9, 0.9, 0.9, 1, 0.9, 0.9]])
  np.testing.assert_allclose(weights, [[0.45, 0.45, 0.45, 1, 0.45, 0.45]])
  # An environment's discount of 1/2 is half a termination.
  discounts, weights = run(
      lambda x, y: discounting.continuing_weights(0.9, 0.5, x, y, 0.8),
      is_boundary,
      environment_discounts,
  )
  np.testing.assert_allclose(discounts, [[0.9, 0.72, 0.9, 1, 0.81, 0.72]])
  np.testing.assert_allclose(weights, [[0.45, 0.36, 0.45, 1, 0.405, 0.36]])


# Tracing costs most of the time: all pairs eagerly, the usual one in graphs.
_PAIRS = [(0.99, 0.95), (0.9, 0.0), (0.999, 1.0)]
_CASES = [(tensors.eager, *pair) for pair in _PAIRS]
_CASES += [(run, *_PAIRS[0]) for run in (tensors.graph, tensors.unknown_shapes)]


@pytest.mark.parametrize('num_steps', [1, 2, 3, 7, 128])
@pytest.mark.parametrize(('run', 'gamma', 'lam'), _CASES)
def test_rows_equal_episodes(run, num_steps, gamma, lam):
  batches = [episodes.random_rows(seed, num_steps) for seed in range(4)]
  batches.append(episodes.random_rows(4, num_steps, end_probability=0.02))
  data = {k: np.concatenate([b[k] for b in batches]) for k in batches[0]}
  rewards, values, discounts, is_last = (
      data[k] for k in ('rewards', 'values', 'discounts', 'is_last')
  )
  acted = ~is_last[:, :-1]

  def both(rewards, values, discounts, is_last):
    # The weights of the continuing stream are float32.
    single = tf.cast(rewards, tf.float32), tf.cast(values, tf.float32)
    return (
        _continuing(*single, is_last, gamma, lam),
        _episodic(rewards, values, discounts, is_last, gamma, lam),
        _episodic(
            rewards,
            values,
            discounts,
            is_last,
            gamma,
            lam,
            bootstrap_at_time_limit=False,
        ),
    )

  intrinsic, extrinsic, mortal = run(both, rewards, values, discounts, is_last)
  for row in range(len(rewards)):
    kept = acted[row]
    one = rewards[row], values[row]
    np.testing.assert_allclose(
        intrinsic[row, kept],
        episodes.continuing_advantages(*one, is_last[row], gamma, lam)[kept],
        rtol=1e-4,
        atol=2e-4,
    )
    ends = discounts[row], is_last[row], gamma, lam
    for result, bootstraps in ((extrinsic, True), (mortal, False)):
      np.testing.assert_allclose(
          result[row, kept],
          episodes.episodic_advantages(*one, *ends, bootstraps)[kept],
          rtol=1e-9,
          atol=1e-9,
      )
  # The three differ on these data: no two could stand in for one another.
  differences = (intrinsic - extrinsic)[acted], (extrinsic - mortal)[acted]
  for difference in differences:
    assert np.abs(difference).max() > 0.1


def test_no_gradient_is_lost_on_the_way():
  # Advantages are constants of the loss; the op itself stops nothing, so that
  # whoever uses it must say so.
  ones = np.ones([1, 2])
  by_reward, by_value, by_final_value = tensors.gradient(
      lambda r, v, f: discounting.generalized_advantage_estimation(
          r, v, f, 0.9 * ones, 0.45 * ones
      ),
      ones,
      ones,
      np.ones(1),
  )
  # A_0 = r_0 + .9 v_1 - v_0 + .45 A_1,  A_1 = r_1 + .9 f - v_1
  np.testing.assert_allclose(by_reward, [[1, 1.45]])
  np.testing.assert_allclose(by_value, [[-1, 0.9 - 1.45]])
  np.testing.assert_allclose(by_final_value, [0.9 * 1.45])


def test_ranks():
  row, rows = np.ones([3]), np.ones([1, 3])
  estimate = discounting.generalized_advantage_estimation
  with pytest.raises(ValueError, match=r'rewards must be \[B, T\]'):
    estimate(row, rows, row[:1], rows, rows)
  with pytest.raises(ValueError, match=r'values must be \[B, T\]'):
    estimate(rows, row, row[:1], rows, rows)
  with pytest.raises(ValueError, match=r'final_value must be \[B\]'):
    estimate(rows, rows, rows[:, :1], rows, rows)


@tensors.in_every_mode
def test_the_value_of_a_last_row_that_ends_a_rollout(run):
  """It stands for that of the next FIRST row, which is not there yet.

  docs/rnd_ppo.md tells what that costs: gamma times their difference, fading by
  gamma lambda a step.
  """
  gamma, lam, last, first = 0.9, 0.5, 0.09, 0.15
  rewards = np.float32([[1.0, 2.0, 3.0]])
  values = np.float32([[0.5, 0.4, 0.3, last]])
  # With the row after it: the transition LAST -> FIRST pays nothing.
  longer = (
      np.concatenate([rewards, [[np.float32(0)]]], axis=1),
      np.concatenate([values, [[np.float32(first)]]], axis=1),
  )
  is_last = np.array([[False, False, False, True, False]])
  cut = run(
      lambda *x: _continuing(*x, gamma, lam), rewards, values, is_last[:, :-1]
  )
  whole = run(lambda *x: _continuing(*x, gamma, lam), *longer, is_last)
  step = gamma * (first - last) * (gamma * lam) ** np.arange(3)[::-1]
  np.testing.assert_allclose(whole[:, :3] - cut, [step], rtol=1e-4)
