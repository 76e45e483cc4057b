# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains each gin file with each seed, several runs at a time.

  python -m train.sweep --gin_file deep_sea --gin_file deep_sea_ppo \
      --seeds 0-9 --jobs 2

Each run is a process of train.train_eval with the folder
ROOT_DIR/NAME_OF_GIN_FILE/seed_SEED, and its output is in sweep.log there. A run
that fails is reported and the others continue. The same command skips finished
runs and resumes the others. Ctrl-C and SIGTERM let the running ones save first.

With --ray_address each run is a Ray task, which continues from its checkpoint
if the machine or the process was lost (docs/cluster.md).
"""

import collections
from collections.abc import Sequence
from concurrent import futures
import multiprocessing
import os
import re
import signal
import sys
import threading
from typing import Any, NamedTuple

from absl import app
from absl import flags

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import run_files
from train import run_processes

_TRAIN = programs.command('train.train_eval')
_TAIL_LINES = 6  # Of the log of a run that failed.


class SweepError(errors.InvalidValue):
  """A command line that cannot be run."""


class Job(NamedTuple):
  """One run.

  Attributes:
    name: name for messages.
    root_dir: folder of the run.
    flags: flags of train_eval.
    gin_files: paths of the gin files that it reads.
  """

  name: str
  root_dir: str
  flags: Sequence[str]
  gin_files: Sequence[str]

  @property
  def log(self) -> str:
    """Path of the file with the output of the run."""
    return os.path.join(self.root_dir, 'sweep.log')

  def is_finished(self) -> bool:
    """Returns whether it is finished with the same flags and gin files.

    If it is not, train_eval resumes it, or reports settings that must stay.
    """
    if run_files.read_status(self.root_dir).get('state') != 'finished':
      return False
    command = run_files.read_run_record(self.root_dir).get('command') or ()
    status = os.path.join(self.root_dir, run_files.STATUS_FILE)
    return list(command)[2:] == list(self.flags) and all(
        os.path.getmtime(path) <= os.path.getmtime(status)
        for path in self.gin_files
    )


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


def make_jobs(
    gin_files: dict[str, list[str]],
    seeds: Sequence[int],
    root_dir: str,
    bindings: Sequence[str] = (),
) -> list[Job]:
  """Makes the jobs of a sweep; the first seed of every gin file comes first.

  Args:
    gin_files: Paths that each gin file reads, its own and those of included
      files.
    seeds: Seeds of each gin file.
    root_dir: Folder of all runs.
    bindings: Gin bindings for all runs.

  Raises:
    SweepError: If two gin files would share a folder.
  """
  names = {f: os.path.splitext(os.path.basename(f))[0] for f in gin_files}
  name, number = collections.Counter(names.values()).most_common(1)[0]
  if number > 1:
    raise SweepError(
        f'Two of the gin files are named {name}, and would share the folder'
        f' {os.path.join(root_dir, name)}: rename one.'
    )
  jobs = []
  for seed in seeds:
    for file, name in names.items():
      folder = os.path.join(root_dir, name, f'seed_{seed}')
      job_flags = [f'--gin_file={file}', f'--root_dir={folder}']
      job_flags += [f'--seed={seed}']
      job_flags += [f'--gin_bindings={binding}' for binding in bindings]
      jobs.append(
          Job(f'{name} seed {seed}', folder, job_flags, gin_files[file])
      )
  return jobs


class Sweep:
  """Runs jobs in processes, a number of them at a time."""

  def __init__(
      self,
      jobs: Sequence[Job],
      num_jobs: int,
      command: Sequence[str] = _TRAIN,
      processes: run_processes.Processes | None = None,
  ):
    """Prepares the sweep.

    Args:
      jobs: The jobs.
      num_jobs: Number of jobs at a time, which share the machine's cores.
      command: Command to which the flags of a job are added.
      processes: Starts the processes; None for those of this machine.
    """
    self._jobs = jobs
    self._num_jobs = num_jobs
    self._runs = processes or run_processes.LocalRuns(num_jobs)
    self._command = list(command)
    # The last reason to stop, and its exit status.
    self._stopped_by: tuple[str, int] | None = None
    self._processes: set[Any] = set()
    # Held to start processes, to signal them and to print. Reentrant, as a
    # signal may interrupt the handler of another one.
    self._lock = threading.RLock()

  def run(self) -> int:
    """Runs the jobs that are not finished; returns the exit status."""
    jobs = [job for job in self._jobs if not job.is_finished()]
    total = len(self._jobs)
    print(
        f'{total} runs: {total - len(jobs)} finished before, {len(jobs)} to go,'
        f' {self._runs.description}.',
        flush=True)
    handlers = {
        number: signal.signal(number, self._on_signal)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN  # nohup ignores SIGHUP.
    }
    try:
      with futures.ThreadPoolExecutor(self._num_jobs) as pool:
        states = list(pool.map(self._run, jobs))
    finally:
      for number, handler in handlers.items():
        signal.signal(number, handler)
    bad = [
        f'{job.name}: {state}, see {job.log}'
        for job, state in zip(jobs, states) if state in ('failed', 'stopped')]
    if bad:
      print('\nNot finished:', *bad, sep='\n  ')
      print('The same command tries these again and skips the others.')
    if self._stopped_by is not None:
      reason, status = self._stopped_by
      print(f'Stopped by {reason},'
            f' {states.count("waiting")} runs have not begun.')
      return status
    return 1 if bad else 0

  def _on_signal(self, number: int, frame: Any) -> None:
    """Lets the runs save and stop; called again, ends them at once."""
    del frame
    self._stop(signal.Signals(number).name, 128 + number)

  def _stop(self, reason: str, status: int) -> None:
    with self._lock:
      is_first, self._stopped_by = self._stopped_by is None, (reason, status)
      for process in self._processes:
        process.terminate()
      if is_first:
        print(
            f'\n{reason}: runs are saving; repeat it to end them at once.',
            file=sys.stderr)

  def _run(self, job: Job) -> str:
    """Runs one job and prints how it ended; returns its state."""
    process, known_bytes = None, 0  # The log has earlier attempts, too.
    try:
      with self._lock:
        if self._stopped_by is not None:
          return 'waiting'
        if os.path.exists(job.log):
          known_bytes = os.path.getsize(job.log)
        process = self._runs.start(self._command + list(job.flags), job.log)
        self._processes.add(process)
      status = process.wait()
      state, details = 'finished', []
      if status is None:
        return 'waiting'
      if status and self._stopped_by is not None:
        state = 'stopped'
      elif status:
        how = f'exit status {status}'
        if status < 0:
          how = f'killed by {signal.Signals(-status).name}'
        with open(job.log, encoding='utf-8', errors='replace') as log:
          log.seek(known_bytes)
          lines = [line.rstrip() for line in log if line.strip()]
        state = 'failed'
        details = [f'{how}, {job.log} ends:', *lines[-_TAIL_LINES:]]
    except OSError as error:  # No folder, no process, or no log.
      state, details = 'failed', [str(error)]
    except run_processes.NotShared as error:  # The next runs would fail, too.
      with self._lock:
        if self._stopped_by is not None:
          return 'waiting'
        self._stop('a machine that does not have the folder', 2)
      state, details = 'failed', [str(error)]
    finally:
      with self._lock:
        self._processes.discard(process)
    with self._lock:
      print(f'{job.name}: {state}', *details, sep='\n  ', flush=True)
    return state


def read_settings(
    gin_files: Sequence[str], bindings: Sequence[str]
) -> dict[str, list[str]]:
  """Returns the paths that each gin file reads, by its name.

  Raises:
    SweepError: If a file or a binding is wrong.
  """
  from rnd_agents.training import gin_files as parser

  paths = {}
  for file in gin_files:
    try:
      paths[file] = parser.parse([file], bindings)
    except errors.UserError as error:
      raise SweepError(str(error)) from error
  return paths


def main(argv: Sequence[str], args: Any = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  if len(argv) > 1:
    raise app.UsageError(f'Not a flag: {" ".join(argv[1:])}')
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')  # Of all processes.
  root_dir = os.path.expanduser(args.root_dir)
  try:
    seeds = parse_seeds(args.seeds)
    # In a process of its own: this one does not load TensorFlow.
    context = multiprocessing.get_context('spawn')
    with futures.ProcessPoolExecutor(1, context) as pool:
      paths = pool.submit(
          read_settings, args.gin_file, args.gin_bindings).result()
    jobs = make_jobs(paths, seeds, root_dir, args.gin_bindings)
    os.makedirs(root_dir, exist_ok=True)
    runs: run_processes.Processes
    if args.ray_address:
      num_jobs = args.jobs or len(jobs)
      runs = run_processes.RayRuns(
          args.ray_address, root_dir, args.cpus_per_run)
    else:
      num_jobs = args.jobs or 1
      runs = run_processes.LocalRuns(num_jobs)
  except (OSError, errors.UserError) as error:
    print(f'sweep: {error}', file=sys.stderr)
    return 2
  try:
    status = Sweep(jobs, num_jobs, processes=runs).run()
  finally:
    runs.close()
  folders = dict.fromkeys(os.path.dirname(job.root_dir) for job in jobs)
  print(
      f'Curves: python -m rnd_agents.plotting {" ".join(folders)} --out'
      f' {os.path.join(root_dir, "curves.png")}')
  return status


def run() -> None:
  """Runs the program, as the command `rnd-sweep` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
