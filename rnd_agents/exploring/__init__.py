# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Archive exploration: return to a known state, then explore from there."""

from rnd_agents.exploring import archive
from rnd_agents.exploring import cells
from rnd_agents.exploring import explorer
from rnd_agents.exploring import returning
from rnd_agents.exploring import shortening
from rnd_agents.exploring import snapshots

__all__ = [
    'archive',
    'cells',
    'explorer',
    'returning',
    'shortening',
    'snapshots',
]
