# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter of agents, curiosities, networks arrives or is refused.

Gin's operative configuration lists what gin may supply to a call, and not what
the caller passes, which a binding would not change.
"""

import inspect
import re

import gin
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import networks
from tests.agents import agent_test_utils

_SPECS = ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE

CONFIGURABLES = (
    agents.RNDPPOAgent,
    agents.R2D3Agent,
    agents.create_rnd_ppo_agent,
    agents.create_r2d3_agent,
    agents.return_streams.ReturnStream,
    curiosity.create_rnd,
    curiosity.key_observation_fn,
    curiosity.newest_frame_observation_fn,
    networks.GRUCore,
    networks.LSTMCore,
    networks.RNDNetwork,
    networks.ResNet,
    networks.create_networks,
    networks.create_q_networks,
    networks.encoders.create_encoder,
    networks.factory.create_rnd_networks,
)
_GIN = """
    create_networks.core = @GRUCore()
    create_q_networks.core = @LSTMCore()
    create_r2d3_agent.curiosity_fn = @create_rnd
    one/ReturnStream.name = 'one'
    one/ReturnStream.discount_factor = 0.9
    entry/key_observation_fn.key = 'entry'
"""


@pytest.fixture(name='operative', scope='module')
def _operative():
  """Names that gin may supply to some call."""
  gin.clear_config()
  gin.parse_config(_GIN)
  agents.create_rnd_ppo_agent(*_SPECS)
  agents.create_r2d3_agent(*_SPECS)
  gin.get_configurable('one/ReturnStream')()
  gin.get_configurable('entry/key_observation_fn')()
  gin.get_configurable('ResNet')()
  text = gin.operative_config_str(max_line_length=10_000)
  gin.clear_config()
  return set(re.findall(r'^(?:\w+/)?(\w+\.\w+) =', text, re.MULTILINE))


def _parameters(configurable):
  target = configurable
  if inspect.isclass(configurable):
    target = configurable.__init__
  return [
      parameter
      for parameter in inspect.signature(target).parameters.values()
      if parameter.name != 'self' and parameter.kind != parameter.VAR_KEYWORD
  ]


@pytest.mark.parametrize(
    'configurable', CONFIGURABLES, ids=lambda x: x.__name__
)
def test_every_parameter_arrives_or_is_refused(configurable, operative):
  works, refused = [], []
  for parameter in _parameters(configurable):
    name = f'{configurable.__name__}.{parameter.name}'
    try:
      gin.bind_parameter(name, 1)
    except ValueError as error:
      assert 'denylisted' in str(error)
      refused.append(name)
      continue
    finally:
      gin.clear_config()
    # Gin has no words for a default that is a function.
    if parameter.default is parameter.empty or not callable(parameter.default):
      works.append(name)
  assert set(works) - operative == set()
  # What gin may not supply, some caller does.
  assert set(refused) & operative == set()


@pytest.mark.parametrize('name', agents.ppo_arguments.UNUSED_PPO_ARGUMENTS)
def test_arguments_of_the_parent_without_an_effect_are_refused(name):
  with pytest.raises(ValueError, match='denylisted'):
    gin.bind_parameter(f'RNDPPOAgent.{name}', 1)


@pytest.mark.parametrize(
    'name', ['greedy_eval', 'lambda_value', 'check_numerics']
)
def test_arguments_of_the_parent_arrive(name):
  gin.bind_parameter(f'RNDPPOAgent.{name}', 0.5)
  try:
    agents.create_rnd_ppo_agent(*_SPECS)
    assert f'RNDPPOAgent.{name} = 0.5' in gin.operative_config_str()
  finally:
    gin.clear_config()


def test_a_function_arrives():
  gin.parse_config("""
      create_rnd_ppo_agent.rnd_observation_fn = @newest_frame_observation_fn
      create_r2d3_agent.curiosity_fn = @create_rnd
      create_rnd.observation_fn = @newest_frame_observation_fn
  """)
  try:
    for build in (agents.create_rnd_ppo_agent, agents.create_r2d3_agent):
      seen = build(*_SPECS).curiosity.rnd_network.input_tensor_spec
      assert seen == tf.TensorSpec([1], tf.float32)
  finally:
    gin.clear_config()
