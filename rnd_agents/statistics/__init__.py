# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Running statistics of observations, rewards, advantages; finite checks."""

from rnd_agents.statistics import finite
from rnd_agents.statistics import running_statistics

__all__ = ['finite', 'running_statistics']
