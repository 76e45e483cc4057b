# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with a run, each with a message for its user."""

from rnd_agents.errors import RunError
from rnd_agents.errors import SetupError

__all__ = ['RunError', 'SetupError']
