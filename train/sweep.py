# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains each gin file with each seed and value, several runs at a time.

  python -m train.sweep --gin_file deep_sea --gin_file deep_sea_ppo \
      --seeds 0-9 --jobs 2

Each run is a process of train.train_eval with the folder
ROOT_DIR/NAME_OF_GIN_FILE/seed_SEED, or with --vary such as
ROOT_DIR/NAME_OF_GIN_FILE,num_epochs=2/seed_SEED, and its output is in sweep.log
there. A run that fails is reported and the others continue. The same command
skips finished runs and resumes the others. Ctrl-C and SIGTERM let the running
ones save first.

With --ray_address each run is a Ray task, which continues from its checkpoint
if the machine or the process was lost (docs/cluster.md).
"""

import collections
from collections.abc import Sequence
from concurrent import futures
import itertools
import multiprocessing
import os
import re
import shlex
from typing import Any

from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from train import run_processes


class SweepError(errors.InvalidValue):
  """A command line that cannot be run."""


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_multi_string(
      'gin_file', None, 'A gin file: a path, or the name of one that comes with'
      ' the package; several times for several experiments.', required=True,
      **to)
  flags.DEFINE_string('seeds', '0', "Such as '0-9', '0,3,5' or '0-3,7'.", **to)
  flags.DEFINE_integer(
      'jobs', None, 'Number of runs at a time. Default: 1; with --ray_address'
      ' as many as there are CPUs for.', lower_bound=1, **to)
  flags.DEFINE_string('root_dir', 'runs', 'Folder of all runs.', **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding for all runs; several times.', **to)
  flags.DEFINE_multi_string(
      'vary', [], 'A setting and its values, such as'
      ' RNDPPOAgent.entropy_regularization=0.01,0.001; several times for all'
      ' combinations.', **to)
  flags.DEFINE_string(
      'ray_address', None, "HOST:PORT of a Ray cluster for the runs, or 'local'"
      ' for Ray on this machine (needs rnd_agents[cluster]).', **to)
  flags.DEFINE_integer(
      'cpus_per_run', 1, 'CPUs that each run asks Ray for, and its threads.',
      lower_bound=1, **to)


def parse_seeds(text: str) -> list[int]:
  """'0-3,7' -> [0, 1, 2, 3, 7], each once, in the order of the text."""
  seeds: dict[int, None] = {}
  for part in text.split(','):
    match = re.fullmatch(r'(\d+)(?:-(\d+))?', part.strip())
    if not match or int(match[1]) > int(match[2] or match[1]):
      raise SweepError(
          f"--seeds={text}: {part.strip()!r} is neither a seed nor a range;"
          " write '0-9', '0,3,5' or '0-3,7'."
      )
    first, last = int(match[1]), int(match[2] or match[1])
    seeds.update(dict.fromkeys(range(first, last + 1)))
  return list(seeds)


def split_values(text: str) -> list[str]:
  """Splits at commas between gin's values: '1, (2, 3)' -> ['1', '(2, 3)']."""
  values, depth, quote = [''], 0, ''
  for character in text:
    if quote:
      quote = '' if character == quote else quote
    elif character in '\'"':
      quote = character
    depth += not quote and (character in '([{') - (character in ')]}')
    if character == ',' and not depth and not quote:
      values.append('')
    else:
      values[-1] += character
  return [value.strip() for value in values]


def parse_variants(texts: Sequence[str]) -> list[list[str]]:
  """Returns all combinations of the values of --vary, as lists of bindings.

  ['a.b=1,2', 'c.d=3'] -> [['a.b=1', 'c.d=3'], ['a.b=2', 'c.d=3']]
  """
  bindings = []
  for text in texts:
    name, _, values = text.partition('=')
    each = split_values(values)
    if not name.strip() or '' in each:
      raise SweepError(
          f'--vary={text}: write a name and values, such as'
          ' RNDPPOAgent.num_epochs=2,4.'
      )
    bindings.append([f'{name.strip()}={value}' for value in each])
  return [list(each) for each in itertools.product(*bindings)]


