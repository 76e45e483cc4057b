# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's AsyncVectorEnv with timeouts and complete error reports."""

import atexit
from collections.abc import Callable, Sequence
import gc
import math
import multiprocessing
from multiprocessing import connection
from multiprocessing import process as process_lib
import os
import queue
import select
import signal
import threading
import time
from typing import Any
import weakref

import gymnasium
from gymnasium import vector

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.environments import infos as infos_lib

# A worker reports that it failed, and immediately afterwards the error.
_ERROR_WAIT_S = 10.0
_CLOSE_WAIT_S = 10.0
_SLICE_S = 1.0
_PIPE_ERRORS = (EOFError, OSError)
_PARENT_CHECK_S = 2.0

_alive: 'weakref.WeakSet[WatchedAsyncVectorEnv]' = weakref.WeakSet()


def _kill_all() -> None:
  for vector_env in list(_alive):
    vector_env._kill()  # pylint: disable=protected-access


# Before the exit function of multiprocessing, which would wait for the workers:
# they ignore SIGTERM.
atexit.register(_kill_all)


def _end_with(parent: int) -> None:
  """Ends this process when its parent has died, even inside a long step."""
  while os.getppid() == parent:
    time.sleep(_PARENT_CHECK_S)
  os._exit(1)


def _worker(
    index: int,
    env_fn: Callable[[], gymnasium.Env],
    pipe: Any,
    parent_pipe: Any,
    shared_memory: Any,
    error_queue: Any,
    *args: Any,
) -> None:
  """Runs Gymnasium's worker.

  It ignores the signals that stop a run: the parent needs its workers to save,
  and then closes them.
  """
  # Forked objects must not be collected: TensorFlow's would wait for threads,
  # which this process does not have.
  gc.freeze()
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  signal.signal(signal.SIGTERM, signal.SIG_IGN)
  threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
  try:
    env = env_fn()
  except errors.UserError as error:
    # As Gymnasium's worker answers after an error of a step.
    error_queue.put((index, type(error), error, ''))
    pipe.recv()
    pipe.send((None, False))
    return
  _compat.gymnasium_worker()(
      index,
      lambda: env,
      pipe,
      parent_pipe,
      shared_memory,
      error_queue,
      *args,
  )


