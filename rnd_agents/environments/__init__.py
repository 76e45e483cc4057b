# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments as batched TF-Agents environments.

Importing this registers with Gymnasium `rnd_agents/DeepSea-v0`,
`rnd_agents/StochasticChain-v0`, and the tasks of `memory_tasks`:
`rnd_agents/Recall-v0`, `rnd_agents/TMaze-v0` and `rnd_agents/CueLock-v0`.
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

_ENVIRONMENTS = {
    'DeepSea': dict(
        entry_point='deep_sea:DeepSeaEnv',
        vector_entry_point='deep_sea:DeepSeaVectorEnv',
    ),
    'StochasticChain': dict(entry_point='stochastic_chain:StochasticChain'),
    'Recall': dict(entry_point='memory_tasks:Recall'),
    'TMaze': dict(entry_point='memory_tasks:TMaze'),
    'CueLock': dict(entry_point='memory_tasks:CueLock'),
}

for _name, _entry_points in _ENVIRONMENTS.items():
  _id = f'rnd_agents/{_name}-v0'
  if _id not in gymnasium.registry:  # A module may be imported anew.
    gymnasium.register(
        _id, **{key: f'{__name__}.{at}' for key, at in _entry_points.items()}
    )
