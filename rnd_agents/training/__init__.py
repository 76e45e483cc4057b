# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run: its settings, its loop, and the files that it leaves."""

from rnd_agents.training import callbacks
from rnd_agents.training import checkpoints
from rnd_agents.training import configuration
from rnd_agents.training import epsilons
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import gin_values
from rnd_agents.training import loops
from rnd_agents.training import metrics_log
from rnd_agents.training import off_policy
from rnd_agents.training import on_policy
from rnd_agents.training import pictures
from rnd_agents.training import replay_learner
from rnd_agents.training import run_directory
from rnd_agents.training import runs
from rnd_agents.training import training
from rnd_agents.training import two_level

__all__ = [
    'callbacks',
    'checkpoints',
    'configuration',
    'epsilons',
    'experiment',
    'gin_files',
    'gin_values',
    'loops',
    'metrics_log',
    'off_policy',
    'on_policy',
    'pictures',
    'replay_learner',
    'run_directory',
    'runs',
    'training',
    'two_level',
]
