# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Archive exploration: return to a known state, then explore from there."""

from rnd_agents.archive import archive
from rnd_agents.archive import archive_novelty
from rnd_agents.archive import cells
from rnd_agents.archive import exploration
from rnd_agents.archive import explorer
from rnd_agents.archive import returning
from rnd_agents.archive import shortening
from rnd_agents.archive import snapshots

__all__ = [
    'archive',
    'archive_novelty',
    'cells',
    'exploration',
    'explorer',
    'returning',
    'shortening',
    'snapshots',
]
