# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Searches for settings: a study of Optuna, each trial with several seeds.

  python -m train.tune --gin_file deep_sea --space space.txt --trials 20 \
      --seeds 0-2

A line of the space has a setting and its values, ends included:

  create_rnd_ppo_agent.learning_rate = log_uniform(1e-4, 1e-2)
  RNDPPOAgent.entropy_regularization = uniform(0.0, 0.1)
  RNDPPOAgent.num_epochs = integer(1, 8)  # Or log_integer.
  create_networks.fc_layer_params = choice((64, 64), (256, 256))

The value of a trial is the interquartile mean of its seeds' last evaluations.
The same command continues a study that was stopped or killed; several of them
at a time share its trials. ROOT_DIR/best.gin has the best settings so far.
"""

from collections.abc import Sequence
from concurrent import futures
import multiprocessing
import os
import re
from typing import Any

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from train import run_processes
from train import study
from train import sweep
from train import trials


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_multi_string(
      'gin_file', None, 'A gin file, as for train_eval.', required=True, **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding for all runs; several times.', **to)
  flags.DEFINE_string(
      'space', None, 'File with settings and their values.', required=True,
      **to)
  flags.DEFINE_integer(
      'trials', 20, 'Trials of the study, of all its processes and starts'
      ' together.', lower_bound=1, **to)
  flags.DEFINE_string('seeds', '0-2', 'Seeds of each trial.', **to)
  flags.DEFINE_integer(
      'jobs', None, 'Runs of a trial at a time. Default: all its seeds; with'
      ' fewer, trials are pruned later.', lower_bound=1, **to)
  flags.DEFINE_string(
      'metric', 'return_mean', 'Metric of evaluations; higher is better.', **to)
  flags.DEFINE_integer(
      'prune_after', None, 'Environment steps from which on a trial ends early'
      ' whose best evaluation is below the median of the others. Default: half'
      ' of num_env_steps.', lower_bound=0, **to)
  flags.DEFINE_integer('sampler_seed', 0, 'Seed of the search.', **to)
  flags.DEFINE_string(
      'root_dir', None, 'Folder of the study, which all its machines see.'
      ' Default: runs/NAME_OF_GIN_FILE_study.', **to)
  flags.DEFINE_string(
      'storage', None, 'URL of a database, for several machines. Default:'
      ' SQLite in ROOT_DIR/study.db.', **to)


def parse_space(text: str) -> trials.Space:
  """Parses the file of --space."""
  space = {}
  for line in text.splitlines():
    line = re.sub(r'(^|\s)#.*', '', line).strip()
    if not line:
      continue
    match = re.fullmatch(r'([^\s=]+)\s*=\s*(\w+)\s*\((.*)\)', line)
    arguments = sweep.split_values(match[3]) if match else ['']
    if not match or match[2] not in trials.KINDS or '' in arguments:
      raise errors.InvalidValue(
          f'{line!r} of the space is not NAME = KIND(VALUE, ...) with one of'
          f' {", ".join(trials.KINDS)}.')
    if match[1] in space:
      raise errors.InvalidValue(f'The space has {match[1]} twice.')
    space[match[1]] = trials.Values(match[2], arguments)
  if not space:
    raise errors.InvalidValue('The space has no setting.')
  return space


def read_experiment(
    gin_files: Sequence[str], bindings: Sequence[str], space: trials.Space
) -> tuple[list[str], trials.Schedule]:
  """Reads an experiment with each value, or end of a range, of the space.

  Args:
    gin_files: Gin files, as for train_eval.
    bindings: Gin bindings.
    space: The space.

  Returns:
    The paths of all gin files that are read, and the schedule.

  Raises:
    UserError: If settings are wrong, or the space changes the schedule.
  """
  from rnd_agents.training import configuration
  from rnd_agents.training import experiment
  from rnd_agents.training import gin_files as parser

  first = {name: each.arguments[0] for name, each in space.items()}
  schedules = set()
  for name, each in space.items():
    for value in each.arguments:
      texts = trials.bindings_of(first | {name: value})
      paths = parser.parse(gin_files, [*bindings, *texts])
      bound = {
          each.name: each.value for each in configuration.bound().parameters()
      }
      schedules.add(trials.Schedule(*(
          bound.get(f'train_eval.{x}', getattr(experiment.Experiment, x))
          for x in trials.Schedule._fields)))
      if len(schedules) > 1:
        raise errors.InvalidValue(
            f'{name} of the space changes one of'
            f' {", ".join(trials.Schedule._fields)}: trials are compared'
            ' at equal steps.')
  return paths, schedules.pop()


@programs.explaining('tune', OSError, status=2)
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  programs.begin(argv)
  name = os.path.splitext(os.path.basename(args.gin_file[-1]))[0]
  root_dir = os.path.expanduser(
      args.root_dir or os.path.join('runs', f'{name}_study'))
  study.import_optuna()
  with open(os.path.expanduser(args.space), encoding='utf-8') as file:
    space = parse_space(file.read())
  seeds = sweep.parse_seeds(args.seeds)
  # In a process of its own: this one does not load TensorFlow.
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context) as pool:
    paths, schedule = pool.submit(
        read_experiment, args.gin_file, args.gin_bindings, space).result()
  search = trials.Search(
      args.gin_file, args.gin_bindings, space, seeds, args.metric,
      schedule.num_env_steps // 2 if args.prune_after is None
      else args.prune_after, args.sampler_seed)
  runner = run_processes.Runner(args.jobs or len(seeds))
  return study.Study(
      search, root_dir, args.storage, paths, schedule, runner
  ).run(args.trials)


def run() -> None:
  """Runs the program, as the command `rnd-tune` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
