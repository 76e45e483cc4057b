# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The collect, train, evaluate loop and the files that a run leaves."""

from rnd_agents.training import gin_files
from rnd_agents.training import run_directory
from rnd_agents.training import trainer

__all__ = ['gin_files', 'run_directory', 'trainer']
