# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with a run, each with a message for its user."""


class SetupError(ValueError):
  """Settings that cannot run, found before the first step."""


class RunError(RuntimeError):
  """A run that had to stop; the message says why and what was kept."""
