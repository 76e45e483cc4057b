# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments as batched TF-Agents environments.

Importing this registers `rnd_agents/DeepSea-v0` with Gymnasium, and the tasks
of `memory_tasks`: `rnd_agents/Recall-v0`, `rnd_agents/TMaze-v0` and
`rnd_agents/CueLock-v0`.
"""

import gymnasium

# So that `environments.loaders` is there, and gin knows what it configures.
from rnd_agents.environments import loaders  # noqa: F401
from rnd_agents.environments import memory_tasks  # noqa: F401
from rnd_agents.environments import minigrid_tasks  # noqa: F401
from rnd_agents.environments import scripted_experts  # noqa: F401
from rnd_agents.environments import single_environment  # noqa: F401

DEEP_SEA_ID = 'rnd_agents/DeepSea-v0'

if DEEP_SEA_ID not in gymnasium.registry:  # A module may be imported anew.
  gymnasium.register(
      id=DEEP_SEA_ID,
      entry_point='rnd_agents.environments.deep_sea:DeepSeaEnv',
      vector_entry_point='rnd_agents.environments.deep_sea:DeepSeaVectorEnv',
  )

for _task in ('Recall', 'TMaze', 'CueLock'):
  if f'rnd_agents/{_task}-v0' not in gymnasium.registry:
    gymnasium.register(
        id=f'rnd_agents/{_task}-v0',
        entry_point=f'rnd_agents.environments.memory_tasks:{_task}',
    )
