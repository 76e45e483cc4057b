# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter arrives, or gin refuses it."""

import functools
import inspect
import re

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents import foreign_names
from rnd_agents import hierarchy
from rnd_agents import networks
from rnd_agents.archive import archive_novelty
from rnd_agents.archive import cells
from rnd_agents.archive import exploration
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_views
from rnd_agents.environments import wrappers
from rnd_agents.evaluation import video
from rnd_agents.replay import prioritized_replay
from rnd_agents.tasks import crafter
from rnd_agents.tasks import scripted_experts
from rnd_agents.tracking import loggers
from rnd_agents.tracking import mlflow_logger
from rnd_agents.tracking import wandb_logger
from rnd_agents.training import epsilons
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from rnd_agents.training import off_policy
from rnd_agents.training import on_policy
from rnd_agents.training import two_level
from tests import gin_parameters
from tests.agents import agent_test_utils

_SPECS = ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE
_FOUND = gin_parameters.configurables('rnd_agents')
_load = functools.partial(functools.partial, loaders.load_environment)


def _rnd_ppo(*bindings):
  """What builds an agent with these bindings too."""
  return lambda: (
      gin.parse_config(bindings), agents.create_rnd_ppo_agent(*_SPECS)
  )


def _r2d3():
  return agents.create_r2d3_agent(*_SPECS)


