# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws learning curves over seeds and prints two tables of them.

  python -m rnd_agents.plotting runs/rnd runs/ppo --out returns.png
  python -m rnd_agents.plotting runs/rnd runs/ppo --out four.png \
      --metric return_mean --metric rooms_visited_max \
      --metric train/extrinsic_value_loss --metric train/intrinsic_value_loss

Each argument is the folder of a run, or a folder with such folders in it, at
any depth. Runs that lie in the same folder are the seeds of one curve, which
is named after it. One table has the end of the curves, the other one how many
environment steps they need to get somewhere; picture and CSV have the numbers.
Several metrics are several panels of one picture, each with its tables.
"""

import argparse
import math
import os
import sys
from typing import Dict, List, Optional, Sequence, Tuple

from rnd_agents.plotting import drawing
from rnd_agents.plotting import group_curves
from rnd_agents.plotting import metrics_file
from rnd_agents.plotting import panels
from rnd_agents.plotting import sample_efficiency


def find_runs(folders: Sequence[str]) -> List[str]:
  """The run folders in `folders`, each one once, sorted within each folder.

  Args:
    folders: Run folders, or folders that have some somewhere below them.

  Returns:
    Absolute paths. A folder without a run is named on stderr.

  Raises:
    ValueError: If there is no run in any of the folders, or one is missing.
  """
  runs, without = {}, []
  for folder in folders:
    found = []
    for path, below, _ in os.walk(os.path.abspath(folder)):
      if metrics_file.has_metrics(path):
        found.append(path)
        below.clear()  # What lies in a run is no other run.
    if not found:
      without.append(
          f'{folder} is no run folder and has none in it: there is no '
          f'{metrics_file.FILE_NAME}.')
      if not os.path.isdir(folder):
        raise ValueError(without[-1])
    for path in sorted(found):
      runs.setdefault(os.path.realpath(path), path)
  if without and not runs:
    raise ValueError(without[0])
  for reason in without:
    print(f'Left out: {reason}', file=sys.stderr)
  return list(runs.values())


def group_runs(runs: Sequence[str], label_by: str) -> Dict[str, List[str]]:
  """Run folders by label.

  Args:
    runs: Absolute paths of run folders.
    label_by: 'parent', one group for each folder that holds runs; or 'run', one
      for each run.

  Returns:
    Lists of run folders by the name of the folder. Folders of the same name
    stay apart, by as much of the path before it as that takes.
  """
  folders = {}
  for run in runs:
    folder = os.path.dirname(run) if label_by == 'parent' else run
    folders.setdefault(folder, []).append(run)
  parts = {folder: folder.strip(os.sep).split(os.sep) for folder in folders}
  length = 1
  while len({tuple(p[-length:]) for p in parts.values()}) < len(parts):
    length += 1
  return {'/'.join(parts[folder][-length:]): members
          for folder, members in folders.items()}


def table(
    curves: Dict[str, group_curves.GroupCurve], confidence: float) -> str:
  """The curves in numbers, as text."""
  lines = [['label', 'seeds', 'env_steps', 'final IQM',
            f'{100 * confidence:g} % interval', 'highest IQM']]
  for label, curve in curves.items():
    summary = group_curves.summarize(curve)
    if summary is None:
      lines.append([label, str(len(curve.values)), '-', '-', '-', '-'])
      continue
    interval = '-'  # One run has none.
    if summary.num_runs > 1:
      interval = f'[{summary.low:.4g}, {summary.high:.4g}]'
    lines.append([
        label, str(summary.num_runs), str(summary.final_env_steps),
        f'{summary.final:.4g}', interval, f'{summary.highest:.4g}'])
  return _aligned(lines)


def efficiency_table(
    rows: Sequence[sample_efficiency.StepsTo], confidence: float) -> str:
  """The sample efficiencies, as text."""
  lines = [['label', 'reaches', 'seeds', 'env_steps, IQM',
            f'{100 * confidence:g} % interval']]
  for row in rows:
    interval = '-'
    if row.num_runs > 1:
      interval = f'[{_steps(row.low)}, {_steps(row.high)}]'
    lines.append([
        row.label, f'{row.metric} {row.threshold:g}',
        f'{row.num_reached}/{row.num_runs}', _steps(row.iqm), interval])
  return _aligned(lines)


def _steps(steps: float) -> str:
  return 'never' if math.isinf(steps) else f'{steps:.0f}'


def _aligned(lines: Sequence[Sequence[str]]) -> str:
  """Columns of equal width, the first one to the left."""
  widths = [max(len(cell) for cell in column) for column in zip(*lines)]
  return '\n'.join(
      '  '.join([line[0].ljust(widths[0])] + [
          cell.rjust(width) for cell, width in zip(line[1:], widths[1:])])
      for line in lines)


def _efficiencies(
    groups: Dict[str, List[str]],
    metric: str,
    phase: str,
    args: argparse.Namespace,
) -> List[sample_efficiency.StepsTo]:
  """Of the metric, and of the success rate where all the runs have it."""
  if panels.varies_by_factors(metric) and args.threshold is None:
    return []
  rows = sample_efficiency.steps_to(
      groups, metric, phase, args.threshold, args.confidence)
  if metric == 'return_mean' and args.threshold is None:
    try:
      rows += sample_efficiency.steps_to(
          groups, 'success_rate', phase, confidence=args.confidence)
    except ValueError:
      pass  # Not every environment tells.
  return rows


def _parser() -> argparse.ArgumentParser:
  """The flags."""
  parser = argparse.ArgumentParser(
      prog='python -m rnd_agents.plotting', description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('runs', nargs='+', metavar='RUNS',
                      help='run folders, or folders with run folders in them')
  parser.add_argument('--out', required=True, metavar='FILE',
                      help='picture to write; numbers go to a .csv beside it')
  parser.add_argument('--metric', action='append', metavar='[PHASE/]NAME',
                      help='column of metrics.csv, such as train/bonus_mean; '
                      'several times for several panels (default: return_mean)')
  parser.add_argument('--phase', default='eval', choices=('eval', 'train'),
                      help='of metrics without one (default: %(default)s)')
  parser.add_argument('--label-by', default='parent',
                      choices=('parent', 'run'),
                      help='a curve for each folder of runs, or for each run '
                      '(default: %(default)s)')
  parser.add_argument('--threshold', type=float, action='append',
                      help='tell how many steps it takes to reach this value; '
                      'several times for several values (default: some between '
                      'the first and the best, and success rates)')
  parser.add_argument('--confidence', type=float, default=0.95,
                      help='of the interval (default: %(default)s)')
  parser.add_argument('--title')
  parser.add_argument('--ylabel')
  return parser


def _readable(runs: Sequence[str], phase: str, metric: str) -> List[str]:
  """The runs that have the metric; says on stderr which have not, and why."""
  kept = []
  for run in runs:
    try:
      metrics_file.read_metrics(run, phase, metric)
      kept.append(run)
    except (OSError, ValueError) as error:
      print(f'Left out: {error}', file=sys.stderr)
  return kept


def _phase_and_name(metric: str, default_phase: str) -> Tuple[str, str]:
  """'train/bonus_mean' in two parts."""
  phase, slash, name = metric.rpartition('/')
  return (phase, name) if slash else (default_phase, name)


def _panel(
    runs: Sequence[str], phase: str, metric: str, args: argparse.Namespace
) -> Optional[panels.Panel]:
  """The panel of a metric, None where no run has it."""
  runs = _readable(runs, phase, metric)
  if not runs:
    return None
  groups = group_runs(runs, args.label_by)
  return panels.make(
      groups, metric, phase, args.confidence,
      steps_to=_efficiencies(groups, metric, phase, args), ylabel=args.ylabel)


def _print(panel: panels.Panel, confidence: float) -> None:
  """Both tables."""
  print(table(panel.curves, confidence))
  for label, curve in panel.curves.items():
    if not curve.complete[-1]:
      print(f'Note: not all runs of {label} reach env_steps '
            f'{curve.env_steps[-1]}; its numbers are of the part that all do.')
  if panel.steps_to:
    print('\nEnvironment steps until a run first gets there:')
    print(efficiency_table(panel.steps_to, confidence))


def _check_out(out: str) -> None:
  """Raises ValueError where a picture cannot go, or its CSV should not."""
  ending = os.path.splitext(out)[1][1:].lower()
  types = drawing.file_types()
  if ending and ending not in types:
    raise ValueError(
        f'--out {out} is no picture: it must end in one of {", ".join(types)}')
  path = drawing.csv_path(out)
  if not os.path.exists(path):
    return
  with open(path, encoding='utf-8', errors='replace') as file:
    header = file.readline().strip()
  if header != ','.join(panels.CSV_COLUMNS):
    raise ValueError(
        f'the numbers would go to {path}, which holds something else: choose'
        ' another --out')


def main(argv: Optional[Sequence[str]] = None) -> int:
  """Runs the command line; returns its exit status."""
  parser = _parser()
  args = parser.parse_args(argv)
  if not 0.0 < args.confidence < 1.0:
    parser.error(f'--confidence must be inside (0, 1), got {args.confidence}')
  metrics = [_phase_and_name(metric, args.phase)
             for metric in args.metric or ['return_mean']]
  for name in ('threshold', 'ylabel'):
    if len(metrics) > 1 and getattr(args, name) is not None:
      parser.error(f'--{name} is for one --metric, not for {len(metrics)}')
  try:
    runs = find_runs(args.runs)
    _check_out(args.out)
  except ValueError as error:
    parser.error(str(error))
  drawn = []
  for phase, metric in metrics:
    if phase not in (metrics_file.TRAIN, metrics_file.EVAL):
      parser.error(
          f'the phase of --metric {phase}/{metric} must be train or eval')
    panel = _panel(runs, phase, metric, args)
    if panel is None:
      parser.error(f'no run has {metric!r} in phase {phase!r}')
    drawn.append(panel)
  try:
    panels.draw(drawn, args.out, args.title, args.confidence)
  except OSError as error:
    parser.error(f'--out {args.out} cannot be written: {error.strerror}')
  for i, panel in enumerate(drawn):
    if len(drawn) > 1:
      print(('\n' if i else '') + f'{panel.phase}/{panel.metric}')
    _print(panel, args.confidence)
  return 0


if __name__ == '__main__':
  sys.exit(main())
