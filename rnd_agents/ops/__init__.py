# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pure functions of tensors, without state or variables."""

from rnd_agents.ops import annealing
from rnd_agents.ops import episodic
from rnd_agents.ops import gae
from rnd_agents.ops import losses
from rnd_agents.ops import moments
from rnd_agents.ops import priorities
from rnd_agents.ops import q_learning
from rnd_agents.ops import recurrences
from rnd_agents.ops import rnd
from rnd_agents.ops import value_rescaling

__all__ = [
    'annealing',
    'episodic',
    'gae',
    'losses',
    'moments',
    'priorities',
    'q_learning',
    'recurrences',
    'rnd',
    'value_rescaling',
]