def _curious(name):
  action_spec = _SPECS[1] if name == 'dqn' else agent_test_utils.BOX
  return lambda: agents.create_curious_agent(
      _SPECS[0],
      action_spec,
      agent_fn=getattr(agents, f'create_{name}_agent'),
  )


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
    'CuriousAgent': _curious('sac'),
    'create_curious_agent': lambda: agents.create_curious_agent(*_SPECS),
    'create_dqn_agent': _curious('dqn'),
    'create_inverse_dynamics': lambda: agents.create_inverse_dynamics(
        *_SPECS, 8
    ),
    'create_sac_agent': _curious('sac'),
    'create_td3_agent': _curious('td3'),
    'ReturnStream': agents.return_streams.ReturnStream,
    'one_value_head': lambda: agents.return_streams.one_value_head(None),
    'create_rnd': _of('rnd'),
    'create_novel_d': _of('novel_d'),
    'create_e3b': None,
    'create_icm': None,
    'create_counts': None,
    'create_drnd': _of('drnd'),
    'create_lpm': _of('lpm'),
    'create_ngu_episodic': None,
    'create_etd': None,
    'create_sum': _of('sum'),
    'create_product': _of('product'),
    'create_bounded_factor': _of('bounded_factor'),
    'NovelD': _of('novel_d'),
    'EllipticalBonus': _of('e3b'),
    'IntrinsicCuriosityModule': _of('icm'),
    'InverseModel': _of('icm'),
    'CountBonus': _of('counts'),
    'DistributionalRND': _of('drnd'),
    'LearningProgress': _of('lpm'),
    'NeighborBonus': _of('ngu_episodic'),
    'TemporalDistance': _of('etd'),
    'Sum': _combined('sum'),
    'Product': _combined('product'),
    'BoundedFactor': lambda: _of('bounded_factor')(curiosity.create_rnd),
    'coarse_view': lambda: curiosity.coarse_view(tf.zeros([1, 9, 9, 3])),
    'key_observation_fn': lambda: curiosity.key_observation_fn(),
    'newest_frame_observation_fn': None,
    'GRUCore': networks.GRUCore,
    'LSTMCore': networks.LSTMCore,
    'LayerNormLSTMCore': networks.LayerNormLSTMCore,
    'ResNet': networks.ResNet,
    'create_networks': _rnd_ppo(),
    'create_q_networks': _r2d3,
    'create_encoder': _rnd_ppo(),
    'create_rnd_networks': _rnd_ppo(),
    'load_environment': _load(),
    'load_atari': _load('ALE/Pong-v5'),
    'load_minigrid': _load('MiniGrid-DoorKey-5x5-v0'),
    'Recall': _load('rnd_agents/Recall-v0'),
    'TMaze': _load('rnd_agents/TMaze-v0'),
    'CueLock': _load('rnd_agents/CueLock-v0'),
    'StochasticChain': _load('rnd_agents/StochasticChain-v0'),
    'ActionRepeat': _load('CartPole-v1', wrappers=[wrappers.ActionRepeat]),
    'SomeEntries': _load('CartPole-v1', wrappers=[wrappers.SomeEntries]),
    'SomeActions': _load('CartPole-v1', wrappers=[wrappers.SomeActions]),
    'FireReset': _load('CartPole-v1', wrappers=[wrappers.FireReset]),
    'NoopReset': _load('CartPole-v1', wrappers=[wrappers.NoopReset]),
    'RecordEpisodes': _load('CartPole-v1', wrappers=[video.RecordEpisodes]),
    'DelayedReward': _load('CartPole-v1', wrappers=[wrappers.DelayedReward]),
    'RoomsVisited': _load(
        'ALE/MontezumaRevenge-v5', wrappers=[wrappers.RoomsVisited]
    ),
    'FixedWorld': _load(
        'MiniGrid-FourRooms-v0', wrappers=[wrappers.FixedWorld]
    ),
    'deep_sea': functools.partial(
        scripted_experts.deep_sea, np.zeros([1, 3, 3])
    ),
    'episode_seeds.stream': episode_seeds.stream,
    'episode_seeds.fixed': episode_seeds.fixed,
    'episode_seeds.cycle': episode_seeds.cycle,
    'PreviousActionReward': None,
    'AgentPosition': None,
    'MiniGridExpert': None,
    'sign_of_reward': None,
    'adapt_old_interface': None,
    'train_eval': functools.partial(experiment.Experiment, 'folder'),
    'explore': functools.partial(exploration.Exploration, 'folder'),
    'CuriosityNovelty': lambda: archive_novelty.CuriosityNovelty(None, None),
    'coarse_observation': lambda: cells.coarse_observation(0, None),
    'position_of_largest': lambda: cells.position_of_largest(0, None),
    'minigrid_without_movables': lambda: (
        minigrid_views.minigrid_without_movables(tf.zeros([1, 3, 3, 3]))
    ),
    'crafter_items': lambda: crafter.crafter_items(tf.zeros([1, 9, 9, 3])),
    'crafter_kinds': lambda: crafter.crafter_kinds(tf.zeros([1, 9, 9, 3])),
    'minigrid_state': lambda: cells.minigrid_state(0, None),
    'ram_bytes': lambda: cells.ram_bytes(0, None),
    'OnPolicyTraining': on_policy.OnPolicyTraining,
    'ReplayTraining': off_policy.ReplayTraining,
    'TwoLevelTraining': two_level.TwoLevelTraining,
    'TensorBoardLogger': loggers.TensorBoardLogger,
    'WandbLogger': wandb_logger.WandbLogger,
    'MLflowLogger': mlflow_logger.MLflowLogger,
    'EntryGoals': lambda: hierarchy.EntryGoals(agent_test_utils.FLAT),
    'OpenGoals': lambda: hierarchy.OpenGoals(agent_test_utils.FLAT),
    'PositionGoals': lambda: hierarchy.PositionGoals(agent_test_utils.FLAT),
    'ladder_epsilon': lambda: epsilons.ladder_epsilon(0, 2),
    'linear_epsilon': lambda: epsilons.linear_epsilon(0, 2),
    'exponential_epsilon': (lambda: epsilons.exponential_epsilon(0, 2)),
    'PrioritizedReplay': functools.partial(
        prioritized_replay.PrioritizedReplay, None, seed=np.uint64(1)
    ),
}
_PACKAGES = {'load_atari': 'ale_py', 'RoomsVisited': 'ale_py',
             'load_minigrid': 'minigrid', 'FixedWorld': 'minigrid',
             'WandbLogger': 'wandb', 'MLflowLogger': 'mlflow'}


def test_all_configurables_are_known_here():
  assert set(_FOUND) == {f'rnd_agents.{name}' for name in _CALLS}


@pytest.mark.parametrize('name', _CALLS)
def test_parameters_arrive_or_are_refused(name):
  if name in _PACKAGES:
    pytest.importorskip(_PACKAGES[name])
  selector = f'rnd_agents.{name}'
  assert not gin_parameters.without_effect(
      selector, _FOUND[selector], _CALLS[name]
  )


_REQUIRED = {
    'ReturnStream': dict(name='extrinsic', discount_factor=0.99),
    'load_environment': dict(env='CartPole-v1'),
    'PrioritizedReplay': dict(max_sequences=10),
}
_FLAGS = [
    (owner, parameter.name)
    for owner, call in _CALLS.items()
    if call is not None
    for parameter in inspect.signature(
        _FOUND[f'rnd_agents.{owner}']
    ).parameters.values()
    if isinstance(parameter.default, bool)
]


