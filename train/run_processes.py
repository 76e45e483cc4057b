# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The processes of a sweep's runs: on this machine, or in tasks of Ray.

A Ray task starts the run's process on a machine with free CPUs and waits for
it. If the machine or the process is killed, Ray starts the task again on any
machine, and the run continues from its checkpoint.
"""

from collections.abc import Sequence
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from rnd_agents import errors
from rnd_agents.workers import ray_cluster

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
    return _start(command, log, self._threads)

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


def _end_with_parent() -> None:
  """Makes the system kill this process as soon as its parent has ended."""
  _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


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
      preexec_fn=_end_with_parent,
  )
  while process.poll() is None:
    time.sleep(_POLL_INTERVAL_S)
    if not is_told and os.path.exists(stop_file):
      process.terminate()
      is_told = True
  if process.returncode < 0 and not is_told:
    raise Killed(process.returncode)
  return process.returncode