def make_jobs(
    gin_files: dict[str, list[str]],
    seeds: Sequence[int],
    root_dir: str,
    bindings: Sequence[str] = (),
    variants: Sequence[Sequence[str]] = ((),),
) -> list[run_processes.Job]:
  """Makes the jobs of a sweep; the first seed of every gin file comes first.

  Args:
    gin_files: Paths that each gin file reads, its own and those of included
      files.
    seeds: Seeds of each gin file.
    root_dir: Folder of all runs.
    bindings: Gin bindings for all runs.
    variants: More bindings; each gin file is trained with each of the lists.

  Raises:
    SweepError: If two gin files, or variants, would share a folder.
  """
  experiments = [
      (_folder_name(file, variant), file, variant)
      for file in gin_files for variant in variants
  ]
  names = collections.Counter(name for name, _, _ in experiments)
  name, number = names.most_common(1)[0]
  if number > 1:
    raise SweepError(
        f'Two of the gin files or values are named {name}, and would share the'
        f' folder {os.path.join(root_dir, name)}: rename one.'
    )
  return [
      run_processes.make_job(
          f'{name} seed {seed}',
          os.path.join(root_dir, name, f'seed_{seed}'),
          [file],
          seed,
          [*bindings, *variant],
          gin_files[file],
      )
      for seed in seeds
      for name, file, variant in experiments
  ]


def _folder_name(gin_file: str, variant: Sequence[str]) -> str:
  """('x/a.gin', ['b.c=1']) -> 'a,c=1', with `_` for what a path cannot have."""
  parts = [os.path.splitext(os.path.basename(gin_file))[0]]
  for binding in variant:
    name, _, value = binding.partition('=')
    value = re.sub(r'[^\w.+-]+', '_', value).strip('_')
    parts.append(f'{name.rpartition(".")[2]}={value}')
  return ','.join(parts)


def run_sweep(
    jobs: Sequence[run_processes.Job], runner: run_processes.Runner
) -> int:
  """Runs the jobs that are not finished; returns the exit status."""
  waiting = [job for job in jobs if not job.is_finished()]
  total = len(jobs)
  print(
      f'{total} runs: {total - len(waiting)} finished before, {len(waiting)} to'
      f' go, {runner.description}.',
      flush=True)
  states = runner.run(waiting)
  print_unfinished(waiting, states)
  if runner.stopped_by is not None:
    reason, status = runner.stopped_by
    print(f'Stopped by {reason},'
          f' {states.count("waiting")} runs have not begun.')
    return status
  return 1 if 'failed' in states else 0


def print_unfinished(
    jobs: Sequence[run_processes.Job], states: Sequence[str]
) -> None:
  """Prints which jobs have failed or were stopped, if any."""
  bad = [
      f'{job.name}: {state}, see {job.log}'
      for job, state in zip(jobs, states) if state in ('failed', 'stopped')]
  if bad:
    print('\nNot finished:', *bad, sep='\n  ')
    print('The same command tries these again and skips the others.')


def read_settings(
    gin_files: Sequence[str],
    bindings: Sequence[str],
    variants: Sequence[Sequence[str]] = ((),),
) -> dict[str, list[str]]:
  """Returns the paths that each gin file reads, by its name.

  Args:
    gin_files: Names of gin files.
    bindings: Gin bindings for all of them.
    variants: Lists of more bindings, each of which is tried with each file.

  Raises:
    SweepError: If a file or a binding is wrong.
  """
  from rnd_agents.training import gin_files as parser

  paths = {}
  for file in gin_files:
    for variant in variants:
      try:
        paths[file] = parser.parse([file], [*bindings, *variant])
      except errors.UserError as error:
        raise SweepError(str(error)) from error
  return paths


@programs.explaining('sweep', OSError, status=2)
def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  programs.begin(argv)
  root_dir = os.path.expanduser(args.root_dir)
  seeds = parse_seeds(args.seeds)
  variants = parse_variants(args.vary)
  # In a process of its own: this one does not load TensorFlow.
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context) as pool:
    paths = pool.submit(
        read_settings, args.gin_file, args.gin_bindings, variants).result()
  jobs = make_jobs(paths, seeds, root_dir, args.gin_bindings, variants)
  os.makedirs(root_dir, exist_ok=True)
  runs: run_processes.Processes
  if args.ray_address:
    num_jobs = args.jobs or len(jobs)
    runs = run_processes.RayRuns(
        args.ray_address, root_dir, args.cpus_per_run)
  else:
    num_jobs = args.jobs or 1
    runs = run_processes.LocalRuns(num_jobs)
  try:
    runner = run_processes.Runner(num_jobs, processes=runs)
    status = run_sweep(jobs, runner)
  finally:
    runs.close()
  folders = dict.fromkeys(os.path.dirname(job.root_dir) for job in jobs)
  print(
      f'Curves: python -m rnd_agents.plotting {shlex.join(folders)} --out'
      f' {shlex.quote(os.path.join(root_dir, "curves.png"))}')
  return status


def run() -> None:
  """Runs the program, as the command `rnd-sweep` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
