# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learning curves of groups of runs, with confidence intervals."""

from typing import NamedTuple, Sequence

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.plotting import statistics

_MAX_GRID_POINTS = 500


class GroupCurve(NamedTuple):
  """A metric over the runs of a group, at G environment steps."""
  env_steps: np.ndarray  # [G]
  iqm: np.ndarray  # [G], of the runs that have a value there.
  low: np.ndarray  # [G], NaN where fewer than two runs have a value.
  high: np.ndarray  # [G], likewise.
  num_runs: np.ndarray  # [G], how many runs have a value there.
  values: np.ndarray  # [runs, G], NaN outside of a run's range.

  @property
  def complete(self) -> np.ndarray:
    """Whether every run has a value, bool [G]."""
    return self.num_runs == self.values.shape[0]


def group_curve(
    runs: Sequence[run_files.Series],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0) -> GroupCurve:
  """Computes the interquartile mean and a bootstrap interval over runs.

  Points are the environment steps at which any run has a value (an even grid
  instead, if those are very many); runs are interpolated linearly between their
  own points. Since no two runs stop at the very same step, the first and the
  last value of a run hold beyond it, for less than half of the distance between
  its points; further out it has no value.

  Args:
    runs: (env_steps, values) of each seed, from `run_files.read_metrics`.
    confidence: Of the pointwise interval.
    resamples: Number of bootstrap samples.
    seed: Of the bootstrap.

  Returns:
    A `GroupCurve`.

  Raises:
    ValueError: If there are no runs.
  """
  if not runs:
    raise errors.InvalidValue('A group needs at least one run.')
  grid = np.unique(np.concatenate([x for x, _ in runs]))
  runs = [_extended(run, grid[0], grid[-1]) for run in runs]
  if grid.size > _MAX_GRID_POINTS:
    common = [max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)]
    even = np.linspace(grid[0], grid[-1], _MAX_GRID_POINTS).round()
    # With both ends of the range that all runs share: tables have the last.
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


def _extended(run, first, last):
  """Holds the ends of a run as far as `group_curve` says."""
  x, y = run
  if len(x) < 2:
    return run
  reach = np.median(np.diff(x)) / 2
  if first < x[0] < first + reach:
    x, y = np.append(first, x), np.append(y[0], y)
  if last - reach < x[-1] < last:
    x, y = np.append(x, last), np.append(y, y[-1])
  return x, y


def _iqm_over_runs(scores: np.ndarray) -> np.ndarray:
  """[runs, tasks, points] -> [points]."""
  return statistics.interquartile_mean(scores, axis=(0, 1))
