# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts a binary as a user does, from any directory."""

import os
import subprocess
import sys

_ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)


def run(cwd, name, *flags):
  """Runs `python -m train.NAME FLAG...`; returns a `CompletedProcess`."""
  environment = dict(os.environ, PYTHONPATH=_ROOT, TF_CPP_MIN_LOG_LEVEL='3')
  return subprocess.run(
      [sys.executable, '-m', f'train.{name}', *flags],
      cwd=cwd,
      env=environment,
      capture_output=True,
      text=True,
      check=False,
      timeout=300,
  )
