# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reports progress: a bar on a terminal, log lines elsewhere."""

import sys
import time

from absl import logging
import tqdm

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
  """Reports environment steps, their rate and the last returns."""

  def __init__(self, total_env_steps, done_env_steps=0):
    """Creates the report.

    Args:
      total_env_steps: Environment steps of the whole run.
      done_env_steps: Environment steps that were done before.
    """
    self._total = total_env_steps
    # From the first report on: what comes before it is mostly tracing.
    self._start = None
    self._last_line = time.monotonic()
    self._notes = {}
    self._bar = None
    if sys.stderr.isatty():
      self._bar = tqdm.tqdm(
          total=total_env_steps,
          initial=done_env_steps,
          unit=' steps',
          unit_scale=True,
          dynamic_ncols=True,
          smoothing=0.05,
      )

  def update(self, env_steps, **notes):
    """Reports where the run is.

    Args:
      env_steps: Environment steps so far.
      **notes: Numbers worth showing; None is left out, the last value of each
        name stays.
    """
    self._notes.update((k, v) for k, v in notes.items() if v is not None)
    text = ', '.join(f'{k} {v:.4g}' for k, v in self._notes.items())
    if self._bar is not None:
      self._bar.set_postfix_str(text, refresh=False)
      self._bar.update(min(env_steps, self._total) - self._bar.n)
      return
    now = time.monotonic()
    if self._start is None:
      self._start = (now, env_steps)
      return
    if now - self._last_line < _SECONDS_BETWEEN_LINES:
      return
    self._last_line = now
    start, done = self._start
    rate = (env_steps - done) / max(now - start, 1e-9)
    left = max(self._total - env_steps, 0) / max(rate, 1e-9)
    logging.info(
        '%d of %d steps (%d %%), %d steps/s, %d s left: %s',
        env_steps,
        self._total,
        min(100, 100 * env_steps // self._total),
        rate,
        left,
        text,
    )

  def close(self):
    """Closes the bar, which stays on the screen."""
    if self._bar is not None:
      self._bar.close()
