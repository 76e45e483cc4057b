# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ends the process if an environment hangs."""

from collections.abc import Callable, Sequence
import os
import sys
import threading
import time
import traceback
from typing import Any

from absl import logging

from rnd_agents.environments import vector_environment


class Watchdog:
  """Ends the process when a step of an environment takes too long.

  It watches from a thread of its own: the step runs inside a TensorFlow
  operation, in a thread that signals and exceptions do not reach.
  """

  def __init__(
      self,
      environments: Sequence[vector_environment.VectorPyEnvironment],
      limit_s: float | None,
      on_hang: Callable[[str], None],
      end: Callable[[int], Any] = os._exit,
  ):
    """Creates the watchdog; it works inside `with`.

    Args:
      environments: `VectorPyEnvironment`s.
      limit_s: Longest time of a step or reset in seconds; None for no limit.
      on_hang: Function that is called with the message before the process ends.
      end: Function that ends the process; for tests.
    """
    self._environments = environments
    self._limit_s = limit_s
    self._on_hang = on_hang
    self._end = end
    self._done = threading.Event()
    self._thread: threading.Thread | None = None

  def __enter__(self) -> 'Watchdog':
    if self._limit_s is not None:
      self._thread = threading.Thread(
          target=self._watch, args=(self._limit_s,), daemon=True
      )
      self._thread.start()
    return self

  def __exit__(self, *exception: Any) -> None:
    self._done.set()
    if self._thread is not None:
      self._thread.join()

  def _watch(self, limit_s: float) -> None:
    interval_s = min(1.0, limit_s / 4)
    # Begin and watched seconds of the running step of each environment.
    watched: list[tuple[float | None, float]] = [(None, 0.0)] * len(
        self._environments
    )
    last = time.monotonic()
    while not self._done.wait(interval_s):
      now = time.monotonic()
      # Not more: while a process is suspended (Ctrl-Z, a laptop's sleep) time
      # passes without progress.
      passed_s = min(now - last, 2 * interval_s)
      last = now
      for i, environment in enumerate(self._environments):
        busy = environment.busy_since()
        if busy is None:
          continue
        thread, since = busy
        before_s = watched[i][1] if watched[i][0] == since else 0.0
        watched[i] = since, before_s + min(passed_s, now - since)
        if watched[i][1] > limit_s:
          self._end_process(environment, thread)
          return

  def _end_process(
      self, environment: vector_environment.VectorPyEnvironment, thread: int
  ) -> None:
    frame = sys._current_frames().get(thread)  # pylint: disable=protected-access
    where = ''.join(traceback.format_stack(frame)) if frame else '  unknown\n'
    message = (
        f'{environment.name} has been in one step or reset for more than'
        f' {self._limit_s:g} s. Fix the environment, or raise'
        ' train_eval.environment_timeout_s (None waits without a limit).'
    )
    try:
      logging.error('%s Where it is:\n%s', message, where)
      logging.flush()
      if sys.stderr:
        sys.stderr.flush()
      self._on_hang(message)
    finally:
      self._end(1)
