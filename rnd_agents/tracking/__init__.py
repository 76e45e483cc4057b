# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where rows of a run go: TensorBoard; trackers, what a checkpoint covers."""

from rnd_agents.tracking import hand_over
from rnd_agents.tracking import loggers
from rnd_agents.tracking import mlflow_logger
from rnd_agents.tracking import wandb_logger

__all__ = [
    'hand_over',
    'loggers',
    'mlflow_logger',
    'wandb_logger',
]
