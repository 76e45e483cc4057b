# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import itertools

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


@pytest.mark.parametrize('axis', [None, 0, 2, -1, (0, 2), (2, 1)])
def test_interquartile_mean_axes(axis):
  x = np.random.default_rng(0).standard_cauchy([5, 3, 4])
  axes = {None: (0, 1, 2), -1: (2,)}.get(
      axis, axis if isinstance(axis, tuple) else (axis,))
  kept = [i for i in range(3) if i not in axes]
  expected = np.zeros([x.shape[i] for i in kept])
  for index in np.ndindex(*expected.shape):
    where = [slice(None)] * 3
    for i, position in zip(kept, index):
      where[i] = position
    expected[index] = _slow_iqm(x[tuple(where)].ravel().tolist())

  result = statistics.interquartile_mean(x, axis)

  assert np.shape(result) == expected.shape
  np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize('values', [[], [1.0, np.nan, 2.0, 3.0]])
def test_interquartile_mean_refuses(values):
  with pytest.raises(ValueError, match='interquartile_mean'):
    statistics.interquartile_mean(values)


def test_interval_of_two_runs():
  # The mean of two draws from {0, 1}: 0, 1/2, 1 with chance 1/4, 1/2, 1/4.
  scores = np.array([[0.0], [1.0]])
  assert statistics.stratified_bootstrap_interval(scores, np.mean) == (0.0, 1.0)
  assert statistics.stratified_bootstrap_interval(
      scores, np.mean, confidence=0.4) == (0.5, 0.5)


def test_interval_matches_all_resamples():
  scores = np.array([0.3, 1.7, 4.0, 11.0])
  means = [np.mean(draw) for draw in itertools.product(scores, repeat=4)]
  expected = np.quantile(means, [0.1, 0.9])

  low, high = statistics.stratified_bootstrap_interval(
      scores[:, np.newaxis], np.mean, confidence=0.8, resamples=20_000)

  # The atoms of this distribution lie about 0.1 apart.
  np.testing.assert_allclose([low, high], expected, atol=0.15)


def test_tasks_are_strata():
  # Every run scores the same on a task, so that runs add no uncertainty. Were
  # the tasks resampled too, the mean would range from 0 to 100.
  scores = np.tile([0.0, 100.0, 20.0], [5, 1])
  assert statistics.stratified_bootstrap_interval(scores, np.mean) == (40, 40)


def test_tasks_are_resampled_independently():
  # Tasks that mirror each other: their mean is 0.5 in each run, but not when
  # the runs of each task are drawn on their own.
  scores = np.array([[0.0, 1.0], [1.0, 0.0]])
  low, high = statistics.stratified_bootstrap_interval(scores, np.mean)
  assert (low, high) == (0.0, 1.0)


def test_trailing_axes_are_resampled_together():
  scores = np.random.default_rng(1).normal(size=[6, 2, 3])
  lows, highs = statistics.stratified_bootstrap_interval(
      scores, lambda x: x.mean(axis=(0, 1)), resamples=50, seed=4)
  for i in range(3):
    low, high = statistics.stratified_bootstrap_interval(
        scores[..., i], np.mean, resamples=50, seed=4)
    assert (lows[i], highs[i]) == pytest.approx((low, high))


@pytest.mark.parametrize('confidence', [0.95, 0.5])
def test_interval_covers(confidence):
  # 2000 experiments of 40 normal runs each, one along each trailing position.
  # The percentile interval is that of a normal with the plug-in variance, for
  # which the coverage is known: Student's t with 39 degrees of freedom,
  # P(|t| < z * sqrt(39 / 40)).
  num_runs, experiments = 40, 2000
  rng = np.random.default_rng(2)
  scores = rng.normal(3.0, 2.0, size=[num_runs, 1, experiments])
  z = {0.95: 1.959964, 0.5: 0.674490}[confidence]
  draws = rng.standard_t(num_runs - 1, size=400_000)
  expected = np.mean(np.abs(draws) < z * np.sqrt(1 - 1 / num_runs))

  low, high = statistics.stratified_bootstrap_interval(
      scores, lambda x: x.mean(axis=(0, 1)), confidence, resamples=1000)

  coverage = np.mean((low <= 3.0) & (3.0 <= high))
  assert coverage == pytest.approx(expected, abs=0.03)


def test_interval_seed():
  scores = np.random.default_rng(3).normal(size=[7, 1])

  def interval(seed):
    return statistics.stratified_bootstrap_interval(
        scores, np.mean, resamples=100, seed=seed)

  np.random.seed(0)
  first = interval(5)
  np.random.seed(1)
  state = np.random.get_state()[1].copy()
  assert interval(5) == first
  assert interval(6) != first
  np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize(('shape', 'settings', 'message'), [
    ([5], {}, 'np.newaxis'),
    ([1, 3], {}, 'at least two runs'),
    ([5, 1], {'confidence': 95}, 'confidence'),
    ([5, 1], {'resamples': 0}, 'resamples'),
])
def test_interval_refuses(shape, settings, message):
  with pytest.raises(ValueError, match=message):
    statistics.stratified_bootstrap_interval(
        np.zeros(shape), np.mean, **settings)


def test_align_linear():
  nan = np.nan
  aligned = statistics.align_runs(
      [([0, 10, 20], [0.0, 1.0, 5.0]), ([5, 15], [10.0, 30.0]),
       ([10], [7.0])],
      [0, 5, 10, 12, 15, 20, 25])
  np.testing.assert_allclose(aligned, [
      [0.0, 0.5, 1.0, 1.8, 3.0, 5.0, nan],
      [nan, 10.0, 20.0, 24.0, 30.0, nan, nan],
      [nan, nan, 7.0, nan, nan, nan, nan],
  ])


@pytest.mark.parametrize(('run', 'message'), [
    (([0, 0], [1, 2]), 'increase'),
    (([1, 0], [1, 2]), 'increase'),
    (([], []), 'non-empty'),
    (([0, 1], [1]), 'equally long'),
])
def test_align_refuses(run, message):
  with pytest.raises(ValueError, match=message):
    statistics.align_runs([run], [0, 1])
