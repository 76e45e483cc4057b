# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures with one panel for each metric of groups of runs."""

import itertools
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents import tables
from rnd_agents.plotting import drawing
from rnd_agents.plotting import group_curves
from rnd_agents.plotting import sample_efficiency

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


class Panel(NamedTuple):
  """One metric of some groups.

  Attributes:
    metric: column of `metrics.csv`.
    phase: 'train' or 'eval'.
    curves: from `group_curves.group_curve`, by label.
    steps_to: sample efficiencies, which go to the CSV and are not drawn.
    ylabel: beside the panel; None makes one of phase and metric.
  """
  metric: str
  phase: str
  curves: Mapping[str, group_curves.GroupCurve]
  steps_to: Sequence[sample_efficiency.StepsTo] = ()
  ylabel: Optional[str] = None


def make(
    groups: Mapping[str, Sequence[run_files.Series]],
    metric: str = 'return_mean',
    phase: str = 'eval',
    confidence: float = 0.95,
    **kwargs: Any) -> Panel:
  """Computes the `Panel` of a metric.

  Args:
    groups: (env_steps, values) of the runs, by label.
    metric: Column of `metrics.csv`.
    phase: 'train' or 'eval'.
    confidence: Of the intervals.
    **kwargs: Further attributes of `Panel`.

  Raises:
    ValueError: If there are no groups.
  """
  if not groups:
    raise errors.InvalidValue('There are no groups to draw.')
  curves = {label: group_curves.group_curve(runs, confidence)
            for label, runs in groups.items()}
  return Panel(metric, phase, curves, **kwargs)


def draw(
    panels: Sequence[Panel],
    out: str,
    title: Optional[str] = None,
    confidence: float = 0.95) -> Any:
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
    confidence: With which the panels were made, for the legend.

  Returns:
    The matplotlib figure.
  """
  labels = dict.fromkeys(label for p in panels for label in p.curves)
  styles = itertools.cycle(itertools.product(drawing.DASHES, drawing.COLORS))
  looks = dict(zip(labels, styles))
  legend_title = f'IQM, {100 * confidence:g} % interval'
  if len(panels) == 1:
    fig = drawing.new_figure()
    axes = fig.add_subplot()
    _draw_panel(axes, panels[0], looks)
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
      _draw_panel(all_axes[-1], panel, looks)
    drawing.legend_below(fig, all_axes, _LEGEND_COLUMNS, title=legend_title)
    fig.suptitle(title or '')
  drawing.save(fig, out)
  tables.write_csv(drawing.csv_path(out), CSV_COLUMNS, _csv_rows(panels))
  return fig


def _draw_panel(axes: Any, panel: Panel, looks: Dict[str, Any]) -> None:
  """Draws the curves of all groups."""
  for label, curve in panel.curves.items():
    _draw_curve(axes, label, curve, *looks[label])
  drawing.style(axes)
  drawing.step_axis(axes)
  values = np.concatenate(
      [c.iqm[np.isfinite(c.iqm)] for c in panel.curves.values()])
  if (varies_by_factors(panel.metric)
      and values.min() > 0
      and values.max() > _LINEAR_RANGE * values.min()):
    drawing.log_axis(axes)
  default = f'{panel.metric.replace("_", " ").capitalize()} ({panel.phase})'
  axes.set_ylabel(
      panel.ylabel or _LABELS.get((panel.phase, panel.metric), default))


def _draw_curve(
    axes: Any, label: str, curve: group_curves.GroupCurve, dash: str,
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
    partial = ~curve.complete
    # One point further on both sides, to meet the solid line.
    partial[1:] |= ~curve.complete[:-1]
    partial[:-1] |= ~curve.complete[1:]
    axes.plot(curve.env_steps, np.where(partial, curve.iqm, np.nan),
              color=color, linestyle=':', linewidth=1.5)


def _csv_rows(panels: Sequence[Panel]) -> List[tuple]:
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
