# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The processes of runs: on this machine, or in tasks of Ray.

`Runner` runs jobs, a number of them at a time, for sweeps and studies.

A Ray task starts the run's process on a machine with free CPUs and waits for
it. If the machine or the process is killed, Ray starts the task again on any
machine, and the run continues from its checkpoint.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
import contextlib
import ctypes
import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import run_files
from rnd_agents.workers import ray_cluster

_TRAIN = programs.command('train.train_eval')
_TAIL_LINES = 6  # Of the log of a run that failed.
_WATCH_INTERVAL_S = 5.0

# Variables with the number of a run's threads; the user's values stay.
THREADS = (
    'TF_NUM_INTRAOP_THREADS', 'TF_NUM_INTEROP_THREADS', 'OMP_NUM_THREADS')
_MAX_RETRIES = 20  # Of one run.
_POLL_INTERVAL_S = 0.2
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class NotShared(errors.SetupError):
  """A machine does not have the folder of the sweep."""


class Killed(Exception):
  """The process of a run was killed; the argument is its exit status."""

  cause: 'Killed'  # Ray's, of an exception that a task raised.


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


def make_job(
    name: str,
    root_dir: str,
    gin_files: Sequence[str],
    seed: int,
    bindings: Sequence[str],
    paths: Sequence[str],
) -> Job:
  """Makes the job of a run.

  Args:
    name: Name for messages.
    root_dir: Folder of the run.
    gin_files: Gin files, as for train_eval.
    seed: Seed of the run.
    bindings: Gin bindings.
    paths: Paths of all the gin files that it reads, included ones as well.
  """
  return Job(
      name,
      root_dir,
      [
          *(f'--gin_file={file}' for file in gin_files),
          f'--root_dir={root_dir}',
          f'--seed={seed}',
          *(f'--gin_bindings={binding}' for binding in bindings),
      ],
      paths,
  )


