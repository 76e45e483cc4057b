# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts benchmarks; errors that the user can repair are one sentence."""

import os

from absl import app

from rnd_agents import programs


def run(main):
  """Runs a benchmark with the flags of the command line."""
  file = os.path.basename(main.__code__.co_filename)
  app.run(programs.explaining(file.removesuffix('.py'), OSError)(main))
