# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws learning curves of one run, and of groups of runs over seeds."""

from collections.abc import Mapping, Sequence
import itertools
from typing import Any, NamedTuple

import numpy as np

from rnd_agents import run_files
from rnd_agents import tables
from rnd_agents.plotting import drawing
from rnd_agents.plotting import statistics

CSV_COLUMNS = (
    'label', 'env_steps', 'iqm', 'low', 'high', 'num_runs', 'kind', 'phase',
    'metric', 'threshold', 'num_reached')

_LABELS = {
    ('eval', 'return_mean'): 'Evaluation return',
    ('train', 'return_mean'): 'Training return',
    ('eval', 'success_rate'): 'Success rate in evaluation',
    ('train', 'success_rate'): 'Success rate in training',
}
_PANEL_INCHES = (5.6, 3.2)
_LEGEND_COLUMNS = 4
# Parts of the names of metrics that change by factors and are not better when
# higher. Above this ratio of highest to lowest, their axis is logarithmic.
_BY_FACTORS = ('bonus_', '_loss')
_LINEAR_RANGE = 30.0
# A training curve of more points is drawn pale, with its moving mean.
_MAX_RAW_POINTS = 100


def plot_run(root_dir: str, out: str, title: str | None = None) -> Any:
  """Draws one run: returns, and beside them the bonus and the success rate.

  Metrics that the run does not have are left out: without a bonus (plain PPO)
  and a success rate, the returns fill the picture.

  Args:
    root_dir: Folder of the run.
    out: File to write, such as 'learning_curve.png'.
    title: Title, such as the name of the environment.

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
  drawing.save_figure(fig, out)
  return fig


def plot_archive(root_dir: str, out: str) -> Any:
  """Draws an archive exploration: its cells and its best score.

  Args:
    root_dir: Folder of the exploration.
    out: File to write.

  Returns:
    The matplotlib figure.
  """
  rows = run_files.read_rows(root_dir)
  fig = drawing.new_figure()
  panels = (('cells', 'Cells'), ('best_score', 'Best score'))
  for i, (metric, label) in enumerate(panels):
    axes = fig.add_subplot(1, 2, i + 1)
    x, y = run_files.series(rows, 'train', metric)
    axes.plot(x, y, color=drawing.COLORS[i], linewidth=1.5,
              marker='.' if x.size == 1 else None)
    if not x.size:
      axes.text(0.5, 0.5, 'none yet', ha='center', transform=axes.transAxes)
    axes.set_ylabel(label)
    drawing.style(axes)
    drawing.step_axis(axes)
  drawing.save_figure(fig, out)
  return fig


def _has(rows: list[run_files.Row], phase: str, metric: str) -> bool:
  return any(row.phase == phase and metric in row.values for row in rows)


def _moving_mean(values: np.ndarray, width: int) -> np.ndarray:
  """Returns the mean over `width` neighbours, fewer at the ends."""
  kernel = np.ones(width)
  return (np.convolve(values, kernel, 'same')
          / np.convolve(np.ones_like(values), kernel, 'same'))


def _draw_metric(
    axes: Any, rows: list[run_files.Row], phase: str, metric: str) -> None:
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


def _draw_returns(axes: Any, rows: list[run_files.Row]) -> None:
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


def _draw_bonus(axes: Any, rows: list[run_files.Row]) -> None:
  """Draws the bonus, on a logarithmic axis if all its values are positive."""
  x, y = run_files.series(rows, 'train', 'bonus_mean')
  axes.plot(x, y, color=drawing.COLORS[2], linewidth=1.2,
            marker='.' if x.size == 1 else None)
  if (y > 0).all():
    drawing.log_axis(axes)
  axes.set_ylabel('Bonus, mean')


def _draw_success(axes: Any, rows: list[run_files.Row]) -> None:
  """Draws the success rates of both phases."""
  for phase in run_files.PHASES:
    _draw_metric(axes, rows, phase, 'success_rate')
  axes.set_ylabel('Success rate')
  axes.set_ylim(-0.05, 1.05)


class Panel(NamedTuple):
  """One metric of some groups.

  Attributes:
    metric: Column of `metrics.csv`.
    phase: 'train' or 'eval'.
    curves: Curves of the groups by label.
    steps_to: Sample efficiencies, which go to the CSV and are not drawn.
  """
  metric: str
  phase: str
  curves: Mapping[str, statistics.GroupCurve]
  steps_to: Sequence[statistics.StepsTo] = ()


def make_panel(
    groups: statistics.Groups, metric: str = 'return_mean', phase: str = 'eval',
    steps_to: Sequence[statistics.StepsTo] = ()) -> Panel:
  """Returns the `Panel` of a metric, with the curves of the groups."""
  curves = {
      label: statistics.group_curve(runs) for label, runs in groups.items()}
  return Panel(metric, phase, curves, steps_to)


def draw_panels(
    panels: Sequence[Panel], out: str, title: str | None = None
) -> Any:
  """Draws panels: line = IQM over runs, band = interval, legend = seeds.

  Where only some of the runs of a group have a value, the line is dotted: the
  longest runs are seldom a fair sample. One run alone has no band. A group
  looks the same in all panels, and need not be in each.

  Args:
    panels: One or more.
    out: File to write; the numbers go to the same name with '.csv': one row for
      each point of a curve, and one of kind 'steps_to' for each sample
      efficiency, with iqm, low and high in environment steps ('inf' for never).
    title: Above the picture.

  Returns:
    The matplotlib figure.
  """
  look_of = looks(list(dict.fromkeys(x for p in panels for x in p.curves)))
  legend_title = f'IQM, {100 * statistics.CONFIDENCE:g} % interval'
  if len(panels) == 1:
    fig = drawing.new_figure()
    axes = fig.add_subplot()
    _draw_panel(axes, panels[0], look_of)
    drawing.legend_beside(axes, title=legend_title)
    axes.set_title(title or '')
  else:
    num_rows = (len(panels) + 1) // 2
    width, height = _PANEL_INCHES
    fig = drawing.new_figure((2 * width, num_rows * height + 0.5))
    grid = fig.add_gridspec(num_rows, 2)
    all_axes = []
    for i, panel in enumerate(panels):
      all_axes.append(fig.add_subplot(grid[i // 2, i % 2]))
      _draw_panel(all_axes[-1], panel, look_of)
    drawing.legend_below(fig, all_axes, _LEGEND_COLUMNS, title=legend_title)
    fig.suptitle(title or '')
  drawing.save_figure(fig, out)
  tables.write_csv(drawing.csv_path(out), CSV_COLUMNS, _csv_rows(panels))
  return fig


def looks(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
  """Returns (dash, color) of each group."""
  styles = itertools.cycle(itertools.product(drawing.DASHES, drawing.COLORS))
  return dict(zip(labels, styles))


def label_of(panel: Panel) -> str:
  """Returns the label of a panel's y axis."""
  default = f'{panel.metric.replace("_", " ").capitalize()} ({panel.phase})'
  return _LABELS.get((panel.phase, panel.metric), default)


