# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of runs: one run, groups of runs over seeds, steps against size.

Figures are made without pyplot, so they need no display, leave no global state
behind, and may be drawn from within a training process.
"""

import csv
import itertools
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional
from typing import Sequence, Tuple

import numpy as np

from rnd_agents.plotting import metrics_file
from rnd_agents.plotting import statistics

# Okabe and Ito's palette, which colour-blind readers can tell apart, without
# its yellow (too pale for lines). The markers and dashes say the same again.
_COLORS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9',
           '#000000')
_DASHES = ('-', '--', '-.')
_MARKERS = 'osD^vPX'
_LABELS = {
    ('eval', 'return_mean'): 'Evaluation return',
    ('train', 'return_mean'): 'Training return',
    ('eval', 'success_rate'): 'Success rate in evaluation',
    ('train', 'success_rate'): 'Success rate in training',
}
_X_LABEL = 'Environment steps'
_WIDTH_INCHES, _HEIGHT_INCHES, _DPI = 10.0, 4.2, 120
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
  own points and never extended beyond them.

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
  if grid.size > _MAX_GRID_POINTS:
    common = [max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)]
    even = np.linspace(grid[0], grid[-1], _MAX_GRID_POINTS).round()
    # The ends of the part that all runs share, which the final value is read at.
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


def plot_run(root_dir: str, out: str, title: Optional[str] = None) -> Any:
  """Draws one run: returns, and beside them the bonus and the success rate.

  What the run did not measure is left out: without a bonus (plain PPO) and a
  success rate, the returns have the picture to themselves.

  Args:
    root_dir: Folder of the run.
    out: File to write, such as 'learning_curve.png'.
    title: Such as the name of the environment.

  Returns:
    The matplotlib figure.
  """
  rows = metrics_file.read_rows(root_dir)
  bonus = metrics_file.series(rows, 'train', 'bonus_mean')
  success = {phase: metrics_file.series(rows, phase, 'success_rate')
             for phase in ('train', 'eval')}
  success = {phase: xy for phase, xy in success.items() if xy[0].size}
  fig = _new_figure()
  num_right = int(bonus[0].size > 0) + int(bool(success))
  # The returns take the left half, the others share the right one.
  grid = fig.add_gridspec(max(num_right, 1), 2 if num_right else 1)
  returns_axes = fig.add_subplot(grid[:, 0])
  right = [fig.add_subplot(grid[i, 1]) for i in range(num_right)]
  _draw_returns(returns_axes, rows)
  if bonus[0].size:
    _draw_bonus(right[0], *bonus)
  if success:
    axes = right[-1]
    for phase, xy in success.items():
      _draw_series(axes, *xy, phase)
    axes.set_ylabel('Success rate')
    axes.set_ylim(-0.05, 1.05)
    axes.legend(frameon=False)
  for axes in [returns_axes] + right:
    _style_steps(axes)
    axes.set_xlabel(_X_LABEL)
  if num_right > 1:
    right[0].sharex(right[1])
    right[0].tick_params(labelbottom=False)
    right[0].set_xlabel('')
  if title is not None:
    fig.suptitle(title)
  _save(fig, out)
  return fig


def plot_groups(
    groups: Mapping[str, Sequence[str]],
    out: str,
    metric: str = 'return_mean',
    phase: str = 'eval',
    title: Optional[str] = None,
    ylabel: Optional[str] = None) -> Any:
  """Draws one curve for each group, and writes the numbers beside the picture.

  See `group_curve` for the numbers and `draw_group_curves` for the picture.

  Args:
    groups: Run folders by label.
    out: File to write, such as 'returns.png'; the numbers go to 'returns.csv'.
    metric: Column of `metrics.csv`.
    phase: 'train' or 'eval'.
    title: Above the picture.
    ylabel: Default: made from phase and metric.

  Returns:
    The matplotlib figure.
  """
  curves = {label: group_curve(root_dirs, metric, phase)
            for label, root_dirs in groups.items()}
  if ylabel is None:
    ylabel = metric_label(metric, phase)
  return draw_group_curves(curves, out, title=title, ylabel=ylabel)


def draw_group_curves(
    curves: Mapping[str, GroupCurve],
    out: str,
    title: Optional[str] = None,
    ylabel: Optional[str] = None,
    confidence: float = 0.95) -> Any:
  """Draws curves: line = IQM over runs, band = interval, legend = seeds.

  Where only some of the runs of a group have a value, the line is dotted: the
  runs that last longest are seldom a fair sample. One run alone has no band.

  Args:
    curves: From `group_curve`, by label.
    out: File to write; the numbers go to the same name with '.csv', columns
      label, env_steps, iqm, low, high, num_runs.
    title: Above the picture.
    ylabel: Beside it.
    confidence: That the curves were made with, for the legend.

  Returns:
    The matplotlib figure.
  """
  if not curves:
    raise ValueError('There are no groups to draw.')
  fig = _new_figure()
  axes = fig.add_subplot()
  styles = itertools.product(_DASHES, _COLORS)
  for (label, curve), (dash, color) in zip(curves.items(),
                                           itertools.cycle(styles)):
    num_runs = curve.values.shape[0]
    seeds = '1 seed' if num_runs == 1 else f'{num_runs} seeds'
    axes.plot(
        curve.env_steps, np.where(curve.complete, curve.iqm, np.nan),
        color=color, linestyle=dash, linewidth=2,
        marker='o' if curve.complete.sum() == 1 else None,
        label=_legend_label(f'{label} ({seeds})'))
    axes.fill_between(curve.env_steps, curve.low, curve.high, color=color,
                      alpha=0.18, linewidth=0)
    if not curve.complete.all():
      partial = ~curve.complete
      # One point further on both sides, to meet the solid part.
      partial[1:] |= ~curve.complete[:-1]
      partial[:-1] |= ~curve.complete[1:]
      axes.plot(curve.env_steps, np.where(partial, curve.iqm, np.nan),
                color=color, linestyle=':', linewidth=1.5)
  _style_steps(axes)
  axes.set_xlabel(_X_LABEL)
  axes.set_ylabel(ylabel or '')
  if title is not None:
    axes.set_title(title)
  fig.legend(loc='outside right upper', frameon=False, alignment='left',
             title=f'IQM, {100 * confidence:g} % interval')
  _save(fig, out)
  rows = []
  for label, curve in curves.items():
    for x, iqm, low, high, count, _ in zip(*curve[:5], curve.values.T):
      rows.append((label, int(x), _cell(iqm), _cell(low), _cell(high),
                   int(count)))
  _write_csv(
      out, ('label', 'env_steps', 'iqm', 'low', 'high', 'num_runs'), rows)
  return fig


def plot_scaling(
    points: Sequence[Mapping[str, Any]],
    out: str,
    reference: Optional[Tuple[Callable[[np.ndarray], np.ndarray], str]] = None,
    title: Optional[str] = None,
    xlabel: str = 'Size',
    ylabel: str = 'Environment steps until solved') -> Any:
  """Draws steps to solve against problem size, on a logarithmic y axis.

  Filled markers are runs that solved the task, open triangles at their budget
  are runs that did not: the truth is somewhere above. The line is the median
  over runs, an unsolved run counting as infinite, and is drawn where at most
  half are unsolved, that is, where the median is finite.

  Args:
    points: One dict a run: `label`, `x` (size), `y` (steps to solve, or the
      budget), `solved` (bool).
    out: File to write; the points go to the same name with '.csv'.
    reference: A function of x (array to array) and its name, for instance
      `(lambda n: 2.0**n, '$2^N$')`: the episodes a random walk needs to
      cross DeepSea once.
    title: Above the picture.
    xlabel: Below it.
    ylabel: Beside it.

  Returns:
    The matplotlib figure.

  Raises:
    ValueError: If there are no points, or a y is not positive.
  """
  if not points:
    raise ValueError('There are no points to draw.')
  bad = [point for point in points if not point['y'] > 0]
  if bad:
    raise ValueError(
        f'y must be positive, as its axis is logarithmic, got {bad[0]}.')
  fig = _new_figure()
  axes = fig.add_subplot()
  axes.set_yscale('log')
  sizes = np.unique([point['x'] for point in points]).astype(np.float64)
  groups = {}
  for point in points:
    groups.setdefault(str(point['label']), []).append(point)
  gap = np.diff(sizes).min() if sizes.size > 1 else 1.0
  # Side by side, or equal budgets would hide each other.
  shifts = 0.16 * gap * (np.arange(len(groups)) - (len(groups) - 1) / 2)
  shifts *= min(1.0, 4.0 / len(groups))
  styles = itertools.cycle(zip(_COLORS, _MARKERS))
  for (label, members), shift, style in zip(groups.items(), shifts, styles):
    _draw_scaling_group(axes, label, members, shift, *style)
  all_y = np.array([point['y'] for point in points], np.float64)
  if reference is not None:
    x = np.linspace(sizes[0], sizes[-1], 200)
    axes.plot(x, reference[0](x), color='0.4', linestyle='--', linewidth=1.5,
              zorder=1, label=_legend_label(reference[1]))
  # From the runs alone: an exponential would press them flat.
  axes.set_ylim(all_y.min() / 2.5, all_y.max() * 2.5)
  axes.grid(True, alpha=0.3)
  axes.spines[['top', 'right']].set_visible(False)
  axes.set_xticks(sizes if sizes.size <= 15 else sizes[::sizes.size // 10])
  axes.xaxis.set_major_formatter('{x:g}')
  _log_ticks(axes, _engineering())
  axes.set_xlabel(xlabel)
  axes.set_ylabel(ylabel)
  if title is not None:
    axes.set_title(title)
  fig.legend(loc='outside right upper', frameon=False)
  _save(fig, out)
  _write_csv(out, ('label', 'x', 'y', 'solved'),
             [(p['label'], p['x'], p['y'], int(p['solved'])) for p in points])
  return fig


def metric_label(metric: str, phase: str) -> str:
  """What a reader calls the metric."""
  default = f'{metric.replace("_", " ").capitalize()} ({phase})'
  return _LABELS.get((phase, metric), default)


def _iqm_over_runs(scores: np.ndarray) -> np.ndarray:
  """[runs, tasks, points] -> [points]."""
  return statistics.interquartile_mean(scores, axis=(0, 1))


def _draw_returns(axes: Any, rows: List[metrics_file.Row]) -> None:
  """Training return below, evaluation return with its range above it."""
  empty = True
  for phase in ('train', 'eval'):
    x, y = metrics_file.series(rows, phase, 'return_mean')
    if not x.size:
      continue
    empty = False
    _draw_series(axes, x, y, phase)
    if phase == 'eval':
      ends = [metrics_file.series(rows, phase, name)
              for name in ('return_min', 'return_max')]
      if all(np.array_equal(end_x, x) for end_x, _ in ends):
        axes.fill_between(
            x, ends[0][1], ends[1][1], color=_COLORS[0], alpha=0.15,
            linewidth=0, label='evaluation, worst to best episode')
  axes.set_ylabel('Return of an episode')
  if empty:
    axes.text(0.5, 0.5, 'no episode has ended yet', ha='center', va='center',
              transform=axes.transAxes)
  else:
    axes.legend(loc='lower left', bbox_to_anchor=(0.0, 1.0), ncols=2,
                frameon=False, borderaxespad=0.2)
