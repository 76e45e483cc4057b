# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments as batched TF-Agents environments.

Importing this registers `rnd_agents/DeepSea-v0` with Gymnasium, its variant
`rnd_agents/DeepSeaUnseenScreen-v0` (as a vector environment only), and the
tasks of `memory_tasks`: `rnd_agents/Recall-v0`, `rnd_agents/TMaze-v0` and
`rnd_agents/CueLock-v0`.
"""

import gymnasium

from rnd_agents.environments import atari
from rnd_agents.environments import deep_sea
from rnd_agents.environments import episode_log
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import errors
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import loaders
from rnd_agents.environments import memory_tasks
from rnd_agents.environments import minigrid_tasks
from rnd_agents.environments import scripted_experts
from rnd_agents.environments import single_environment
from rnd_agents.environments import stochastic_chain
from rnd_agents.environments import vector_environment
from rnd_agents.environments import wrappers

__all__ = [
    'atari',
    'deep_sea',
    'episode_log',
    'episode_seeds',
    'errors',
    'gymnasium_spaces',
    'loaders',
    'memory_tasks',
    'minigrid_tasks',
    'scripted_experts',
    'single_environment',
    'stochastic_chain',
    'vector_environment',
    'wrappers',
]

DEEP_SEA_ID = 'rnd_agents/DeepSea-v0'

if DEEP_SEA_ID not in gymnasium.registry:  # A module may be imported anew.
  gymnasium.register(
      id=DEEP_SEA_ID,
      entry_point='rnd_agents.environments.deep_sea:DeepSeaEnv',
      vector_entry_point='rnd_agents.environments.deep_sea:DeepSeaVectorEnv',
  )

UNSEEN_SCREEN_ID = 'rnd_agents/DeepSeaUnseenScreen-v0'

if UNSEEN_SCREEN_ID not in gymnasium.registry:
  _module = 'rnd_agents.environments.unseen_screen'
  gymnasium.register(
      id=UNSEEN_SCREEN_ID,
      vector_entry_point=f'{_module}:UnseenScreenVectorEnv',
  )

for _task in ('Recall', 'TMaze', 'CueLock'):
  if f'rnd_agents/{_task}-v0' not in gymnasium.registry:
    gymnasium.register(
        id=f'rnd_agents/{_task}-v0',
        entry_point=f'rnd_agents.environments.memory_tasks:{_task}',
    )

if 'rnd_agents/StochasticChain-v0' not in gymnasium.registry:
  gymnasium.register(
      id='rnd_agents/StochasticChain-v0',
      entry_point='rnd_agents.environments.stochastic_chain:StochasticChain',
  )
