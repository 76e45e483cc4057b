# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Intrinsic motivation that is not tied to one learning algorithm."""

from rnd_agents.curiosity.curiosity import Curiosity
from rnd_agents.curiosity.curiosity import PreviousRow
from rnd_agents.curiosity.curiosity import Transitions
from rnd_agents.curiosity.random_network_distillation import create_rnd
from rnd_agents.curiosity.random_network_distillation import key_observation_fn
from rnd_agents.curiosity.random_network_distillation import (
    newest_frame_observation_fn,
)
from rnd_agents.curiosity.random_network_distillation import observation_spec
from rnd_agents.curiosity.random_network_distillation import (
    RandomNetworkDistillation,
)

__all__ = [
    'Curiosity',
    'PreviousRow',
    'RandomNetworkDistillation',
    'Transitions',
    'create_rnd',
    'key_observation_fn',
    'newest_frame_observation_fn',
    'observation_spec',
]
