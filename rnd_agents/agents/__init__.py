# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents: TF-Agents' algorithms with a curiosity of their own."""

from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents.rnd_ppo_agent import RNDPPOAgent
from rnd_agents.agents.rnd_ppo_agent import RNDPPOLossInfo

__all__ = ['RNDPPOAgent', 'RNDPPOLossInfo', 'rnd_ppo_agent', 'rnd_ppo_policy']
