# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents: TF-Agents' algorithms with a curiosity of their own."""

from rnd_agents.agents import agent_factory
from rnd_agents.agents import r2d3_agent
from rnd_agents.agents import r2d3_policy
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.agents import rnd_ppo_arguments
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents.agent_factory import create_r2d3_agent
from rnd_agents.agents.agent_factory import create_rnd_ppo_agent
from rnd_agents.agents.r2d3_agent import R2D3Agent
from rnd_agents.agents.r2d3_agent import R2D3LossInfo
from rnd_agents.agents.r2d3_policy import EpsilonGreedyQPolicy
from rnd_agents.agents.return_streams import ReturnStream
from rnd_agents.agents.rnd_ppo_agent import RNDPPOAgent
from rnd_agents.agents.rnd_ppo_agent import RNDPPOLossInfo

__all__ = [
    'EpsilonGreedyQPolicy',
    'R2D3Agent',
    'R2D3LossInfo',
    'RNDPPOAgent',
    'RNDPPOLossInfo',
    'ReturnStream',
    'agent_factory',
    'create_r2d3_agent',
    'create_rnd_ppo_agent',
    'rnd_ppo_arguments',
    'r2d3_agent',
    'r2d3_policy',
    'return_streams',
    'rnd_ppo_agent',
    'rnd_ppo_policy',
]
