# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import numpy as np
import pytest

from rnd_agents.plotting import statistics


@pytest.mark.parametrize(('values', 'expected'), [
    ([7.0], 7.0),
    ([1.0, 2.0, 6.0], 3.0),  # Three: nothing is cut.
    ([100.0, 1.0, 2.0, -50.0], 1.5),  # One at each end.
    ([9.0, 1.0, 2.0, 3.0, -7.0], 2.0),
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0], 4.0),  # 7 // 4: still one.
    ([8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.5, 4.0], 4.625),  # (3 + 4 + 5.5 + 6) / 4
])
def test_interquartile_mean_known(values, expected):
  assert statistics.interquartile_mean(values) == pytest.approx(expected)


def _slow_iqm(values):
  values = sorted(values)
  for _ in range(int(0.25 * len(values))):
    values = values[1:-1] if len(values) > 2 else values
  return sum(values) / len(values)


def test_interquartile_mean_is_over_the_runs():
  x = np.random.default_rng(0).standard_cauchy([9, 3, 4])
  result = statistics.interquartile_mean(x)
  expected = [[_slow_iqm(x[:, i, j].tolist()) for j in range(4)]
              for i in range(3)]
  np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize('values', [[], [1.0, np.nan, 2.0, 3.0]])
def test_interquartile_mean_refuses(values):
  with pytest.raises(ValueError, match='interquartile_mean'):
    statistics.interquartile_mean(values)


def test_interval_matches_all_resamples():
  scores = np.array([0.3, 1.7, 4.0, 11.0])
  means = [_slow_iqm(draw) for draw in itertools.product(scores, repeat=4)]
  expected = np.quantile(means, [0.1, 0.9])

  low, high = statistics.bootstrap_interval(
      scores, confidence=0.8, resamples=20_000)

  # The atoms of this distribution lie about 0.1 apart.
  np.testing.assert_allclose([low, high], expected, atol=0.15)


def test_trailing_axes_are_resampled_together():
  scores = np.random.default_rng(1).normal(size=[6, 3])
  lows, highs = statistics.bootstrap_interval(scores, resamples=50, seed=4)
  for i in range(3):
    low, high = statistics.bootstrap_interval(
        scores[:, i], resamples=50, seed=4)
    assert (lows[i], highs[i]) == pytest.approx((low, high))


@pytest.mark.parametrize('confidence', [0.95, 0.3])  # Between two of them.
def test_interval_of_three_runs_by_enumeration(confidence):
  # Of three runs, whose IQM is their mean, there are 27 resamples.
  scores = np.random.default_rng(2).normal(size=[3, 20])
  means = np.mean(
      [scores[list(draw)] for draw in itertools.product(range(3), repeat=3)],
      axis=1)
  tail = (1 - confidence) / 2
  expected = np.quantile(
      means, [tail, 1 - tail], axis=0, method='inverted_cdf')
  np.testing.assert_allclose(
      statistics.bootstrap_interval(scores, confidence, resamples=20_000),
      expected)


def test_ends_lie_outwards_of_the_quantiles():
  # Of three resamples of 20 and 30, the quartiles lie between two of them.
  ends = set()
  for seed in range(20):
    rng = np.random.default_rng(seed)
    samples = [
        np.mean(np.array([20.0, 30.0])[rng.integers(2, size=2)])
        for _ in range(3)]
    ends.add(statistics.bootstrap_interval(
        np.array([20.0, 30.0]), 0.5, resamples=3, seed=seed))
    assert (min(samples), max(samples)) in ends
  assert len(ends) > 2


def test_interval_seed():
  scores = np.random.default_rng(3).normal(size=7)

  def interval(seed):
    return statistics.bootstrap_interval(scores, resamples=100, seed=seed)

  np.random.seed(0)
  first = interval(5)
  np.random.seed(1)
  state = np.random.get_state()[1].copy()
  assert interval(5) == first
  assert interval(6) != first
  np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize('confidence', [-1.0, 0.0, 1.0, 1.0001, 95])
def test_confidence_that_is_none_is_refused(confidence):
  with pytest.raises(ValueError, match=r'confidence must be inside \(0, 1\)'):
    statistics.bootstrap_interval(np.zeros(5), confidence)


def test_one_run_has_no_interval():
  with pytest.raises(ValueError, match='at least two runs'):
    statistics.bootstrap_interval(np.zeros([1, 3]))


def _run(env_steps, values):
  return np.array(env_steps), np.array(values, np.float64)


def test_runs_on_one_grid():
  returns = np.random.default_rng(0).normal(size=[5, 3])
  runs = [_run([0, 100, 200], row)
          for i, row in enumerate(returns)]

  curve = statistics.group_curve(runs)

  np.testing.assert_array_equal(curve.env_steps, [0, 100, 200])
  np.testing.assert_array_equal(curve.num_runs, [5, 5, 5])
  np.testing.assert_allclose(curve.values, returns)
  for i in range(3):
    column = np.sort(returns[:, i])
    assert curve.iqm[i] == pytest.approx(column[1:4].mean())
    low, high = statistics.bootstrap_interval(returns[:, i])
    assert (curve.low[i], curve.high[i]) == pytest.approx((low, high))
  assert curve.complete.all()


