# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Explores an environment that can be put back, and writes demonstrations.

python -m train.explore --gin_file=explore_deep_sea.gin --seed=0
"""

from collections.abc import Sequence
from typing import Any

from absl import flags

from rnd_agents import programs
from train import streams


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: Any = {'flag_values': values}
  flags.DEFINE_string(
      'root_dir', None, 'Folder of the exploration, which the same command'
      ' resumes. Default: runs/NAME_OF_GIN_FILE/seed_SEED.', **to)
  flags.DEFINE_bool(
      'fresh', False, 'Begin a new exploration: what --root_dir holds is moved'
      ' to its folder earlier/N. The command without it continues the new'
      ' one.', **to)
  flags.DEFINE_multi_string(
      'gin_file', None, 'A gin file: a path, or the bare name of one that comes'
      ' with the package. Later ones win.', required=True, **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding, such as'
      ' explore.num_env_steps=100000.', **to)
  flags.DEFINE_integer(
      'seed', 0, 'Seed of the worlds, of the choice of cells and of the'
      ' actions.', **to)


@programs.explaining('explore')
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Explores as gin files say; returns the exit status.

  Args:
    argv: The command line without the flags.
    args: The flags.
  """
  programs.begin(argv)
  # Here and not above: flags answer at once, TensorFlow takes seconds.
  from rnd_agents.archive import exploration
  from train import run_setup

  root_dir = run_setup.set_up(args)
  result = exploration.explore(root_dir, seed=args.seed)
  best = 'none'
  if result.best_score is not None:
    best = f'{result.best_score:.6g} in {result.best_length} steps'
  file = ''
  if result.demonstrations is not None:
    file = f'\nDemonstrations: {result.demonstrations}'
  streams.print_outcome(
      f'{result.env_steps:,} environment steps, {result.num_cells:,} cells,'
      f' best trajectory: {best}\n'
      f'Picture: {result.picture}{file}'
  )
  return streams.exit_status(result.finished, args.fresh)


def run() -> None:
  """Runs the program, as the command `rnd-explore` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
