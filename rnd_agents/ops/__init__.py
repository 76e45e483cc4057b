# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pure functions of tensors: no state, no variables, no project imports."""

from rnd_agents.ops import gae
from rnd_agents.ops import losses
from rnd_agents.ops import moments
from rnd_agents.ops import recurrences
from rnd_agents.ops import rnd

__all__ = ['gae', 'losses', 'moments', 'recurrences', 'rnd']
