# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The collect, train, evaluate loop and the files that a run leaves."""

from rnd_agents.training import checkpoints
from rnd_agents.training import epsilons
from rnd_agents.training import errors
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import r2d3_trainer
from rnd_agents.training import replay_loop
from rnd_agents.training import rollout_loop
from rnd_agents.training import run
from rnd_agents.training import run_directory
from rnd_agents.training import seeded_policy
from rnd_agents.training import settings
from rnd_agents.training import stop_signals
from rnd_agents.training import trainer
from rnd_agents.training import training_loop
from rnd_agents.training import watchdog
from rnd_agents.training import watching

__all__ = [
    'checkpoints',
    'epsilons',
    'errors',
    'gin_files',
    'metrics_log',
    'r2d3_trainer',
    'replay_loop',
    'rollout_loop',
    'run',
    'run_directory',
    'seeded_policy',
    'settings',
    'stop_signals',
    'trainer',
    'training_loop',
    'watchdog',
    'watching',
]
