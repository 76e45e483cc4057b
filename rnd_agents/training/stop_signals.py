# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Turns Ctrl-C and SIGTERM into a request to stop after an iteration."""

import contextlib
import signal

from absl import logging


@contextlib.contextmanager
def calling(stop):
  """Calls `stop` with the name of the signal; a second one acts as usual.

  Args:
    stop: A function of a text.
  """
  signals = (signal.SIGINT, signal.SIGTERM)
  usual = {}

  def handle(number, _):
    signal.signal(number, usual[number])
    name = signal.Signals(number).name
    logging.info('%s: saving after this iteration.', name)
    stop(name)

  try:
    for number in signals:
      usual[number] = signal.signal(number, handle)
  except ValueError:
    pass  # Not the main thread: whoever runs this handles signals.
  try:
    yield
  finally:
    for number, handler in usual.items():
      signal.signal(number, handler)
