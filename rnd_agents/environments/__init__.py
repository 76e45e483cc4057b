# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments as batched TF-Agents environments.

Importing this package registers the tasks of `rnd_agents.tasks` with Gymnasium.
"""

from rnd_agents import tasks as _tasks  # noqa: F401  Registers them.
from rnd_agents.environments import atari
from rnd_agents.environments import episode_log
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import interface
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_family
from rnd_agents.environments import minigrid_views
from rnd_agents.environments import single_environment
from rnd_agents.environments import vector_environment
from rnd_agents.environments import wrappers

__all__ = [
    'atari',
    'episode_log',
    'episode_seeds',
    'failures',
    'gymnasium_spaces',
    'interface',
    'loaders',
    'minigrid_family',
    'minigrid_views',
    'single_environment',
    'vector_environment',
    'wrappers',
]
