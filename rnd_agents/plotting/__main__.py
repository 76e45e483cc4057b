# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Draws learning curves over seeds and prints two tables of them.

  python -m rnd_agents.plotting runs/rnd runs/ppo --out returns.png
  python -m rnd_agents.plotting runs/rnd runs/ppo --out four.png \
      --metric return_mean --metric rooms_visited_max \
      --metric train/extrinsic_value_loss --metric train/intrinsic_value_loss

Each argument is the folder of a run, or a folder that contains such folders at
any depth. The runs in one folder are the seeds of one curve, which is named
after that folder. One table has the ends of the curves, the other one the
environment steps needed to reach a value; a CSV beside the picture has all
points. Several metrics are several panels, each with its two tables.
"""

from collections.abc import Mapping, Sequence
import math
import os
import sys
from typing import Any

from absl import flags
import numpy as np

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import run_files
from rnd_agents import tables
from rnd_agents.plotting import drawing
from rnd_agents.plotting import learning_curves
from rnd_agents.plotting import statistics

_INTERVAL = f'{100 * statistics.CONFIDENCE:g} % interval'


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_string(
      'out', None, 'Picture to write; the numbers go to a .csv beside it.',
      required=True, **to)
  flags.DEFINE_multi_string(
      'metric', ['return_mean'],
      'Column of metrics.csv, of the evaluations, or PHASE/NAME, such as'
      ' train/bonus_mean; several times for several panels.', **to)
  flags.DEFINE_enum(
      'label_by', 'parent', ('parent', 'run'),
      'Whether to draw one curve for each folder of runs, or for each run.',
      **to)
  flags.DEFINE_alias('label-by', 'label_by', **to)
  flags.DEFINE_multi_float(
      'threshold', None,
      'Value to reach in the table of environment steps; several times for'
      ' several values. Default: some values between the first and the best,'
      ' and success rates.', **to)
  flags.DEFINE_string('title', None, 'Title of the picture.', **to)


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


def _curve_table(curves: Mapping[str, statistics.GroupCurve]) -> str:
  """Returns the ends and the highest points of the curves as text.

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
  return tables.aligned(lines)


def _efficiency_table(rows: Sequence[statistics.StepsTo]) -> str:
  """Returns the sample efficiencies as text."""
  lines = [['label', 'reaches', 'seeds', 'env_steps, IQM', _INTERVAL]]
  for row in rows:
    interval = '-'
    if row.num_runs > 1:
      interval = f'[{_steps(row.low)}, {_steps(row.high)}]'
    lines.append([
        row.label, f'{row.metric} {row.threshold:g}',
        f'{row.num_reached}/{row.num_runs}', _steps(row.iqm), interval])
  return tables.aligned(lines)


def _steps(steps: float) -> str:
  return 'never' if math.isinf(steps) else f'{steps:.0f}'


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


def _panel(
    runs: Sequence[str], phase: str, metric: str, args: flags.FlagValues
) -> learning_curves.Panel:
  """Computes the panel of a metric; names runs without it on stderr."""
  if phase not in run_files.PHASES:
    raise errors.InvalidValue(
        f'the phase of --metric {phase}/{metric} must be train or eval')
  found, reasons = _read(runs, phase, metric)
  for reason in reasons:
    print(f'Left out: {reason}', file=sys.stderr)
  if not found:
    raise errors.InvalidValue(f'no run has {metric!r} in phase {phase!r}')
  groups = group_runs(list(found), args.label_by)

  def by_label(
      series: dict[str, run_files.Series]
  ) -> dict[str, list[run_files.Series]]:
    return {label: [series[run] for run in group]
            for label, group in groups.items()}

  rows = []
  if args.threshold is not None or not learning_curves.varies_by_factors(
      metric):
    rows = statistics.steps_to(by_label(found), metric, args.threshold)
  if metric == 'return_mean' and args.threshold is None:
    success, reasons = _read(list(found), phase, 'success_rate')
    if not reasons:  # Not every environment reports it.
      rows += statistics.steps_to(by_label(success), 'success_rate')
  return learning_curves.make_panel(by_label(found), metric, phase, rows)


def _print(panel: learning_curves.Panel) -> None:
  """Prints both tables."""
  print(_curve_table(panel.curves))
  for label, curve in panel.curves.items():
    if not curve.complete[-1]:
      print(f'Note: not all runs of {label} reach env_steps '
            f'{curve.env_steps[-1]}; its numbers are of steps that all reach.')
  if panel.steps_to:
    print('\nEnvironment steps until a run first gets there:')
    print(_efficiency_table(panel.steps_to))


def _check_out(out: str) -> None:
  """Checks that the picture can be written without loss of another table."""
  ending = os.path.splitext(out)[1][1:].lower()
  types = drawing.file_types()
  if ending and ending not in types:
    raise errors.InvalidValue(
        f'--out {out} must end in one of {", ".join(types)}')
  path = drawing.csv_path(out)
  if not tables.may_write_csv(path, learning_curves.CSV_COLUMNS):
    raise errors.InvalidValue(
        f'the numbers would go to {path}, which holds something else: choose'
        ' another --out')


def _draw(
    folders: Sequence[str], args: flags.FlagValues
) -> list[learning_curves.Panel]:
  """Draws the picture; returns its panels."""
  if len(args.metric) > 1 and args.threshold is not None:
    raise errors.InvalidValue(
        f'--threshold is for one --metric, not for {len(args.metric)}')
  if not folders:
    raise errors.InvalidValue('Name the folders of the runs to draw.')
  runs = find_runs(folders)
  _check_out(args.out)
  drawn = []
  for metric in args.metric:
    phase, _, name = metric.rpartition('/')
    drawn.append(_panel(runs, phase or run_files.EVAL, name, args))
  try:
    learning_curves.draw_panels(drawn, args.out, args.title)
  except OSError as error:
    raise errors.InvalidValue(
        f'--out {args.out} cannot be written: {error.strerror}') from error
  return drawn


def main(argv: Sequence[str], args: flags.FlagValues = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  try:
    drawn = _draw(argv[1:], args)
  except errors.UserError as error:
    print(f'plotting: {error}', file=sys.stderr)
    return 2
  for i, panel in enumerate(drawn):
    if len(drawn) > 1:
      print(('\n' if i else '') + f'{panel.phase}/{panel.metric}')
    _print(panel)
  return 0


def run() -> None:
  """Runs the program, as the command `rnd-plot` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
