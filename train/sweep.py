# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains each gin file with each seed, some at a time.

  python -m train.sweep --gin_file deep_sea --gin_file deep_sea_ppo \
      --seeds 0-9 --jobs 2

Each run is a process of train.train_eval, with the folder
ROOT_DIR/NAME_OF_GIN_FILE/seed_SEED and a log in it. A run that fails is
reported and the others go on. The same command skips what is finished and goes
on with the rest; Ctrl-C and SIGTERM let the running ones save first.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import List, Sequence

from train import runs

_TRAIN = (sys.executable, '-m', 'train.train_eval')
_POLL_S = 0.2
_SECONDS_BETWEEN_LINES = 60.0
_PR_SET_PDEATHSIG = 1


class Sweep:
  """Runs jobs, a number of them at a time."""

  def __init__(self, jobs, num_jobs, threads=None, command=_TRAIN, cwd=None):
    """Prepares the sweep.

    Args:
      jobs: List of `runs.Job`.
      num_jobs: How many run at a time.
      threads: Of each; None shares the machine's cores out.
      command: What the flags of a job are given to.
      cwd: Folder that it runs in; None for this one.
    """
    cores = len(os.sched_getaffinity(0))
    self.threads = threads or max(1, cores // num_jobs)
    self.signal = None  # The number of the one that stopped the sweep.
    self._jobs = list(jobs)
    self._num_jobs = num_jobs
    self._command = list(command)
    self._cwd = cwd
    # Job -> (process, length of its log before, when it began).
    self._running = {}
    self._outcomes = {}
    self._must_signal = False
    self._line = _StatusLine()

  def run(self) -> List[runs.Outcome]:
    """Runs everything that is not finished.

    Returns:
      A `runs.Outcome` for each job, in their order.
    """
    waiting = collections.deque()
    for job in self._jobs:
      if runs.is_finished(job):
        self._outcomes[job] = runs.Outcome(job, 'finished')
      else:
        waiting.append(job)
    print(
        f'{len(self._jobs)} runs: {len(self._outcomes)} finished before,'
        f' {len(waiting)} to go, {self._num_jobs} at a time with'
        f' {self.threads} thread{"s" if self.threads > 1 else ""} each.',
        flush=True,
    )
    usual = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
      if signal.getsignal(number) != signal.SIG_IGN:  # As nohup does.
        usual[number] = signal.signal(number, self._stop)
    try:
      while self._running or (waiting and self.signal is None):
        while (
            waiting
            and len(self._running) < self._num_jobs
            and self.signal is None
        ):
          job = waiting.popleft()
          try:
            self._start(job)
          except OSError as error:  # No folder, no process.
            self._end(runs.Outcome(job, 'failed', str(error)))
        if self._must_signal:
          self._must_signal = False
          self._signal_children()
        self._collect()
        self._line.show(self._describe, bool(self._running))
        time.sleep(_POLL_S)
    finally:
      self._line.clear()
      self._signal_children()  # None left, but for an error.
      for number, handler in usual.items():
        signal.signal(number, handler)
    return [
        self._outcomes.get(job, runs.Outcome(job, 'waiting'))
        for job in self._jobs
    ]

  def _stop(self, number, frame):
    """Has the signal passed on. The second one ends train_eval at once."""
    del frame
    first, self.signal = self.signal is None, number
    if first:
      sys.stderr.write(
          f'\n{signal.Signals(number).name}: {len(self._running)} runs are'
          ' saving; once more to end them at once.\n'
      )
    # Not from here: a process may be about to start.
    self._must_signal = True

  def _signal_children(self):
    for process, _, _ in self._running.values():
      if process.poll() is None:
        process.terminate()

  def _start(self, job):
    os.makedirs(job.root_dir, exist_ok=True)
    environment = dict(os.environ)
    environment.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    for name in (
        'TF_NUM_INTRAOP_THREADS',
        'TF_NUM_INTEROP_THREADS',
        'OMP_NUM_THREADS',
    ):
      environment.setdefault(name, str(self.threads))
    with open(os.path.join(job.root_dir, runs.LOG_FILE), 'ab') as log:
      process = subprocess.Popen(
          self._command + list(job.flags),
          cwd=self._cwd,
          env=environment,
          stdin=subprocess.DEVNULL,
          stdout=log,
          stderr=subprocess.STDOUT,
          # A Ctrl-C reaches this process only, which passes it on once; and if
          # this process is killed, the runs save and stop.
          start_new_session=True,
          preexec_fn=_stop_with_parent,
      )
      self._running[job] = (process, log.tell(), time.time())

  def _collect(self):
    """Takes the processes that have ended out of `_running`."""
    for job, (process, log_start, start_s) in list(self._running.items()):
      status = process.poll()
      if status is not None:
        del self._running[job]
        self._end(self._outcome(job, status, log_start, start_s))

  def _end(self, outcome):
    """Notes and reports what became of a run."""
    job = outcome.job
    self._outcomes[job] = outcome
    self._line.clear()
    done = f'({len(self._outcomes)} of {len(self._jobs)})'
    print(f'{job.name}: {outcome.state}{runs.result(job)} {done}', flush=True)
    if outcome.state == 'failed':
      print(f'  {outcome.message}', flush=True)

  def _outcome(self, job, status, log_start, start_s):
    if status == 0:
      return runs.Outcome(job, 'finished')
    if runs.read_status(job.root_dir, start_s).get('state') == 'stopped':
      return runs.Outcome(job, 'stopped')
    how = f'exit status {status}'
    if status < 0:
      how = f'killed by {signal.Signals(-status).name}'
      if self.signal is not None:
        return runs.Outcome(job, 'stopped')
    log = os.path.join(job.root_dir, runs.LOG_FILE)
    tail = runs.tail(log, log_start)
    return runs.Outcome(
        job, 'failed', '\n  '.join([f'{how}, {log} ends:', *tail])
    )

  def _describe(self):
    """One line on how the sweep stands."""
    states = collections.Counter(o.state for o in self._outcomes.values())
    parts = [f'{len(self._outcomes)} of {len(self._jobs)} runs done']
    if states['failed']:
      parts.append(f'{states["failed"]} failed')
    for job in self._running:
      parts.append(f'{job.name} {runs.percent(job)}')
    return ', '.join(parts)


def _stop_with_parent():
  """In the child: Linux sends it SIGTERM when its parent dies."""
  ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class _StatusLine:
  """A line that is written over on a terminal, and now and then elsewhere."""

  def __init__(self):
    self._is_terminal = sys.stderr.isatty()
    self._shown = time.monotonic()

  def show(self, describe, anything):
    """Shows what `describe` returns, if it is time."""
    now = time.monotonic()
    pause = 1.0 if self._is_terminal else _SECONDS_BETWEEN_LINES
    if not anything or now - self._shown < pause:
      return
    self._shown = now
    text = describe()
    if self._is_terminal:
      width = shutil.get_terminal_size().columns - 1
      sys.stderr.write(f'\r\x1b[K{text[:width]}')
      sys.stderr.flush()
    else:
      print(text, flush=True)

  def clear(self):
    """Makes room for another line."""
    if self._is_terminal:
      sys.stderr.write('\r\x1b[K')
      sys.stderr.flush()


def exit_status(sweep: Sweep, outcomes: Sequence[runs.Outcome]) -> int:
  """Prints how it ended; returns 0 if all runs finished."""
  table = runs.report(outcomes)
  if table:
    print(f'\n{table}')
  waiting = sum(outcome.state == 'waiting' for outcome in outcomes)
  if sweep.signal is not None:
    name = signal.Signals(sweep.signal).name
    print(
        f'\nStopped by {name}, {waiting} runs have not begun. The same command'
        ' goes on.'
    )
    return 128 + sweep.signal
  if table:
    print('\nThe same command tries these again and skips the others.')
    return 1
  return 0


def check_settings(gin_files, bindings):
  """Parses each gin file with the bindings.

  Returns:
    For each of the files the paths of all that were read for it; or a sentence
    on what is wrong.
  """
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  import gin

  from rnd_agents.training import gin_files as parser

  try:
    paths = []
    for file in gin_files:
      gin.clear_config()
      paths.append(parser.parse([file], bindings))
    return paths
  except (FileNotFoundError, parser.GinError) as error:
    return str(error)


def _silence():
  """Keeps what libraries say as they load off the terminal."""
  os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _in_other_process(function, *args):
  """What `function` returns, without TensorFlow in this process for days."""
  context = multiprocessing.get_context('spawn')
  with concurrent.futures.ProcessPoolExecutor(1, context, _silence) as pool:
    return pool.submit(function, *args).result()


def main(argv=None):
  """Runs the command line; returns its exit status."""
  parser = argparse.ArgumentParser(
      prog='python -m train.sweep',
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  parser.add_argument(
      '--gin_file',
      action='append',
      required=True,
      metavar='FILE',
      help='a path, or the name of one that comes with the package; several '
      'times for several experiments',
  )
  parser.add_argument(
      '--seeds', default='0', help="such as '0-9', '0,3,5' or '0-3,7'"
  )
  parser.add_argument(
      '--jobs', type=int, default=1, help='how many run at a time'
  )
  parser.add_argument(
      '--root_dir',
      default='runs',
      type=os.path.expanduser,
      help='default: %(default)s',
  )
  parser.add_argument(
      '--binary',
      default='train_eval',
      choices=('train_eval', 'train_eval_r2d3'),
      help='which one the experiments are of; default: %(default)s',
  )
  parser.add_argument(
      '--gin_bindings',
      action='append',
      default=[],
      metavar='BINDING',
      help='for all runs; several times',
  )
  args = parser.parse_args(argv)
  try:
    if args.jobs < 1:
      raise runs.SweepError(f'--jobs must be at least 1, got {args.jobs}.')
    seeds = runs.parse_seeds(args.seeds)
    # Twice: what is wrong with the names shows before what takes long.
    runs.make_jobs(args.gin_file, seeds, args.root_dir)
    paths = _in_other_process(check_settings, args.gin_file, args.gin_bindings)
    if isinstance(paths, str):
      raise runs.SweepError(paths)
    jobs = runs.make_jobs(
        args.gin_file, seeds, args.root_dir, args.gin_bindings, paths
    )
    os.makedirs(args.root_dir, exist_ok=True)
  except (OSError, runs.SweepError) as error:
    print(f'sweep: {error}', file=sys.stderr)
    return 2
  command = (sys.executable, '-m', f'train.{args.binary}')
  sweep = Sweep(jobs, args.jobs, command=command)
  outcomes = sweep.run()
  folders = dict.fromkeys(os.path.dirname(job.root_dir) for job in jobs)
  status = exit_status(sweep, outcomes)
  print(
      f'Curves: python -m rnd_agents.plotting {" ".join(folders)} --out'
      f' {os.path.join(args.root_dir, "curves.png")}'
  )
  return status


if __name__ == '__main__':
  sys.exit(main())
