# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from rnd_agents.plotting import sample_efficiency
from rnd_agents.plotting import statistics


def _group(*curves):
  """One run for each list of returns, evaluated at 10, 20, 30, ..."""
  return [
      (10 * np.arange(1, len(returns) + 1), np.array(returns, np.float64))
      for returns in curves]


def test_first_env_steps_is_of_a_measured_point():
  x, y = np.array([10, 20, 30]), np.array([0.0, 3.0, 1.0])
  assert sample_efficiency.first_env_steps(x, y, 1.5) == 20  # Not 15.
  assert sample_efficiency.first_env_steps(x, y, 3.0) == 20
  assert sample_efficiency.first_env_steps(x, y, -1.0) == 10
  assert sample_efficiency.first_env_steps(x, y, 3.1) == math.inf


def test_a_quarter_that_fails_is_cut_and_a_half_makes_it_never():
  fast, slow, never = [0, 5, 5], [0, 0, 5], [0, 0, 0]
  groups = {
      'quarter': _group(fast, fast, slow, never),
      'half': _group(fast, fast, never, never),
  }
  quarter, half = sample_efficiency.steps_to(groups, thresholds=[4])
  # Of 20, 20, 30, never the middle two are 20 and 30.
  assert quarter[:4] == ('quarter', 'return_mean', 4.0, 25.0)
  assert (quarter.num_reached, quarter.num_runs) == (3, 4)
  # In the worst resamples two of the four or more never arrive.
  assert (quarter.low, quarter.high) == (20.0, math.inf)
  assert half.iqm == math.inf
  assert (half.low, half.high) == (20.0, math.inf)
  assert half.num_reached == 2


def test_interval_of_two_runs_by_enumeration():
  # Resamples of 20 and 30: 20, 25, 25, 30 with chances of a quarter each.
  groups = {'g': _group([0, 5, 5], [0, 0, 5])}
  row, = sample_efficiency.steps_to(groups, thresholds=[4], confidence=0.6)
  assert (row.iqm, row.low, row.high) == (25.0, 20.0, 30.0)
  row, = sample_efficiency.steps_to(groups, thresholds=[4], confidence=0.4)
  assert (row.low, row.high) == (25.0, 25.0)


def test_ends_lie_outwards_of_the_quantiles():
  # Of three resamples, one at a time, from a half to one and a half apart.
  groups = {'g': _group([0, 5, 5], [0, 0, 5])}
  ends = set()
  for seed in range(20):
    row, = sample_efficiency.steps_to(
        groups, thresholds=[4], confidence=0.5, resamples=3, seed=seed)
    samples = statistics.stratified_bootstrap(
        np.array([[20.0], [30.0]]), statistics.interquartile_mean, 3, seed)
    assert (row.low, row.high) == (samples.min(), samples.max())
    ends.add((row.low, row.high))
  assert len(ends) > 2


def test_default_thresholds_lie_between_start_and_best():
  groups = {
      'good': _group([-200, -150, -103], [-200, -140, -110]),
      'bad': _group([-200, -200, -190]),
  }
  rows = sample_efficiency.steps_to(groups)
  # From -200 to the median of the best, -106.5: whole numbers below
  # -176.6, -153.25, -129.9 and -111.2.
  assert [row.threshold for row in rows[::2]] == [-177, -154, -130, -112]
  assert [row.label for row in rows[:2]] == ['good', 'bad']
  assert all(row.num_reached == 2 for row in rows[::2])
  flat = {'flat': _group([1, 1, 1])}
  assert sample_efficiency.steps_to(flat) == []


@pytest.mark.parametrize('confidence', [-1.0, 0.0, 1.0, 1.0001, 95])
def test_confidence_that_is_none_is_refused(confidence):
  groups = {'g': _group([0, 5], [0, 5], [5, 5])}
  with pytest.raises(ValueError, match=r'confidence must be inside \(0, 1\)'):
    sample_efficiency.steps_to(groups, thresholds=[4], confidence=confidence)
