# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an agent as gin files say.

python -m train.train_eval --gin_file=mountain_car.gin --seed=0
"""

from collections.abc import Callable, Sequence
import functools
import os
import shlex
from typing import Any

from absl import app
from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from train import streams


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: Any = {'flag_values': values}
  flags.DEFINE_string(
      'root_dir', None, 'Folder of the run, which the same command resumes.'
      ' Default: runs/NAME_OF_GIN_FILE/seed_SEED.', **to)
  flags.DEFINE_multi_string(
      'gin_file', None, 'A gin file: a path, or the bare name of one that comes'
      ' with the package. Later ones win.', **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding, such as'
      ' create_rnd_ppo_agent.learning_rate=0.001.', **to)
  flags.DEFINE_integer(
      'seed', 0, 'Seed of environments, networks, policy and shuffling.', **to)
  flags.DEFINE_bool(
      'fresh', False, 'Begin a new run: what --root_dir holds is moved to its'
      ' folder earlier/N. The command without it continues the new run.', **to)
  flags.DEFINE_integer(
      'workers', 0, 'Processes that collect, at most train_eval.num_shards; 0:'
      ' this one alone (needs rnd_agents[cluster]). The run is the same, byte'
      ' for byte.', lower_bound=0, **to)
  flags.DEFINE_string(
      'ray_address', None, 'HOST:PORT of a Ray cluster for the workers.'
      ' Default: this machine.', **to)


@programs.explaining('train_eval')
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Trains as gin files say; returns the exit status.

  Args:
    argv: The command line without the flags.
    args: The flags.
  """
  programs.begin(argv)
  if not args.gin_file:
    raise app.UsageError('--gin_file is missing: name an experiment.')
  # Here and not above: flags answer at once, TensorFlow takes seconds.
  from rnd_agents.training import experiment
  from train import run_setup

  root_dir = run_setup.set_up(args)
  result = experiment.train_eval(
      root_dir, _make_shards(args), seed=args.seed
  )
  last = curves = ''
  if result.eval_return is not None:
    last = f'Mean return of the last evaluation: {result.eval_return:.1f}'
    if result.best_eval_return is not None:
      last += (
          f', of the best: {result.best_eval_return:.1f}'
          ' (policies/best_policy)'
      )
    last += '\n'
  if os.path.isdir(os.path.join(root_dir, 'train')):  # A logger's events.
    curves = (
        f'\nTensorBoard: {shlex.quote(streams.path_of("tensorboard"))}'
        f' --logdir={shlex.quote(root_dir)}'
    )
  streams.print_outcome(
      f'{last}{result.env_steps:,} environment steps in'
      f' {result.wall_time_s:.0f} s\n'
      f'Learning curve: {result.picture or "not drawn"}{curves}'
  )
  return streams.exit_status(result.finished, args.fresh)


def _make_shards(args: Any) -> Callable[..., Any] | None:
  """Returns a `MakeShards` for Ray; None to collect in this process."""
  if not args.workers:
    if args.ray_address is not None:
      raise errors.SetupError('--ray_address needs --workers=N.')
    return None
  from rnd_agents.workers import ray_workers

  return functools.partial(
      ray_workers.create_collectors,
      num_workers=args.workers,
      address=args.ray_address,
  )


def run() -> None:
  """Runs the program, as the command `rnd-train` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
