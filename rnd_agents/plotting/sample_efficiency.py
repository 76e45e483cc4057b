# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sample efficiency: environment steps until the runs of a group reach a value.

A run that never reaches the value counts as infinitely slow: leaving it out
would reward the agent that fails most often. A mean and the upper end of an
interval can therefore be infinite ('never').
"""

import math
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from rnd_agents import run_files
from rnd_agents.plotting import statistics

# Default thresholds, as shares of the way from the first value to the best.
_SHARES = (0.25, 0.5, 0.75, 0.95)
_SUCCESS_THRESHOLDS = (0.5, 0.95)


class StepsTo(NamedTuple):
  """The environment steps in which a group reaches a value.

  Attributes:
    label: name of the group.
    metric: column of `metrics.csv`.
    threshold: value to reach, from below.
    iqm: interquartile mean over the runs of the environment steps of the first
      point at or above it; infinite where too many runs have none.
    low: lower end of the interval, NaN with one run.
    high: upper end, NaN with one run, infinite where it is open.
    num_reached: how many runs have such a point.
    num_runs: how many there are.
  """
  label: str
  metric: str
  threshold: float
  iqm: float
  low: float
  high: float
  num_reached: int
  num_runs: int


def first_env_steps(
    env_steps: np.ndarray, values: np.ndarray, threshold: float) -> float:
  """Returns the environment steps of the first value at or above a threshold.

  Args:
    env_steps: [n], increasing.
    values: [n], as measured, not interpolated.
    threshold: Value to reach.

  Returns:
    An element of `env_steps`, or infinity.
  """
  reached = np.flatnonzero(np.asarray(values) >= threshold)
  return float(env_steps[reached[0]]) if reached.size else math.inf


def steps_to(
    groups: Mapping[str, Sequence[run_files.Series]],
    metric: str = 'return_mean',
    thresholds: Optional[Sequence[float]] = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0) -> List[StepsTo]:
  """Computes the sample efficiency of groups of runs.

  Args:
    groups: (env_steps, values) of the runs, by label.
    metric: Name of the metric.
    thresholds: Values to reach, the same for all groups; None takes those of
      `default_thresholds`.
    confidence: Of the bootstrap interval.
    resamples: Number of bootstrap samples.
    seed: Of the bootstrap.

  Returns:
    One `StepsTo` for each threshold and group, groups inside thresholds.

  Raises:
    ValueError: If `confidence` is not inside (0, 1).
  """
  if thresholds is None:
    thresholds = default_thresholds(groups, metric)
  rows = []
  for threshold in thresholds:
    for label, members in groups.items():
      steps = np.array([first_env_steps(x, y, threshold) for x, y in members])
      low = high = math.nan
      if steps.size > 1:
        low, high = _interval(steps, confidence, resamples, seed)
      rows.append(StepsTo(
          label, metric, float(threshold),
          float(statistics.interquartile_mean(steps)), low, high,
          int(np.isfinite(steps).sum()), steps.size))
  return rows


def default_thresholds(
    groups: Mapping[str, Sequence[run_files.Series]], metric: str
) -> List[float]:
  """Returns thresholds for the table of sample efficiency, increasing.

  Those of the success rate are a half and 95 %. Those of other metrics lie at
  25, 50, 75 and 95 % of the way from the median first value of all runs to the
  best value that half of the runs of some group have reached, rounded down to
  two digits of that way.

  Args:
    groups: (env_steps, values) of the runs, by label.
    metric: Name of the metric.
  """
  if metric == 'success_rate':
    return list(_SUCCESS_THRESHOLDS)
  start = float(np.median(
      [y[0] for members in groups.values() for _, y in members]))
  best = max(float(np.median([y.max() for _, y in members]))
             for members in groups.values())
  if best <= start:
    return []  # No group improves.
  step = 10.0 ** (math.floor(math.log10(best - start)) - 1)
  thresholds = set()
  for share in _SHARES:
    # Down, so that rounding does not exceed the best value.
    target = start + share * (best - start)
    rounded = math.floor(target / step + 1e-9) * step
    thresholds.add(float(f'{rounded:.10g}'))
  return sorted(thresholds)


def _interval(
    steps: np.ndarray, confidence: float, resamples: int, seed: int
) -> Tuple[float, float]:
  """Returns the bootstrap interval of the IQM of steps, infinite ones too."""
  tail = statistics.tail_probability(confidence)
  samples = np.sort(statistics.stratified_bootstrap(
      steps[:, np.newaxis], statistics.interquartile_mean, resamples, seed))
  # The samples next to the quantiles, outwards: nothing can be interpolated
  # between a finite number and infinity.
  tail *= samples.size - 1
  low, high = math.floor(tail), math.ceil(samples.size - 1 - tail)
  return float(samples[low]), float(samples[high])
