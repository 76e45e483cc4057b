# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sequences for recurrent networks, prioritized replay, demonstrations."""

from rnd_agents import _compat
from rnd_agents.replay import demonstrations
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequence_table
from rnd_agents.replay import sequences

__all__ = [
    'demonstrations',
    'episode_cutter',
    'prioritized_replay',
    'sequence_table',
    'sequences',
]

_compat.mend_tf_agents()
