# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains each gin file with each seed, several runs at a time.

  python -m train.sweep --gin_file deep_sea --gin_file deep_sea_ppo \
      --seeds 0-9 --jobs 2

Each run is a process of train.train_eval with the folder
ROOT_DIR/NAME_OF_GIN_FILE/seed_SEED, and its output is in sweep.log there. A run
that fails is reported and the others go on. The same command skips finished
runs and resumes the others. Ctrl-C and SIGTERM let the running ones save first.
"""

from concurrent import futures
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

from absl import app
from absl import flags

from rnd_agents import run_files
from train import runs

_TRAIN = (sys.executable, '-m', 'train.train_eval')


def define_flags(values):
  """Defines the flags of this program."""
  to = {'flag_values': values}
  flags.DEFINE_multi_string(
      'gin_file', None, 'A gin file: a path, or the name of one that comes with'
      ' the package; several times for several experiments.', required=True,
      **to)
  flags.DEFINE_string('seeds', '0', "Such as '0-9', '0,3,5' or '0-3,7'.", **to)
  flags.DEFINE_integer(
      'jobs', 1, 'Number of runs at a time.', lower_bound=1, **to)
  flags.DEFINE_string('root_dir', 'runs', 'Folder of all runs.', **to)
  flags.DEFINE_multi_string(
      'gin_bindings', [], 'A gin binding for all runs; several times.', **to)
  flags.DEFINE_string(
      'binary', None, 'Has no effect: train_eval trains every agent.', **to)


class Sweep:
  """Runs jobs in processes, a number of them at a time."""

  def __init__(self, jobs, num_jobs, threads=None, command=_TRAIN, cwd=None):
    """Prepares the sweep.

    Args:
      jobs: List of `runs.Job`.
      num_jobs: Number of jobs at a time.
      threads: Threads of each job; None divides the machine's cores.
      command: Command to which the flags of a job are added.
      cwd: Folder in which it runs; None for the current one.
    """
    self._jobs = list(jobs)
    self._num_jobs = num_jobs
    cores = len(os.sched_getaffinity(0))
    self._threads = threads or max(1, cores // num_jobs)
    self._command = list(command)
    self._cwd = cwd
    self._signal = None  # Number of the last signal.
    self._processes = set()
    # Held to start processes, to signal them and to print. Reentrant, as a
    # signal may interrupt the handler of another one.
    self._lock = threading.RLock()

  def run(self):
    """Runs the jobs that are not finished; returns the exit status."""
    jobs = [job for job in self._jobs if not runs.is_finished(job)]
    total = len(self._jobs)
    print(
        f'{total} runs: {total - len(jobs)} finished before, {len(jobs)} to go,'
        f' {self._num_jobs} at a time with {self._threads}'
        f' thread{"s" if self._threads > 1 else ""} each.', flush=True)
    with self._signals(), futures.ThreadPoolExecutor(self._num_jobs) as pool:
      states = list(pool.map(self._run, jobs))
    bad = [
        f'{job.name}: {state}, see {job.log}'
        for job, state in zip(jobs, states) if state in ('failed', 'stopped')]
    if bad:
      print('\nNot finished:', *bad, sep='\n  ')
    if self._signal is not None:
      print(
          f'Stopped by {signal.Signals(self._signal).name},'
          f' {states.count("waiting")} runs have not begun. The same command'
          ' goes on.')
      return 128 + self._signal
    if bad:
      print('The same command tries these again and skips the others.')
    return 1 if bad else 0

  @contextlib.contextmanager
  def _signals(self):
    """Passes signals on to the runs within the block."""
    handlers = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
      if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP.
        handlers[number] = signal.signal(number, self._stop)
    try:
      yield
    finally:
      for number, handler in handlers.items():
        signal.signal(number, handler)

  def _stop(self, number, frame):
    """Lets the runs save and stop; called again, ends them at once."""
    del frame
    with self._lock:
      is_first, self._signal = self._signal is None, number
      for process in self._processes:
        process.terminate()
      if is_first:
        print(
            f'\n{signal.Signals(number).name}: {len(self._processes)} runs are'
            ' saving; once more to end them at once.', file=sys.stderr)

  def _run(self, job):
    """Runs one job and prints how it ended; returns its state."""
    state, *details = self._outcome(job)
    if state != 'waiting':
      with self._lock:
        print(f'{job.name}: {state}', *details, sep='\n  ', flush=True)
    return state

  def _outcome(self, job):
    """Runs one job; returns its state, and lines on why it failed."""
    try:
      with self._lock:
        if self._signal is not None:
          return ['waiting']
        process, log_start = self._start(job)
        self._processes.add(process)
    except OSError as error:  # No folder, or no process.
      return ['failed', str(error)]
    status = process.wait()
    with self._lock:
      self._processes.remove(process)
    if status == 0:
      return ['finished']
    how = f'exit status {status}'
    if status < 0:
      how = f'killed by {signal.Signals(-status).name}'
    # A signal kills a run that is not ready to save yet.
    written = run_files.read_status(job.root_dir).get('state')
    if self._signal is not None and (status < 0 or written == 'stopped'):
      return ['stopped']
    lines = runs.tail(job.log, log_start)
    return ['failed', f'{how}, {job.log} ends:', *lines]

  def _start(self, job):
    """Starts a job; returns its process and the length of its log before."""
    os.makedirs(job.root_dir, exist_ok=True)
    threads = ('TF_NUM_INTRAOP_THREADS', 'TF_NUM_INTEROP_THREADS',
               'OMP_NUM_THREADS')
    with open(job.log, 'ab') as log:
      log_start = log.tell()
      process = subprocess.Popen(
          self._command + list(job.flags),
          cwd=self._cwd,
          env={**dict.fromkeys(threads, str(self._threads)), **os.environ},
          stdin=subprocess.DEVNULL,
          stdout=log,
          stderr=subprocess.STDOUT,
          # Out of reach of the terminal's Ctrl-C, which `_stop` passes on once.
          start_new_session=True,
      )
    return process, log_start


def read_settings(gin_files, bindings):
  """Parses each gin file with the bindings.

  Returns:
    The paths that each gin file reads, by gin file.

  Raises:
    SweepError: If a file or a binding is wrong.
  """
  import gin

  from rnd_agents.training import gin_files as parser

  try:
    paths = {}
    for file in gin_files:
      gin.clear_config()
      paths[file] = parser.parse([file], bindings)
    return paths
  except (FileNotFoundError, parser.GinError) as error:
    raise runs.SweepError(str(error)) from error


def _in_other_process(function, *args):
  """Returns what `function` returns, without loading TensorFlow here."""
  context = multiprocessing.get_context('spawn')
  with futures.ProcessPoolExecutor(1, context) as pool:
    return pool.submit(function, *args).result()


def main(argv, args=flags.FLAGS):
  """Runs the command line; returns its exit status."""
  if len(argv) > 1:
    raise app.UsageError(f'Not a flag: {" ".join(argv[1:])}')
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')  # Of all processes.
  root_dir = os.path.expanduser(args.root_dir)
  try:
    seeds = runs.parse_seeds(args.seeds)
    paths = _in_other_process(read_settings, args.gin_file, args.gin_bindings)
    jobs = runs.make_jobs(paths, seeds, root_dir, args.gin_bindings)
    os.makedirs(root_dir, exist_ok=True)
  except (OSError, runs.SweepError) as error:
    print(f'sweep: {error}', file=sys.stderr)
    return 2
  status = Sweep(jobs, args.jobs).run()
  folders = dict.fromkeys(os.path.dirname(job.root_dir) for job in jobs)
  print(
      f'Curves: python -m rnd_agents.plotting {" ".join(folders)} --out'
      f' {os.path.join(root_dir, "curves.png")}')
  return status


if __name__ == '__main__':
  define_flags(flags.FLAGS)
  app.run(main)