def test_runs_of_different_lengths():
  runs = [
      _run([0, 10, 20, 30], [0, 1, 2, 3]),
      _run([0, 20], [10, 30]),
      _run([10, 20], [4, 4]),
  ]
  curve = statistics.group_curve(runs)
  np.testing.assert_array_equal(curve.env_steps, [0, 10, 20, 30])
  np.testing.assert_array_equal(curve.num_runs, [2, 3, 3, 1])
  np.testing.assert_array_equal(curve.complete, [False, True, True, False])
  np.testing.assert_allclose(curve.iqm, [5, 25 / 3, 12, 3])
  # Means of two and three draws, whose ends have chances over 2.5 %.
  np.testing.assert_allclose(curve.low, [0, 1, 2, np.nan])
  np.testing.assert_allclose(curve.high, [10, 20, 30, np.nan])


def test_runs_that_stop_at_almost_the_same_step():
  runs = [
      _run([0, 100, 200], [0, 1, 2]),
      _run([3, 100, 205], [6, 7, 8]),
      # Half of its distance away and more: not carried.
      _run([0, 20, 40], [9, 9, 9]),
  ]
  curve = statistics.group_curve(runs)
  np.testing.assert_array_equal(curve.env_steps, [0, 3, 20, 40, 100, 200, 205])
  np.testing.assert_allclose(curve.values[0, [0, -2, -1]], [0, 2, 2])
  np.testing.assert_allclose(curve.values[1, [0, 1, -1]], [6, 6, 8])
  np.testing.assert_array_equal(
      np.isnan(curve.values[2]), [False] * 4 + [True] * 3
  )


def test_runs_with_one_point_each():
  runs = [_run([90], [1]), _run([100], [2]), _run([105], [6])]
  curve = statistics.group_curve(runs)
  assert curve.complete.all()
  np.testing.assert_allclose(curve.iqm, [3, 3, 3])


def test_a_run_killed_after_its_first_point_holds_it_for_half_a_distance():
  runs = [_run([100], [1]), _run([90, 140, 190], [4, 5, 6])]
  curve = statistics.group_curve(runs)
  np.testing.assert_array_equal(curve.env_steps, [90, 100, 140, 190])
  np.testing.assert_array_equal(curve.values[0], [1, 1, np.nan, np.nan])


def test_many_points():
  x = np.arange(0, 4001, 4)
  runs = [_run(x, x / 2),
          _run(x[1:-1] + 1, x[1:-1])]
  curve = statistics.group_curve(runs)
  assert 500 <= curve.env_steps.size <= 502
  assert (np.diff(curve.env_steps) > 0).all()
  # Both runs at all the points from the second one's start to its end.
  np.testing.assert_array_equal(
      curve.complete, (curve.env_steps >= 5) & (curve.env_steps <= 3997))
  shared = curve.env_steps[curve.complete]
  assert shared[0] == 5 and shared[-1] == 3997
  np.testing.assert_allclose(
      curve.iqm[curve.complete], (shared / 2 + shared - 1) / 2)


def test_runs_that_never_overlap():
  runs = [_run([0, 10], [1, 2]),
          _run([20, 30], [3, 4])]
  curve = statistics.group_curve(runs)
  np.testing.assert_array_equal(curve.num_runs, [1, 1, 1, 1])
  np.testing.assert_allclose(curve.iqm, [1, 2, 3, 4])
  assert not curve.complete.any()


def _group(*curves):
  """One run for each list of returns, evaluated at 10, 20, 30, ..."""
  return [
      (10 * np.arange(1, len(returns) + 1), np.array(returns, np.float64))
      for returns in curves]


def test_steps_are_of_a_measured_point():
  groups = {'g': [(np.array([10, 20, 30]), np.array([0.0, 3.0, 1.0]))]}
  rows = statistics.steps_to(groups, 'return_mean', [1.5, 3.0, -1.0, 3.1])
  assert [row.iqm for row in rows] == [20, 20, 10, math.inf]  # Not 15.


def test_a_quarter_that_fails_is_cut_and_a_half_makes_it_never():
  fast, slow, never = [0, 5, 5], [0, 0, 5], [0, 0, 0]
  groups = {
      'quarter': _group(fast, fast, slow, never),
      'half': _group(fast, fast, never, never),
  }
  quarter, half = statistics.steps_to(groups, 'return_mean', [4])
  # Of 20, 20, 30, never the middle two are 20 and 30.
  assert quarter[:4] == ('quarter', 'return_mean', 4.0, 25.0)
  assert (quarter.num_reached, quarter.num_runs) == (3, 4)
  # In the worst resamples two of the four or more never arrive.
  assert (quarter.low, quarter.high) == (20.0, math.inf)
  assert half.iqm == math.inf
  assert (half.low, half.high) == (20.0, math.inf)
  assert half.num_reached == 2


def test_interval_of_steps_by_enumeration():
  # Resamples of 20 and 30: 20, 25, 25, 30 with chances of a quarter each.
  groups = {'g': _group([0, 5, 5], [0, 0, 5])}
  row, = statistics.steps_to(groups, 'return_mean', [4])
  assert (row.iqm, row.low, row.high) == (25.0, 20.0, 30.0)


def test_default_thresholds_lie_between_start_and_best():
  groups = {
      'good': _group([-200, -150, -103], [-200, -140, -110]),
      'bad': _group([-200, -200, -190]),
  }
  rows = statistics.steps_to(groups, 'return_mean')
  # From -200 to the median of the best, -106.5: whole numbers below
  # -176.6, -153.25, -129.9 and -111.2.
  assert [row.threshold for row in rows[::2]] == [-177, -154, -130, -112]
  assert [row.label for row in rows[:2]] == ['good', 'bad']
  assert all(row.num_reached == 2 for row in rows[::2])
  flat = {'flat': _group([1, 1, 1])}
  assert statistics.steps_to(flat, 'return_mean') == []
