# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy that sets goals over a policy that reaches them."""

from rnd_agents.hierarchy import decisions
from rnd_agents.hierarchy import goals
from rnd_agents.hierarchy import hindsight
from rnd_agents.hierarchy import open_goals
from rnd_agents.hierarchy import two_level_agent
from rnd_agents.hierarchy import two_level_policy
from rnd_agents.hierarchy.goals import EntryGoals
from rnd_agents.hierarchy.goals import Goals
from rnd_agents.hierarchy.goals import PositionGoals
from rnd_agents.hierarchy.hindsight import HindsightGoals
from rnd_agents.hierarchy.open_goals import OpenGoals
from rnd_agents.hierarchy.two_level_agent import TwoLevelAgent
from rnd_agents.hierarchy.two_level_policy import TwoLevelPolicy

__all__ = [
    'EntryGoals',
    'Goals',
    'HindsightGoals',
    'OpenGoals',
    'PositionGoals',
    'TwoLevelAgent',
    'TwoLevelPolicy',
    'decisions',
    'goals',
    'hindsight',
    'open_goals',
    'two_level_agent',
    'two_level_policy',
]
