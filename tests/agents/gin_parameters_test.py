# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter of agents, curiosities, networks arrives or is refused."""

import functools

import gin
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import networks
from tests import gin_parameters
from tests.agents import agent_test_utils

_SPECS = ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE
_FOUND = gin_parameters.configurables(
    'rnd_agents/agents', 'rnd_agents/curiosity', 'rnd_agents/networks'
)


def _rnd_ppo(*bindings):
  """What builds an agent with these bindings too."""
  return lambda: (
      gin.parse_config(bindings), agents.create_rnd_ppo_agent(*_SPECS)
  )


def _r2d3():
  return agents.create_r2d3_agent(*_SPECS)


def _of(name):
  return functools.partial(getattr(curiosity, f'create_{name}'), *_SPECS)


def _combined(name):
  return lambda: _of(name)([curiosity.create_rnd])


# What a run does to call each of them; None where all parameters are refused.
_CALLS = {
    'RNDPPOAgent': _rnd_ppo(),
    'R2D3Agent': _r2d3,
    'create_rnd_ppo_agent': _rnd_ppo(),
    'create_r2d3_agent': _r2d3,
    'ReturnStream': agents.return_streams.ReturnStream,
    'create_rnd': _of('rnd'),
    'create_novel_d': _of('novel_d'),
    'create_e3b': None,
    'create_icm': None,
    'create_sum': _of('sum'),
    'create_product': _of('product'),
    'create_bounded_factor': _of('bounded_factor'),
    'NovelD': _of('novel_d'),
    'EllipticalBonus': _of('e3b'),
    'IntrinsicCuriosityModule': _of('icm'),
    'InverseModel': _of('icm'),
    'Sum': _combined('sum'),
    'Product': _combined('product'),
    'BoundedFactor': lambda: _of('bounded_factor')(curiosity.create_rnd),
    'key_observation_fn': lambda: curiosity.key_observation_fn(),
    'newest_frame_observation_fn': None,
    'GRUCore': networks.GRUCore,
    'LSTMCore': networks.LSTMCore,
    'ResNet': networks.ResNet,
    'create_networks': _rnd_ppo(),
    'create_q_networks': _r2d3,
    'create_encoder': _rnd_ppo(),
    'create_rnd_networks': _rnd_ppo(),
}


def test_all_configurables_are_known_here():
  assert set(_FOUND) == {f'rnd_agents.{name}' for name in _CALLS}


@pytest.mark.parametrize('name', _CALLS)
def test_parameters_arrive_or_are_refused(name):
  selector = f'rnd_agents.{name}'
  assert not gin_parameters.without_effect(
      selector, _FOUND[selector], _CALLS[name]
  )


@pytest.mark.parametrize('name', agents.rnd_ppo_arguments.UNUSED_PPO_ARGUMENTS)
def test_arguments_of_the_parent_without_an_effect_are_refused(name):
  with pytest.raises(ValueError, match='denylisted'):
    gin.bind_parameter(f'RNDPPOAgent.{name}', 1)


def test_arguments_of_the_parent_arrive():
  names = [f'RNDPPOAgent.{x}'
           for x in ('greedy_eval', 'lambda_value', 'check_numerics')]
  _rnd_ppo(*(f'{name} = 0.5' for name in names))()
  for name in names:
    assert f'{name} = 0.5' in gin.operative_config_str()


def test_a_function_arrives():
  gin.parse_config("""
      create_r2d3_agent.curiosity_fn = @create_rnd
      create_rnd.observation_fn = @newest_frame_observation_fn
  """)
  for build in (agents.create_rnd_ppo_agent, agents.create_r2d3_agent):
    seen = build(*_SPECS).curiosity.rnd_network.input_tensor_spec
    assert seen == tf.TensorSpec([1], tf.float32)
