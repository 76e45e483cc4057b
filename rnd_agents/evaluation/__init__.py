# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays episodes with a policy: statistics, videos, visits, demonstrations."""

from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy
from rnd_agents.evaluation import video
from rnd_agents.evaluation import visits

__all__ = [
    'actors',
    'demonstration_recorder',
    'evaluator',
    'saved_policy',
    'video',
    'visits',
]
