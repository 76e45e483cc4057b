# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from rnd_agents.plotting import group_curves
from rnd_agents.plotting import statistics

_NAN = np.nan


def _run(env_steps, values):
  return np.array(env_steps), np.array(values, np.float64)


def test_runs_on_one_grid():
  returns = np.random.default_rng(0).normal(size=[5, 3])
  runs = [_run([0, 100, 200], row)
          for i, row in enumerate(returns)]

  curve = group_curves.group_curve(runs, confidence=0.9, resamples=300, seed=3)

  np.testing.assert_array_equal(curve.env_steps, [0, 100, 200])
  np.testing.assert_array_equal(curve.num_runs, [5, 5, 5])
  np.testing.assert_allclose(curve.values, returns)
  for i in range(3):
    column = np.sort(returns[:, i])
    assert curve.iqm[i] == pytest.approx(column[1:4].mean())
    low, high = statistics.stratified_bootstrap_interval(
        returns[:, i:i + 1], statistics.interquartile_mean, 0.9, 300, 3)
    assert (curve.low[i], curve.high[i]) == pytest.approx((low, high))
  assert curve.complete.all()


def test_runs_of_different_lengths():
  runs = [
      _run([0, 10, 20, 30], [0, 1, 2, 3]),
      _run([0, 20], [10, 30]),
      _run([10, 20], [4, 4]),
  ]
  curve = group_curves.group_curve(runs)
  np.testing.assert_array_equal(curve.env_steps, [0, 10, 20, 30])
  np.testing.assert_array_equal(curve.num_runs, [2, 3, 3, 1])
  np.testing.assert_array_equal(curve.complete, [False, True, True, False])
  np.testing.assert_allclose(curve.iqm, [5, 25 / 3, 12, 3])
  # Means of two and three draws, whose ends have chances over 2.5 %.
  np.testing.assert_allclose(curve.low, [0, 1, 2, _NAN])
  np.testing.assert_allclose(curve.high, [10, 20, 30, _NAN])


def test_runs_that_stop_at_almost_the_same_step():
  runs = [
      _run([0, 100, 200], [0, 1, 2]),
      _run([3, 100, 205], [6, 7, 8]),
      # Half of its distance away and more: not carried.
      _run([0, 20, 40], [9, 9, 9]),
  ]
  curve = group_curves.group_curve(runs)
  np.testing.assert_array_equal(curve.env_steps, [0, 3, 20, 40, 100, 200, 205])
  np.testing.assert_allclose(curve.values[0, [0, -2, -1]], [0, 2, 2])
  np.testing.assert_allclose(curve.values[1, [0, 1, -1]], [6, 6, 8])
  np.testing.assert_array_equal(
      np.isnan(curve.values[2]), [False] * 4 + [True] * 3
  )


def test_many_points():
  x = np.arange(0, 4001, 4)
  runs = [_run(x, x / 2),
          _run(x[1:-1] + 1, x[1:-1])]
  curve = group_curves.group_curve(runs, resamples=20)
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
  curve = group_curves.group_curve(runs)
  np.testing.assert_array_equal(curve.num_runs, [1, 1, 1, 1])
  np.testing.assert_allclose(curve.iqm, [1, 2, 3, 4])
  assert not curve.complete.any()


def test_refuses():
  with pytest.raises(ValueError, match='at least one run'):
    group_curves.group_curve([])
