# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups of runs over seeds: their curves, and tables of them."""

from collections.abc import Mapping, Sequence
import math
import os
import sys

import numpy as np

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.plotting import learning_curves
from rnd_agents.plotting import statistics

_INTERVAL = f'{100 * statistics.CONFIDENCE:g} % interval'


def find_runs(folders: Sequence[str]) -> list[str]:
  """Returns absolute paths of the runs at any depth of `folders`, each once.

  Folders without a run are named on stderr.

  Raises:
    InvalidValue: If no folder has a run, or a folder is missing.
  """
  runs: dict[str, str] = {}
  left_out = []
  for folder in folders:
    found = []
    for path, below, names in os.walk(os.path.abspath(folder)):
      if run_files.has_metrics(path):
        found.append(path)
        below.clear()  # A folder inside of a run is not a run.
      elif '.lock' in names and 'earlier' in below:  # It has just begun.
        below.remove('earlier')
    for path in sorted(found):
      runs.setdefault(os.path.realpath(path), path)
    if not found:
      left_out.append(
          f'{folder} is not the folder of a run and does not contain one: it '
          f'has no {run_files.METRICS_FILE}.')
      if not os.path.isdir(folder):
        raise errors.InvalidValue(left_out[-1])
  if left_out and not runs:
    raise errors.InvalidValue(left_out[0])
  for reason in left_out:
    print(f'Left out: {reason}', file=sys.stderr)
  return list(runs.values())


def group_runs(runs: Sequence[str], label_by: str) -> dict[str, list[str]]:
  """Groups absolute paths of runs by the name of 'parent' or 'run' folder.

  Folders of the same name get as much of the path before it as distinguishes
  them.
  """
  folders: dict[str, list[str]] = {}
  for run in runs:
    folder = os.path.dirname(run) if label_by == 'parent' else run
    folders.setdefault(folder, []).append(run)
  parts = {folder: folder.strip(os.sep).split(os.sep) for folder in folders}
  length = 1
  while len({tuple(p[-length:]) for p in parts.values()}) < len(parts):
    length += 1
  return {'/'.join(parts[folder][-length:]): members
          for folder, members in folders.items()}


def _read(
    runs: Sequence[str], phase: str, metric: str
) -> tuple[dict[str, run_files.Series], list[Exception]]:
  """Reads a metric of the runs; returns it with the errors of other runs."""
  found: dict[str, run_files.Series] = {}
  reasons: list[Exception] = []
  for run in runs:
    try:
      found[run] = run_files.read_metrics(run, phase, metric)
    except (OSError, ValueError) as error:
      reasons.append(error)
  return found, reasons


def panel(
    runs: Sequence[str],
    metric: str,
    label_by: str = 'parent',
    thresholds: Sequence[float] | None = None,
) -> learning_curves.Panel:
  """Computes the panel of a metric; names runs without it on stderr.

  Args:
    runs: Folders of runs.
    metric: Column of the evaluations, or PHASE/NAME.
    label_by: As for `group_runs`.
    thresholds: As for `statistics.steps_to`.

  Raises:
    InvalidValue: If no run has the metric.
  """
  phase, _, metric = metric.rpartition('/')
  phase = phase or run_files.EVAL
  if phase not in run_files.PHASES:
    raise errors.InvalidValue(
        f'the phase of --metric {phase}/{metric} must be train or eval')
  found, reasons = _read(runs, phase, metric)
  if not found:
    raise errors.InvalidValue(f'no run has {metric!r} in phase {phase!r}')
  for reason in reasons:
    print(f'Left out: {reason}', file=sys.stderr)
  groups = group_runs(list(found), label_by)

  def by_label(
      series: dict[str, run_files.Series]
  ) -> dict[str, list[run_files.Series]]:
    return {label: [series[run] for run in group]
            for label, group in groups.items()}

  rows = []
  if thresholds is not None or not learning_curves.varies_by_factors(metric):
    rows = statistics.steps_to(by_label(found), metric, thresholds)
  if metric == 'return_mean' and thresholds is None:
    success, reasons = _read(list(found), phase, 'success_rate')
    if not reasons:  # Not every environment reports it.
      rows += statistics.steps_to(by_label(success), 'success_rate')
  return learning_curves.make_panel(by_label(found), metric, phase, rows)


def curve_table(
    curves: Mapping[str, statistics.GroupCurve]
) -> list[list[str]]:
  """Returns the ends and highest points of the curves: a header, then rows.

  Only steps at which all runs of a group have a value count: beyond them, the
  longest runs alone would determine the numbers.
  """
  lines = [
      ['label', 'seeds', 'env_steps', 'final IQM', _INTERVAL, 'highest IQM']]
  for label, curve in curves.items():
    cells = ['-', '-', '-', '-']
    points = np.flatnonzero(curve.complete)
    if points.size:
      last = points[-1]
      cells[0] = str(curve.env_steps[last])
      cells[1] = f'{curve.iqm[last]:.4g}'
      if len(curve.values) > 1:  # One run has no interval.
        cells[2] = f'[{curve.low[last]:.4g}, {curve.high[last]:.4g}]'
      cells[3] = f'{curve.iqm[points].max():.4g}'
    lines.append([label, str(len(curve.values)), *cells])
  return lines


def efficiency_table(rows: Sequence[statistics.StepsTo]) -> list[list[str]]:
  """Returns the sample efficiencies: a header, then rows."""
  lines = [['label', 'reaches', 'seeds', 'env_steps, IQM', _INTERVAL]]
  for row in rows:
    interval = '-'
    if row.num_runs > 1:
      interval = f'[{_steps(row.low)}, {_steps(row.high)}]'
    lines.append([
        row.label, f'{row.metric} {row.threshold:g}',
        f'{row.num_reached}/{row.num_runs}', _steps(row.iqm), interval])
  return lines


def _steps(steps: float) -> str:
  return 'never' if math.isinf(steps) else f'{steps:.0f}'
