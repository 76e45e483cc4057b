# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over the runs of a group: curves, intervals, sample efficiency.

The interquartile mean (IQM) and the percentile bootstrap follow Agarwal et al.,
"Deep Reinforcement Learning at the Edge of the Statistical Precipice", 2021
(arXiv:2108.13264). They are written here because the paper's own package
ignores the random state it is given, and brings five large dependencies.
"""

from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files

CONFIDENCE = 0.95  # Probability of the intervals.
_RESAMPLES = 2000
_MAX_GRID_POINTS = 500
# Default thresholds, as shares of the way from the first value to the best.
_SHARES = (0.25, 0.5, 0.75, 0.95)
_SUCCESS_THRESHOLDS = (0.5, 0.95)

Groups = Mapping[str, Sequence[run_files.Series]]  # Runs by label.


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
  """Returns the mean over runs without a quarter of them at each end.

  The paper's package takes the 25 % trimmed mean for the IQM, and so does this:
  `n // 4` runs go at each end. So with fewer than four the IQM is the mean.

  Args:
    scores: [runs, ...].

  Returns:
    float64 [...].

  Raises:
    InvalidValue: If there are no runs, or a score is NaN, which would be cut as
      the largest one without notice.
  """
  scores = np.sort(np.asarray(scores, np.float64), axis=0)
  if not scores.size or np.isnan(scores).any():
    raise errors.InvalidValue(
        'interquartile_mean needs at least one run and no NaN.')
  cut = len(scores) // 4
  return scores[cut:len(scores) - cut].mean(axis=0)


def bootstrap_interval(
    scores: np.ndarray,
    confidence: float = CONFIDENCE,
    resamples: int = _RESAMPLES,
    seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
  """Returns the percentile interval of the IQM over resampled runs.

  With few runs, such as five, it is too narrow, as any percentile bootstrap.

  Args:
    scores: [runs, ...], which may be infinite; trailing axes, such as the
      points of a learning curve, go with their run.
    confidence: Probability between the two ends, in (0, 1).
    resamples: Number of bootstrap samples.
    seed: Seed of this call's own generator: equal seeds, equal intervals.

  Returns:
    The lower and the upper end, [...]: the samples next to the quantiles,
    outwards, since nothing can be interpolated between a number and infinity.

  Raises:
    ValueError: If there are fewer than two runs, or `confidence` is out of
      range.
  """
  if not 0.0 < confidence < 1.0:
    raise errors.InvalidValue(
        f'confidence must be inside (0, 1), got {confidence}.')
  num_runs = len(scores)
  if num_runs < 2:
    raise errors.InvalidValue('An interval needs at least two runs.')
  rng = np.random.default_rng(seed)
  samples = np.sort([
      interquartile_mean(scores[rng.integers(num_runs, size=num_runs)])
      for _ in range(resamples)], axis=0)
  tail = (1.0 - confidence) / 2.0 * (resamples - 1)
  return samples[math.floor(tail)], samples[math.ceil(resamples - 1 - tail)]


class GroupCurve(NamedTuple):
  """A metric over the runs of a group, at G environment steps."""
  env_steps: np.ndarray  # [G]
  iqm: np.ndarray  # [G], of the runs that have a value there.
  low: np.ndarray  # [G], NaN where fewer than two runs have a value.
  high: np.ndarray  # [G], NaN where fewer than two runs have a value.
  num_runs: np.ndarray  # [G], how many runs have a value there.
  values: np.ndarray  # [runs, G], NaN outside of a run's range.

  @property
  def complete(self) -> np.ndarray:
    """Whether every run has a value, bool [G]."""
    return self.num_runs == len(self.values)


def group_curve(runs: Sequence[run_files.Series]) -> GroupCurve:
  """Returns the interquartile mean and a bootstrap interval over runs.

  Points are the environment steps at which any run has a value (an even grid
  instead, if those are very many); runs are interpolated linearly between their
  own points. Since no two runs stop at the very same step, the first and the
  last value of a run hold beyond it, for less than half of the distance between
  its points (of a run with one point, between those of the others; without any
  limit if no run has two); further out it has no value: a run that was killed
  early must not count as one that levelled off.

  Args:
    runs: At least one.
  """
  grid = np.unique(np.concatenate([x for x, _ in runs]))
  gaps = np.concatenate([np.diff(x) for x, _ in runs])
  runs = [_extended(run, grid[0], grid[-1], gaps) for run in runs]
  if grid.size > _MAX_GRID_POINTS:
    common = [max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)]
    even = np.linspace(grid[0], grid[-1], _MAX_GRID_POINTS).round()
    # With both ends of the range that all runs share: tables have the last.
    grid = np.union1d(even, common).astype(np.int64)
  values = np.stack(
      [np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in runs])
  present = ~np.isnan(values)
  iqm, low, high = np.full((3, grid.size), np.nan)
  # At once for all the points at which the same runs have a value.
  patterns, which = np.unique(present, axis=1, return_inverse=True)
  for index, members in enumerate(patterns.T):
    points = np.flatnonzero(which.ravel() == index)
    scores = values[np.ix_(members, points)]
    if members.any():
      iqm[points] = interquartile_mean(scores)
    if members.sum() > 1:
      low[points], high[points] = bootstrap_interval(scores)
  return GroupCurve(grid, iqm, low, high, present.sum(axis=0), values)


def _extended(
    run: run_files.Series, first: int, last: int, gaps: np.ndarray
) -> run_files.Series:
  """Holds the ends of a run as far as `group_curve` says."""
  x, y = run
  if len(x) > 1:
    gaps = np.diff(x)
  reach = np.median(gaps) / 2 if gaps.size else math.inf
  if first < x[0] < first + reach:
    x, y = np.append(first, x), np.append(y[0], y)
  if last - reach < x[-1] < last:
    x, y = np.append(x, last), np.append(y, y[-1])
  return x, y


class StepsTo(NamedTuple):
  """The environment steps in which a group reaches a value.

  Attributes:
    label: Name of the group.
    metric: Column of `metrics.csv`.
    threshold: Value to reach, from below.
    iqm: Interquartile mean over the runs of the environment steps of the first
      measured value at or above it. A run without one counts as infinitely
      slow: leaving it out would reward the agent that fails most often.
    low: Lower end of the interval, NaN with one run.
    high: Upper end, NaN with one run.
    num_reached: Number of runs with such a point.
    num_runs: Number of runs.
  """
  label: str
  metric: str
  threshold: float
  iqm: float
  low: float
  high: float
  num_reached: int
  num_runs: int


def steps_to(
    groups: Groups, metric: str, thresholds: Sequence[float] | None = None
) -> list[StepsTo]:
  """Returns the sample efficiency of groups, groups inside thresholds.

  Args:
    groups: Runs by label.
    metric: Name of the metric.
    thresholds: Values to reach, the same for all groups. None takes a half and
      95 % for the success rate. For other metrics, it takes values at 25, 50,
      75 and 95 % of the way from the median first value of all runs to the best
      value that half of the runs of some group have reached.
  """
  if thresholds is None:
    thresholds = _SUCCESS_THRESHOLDS
    if metric != 'success_rate':
      thresholds = _default_thresholds(groups)
  rows = []
  for threshold in thresholds:
    for label, runs in groups.items():
      steps = np.array(
          [next(iter(x[y >= threshold]), math.inf) for x, y in runs], float)
      low = high = math.nan
      if steps.size > 1:
        low, high = map(float, bootstrap_interval(steps))
      rows.append(StepsTo(
          label, metric, float(threshold), float(interquartile_mean(steps)),
          low, high, int(np.isfinite(steps).sum()), steps.size))
  return rows


def _default_thresholds(groups: Groups) -> list[float]:
  """Returns thresholds rounded to two digits of the way, increasing."""
  start = float(np.median([y[0] for runs in groups.values() for _, y in runs]))
  best = max(
      float(np.median([y.max() for _, y in runs])) for runs in groups.values())
  if best <= start:
    return []  # No group improves.
  step = 10.0 ** (math.floor(math.log10(best - start)) - 1)
  # Down, so that rounding does not exceed the best value.
  targets = [
      math.floor((start + share * (best - start)) / step + 1e-9) * step
      for share in _SHARES]
  return sorted({float(f'{target:.10g}') for target in targets})
