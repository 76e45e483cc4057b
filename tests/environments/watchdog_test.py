# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what ends a process whose environment hangs."""

import threading
import time
import types

from rnd_agents.environments import watchdog


class _Environment:
  """Busy whenever it is told to be."""

  name = 'Molasses-v0'

  def __init__(self):
    self._busy = None

  def busy_since(self):
    return self._busy

  def slow_step(self, seconds, until=None):
    self._busy = (threading.get_ident(), time.monotonic())
    if until is None:
      time.sleep(seconds)
    else:
      until.wait(seconds)
    self._busy = None


def test_a_step_beyond_the_limit_ends_the_process_with_its_traceback(caplog):
  environment = _Environment()
  ended = threading.Event()
  codes, messages = [], []

  def end(code):
    codes.append(code)
    ended.set()

  with watchdog.Watchdog([environment], 0.1, messages.append, end):
    environment.slow_step(30.0, until=ended)
  assert codes == [1]
  assert messages == [
      'Molasses-v0 has been in one step or reset for more than 0.1 s. Fix the'
      ' environment, or raise train_eval.environment_timeout_s (None waits'
      ' without a limit).'
  ]
  assert 'in slow_step' in caplog.text


def test_steps_within_the_limit_are_left_alone():
  environment = _Environment()
  codes = []
  with watchdog.Watchdog([environment], 2.0, codes.append, codes.append):
    for _ in range(5):
      environment.slow_step(0.2)
  assert not codes


def test_time_in_which_the_process_was_suspended_does_not_count(monkeypatch):
  # As after Ctrl-Z and fg, or a laptop's sleep: clocks go on, nothing else.
  asleep_s = [0.0]
  clock = types.SimpleNamespace(
      monotonic=lambda: time.monotonic() + asleep_s[0]
  )
  monkeypatch.setattr(watchdog, 'time', clock)
  environment = _Environment()
  codes = []
  with watchdog.Watchdog([environment], 2.0, codes.append, codes.append):
    timer = threading.Timer(0.3, lambda: asleep_s.__setitem__(0, 3_600.0))
    timer.start()
    environment.slow_step(1.2)
    timer.join()
  assert not codes


def test_none_watches_nothing():
  before = threading.active_count()
  with watchdog.Watchdog([_Environment()], None, print, print):
    assert threading.active_count() == before