@_compat.overrides(
    '_add_info', '_check_spaces', '_poll_pipe_envs', '_raise_if_errors'
)
class WatchedAsyncVectorEnv(vector.AsyncVectorEnv):
  """Steps each environment in a process; all errors are EnvironmentFailures.

  The failure has the traceback of a worker that raised, or the exit code of one
  that died. `close` kills workers that did not answer within `timeout_s`.
  """

  def __init__(
      self,
      env_fns: Sequence[Callable[[], gymnasium.Env]],
      timeout_s: float | None = None,
  ):
    """Creates a WatchedAsyncVectorEnv.

    Args:
      env_fns: Functions that make the environments, in their processes. The
        first one is also called once in this process, for its spaces.
      timeout_s: Longest wait for a step, a reset or a call; None for no limit.

    Raises:
      EnvironmentFailure: If a worker did not start.
    """
    self._owner = os.getpid()
    self._timeout_s = timeout_s
    self._broken = False
    self._pollers: list[select.poll] | None = None
    _alive.add(self)
    self.processes: list[process_lib.BaseProcess] = []
    self.parent_pipes: list[connection.Connection] = []
    try:
      super().__init__(env_fns, copy=False, worker=_worker)
    except _PIPE_ERRORS as error:
      if not self.processes:  # The first environment raised it in this process.
        raise
      started = sum(process.pid is not None for process in self.processes)
      failure = (
          self._failure_of_the_dead(error)
          if started == len(env_fns)
          else failures.EnvironmentFailure(
              'its worker process could not be started:'
              f' {type(error).__name__}: {error}. Load fewer'
              " (num_environments), or use vectorization='sync', which needs"
              ' no processes.',
              environment_index=started,
          )
      )
      self._kill()
      raise failure from error
    except Exception:
      self._kill()
      raise

  def step_wait(self, timeout: float | None = None) -> Any:
    return self._guarded(super().step_wait, timeout)

  def reset_wait(self, timeout: float | None = None) -> Any:
    return self._guarded(super().reset_wait, timeout)

  def call_wait(self, timeout: float | None = None) -> Any:
    return self._guarded(super().call_wait, timeout)

  def step_async(self, actions: Any) -> None:
    self._guarded(super().step_async, actions)

  def reset_async(
      self, seed: Any = None, options: dict[str, Any] | None = None
  ) -> None:
    self._guarded(super().reset_async, seed, options)

  def call_async(self, name: str, *args: Any, **kwargs: Any) -> None:
    self._guarded(super().call_async, name, *args, **kwargs)

  def _guarded(
      self, function: Callable[..., Any], *args: Any, **kwargs: Any
  ) -> Any:
    """Calls a function; raises EnvironmentFailure if a worker is lost."""
    if self._broken:
      raise failures.EnvironmentFailure(
          'its worker processes stopped after an earlier failure. Make a new'
          ' environment.'
      )
    try:
      return function(*args, **kwargs)
    except multiprocessing.TimeoutError as error:
      self._broken = True
      raise self._failure_of_the_silent() from error
    except _PIPE_ERRORS as error:
      self._broken = True
      raise self._failure_of_the_dead(error) from error

  def _check_spaces(self) -> None:
    # Gymnasium waits for this answer without a limit; a call has a limit.
    self.call('render_mode')
    super()._check_spaces()

  _add_info = infos_lib.add_info_of_vector

  def _poll_pipe_envs(self, timeout: float | None = None) -> bool:
    """Waits until all workers have answered or died; False after `timeout`.

    Gymnasium's own makes a selector for each pipe at each step, which costs
    more than a cheap environment.
    """
    timeout = self._timeout_s if timeout is None else timeout
    if timeout is None:
      return True
    if self._pollers is None:
      self._pollers = []
      for pipe in self.parent_pipes:
        poller = select.poll()
        poller.register(pipe.fileno(), select.POLLIN)
        self._pollers.append(poller)
    # Counted in slices: while the process is suspended (Ctrl-Z), its workers
    # make no progress.
    num_left = max(math.ceil(timeout / _SLICE_S), 4)
    slice_ms = 1000 * timeout / num_left
    for poller in self._pollers:
      while not poller.poll(slice_ms):
        num_left -= 1
        if num_left <= 0:
          return False
    return True

  def _raise_if_errors(self, successes: Sequence[bool]) -> None:
    """Raises the error of the first worker that sent one."""
    if all(successes):
      return
    received = []
    for _ in range(len(successes) - sum(successes)):
      try:
        received.append(self.error_queue.get(timeout=_ERROR_WAIT_S))
      except queue.Empty:  # An exception that could not be pickled.
        break
    _compat.stop_waiting(self)
    self._broken = True
    if not received:
      raise failures.EnvironmentFailure(
          'its worker raised something that cannot be pickled; see its log.',
          environment_index=list(successes).index(False),
      )
    index, kind, value, trace = min(received, key=lambda entry: entry[0])
    if isinstance(
        value, (errors.UserError, failures.StateNotRestored)
    ):
      raise value
    raise failures.EnvironmentFailure(
        f'its worker raised {kind.__name__}: {value}',
        environment_index=index,
        traceback_text=trace,
    )

  def _failure_of_the_silent(self) -> failures.EnvironmentFailure:
    """Returns a failure that names the workers that have not answered."""
    silent = [
        i for i, poller in enumerate(self._pollers or ()) if not poller.poll(0)
    ]
    return failures.EnvironmentFailure(
        f'no answer from worker(s) {silent} within {self._timeout_s} s. They'
        ' hang, or need a longer load_environment.step_timeout_s.',
        environment_index=silent[0] if silent else None,
    )

  def _failure_of_the_dead(
      self, error: BaseException
  ) -> failures.EnvironmentFailure:
    """Returns a failure that names a worker that has died, and how."""
    dead: list[tuple[int, int]] = []
    end_s = time.monotonic() + 1.0
    while not dead and time.monotonic() < end_s:
      dead = [
          (i, process.exitcode)
          for i, process in enumerate(self.processes)
          if process.exitcode is not None
      ]
      time.sleep(0.01)  # A pipe breaks a little before its process is gone.
    if not dead:
      return failures.failure_of(error, 'the pipe to a worker')
    index, code = dead[0]
    how = f'was killed by signal {-code}' if code < 0 else f'exited with {code}'
    return failures.EnvironmentFailure(
        f'its worker process {how}. A crash in native code, os._exit or too'
        ' little memory does that; the standard error of this program may say'
        " more, and vectorization='sync' shows where.",
        environment_index=index,
    )

  def close_extras(
      self, timeout: float | None = None, terminate: bool = False
  ) -> None:
    """Closes the environments; kills workers after ten seconds."""
    if os.getpid() != self._owner:  # A process that was forked drops its copy.
      return
    timeout = _CLOSE_WAIT_S if timeout is None else timeout
    if terminate or self._broken or _compat.is_waiting(self):
      self._kill()
      return
    for pipe in self.parent_pipes:
      try:
        pipe.send(('close', None))
      except _PIPE_ERRORS:
        pass  # It is dead already.
    end_s = time.monotonic() + timeout
    for process in self.processes:
      process.join(max(end_s - time.monotonic(), 0))
    self._kill()

  def _kill(self) -> None:
    """Kills workers that still run and closes the pipes."""
    for process in self.processes:
      if process.pid is None:  # It was not started.
        continue
      if process.is_alive():
        process.kill()
      process.join()
    for pipe in self.parent_pipes:
      if pipe is not None:
        pipe.close()
    self.closed = True
