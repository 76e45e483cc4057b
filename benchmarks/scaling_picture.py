# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws environment steps until solved against the size of a problem."""

import itertools
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from rnd_agents import tables
from rnd_agents.plotting import drawing


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
  tables.write_csv(
      drawing.csv_path(out), ('label', 'x', 'y', 'solved'),
      [(p['label'], p['x'], p['y'], int(p['solved'])) for p in points])
  return fig


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
