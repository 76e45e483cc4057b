# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of runs: one run, groups of runs over seeds, steps against size."""

import functools
import itertools
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from rnd_agents.plotting import drawing
from rnd_agents.plotting import metrics_file
from rnd_agents.plotting import panels

# A curve with more points than this is noise to the eye: draw its mean too.
_MAX_RAW_POINTS = 100


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
  parts = []
  if bonus[0].size:
    parts.append(functools.partial(_draw_bonus, x=bonus[0], y=bonus[1]))
  if any(x.size for x, _ in success.values()):
    parts.append(functools.partial(_draw_success, series=success))
  fig = drawing.new_figure()
  # The returns take the left half, the others share the right one.
  grid = fig.add_gridspec(max(len(parts), 1), 2 if parts else 1)
  left = fig.add_subplot(grid[:, 0])
  _draw_returns(left, rows)
  right = [fig.add_subplot(grid[i, 1], sharex=left)
           for i in range(len(parts))]
  for axes, draw in zip(right, parts):
    draw(axes)
  for axes in [left] + right:
    drawing.style(axes)
    drawing.step_axis(axes)
  for axes in right[:-1]:
    axes.set_xlabel('')
    axes.tick_params(labelbottom=False)
  drawing.legend_below(fig, [left] + right)
  if title is not None:
    fig.suptitle(title)
  drawing.save(fig, out)
  return fig


def plot_groups(
    groups: Mapping[str, Sequence[str]],
    out: str,
    metric: str = 'return_mean',
    phase: str = 'eval',
    title: Optional[str] = None,
    ylabel: Optional[str] = None) -> Any:
  """Draws one curve for each group, and writes the numbers beside the picture.

  See `group_curves` for the numbers and `panels.draw` for the picture.

  Args:
    groups: Run folders by label.
    out: File to write, such as 'returns.png'; the numbers go to 'returns.csv'.
    metric: Column of `metrics.csv`.
    phase: 'train' or 'eval'.
    title: Above the picture.
    ylabel: Beside it; None makes one of phase and metric.

  Returns:
    The matplotlib figure.
  """
  panel = panels.make(groups, metric, phase, ylabel=ylabel)
  return panels.draw([panel], out, title)


