# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments as batched TF-Agents environments.

Importing this registers `rnd_agents/DeepSea-v0` with Gymnasium.
"""

import gymnasium

from rnd_agents.environments import deep_sea
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment

__all__ = [
    'deep_sea',
    'gymnasium_spaces',
    'loaders',
    'vector_environment',
]

DEEP_SEA_ID = 'rnd_agents/DeepSea-v0'

if DEEP_SEA_ID not in gymnasium.registry:  # A module may be imported anew.
  gymnasium.register(
      id=DEEP_SEA_ID,
      entry_point='rnd_agents.environments.deep_sea:DeepSeaEnv',
      vector_entry_point='rnd_agents.environments.deep_sea:DeepSeaVectorEnv',
  )
