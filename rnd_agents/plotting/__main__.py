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

from collections.abc import Sequence
import os
from typing import Any

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import tables
from rnd_agents.plotting import drawing
from rnd_agents.plotting import learning_curves
from rnd_agents.plotting import run_groups


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


def _print(panel: learning_curves.Panel) -> None:
  """Prints both tables."""
  print(tables.aligned(run_groups.curve_table(panel.curves)))
  for label, curve in panel.curves.items():
    if not curve.complete[-1]:
      print(f'Note: not all runs of {label} reach env_steps '
            f'{curve.env_steps[-1]}; its numbers are of steps that all reach.')
  if panel.steps_to:
    print('\nEnvironment steps until a run first gets there:')
    print(tables.aligned(run_groups.efficiency_table(panel.steps_to)))


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
  runs = run_groups.find_runs(folders)
  _check_out(args.out)
  drawn = [
      run_groups.panel(runs, metric, args.label_by, args.threshold)
      for metric in args.metric
  ]
  try:
    learning_curves.draw_panels(drawn, args.out, args.title)
  except OSError as error:
    raise errors.InvalidValue(
        f'--out {args.out} cannot be written: {error.strerror}') from error
  return drawn


@programs.explaining('plotting', status=2)
def main(argv: Sequence[str], args: flags.FlagValues = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  drawn = _draw(argv[1:], args)
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
