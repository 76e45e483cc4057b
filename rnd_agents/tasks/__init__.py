# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments of this package, and experts that solve them.

Importing this package registers with Gymnasium `rnd_agents/DeepSea-v0`,
`rnd_agents/StochasticChain-v0`, and the tasks of `memory_tasks`:
`rnd_agents/Recall-v0`, `rnd_agents/TMaze-v0` and `rnd_agents/CueLock-v0`. Also
`rnd_agents/Crafter-v0` and `rnd_agents/MyWayHome-v0`, for which the packages
`crafter` and `vizdoom` must be installed.
"""

import gymnasium

from rnd_agents.tasks import crafter
from rnd_agents.tasks import deep_sea
from rnd_agents.tasks import memory_tasks
from rnd_agents.tasks import my_way_home
from rnd_agents.tasks import render_modes
from rnd_agents.tasks import scripted_experts
from rnd_agents.tasks import stochastic_chain

__all__ = [
    'crafter',
    'deep_sea',
    'memory_tasks',
    'my_way_home',
    'render_modes',
    'scripted_experts',
    'stochastic_chain',
]

_ENVIRONMENTS = {
    'DeepSea': dict(
        entry_point='deep_sea:DeepSeaEnv',
        vector_entry_point='deep_sea:DeepSeaVectorEnv',
    ),
    'Crafter': dict(entry_point='crafter:Crafter'),
    'MyWayHome': dict(entry_point='my_way_home:MyWayHome'),
    'StochasticChain': dict(entry_point='stochastic_chain:StochasticChain'),
    'Recall': dict(entry_point='memory_tasks:Recall'),
    'TMaze': dict(entry_point='memory_tasks:TMaze'),
    'CueLock': dict(entry_point='memory_tasks:CueLock'),
}

for _name, _entry_points in _ENVIRONMENTS.items():
  _id = f'rnd_agents/{_name}-v0'
  if _id not in gymnasium.registry:  # A module may be imported twice.
    gymnasium.register(
        _id, **{key: f'{__name__}.{at}' for key, at in _entry_points.items()}
    )