def plot_scaling(
    points: Sequence[Mapping[str, Any]],
    out: str,
    reference: Optional[Tuple[Callable[[np.ndarray], np.ndarray], str]] = None,
    title: Optional[str] = None,
    xlabel: str = 'Size',
    ylabel: str = 'Environment steps until solved') -> Any:
  """Draws steps to solve against problem size, on a logarithmic y axis.

  Filled markers are runs that solved the task. Open triangles, at their
  budget, are runs that did not: the truth is somewhere above. The line is the
  median over runs, an unsolved run counting as infinite; it ends where that is
  not finite.

  Args:
    points: One dict a run: `label`, `x` (size), `y` (steps to solve, or the
      budget), `solved` (bool).
    out: File to write; the points go to the same name with '.csv'.
    reference: A function of x (array to array) and its name. For episodes on
      DeepSea, `(lambda n: 2.0**n, '$2^N$')`: a random walk needs that many to
      meet the goal once. Times n for environment steps.
    title: Above the picture.
    xlabel: Below it.
    ylabel: Beside it.

  Returns:
    The matplotlib figure.

  Raises:
    ValueError: If there are no points, or a y is not positive.
  """
  groups = _group_points(points)
  sizes = np.unique([point['x'] for point in points]).astype(np.float64)
  fig = drawing.new_figure()
  axes = fig.add_subplot()
  _draw_scaling_groups(axes, groups, sizes)
  if reference is not None:
    x = np.linspace(sizes[0], sizes[-1], 200)
    axes.plot(x, reference[0](x), color='0.4', linestyle='--', zorder=1,
              label=drawing.legend_label(reference[1]))
  # From the runs alone: an exponential would press them flat.
  y = [point['y'] for point in points]
  axes.set_ylim(min(y) / 2.5, max(y) * 2.5)
  drawing.log_axis(axes, thousands=True)
  drawing.style(axes)
  axes.set_xticks(sizes if sizes.size <= 16 else sizes[::sizes.size // 8])
  axes.xaxis.set_major_formatter('{x:g}')
  axes.set_xlabel(xlabel)
  axes.set_ylabel(ylabel)
  if title is not None:
    axes.set_title(title)
  drawing.legend_beside(axes)
  drawing.save(fig, out)
  drawing.write_csv(out, ('label', 'x', 'y', 'solved'),
                    [(p['label'], p['x'], p['y'], int(p['solved']))
                     for p in points])
  return fig


def _moving_mean(values: np.ndarray, width: int) -> np.ndarray:
  """Mean over `width` neighbours, fewer at the ends."""
  kernel = np.ones(width)
  return (np.convolve(values, kernel, 'same')
          / np.convolve(np.ones_like(values), kernel, 'same'))


def _draw_series(axes: Any, x: np.ndarray, y: np.ndarray, phase: str) -> None:
  """One metric of one run: dots in evaluation, a smoothed line in training."""
  if phase == 'eval':
    axes.plot(x, y, color=drawing.COLORS[0], linewidth=2, zorder=3,
              marker='o' if x.size <= 40 else None, markersize=4,
              label='evaluation')
    return
  color = drawing.COLORS[1]
  if x.size <= _MAX_RAW_POINTS:
    axes.plot(x, y, color=color, linewidth=1.2, label='training',
              marker='.' if x.size == 1 else None)
    return
  width = x.size // 50
  axes.plot(x, y, color=color, linewidth=0.7, alpha=0.25)
  axes.plot(x, _moving_mean(y, width), color=color, linewidth=1.5,
            label='training (moving mean)')


def _draw_returns(axes: Any, rows: List[metrics_file.Row]) -> None:
  """Training return below, evaluation return with its range above it."""
  for phase in ('train', 'eval'):
    x, y = metrics_file.series(rows, phase, 'return_mean')
    if x.size:
      _draw_series(axes, x, y, phase)
  worst_x, worst = metrics_file.series(rows, 'eval', 'return_min')
  best_x, best = metrics_file.series(rows, 'eval', 'return_max')
  if best_x.size and np.array_equal(worst_x, best_x):
    axes.fill_between(best_x, worst, best, color=drawing.COLORS[0], alpha=0.15,
                      linewidth=0, label='worst to best episode')
  axes.set_ylabel('Return of an episode')
  if not axes.has_data():
    axes.text(0.5, 0.5, 'no episode has ended yet', ha='center', va='center',
              transform=axes.transAxes)


def _draw_bonus(axes: Any, x: np.ndarray, y: np.ndarray) -> None:
  """The bonus, on a logarithmic axis if it is positive throughout."""
  axes.plot(x, y, color=drawing.COLORS[2], linewidth=1.2,
            marker='.' if x.size == 1 else None)
  if (y > 0).all():
    drawing.log_axis(axes)
  axes.set_ylabel('Bonus, mean')


def _draw_success(
    axes: Any, series: Dict[str, Tuple[np.ndarray, np.ndarray]]) -> None:
  """Success rates by phase."""
  for phase, (x, y) in series.items():
    if x.size:
      _draw_series(axes, x, y, phase)
  axes.set_ylabel('Success rate')
  axes.set_ylim(-0.05, 1.05)


def _group_points(
    points: Sequence[Mapping[str, Any]]) -> Dict[str, List[Mapping[str, Any]]]:
  """Checks the points of a scaling plot and sorts them by label."""
  if not points:
    raise ValueError('There are no points to draw.')
  groups = {}
  for point in points:
    if not point['y'] > 0:
      raise ValueError(
          f'y must be positive, as its axis is logarithmic, got {point}.')
    groups.setdefault(str(point['label']), []).append(point)
  return groups


def _draw_scaling_groups(
    axes: Any, groups: Mapping[str, List[Mapping[str, Any]]],
    sizes: np.ndarray) -> None:
  """Groups side by side, or equal budgets would hide each other."""
  gap = np.diff(sizes).min() if sizes.size > 1 else 1.0
  spread = min(0.12 * (len(groups) - 1), 0.5) * gap
  shifts = np.linspace(-spread / 2, spread / 2, len(groups))
  styles = itertools.cycle(zip(drawing.COLORS, drawing.MARKERS))
  for (label, group), shift, (color, marker) in zip(
      groups.items(), shifts, styles):
    _draw_scaling_group(axes, label, group, shift, color, marker)
  if not all(point['solved'] for group in groups.values() for point in group):
    axes.plot([], [], color='0.4', linestyle='none', marker='^', markersize=8,
              markerfacecolor='none', label='not solved within its budget')


def _draw_scaling_group(
    axes: Any, label: str, group: List[Mapping[str, Any]], shift: float,
    color: str, marker: str) -> None:
  """Median line, solved runs and unsolved runs of one group."""
  x = np.array([point['x'] for point in group], np.float64)
  y = np.array([point['y'] for point in group], np.float64)
  solved = np.array([bool(point['solved']) for point in group])
  sizes = np.unique(x)
  steps = np.where(solved, y, np.inf)
  median = np.array([np.median(steps[x == size]) for size in sizes])
  median[np.isinf(median)] = np.nan
  text = f'{label} ({solved.sum()} of {solved.size} runs solved)'
  axes.plot(sizes + shift, median, color=color, linewidth=1.5, marker=marker,
            markersize=7, label=drawing.legend_label(text))
  axes.plot(x[solved] + shift, y[solved], color=color, linestyle='none',
            marker=marker, markersize=5, alpha=0.4)
  axes.plot(x[~solved] + shift, y[~solved], color=color, linestyle='none',
            marker='^', markersize=8, markerfacecolor='none')
