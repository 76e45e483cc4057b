# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of learning curves: of one run, and of groups of runs over seeds."""

from typing import Any, List, Mapping, Optional, Sequence

import numpy as np

from rnd_agents import run_files
from rnd_agents.plotting import drawing
from rnd_agents.plotting import panels

# A training curve of more points is drawn pale, with its moving mean.
_MAX_RAW_POINTS = 100


def plot_run(root_dir: str, out: str, title: Optional[str] = None) -> Any:
  """Draws one run: returns, and beside them the bonus and the success rate.

  What the run did not measure is left out: without a bonus (plain PPO) and a
  success rate, the returns fill the picture.

  Args:
    root_dir: Folder of the run.
    out: File to write, such as 'learning_curve.png'.
    title: Such as the name of the environment.

  Returns:
    The matplotlib figure.
  """
  rows = run_files.read_rows(root_dir)
  beside = []
  if _has(rows, 'train', 'bonus_mean'):
    beside.append(_draw_bonus)
  if any(_has(rows, phase, 'success_rate') for phase in run_files.PHASES):
    beside.append(_draw_success)
  fig = drawing.new_figure()
  # The returns fill the left half, the others share the right one.
  grid = fig.add_gridspec(max(len(beside), 1), 2 if beside else 1)
  left = fig.add_subplot(grid[:, 0])
  _draw_returns(left, rows)
  right = []
  for i, draw in enumerate(beside):
    right.append(fig.add_subplot(grid[i, 1], sharex=left))
    draw(right[-1], rows)
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
  runs = {
      label: [run_files.read_metrics(folder, phase, metric)
              for folder in folders]
      for label, folders in groups.items()}
  return panels.draw(
      [panels.make(runs, metric, phase, ylabel=ylabel)], out, title)


def _has(rows: List[run_files.Row], phase: str, metric: str) -> bool:
  return any(row.phase == phase and metric in row.values for row in rows)


def _moving_mean(values: np.ndarray, width: int) -> np.ndarray:
  """Returns the mean over `width` neighbours, fewer at the ends."""
  kernel = np.ones(width)
  return (np.convolve(values, kernel, 'same')
          / np.convolve(np.ones_like(values), kernel, 'same'))


def _draw_metric(
    axes: Any, rows: List[run_files.Row], phase: str, metric: str) -> None:
  """Draws one metric: dots in evaluation, a smoothed line in training."""
  x, y = run_files.series(rows, phase, metric)
  if not x.size:
    return
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
  axes.plot(x, y, color=color, linewidth=0.7, alpha=0.25)
  axes.plot(x, _moving_mean(y, x.size // 50), color=color, linewidth=1.5,
            label='training (moving mean)')


def _draw_returns(axes: Any, rows: List[run_files.Row]) -> None:
  """Draws the training return and the evaluation return with its range."""
  for phase in run_files.PHASES:
    _draw_metric(axes, rows, phase, 'return_mean')
  worst_x, worst = run_files.series(rows, 'eval', 'return_min')
  best_x, best = run_files.series(rows, 'eval', 'return_max')
  if best_x.size and np.array_equal(worst_x, best_x):
    axes.fill_between(best_x, worst, best, color=drawing.COLORS[0], alpha=0.15,
                      linewidth=0, label='worst to best episode')
  axes.set_ylabel('Return of an episode')
  if not axes.has_data():
    axes.text(0.5, 0.5, 'no episode has ended yet', ha='center', va='center',
              transform=axes.transAxes)


def _draw_bonus(axes: Any, rows: List[run_files.Row]) -> None:
  """Draws the bonus, on a logarithmic axis if all its values are positive."""
  x, y = run_files.series(rows, 'train', 'bonus_mean')
  axes.plot(x, y, color=drawing.COLORS[2], linewidth=1.2,
            marker='.' if x.size == 1 else None)
  if (y > 0).all():
    drawing.log_axis(axes)
  axes.set_ylabel('Bonus, mean')


def _draw_success(axes: Any, rows: List[run_files.Row]) -> None:
  """Draws the success rates of both phases."""
  for phase in run_files.PHASES:
    _draw_metric(axes, rows, phase, 'success_rate')
  axes.set_ylabel('Success rate')
  axes.set_ylim(-0.05, 1.05)
