# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pure functions of tensors, without state or variables."""

from rnd_agents.ops import discounting
from rnd_agents.ops import episodic
from rnd_agents.ops import losses
from rnd_agents.ops import lstm
from rnd_agents.ops import moments
from rnd_agents.ops import q_learning

__all__ = ['discounting', 'episodic', 'losses', 'lstm', 'moments', 'q_learning']
