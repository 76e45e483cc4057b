# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exploration by Random Network Distillation for TF-Agents."""

from rnd_agents import _compat
from rnd_agents.version import __version__

__all__ = ['__version__']

# Before anything imports TensorFlow.
_compat.mend_packages()