def _draw_panel(axes: Any, panel: Panel, look_of: dict[str, Any]) -> None:
  """Draws the curves of all groups."""
  for label, curve in panel.curves.items():
    _draw_curve(axes, label, curve, *look_of[label])
  drawing.style(axes)
  drawing.step_axis(axes)
  values = np.concatenate(
      [c.iqm[np.isfinite(c.iqm)] for c in panel.curves.values()])
  if (varies_by_factors(panel.metric)
      and values.min() > 0
      and values.max() > _LINEAR_RANGE * values.min()):
    drawing.log_axis(axes)
  axes.set_ylabel(drawing.as_it_is(label_of(panel)))


def _draw_curve(
    axes: Any, label: str, curve: statistics.GroupCurve, dash: str,
    color: str) -> None:
  """Draws line and band of one group."""
  num_runs = curve.values.shape[0]
  seeds = '1 seed' if num_runs == 1 else f'{num_runs} seeds'
  axes.plot(curve.env_steps, np.where(curve.complete, curve.iqm, np.nan),
            color=color, linestyle=dash, linewidth=2,
            marker='o' if curve.complete.sum() == 1 else None,
            label=drawing.legend_label(f'{label} ({seeds})'))
  axes.fill_between(curve.env_steps, curve.low, curve.high, color=color,
                    alpha=0.18, linewidth=0)
  if not curve.complete.all():
    axes.plot(curve.env_steps, partial_line(curve),
              color=color, linestyle=':', linewidth=1.5)


def partial_line(curve: statistics.GroupCurve) -> np.ndarray:
  """Returns the IQM where only some runs have a value; NaN elsewhere, [G]."""
  partial = ~curve.complete
  # One point further on both sides, to meet the solid line.
  partial[1:] |= ~curve.complete[:-1]
  partial[:-1] |= ~curve.complete[1:]
  return np.where(partial, curve.iqm, np.nan)


def _csv_rows(panels: Sequence[Panel]) -> list[tuple]:
  """Returns the rows of all curves, then of all sample efficiencies."""
  curve_rows = [
      (label, *point, 'curve', panel.phase, panel.metric, '', '')
      for panel in panels
      for label, curve in panel.curves.items()
      for point in zip(
          curve.env_steps.tolist(), curve.iqm.tolist(), curve.low.tolist(),
          curve.high.tolist(), curve.num_runs.tolist())]
  efficiency_rows = [
      (row.label, '', row.iqm, row.low, row.high, row.num_runs, 'steps_to',
       panel.phase, row.metric, row.threshold, row.num_reached)
      for panel in panels
      for row in panel.steps_to]
  return curve_rows + efficiency_rows


def varies_by_factors(metric: str) -> bool:
  """Returns whether a metric is a loss or a bonus."""
  return any(part in metric for part in _BY_FACTORS)
