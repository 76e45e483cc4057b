# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents: TF-Agents' algorithms with a curiosity of their own."""

from rnd_agents.agents import agent_factory
from rnd_agents.agents import auxiliary_loss
from rnd_agents.agents import continuous_factory
from rnd_agents.agents import curious_agent
from rnd_agents.agents import off_policy_factory
from rnd_agents.agents import r2d3_agent
from rnd_agents.agents import r2d3_policy
from rnd_agents.agents import replay_agent
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.agents import rnd_ppo_arguments
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.agents import two_stream_sac
from rnd_agents.agents.agent_factory import create_r2d3_agent
from rnd_agents.agents.agent_factory import create_rnd_ppo_agent
from rnd_agents.agents.auxiliary_loss import create_inverse_dynamics
from rnd_agents.agents.continuous_factory import create_sac_agent
from rnd_agents.agents.continuous_factory import create_td3_agent
from rnd_agents.agents.curious_agent import CuriousAgent
from rnd_agents.agents.curious_agent import CuriousLossInfo
from rnd_agents.agents.off_policy_factory import create_curious_agent
from rnd_agents.agents.off_policy_factory import create_dqn_agent
from rnd_agents.agents.r2d3_agent import R2D3Agent
from rnd_agents.agents.r2d3_agent import R2D3LossInfo
from rnd_agents.agents.r2d3_policy import EpsilonGreedyQPolicy
from rnd_agents.agents.return_streams import ReturnStream
from rnd_agents.agents.rnd_ppo_agent import RNDPPOAgent
from rnd_agents.agents.rnd_ppo_agent import RNDPPOLossInfo
from rnd_agents.agents.two_stream_sac import TwoStreamSacAgent

__all__ = [
    'CuriousAgent',
    'CuriousLossInfo',
    'EpsilonGreedyQPolicy',
    'R2D3Agent',
    'R2D3LossInfo',
    'RNDPPOAgent',
    'RNDPPOLossInfo',
    'ReturnStream',
    'TwoStreamSacAgent',
    'agent_factory',
    'auxiliary_loss',
    'continuous_factory',
    'create_curious_agent',
    'create_dqn_agent',
    'create_inverse_dynamics',
    'create_r2d3_agent',
    'create_rnd_ppo_agent',
    'create_sac_agent',
    'create_td3_agent',
    'curious_agent',
    'off_policy_factory',
    'rnd_ppo_arguments',
    'r2d3_agent',
    'r2d3_policy',
    'replay_agent',
    'return_streams',
    'rnd_ppo_agent',
    'rnd_ppo_policy',
    'two_stream_sac',
]