@pytest.mark.parametrize(('owner', 'flag'), _FLAGS)
def test_a_text_is_no_flag(owner, flag):
  # A program may pass one; texts in gin files are refused as they are read.
  if owner in _PACKAGES:
    pytest.importorskip(_PACKAGES[owner])
  for name, value in _REQUIRED.get(owner, {}).items():
    gin.bind_parameter(f'{owner}.{name}', value)
  gin.bind_parameter(f'{owner}.{flag}', 'False')
  with pytest.raises(errors.UserError, match=f"{flag} must be .*'False'"):
    made = _CALLS[owner]()
    # Settings of a run are checked when it starts.
    made.check(*[1_000, 2] if owner == 'ReplayTraining' else [])


@pytest.mark.parametrize('name', agents.rnd_ppo_arguments.UNUSED_PPO_ARGUMENTS)
def test_arguments_of_the_parent_without_an_effect_are_refused(name):
  with pytest.raises(ValueError, match='denylisted'):
    gin.bind_parameter(f'RNDPPOAgent.{name}', 1)


def test_arguments_of_the_parent_arrive():
  bindings = [
      'RNDPPOAgent.greedy_eval = False',
      'RNDPPOAgent.lambda_value = 0.5',
      'RNDPPOAgent.check_numerics = True',
  ]
  _rnd_ppo(*bindings)()
  for binding in bindings:
    assert binding in gin.operative_config_str()


def test_a_function_arrives():
  gin.parse_config("""
      create_r2d3_agent.curiosity_fn = @create_rnd
      create_rnd.observation_fn = @newest_frame_observation_fn
  """)
  for build in (agents.create_rnd_ppo_agent, agents.create_r2d3_agent):
    seen = build(*_SPECS).curiosity.rnd_network.input_tensor_spec
    assert seen == tf.TensorSpec([1], tf.float32)


def test_what_a_loader_is_passed_is_refused_by_name():
  for name in ('num_environments', 'seed', 'vectorization', 'wrappers',
               'reward_fn', 'max_episode_steps', 'step_timeout_s'):
    for loader in ('load_atari', 'load_minigrid'):
      with pytest.raises(ValueError, match=name):
        gin.bind_parameter(f'{loader}.{name}', 1)


def test_settings_of_other_libraries_are_answered_with_ours():
  for name, instead in foreign_names.INSTEAD.items():
    for owner, parameter in re.findall(r'([A-Za-z_0-9]+)\.([a-z_]+)', instead):
      taken = inspect.signature(_FOUND[f'rnd_agents.{owner}']).parameters
      inherited = inspect.signature(ppo_agent.PPOAgent.__init__).parameters
      is_kept = owner == 'RNDPPOAgent' and parameter in inherited
      assert parameter in taken or is_kept, (name, owner, parameter)


@pytest.mark.parametrize(
    'binding, instead',
    [
        ('RNDPPOAgent.use_rnd = True', 'create_rnd_ppo_agent.curiosity_fn'),
        ('RNDPPOAgent.rnd_normalize_rewards = True', 'bonus is always divided'),
        (
            'RNDPPOAgent.observation_and_action_constraint_splitter = None',
            'load_environment.action_mask_key',
        ),
        ('ReplayTraining.pho = 0.25', 'ReplayTraining.demonstration_ratio'),
        ('load_environment.dynamic_seed = False', '--seed'),
        ('OnPolicyTraining.n_steps = 128', 'OnPolicyTraining.rollout_length'),
        ("ReplayTraining.window_remainder = 'null_padding'", "is 'pad' here"),
    ],
)
def test_foreign_names_are_answered_where_they_are_bound(binding, instead):
  with pytest.raises(errors.UserError, match=instead):
    gin_files.parse([], [binding])
    _rnd_ppo()()
    off_policy.ReplayTraining().check(1_000, 2)


@gin.configurable(module='gin_parameters_test')
def _sum_of(first, second=2, third=3):
  return first + second + third


def test_a_parameter_that_the_caller_passes_is_found():
  assert gin_parameters.without_effect(
      'gin_parameters_test._sum_of', _sum_of, lambda: _sum_of(third=1)
  ) == ['third']
