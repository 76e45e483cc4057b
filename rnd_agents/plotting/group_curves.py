# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The course of a metric over the runs of a group, with its uncertainty."""

from typing import NamedTuple, Optional, Sequence

import numpy as np

from rnd_agents.plotting import metrics_file
from rnd_agents.plotting import statistics

_MAX_GRID_POINTS = 500


class GroupCurve(NamedTuple):
  """The course of a metric over the runs of a group, at G points."""
  env_steps: np.ndarray  # [G]
  iqm: np.ndarray  # [G], of the runs that have a value there.
  low: np.ndarray  # [G], NaN where fewer than two runs have a value.
  high: np.ndarray  # [G], likewise.
  num_runs: np.ndarray  # [G], how many runs have a value there.
  values: np.ndarray  # [runs, G], NaN outside of a run's range.

  @property
  def complete(self) -> np.ndarray:
    """bool [G]: where every run has a value."""
    return self.num_runs == self.values.shape[0]


def group_curve(
    root_dirs: Sequence[str],
    metric: str = 'return_mean',
    phase: str = 'eval',
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0) -> GroupCurve:
  """Interquartile mean and bootstrap interval over runs.

  Points are the environment steps at which any run has a value (an even grid
  instead, if those are very many); runs are interpolated linearly between their
  own points. Their first and last value hold for less than half of the distance
  of their points beyond them, since no two runs stop at the very same step;
  further out a run has no value.

  Args:
    root_dirs: Run folders, one for each seed.
    metric: Column of `metrics.csv`.
    phase: 'train' or 'eval'.
    confidence: Of the interval, pointwise.
    resamples: Number of bootstrap samples.
    seed: Of the bootstrap.

  Returns:
    A `GroupCurve`.

  Raises:
    ValueError: If there are no runs, or one of them has no such metric.
  """
  if not root_dirs:
    raise ValueError('A group needs at least one run.')
  runs = [metrics_file.read_metrics(root_dir, phase, metric)
          for root_dir in root_dirs]
  grid = np.unique(np.concatenate([x for x, _ in runs]))
  runs = [_carried(run, grid[0], grid[-1]) for run in runs]
  if grid.size > _MAX_GRID_POINTS:
    common = [max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)]
    even = np.linspace(grid[0], grid[-1], _MAX_GRID_POINTS).round()
    # With the ends of the part that all runs share: the final value is there.
    grid = np.union1d(even, common).astype(np.int64)
  values = statistics.align_runs(runs, grid)
  present = ~np.isnan(values)
  iqm, low, high = np.full((3, grid.size), np.nan)
  patterns, which = np.unique(present, axis=1, return_inverse=True)
  for index, members in enumerate(patterns.T):
    points = np.flatnonzero(which.ravel() == index)
    scores = values[np.ix_(members, points)][:, np.newaxis]  # [runs, 1, points]
    if members.any():
      iqm[points] = _iqm_over_runs(scores)
    if members.sum() > 1:
      low[points], high[points] = statistics.stratified_bootstrap_interval(
          scores, _iqm_over_runs, confidence, resamples, seed)
  return GroupCurve(grid, iqm, low, high, present.sum(axis=0), values)


def _carried(run, first, last):
  """The run (env_steps, values), its ends held as far as `group_curve` says."""
  x, y = run
  if len(x) < 2:
    return run
  reach = np.median(np.diff(x)) / 2
  if first < x[0] < first + reach:
    x, y = np.append(first, x), np.append(y[0], y)
  if last - reach < x[-1] < last:
    x, y = np.append(x, last), np.append(y, y[-1])
  return x, y


class Summary(NamedTuple):
  """A group in numbers.

  Of the part of the curve in which every run has a value: a number that only
  the longest runs decide is none of the group's.
  """
  num_runs: int
  final_env_steps: int
  final: float
  low: float  # NaN with one run.
  high: float  # NaN with one run.
  highest: float  # IQM of any point.


def summarize(curve: GroupCurve) -> Optional[Summary]:
  """The end and the peak of a group; None if its runs never overlap.

  Args:
    curve: From `group_curve`.

  Returns:
    A `Summary`.
  """
  common = np.flatnonzero(curve.complete)
  if not common.size:
    return None
  last = common[-1]
  return Summary(
      curve.values.shape[0], int(curve.env_steps[last]),
      float(curve.iqm[last]), float(curve.low[last]), float(curve.high[last]),
      float(curve.iqm[common].max()))


def _iqm_over_runs(scores: np.ndarray) -> np.ndarray:
  """[runs, tasks, points] -> [points]."""
  return statistics.interquartile_mean(scores, axis=(0, 1))
