# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ends the process if an environment hangs."""

from collections.abc import Callable
import os
import sys
import threading
import time
import traceback
from typing import Any, NamedTuple

from absl import logging


class _Activity(NamedTuple):
  """Name of an environment, what runs inside it, and since when."""

  name: str
  doing: str
  since_s: float


# Of each thread that is inside an environment.
_activities: dict[int, _Activity] = {}


class Inside:
  """Tells watchdogs that the block runs code of an environment."""

  __slots__ = ('_name', '_doing', '_outer')

  def __init__(self, name: str, doing: str):
    """Creates an Inside; `doing` is what runs, such as 'step'."""
    self._name = name
    self._doing = doing

  def __enter__(self) -> None:
    thread = threading.get_ident()
    self._outer = _activities.get(thread)
    _activities[thread] = _Activity(self._name, self._doing, time.monotonic())

  def __exit__(self, *exception: Any) -> None:
    thread = threading.get_ident()
    if self._outer is None:
      _activities.pop(thread, None)
    else:
      _activities[thread] = self._outer


class Watchdog:
  """Ends the process when a call of an environment takes too long.

  It watches all environments of the process, from a thread of its own: a step
  runs inside a TensorFlow operation, in a thread that signals and exceptions do
  not reach.
  """

  def __init__(
      self,
      limit_s: float | None,
      on_hang: Callable[[str, str], None],
      end: Callable[[int], Any] = os._exit,
  ):
    """Creates the watchdog; it works inside `with`.

    Args:
      limit_s: Longest time of a call in seconds; None for no limit.
      on_hang: Function of the message, and of what hangs, such as 'step', that
        is called before the process ends.
      end: Function that ends the process; for tests.
    """
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
    # Watched seconds of what each thread does.
    watched: dict[tuple[int, _Activity], float] = {}
    last = time.monotonic()
    while not self._done.wait(interval_s):
      now = time.monotonic()
      # Not more: while a process is suspended (Ctrl-Z, a laptop's sleep) time
      # passes without progress.
      passed_s = min(now - last, 2 * interval_s)
      last = now
      watched = {
          each: watched.get(each, 0.0) + min(passed_s, now - each[1].since_s)
          for each in list(_activities.items())
      }
      for (thread, activity), seconds in watched.items():
        if seconds > limit_s:
          self._end_process(thread, activity)
          return

  def _end_process(self, thread: int, activity: _Activity) -> None:
    frame = sys._current_frames().get(thread)  # pylint: disable=protected-access
    where = ''.join(traceback.format_stack(frame)) if frame else '  unknown\n'
    message = (
        f'{activity.name} has been inside {activity.doing} for more than'
        f' {self._limit_s:g} s. Fix the environment, or raise'
        ' train_eval.environment_timeout_s (None waits without a limit).'
    )
    try:
      logging.error('%s Where it is:\n%s', message, where)
      logging.flush()
      if sys.stderr:
        sys.stderr.flush()
      self._on_hang(message, activity.doing)
    finally:
      self._end(1)
