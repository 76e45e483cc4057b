# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ends a process whose environment hangs."""

import os
import sys
import threading
import time
import traceback

from absl import logging


class Watchdog:
  """Ends the process when a step of an environment takes too long.

  It watches from a thread of its own: the step runs inside a TensorFlow
  operation, in a thread that no signal and no exception reaches.
  """

  def __init__(self, environments, limit_s, on_hang, end=os._exit):
    """Creates the watchdog; it works inside `with`.

    Args:
      environments: `VectorPyEnvironment`s.
      limit_s: Seconds that a step or reset may take; None for any time.
      on_hang: Called with the message before the process ends.
      end: Ends the process; for tests.
    """
    self._environments = environments
    self._limit_s = limit_s
    self._on_hang = on_hang
    self._end = end
    self._done = threading.Event()
    self._thread = None

  def __enter__(self):
    if self._limit_s is not None:
      self._thread = threading.Thread(target=self._watch, daemon=True)
      self._thread.start()
    return self

  def __exit__(self, *exception):
    self._done.set()
    if self._thread is not None:
      self._thread.join()

  def _watch(self):
    interval_s = min(1.0, self._limit_s / 4)
    # (when a step began, seconds of it that were watched) of each environment.
    watched = [(None, 0.0)] * len(self._environments)
    last = time.monotonic()
    while not self._done.wait(interval_s):
      now = time.monotonic()
      # Not all of it: a process that was suspended (Ctrl-Z, a laptop's sleep)
      # finds that hours have gone by, in which nothing could happen.
      passed_s = min(now - last, 2 * interval_s)
      last = now
      for i, environment in enumerate(self._environments):
        busy = environment.busy_since()
        if busy is None:
          continue
        thread, since = busy
        before_s = watched[i][1] if watched[i][0] == since else 0.0
        watched[i] = since, before_s + min(passed_s, now - since)
        if watched[i][1] > self._limit_s:
          self._end_process(environment, thread)
          return

  def _end_process(self, environment, thread):
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
      sys.stderr.flush()
      self._on_hang(message)
    finally:
      self._end(1)
