# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over few runs: interquartile mean, bootstrap, alignment.

The interquartile mean (IQM) and the stratified percentile bootstrap follow
Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", 2021 (arXiv:2108.13264). They are written here because the paper's
own package ignores the random state it is given, and brings five large
dependencies.
"""

from typing import Callable, Optional, Sequence, Tuple, Union

import numpy as np

from rnd_agents import errors

Axis = Optional[Union[int, Tuple[int, ...]]]


def interquartile_mean(x: np.ndarray, axis: Axis = None) -> np.ndarray:
  """Returns the mean without a quarter of the values at each end.

  The paper's package takes the 25 % trimmed mean for the IQM, and so does this:
  `n // 4` values go at each end, whole ones, no fractional weights at the
  edges. So with fewer than four runs nothing is cut and the IQM is the mean.

  Args:
    x: Numbers, any shape.
    axis: The axis or axes averaged over, together; None means all.

  Returns:
    float64 array of the shape of `x` without `axis`.

  Raises:
    ValueError: If there is nothing to average, or `x` holds a NaN (which would
      sort as the largest value, and be cut unseen).
  """
  x = np.asarray(x, np.float64)
  if np.isnan(x).any():
    raise errors.InvalidValue(
        'interquartile_mean: the scores hold NaN. Leave out the runs that have '
        'no value here.')
  if axis is None:
    axis = tuple(range(x.ndim))
  axes = (axis,) if isinstance(axis, int) else tuple(axis)
  x = np.moveaxis(x, axes, range(len(axes)))
  x = x.reshape((-1,) + x.shape[len(axes):])  # [n, kept axes...]
  n = x.shape[0]
  if n == 0:
    raise errors.InvalidValue('interquartile_mean: no scores to average.')
  cut = n // 4
  return np.sort(x, axis=0)[cut:n - cut].mean(axis=0)


def stratified_bootstrap_interval(
    scores: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0) -> Tuple[np.ndarray, np.ndarray]:
  """Returns the percentile interval of `statistic` over resampled runs.

  Runs are drawn with replacement inside each task (a stratum), tasks are kept.
  Trailing axes, such as the points of a learning curve, go with their run, so a
  whole curve costs as many calls of `statistic` as one number.

  The interval is about new seeds, not about new tasks. With few runs, such as
  five, it is too narrow, as any percentile bootstrap.

  Args:
    scores: [runs, tasks, ...]; with a single task, [runs, 1, ...].
    statistic: Maps [runs, tasks, ...] to a number or an array [...].
    confidence: Probability between the two ends, in (0, 1).
    resamples: Number of bootstrap samples.
    seed: Seed of this call's own generator: equal seeds, equal intervals.

  Returns:
    The lower and the upper end, each shaped as the output of `statistic`.

  Raises:
    ValueError: If `scores` has fewer than two axes or two runs (the interval of
      one run would have no width, which is not what one run tells), or if
      `confidence` or `resamples` is out of range.
  """
  tail = tail_probability(confidence)
  samples = stratified_bootstrap(scores, statistic, resamples, seed)
  low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
  return low, high


def tail_probability(confidence: float) -> float:
  """Returns the probability outside of each end of an interval.

  Raises:
    ValueError: If `confidence` is not inside (0, 1).
  """
  if not 0.0 < confidence < 1.0:
    raise errors.InvalidValue(
        f'confidence must be inside (0, 1), got {confidence}.'
    )
  return (1.0 - confidence) / 2.0


def stratified_bootstrap(
    scores: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    resamples: int = 2000,
    seed: int = 0) -> np.ndarray:
  """Returns the statistic of resampled runs, [resamples, ...].

  The arguments are those of `stratified_bootstrap_interval`, which takes the
  quantiles of the result.
  """
  scores = np.asarray(scores, np.float64)
  if scores.ndim < 2:
    raise errors.InvalidValue(
        f'scores must be [runs, tasks, ...], got shape {scores.shape}. For a '
        'single task pass scores[:, np.newaxis].')
  num_runs, num_tasks = scores.shape[:2]
  if num_runs < 2:
    raise errors.InvalidValue(
        f'An interval needs at least two runs, got {num_runs}.'
    )
  if resamples < 1:
    raise errors.InvalidValue(f'resamples must be at least 1, got {resamples}.')
  rng = np.random.default_rng(seed)
  tasks = np.arange(num_tasks)
  samples = []
  for _ in range(resamples):
    runs = rng.integers(num_runs, size=(num_runs, num_tasks))
    samples.append(statistic(scores[runs, tasks]))
  return np.asarray(samples)


def align_runs(
    runs: Sequence[Tuple[np.ndarray, np.ndarray]], grid: np.ndarray
) -> np.ndarray:
  """Interpolates runs that were measured at different steps on one grid.

  A run is NaN before its first and after its last point and not held there: a
  run that was killed early must not count as one that levelled off.

  Args:
    runs: Pairs (x, y) of one-dimensional arrays, x strictly increasing.
    grid: Increasing x values, in the unit of the runs' x.

  Returns:
    float64 array [runs, grid points], linear between the points of a run, NaN
    outside of its range.

  Raises:
    ValueError: If a run is empty, its x does not increase, or x and y differ in
      length.
  """
  grid = np.asarray(grid, np.float64)
  aligned = np.full((len(runs), grid.size), np.nan)
  for row, (x, y) in zip(aligned, runs):
    x = np.asarray(x, np.float64)
    y = np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
      raise errors.InvalidValue(
          'A run must be two equally long, non-empty, one-dimensional arrays, '
          f'got shapes {x.shape} and {y.shape}.')
    if not (np.diff(x) > 0).all():
      raise errors.InvalidValue('The x values of a run must strictly increase.')
    inside = (grid >= x[0]) & (grid <= x[-1])
    row[inside] = np.interp(grid[inside], x, y)
  return aligned