class LocalRuns:
  """Starts processes that share the cores of this machine."""

  def __init__(self, num_jobs: int):
    """Divides the machine's cores between processes at a time."""
    self._threads = max(1, len(os.sched_getaffinity(0)) // num_jobs)
    threads = {os.environ.get(name, str(self._threads)) for name in THREADS}
    each = ' or '.join(sorted(threads))
    self.description = f'{num_jobs} at a time with {each} threads each'

  def start(self, command: Sequence[str], log: str) -> subprocess.Popen:
    """Starts a process whose output is added to a file; returns a `Popen`."""
    # Else a new start of what was killed would find its runs in use.
    return _start(
        command, log, self._threads, preexec_fn=_ends_with(os.getpid())
    )

  def close(self) -> None:
    """Does nothing; for the interface of `RayRuns`."""


class RayRuns:
  """Starts tasks of Ray, on all the machines of a cluster."""

  def __init__(
      self,
      address: str,
      root_dir: str,
      num_cpus: int,
      num_local_cpus: int | None = None,
  ):
    """Joins a cluster.

    Args:
      address: 'HOST:PORT'; 'local' for Ray on this machine alone.
      root_dir: Folder of all runs, which each machine sees at the same path.
      num_cpus: Number of CPUs of each run, and of its threads.
      num_local_cpus: Number of CPUs for 'local'; None for those of the machine.

    Raises:
      SetupError: If the cluster cannot be joined.
    """
    ray_cluster.connect(
        root_dir,
        num_local_cpus or len(os.sched_getaffinity(0)),
        None if address == 'local' else address,
    )
    import ray  # pylint: disable=g-import-not-at-top

    self._ray = ray
    self._num_cpus = num_cpus
    self.description = f'as tasks of Ray with {num_cpus} CPUs each'
    # A random name, so that no machine has such a file by chance.
    self._marker = os.path.join(
        os.path.abspath(root_dir), f'.sweep_{secrets.token_hex(8)}'
    )
    with open(self._marker, 'x', encoding='utf-8'):
      pass
    self._task = ray.remote(_run_in_task).options(
        num_cpus=num_cpus,
        max_retries=_MAX_RETRIES,
        retry_exceptions=[Killed],
        scheduling_strategy='SPREAD',
        runtime_env=dict(env_vars=ray_cluster.environment()),
    )

  def start(self, command: Sequence[str], log: str) -> '_RayRun':
    """Submits a task; returns its run."""
    task = self._task.remote(
        command[1:],
        os.path.abspath(log),
        self._num_cpus,
        os.getcwd(),
        self._marker,
    )
    return _RayRun(self._ray, task, _stop_file(self._marker))

  def close(self) -> None:
    """Leaves the cluster."""
    self._ray.shutdown()
    for path in (self._marker, _stop_file(self._marker)):
      with contextlib.suppress(FileNotFoundError):
        os.remove(path)


Processes = LocalRuns | RayRuns


class Runner:
  """Runs jobs in processes, a number of them at a time.

  Attributes:
    stopped_by: The last reason to stop, such as 'SIGTERM', and its exit status;
      None if there was none.
  """

  def __init__(
      self,
      num_jobs: int,
      command: Sequence[str] = _TRAIN,
      processes: Processes | None = None,
  ):
    """Prepares the runner.

    Args:
      num_jobs: Number of jobs at a time, which share the machine's cores.
      command: Command to which the flags of a job are added.
      processes: Starts the processes; None for those of this machine.
    """
    self._num_jobs = num_jobs
    self._runs = processes or LocalRuns(num_jobs)
    self._command = list(command)
    self.description = self._runs.description
    self.stopped_by: tuple[str, int] | None = None
    self._is_stopping = False
    self._processes: set[Any] = set()
    # Held to start processes, to signal them and to print. Reentrant, as a
    # signal may interrupt the handler of another one.
    self._lock = threading.RLock()

  def run(
      self,
      jobs: Sequence[Job],
      watch: Callable[[], bool] = lambda: False,
  ) -> list[str]:
    """Runs jobs; Ctrl-C, SIGTERM and SIGHUP let them save and stop.

    Args:
      jobs: The jobs.
      watch: Called every few seconds, and at the end; it returns whether to
        stop the jobs.

    Returns:
      States of the jobs: 'finished', 'failed', 'stopped', or 'waiting' for one
      that has not begun.
    """
    self._is_stopping = self.stopped_by is not None
    handlers = {
        number: signal.signal(number, self._on_signal)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN  # nohup ignores SIGHUP.
    }
    try:
      with futures.ThreadPoolExecutor(self._num_jobs) as pool:
        states = [pool.submit(self._run, job) for job in jobs]
        try:
          while futures.wait(states, _WATCH_INTERVAL_S).not_done:
            if not self._is_stopping and watch():
              self._end_processes()
          if not self._is_stopping:
            watch()
        except BaseException:
          self._end_processes()
          raise
    finally:
      for number, handler in handlers.items():
        signal.signal(number, handler)
    return [state.result() for state in states]

  def _on_signal(self, number: int, frame: Any) -> None:
    """Lets the runs save and stop; called again, ends them at once."""
    del frame
    self._stop(signal.Signals(number).name, 128 + number)

  def _stop(self, reason: str, status: int) -> None:
    with self._lock:
      is_first, self.stopped_by = self.stopped_by is None, (reason, status)
      self._end_processes()
      if is_first:
        print(
            f'\n{reason}: runs are saving; repeat it to end them at once.',
            file=sys.stderr)

  def _end_processes(self) -> None:
    with self._lock:
      self._is_stopping = True
      for process in self._processes:
        process.terminate()

  def _run(self, job: Job) -> str:
    """Runs one job and prints how it ended; returns its state."""
    process, known_bytes = None, 0  # The log has earlier attempts, too.
    try:
      with self._lock:
        if self._is_stopping:
          return 'waiting'
        if os.path.exists(job.log):
          known_bytes = os.path.getsize(job.log)
        process = self._runs.start(self._command + list(job.flags), job.log)
        self._processes.add(process)
      status = process.wait()
      state, details = 'finished', []
      if status is None:
        return 'waiting'
      if status and self._is_stopping:
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
    except NotShared as error:  # The next runs would fail, too.
      with self._lock:
        if self._is_stopping:
          return 'waiting'
        self._stop('a machine that does not have the folder', 2)
      state, details = 'failed', [str(error)]
    finally:
      with self._lock:
        self._processes.discard(process)
    with self._lock:
      print(f'{job.name}: {state}', *details, sep='\n  ', flush=True)
    return state


@contextlib.contextmanager
def lock_folder(folder: str, waits: bool = True) -> Iterator[None]:
  """Locks a folder; raises BlockingIOError if it is and `waits` is False."""
  os.makedirs(folder, exist_ok=True)
  with open(os.path.join(folder, '.lock_of_study'), 'a') as file:
    fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    yield


def _stop_file(marker: str) -> str:
  """Returns the path of a file that tells all tasks of a sweep to stop.

  `ray.cancel` of a task that is just beginning aborts the process that asks for
  it (Ray 2.60: "Tried to complete task that was not pending").
  """
  return f'{marker}_stop'


class _RayRun:
  """A Ray task with the methods of a `Popen` that a sweep calls."""

  def __init__(self, ray: Any, task: Any, stop_file: str):
    self._ray = ray
    self._task = task
    self._stop_file = stop_file
    self._num_signals = 0

  def wait(self) -> int | None:
    """Returns the exit status; None if the run has not begun."""
    try:
      return self._ray.get(self._task)
    except Killed as killed:  # More often than Ray tries again.
      return killed.cause.args[0]
    except self._ray.exceptions.TaskCancelledError:
      return None
    except self._ray.exceptions.RayTaskError as error:
      raise error.cause from error
    except self._ray.exceptions.RayError as error:
      if self._num_signals > 1:
        return -signal.SIGKILL
      raise OSError(ray_cluster.first_line(error)) from error

  def terminate(self) -> None:
    """Lets the run save and end; called again, kills it."""
    self._num_signals += 1
    if self._num_signals > 1:
      self._ray.cancel(self._task, force=True)
    else:
      with open(self._stop_file, 'a', encoding='utf-8'):
        pass


def _ends_with(parent: int) -> Callable[[], None]:
  """Returns what lets a new process be killed as soon as its parent has ended.

  Args:
    parent: Process id of the parent.
  """

  def end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # It has ended before the system was asked.
      os.kill(os.getpid(), signal.SIGKILL)

  return end_with_parent


def _start(
    command: Sequence[str], log: str, threads: int, **options: Any
) -> subprocess.Popen:
  """Starts a process; `options` are more of `Popen`'s."""
  os.makedirs(os.path.dirname(log), exist_ok=True)
  with open(log, 'ab') as file:
    return subprocess.Popen(
        command,
        env={**dict.fromkeys(THREADS, str(threads)), **os.environ},
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        # Out of reach of the terminal's Ctrl-C, which a sweep passes on once.
        start_new_session=True,
        **options,
    )


def _run_in_task(
    arguments: Sequence[str], log: str, threads: int, cwd: str, marker: str
) -> int | None:
  """Runs a command to its end, in a Ray task; returns the exit status.

  Returns None if the sweep was stopped before the command began.
  """
  stop_file, is_told = _stop_file(marker), False
  if os.path.exists(stop_file):
    return None
  for path in (marker, cwd):
    if not os.path.exists(path):
      raise NotShared(
          f'The machine {socket.gethostname()} does not have {path}: --root_dir'
          ' and the current folder must be on a file system that all machines'
          ' of the cluster mount, at the same path.'
      )
  process = _start(
      [sys.executable, *arguments],
      log,
      threads,
      cwd=cwd,
      # The run must not continue here while it begins again elsewhere.
      preexec_fn=_ends_with(os.getpid()),
  )
  while process.poll() is None:
    time.sleep(_POLL_INTERVAL_S)
    if not is_told and os.path.exists(stop_file):
      process.terminate()
      is_told = True
  if process.returncode < 0 and not is_told:
    raise Killed(process.returncode)
  return process.returncode
