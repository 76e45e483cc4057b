# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter of the environments arrives, or gin refuses it."""

import functools

import gin
import numpy as np
import pytest

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from rnd_agents.tasks import scripted_experts
from tests import gin_parameters

_FOUND = gin_parameters.configurables(
    'rnd_agents/environments', 'rnd_agents/evaluation', 'rnd_agents/tasks'
)
_load = functools.partial(functools.partial, loaders.load_environment)
# What a run does to call each of them; None where all parameters are refused.
_CALLS = {
    'rnd_agents.load_environment': _load(),
    'rnd_agents.load_atari': _load('ALE/Pong-v5'),
    'rnd_agents.load_minigrid': _load('MiniGrid-DoorKey-5x5-v0'),
    'rnd_agents.Recall': _load('rnd_agents/Recall-v0'),
    'rnd_agents.TMaze': _load('rnd_agents/TMaze-v0'),
    'rnd_agents.CueLock': _load('rnd_agents/CueLock-v0'),
    'rnd_agents.StochasticChain': _load('rnd_agents/StochasticChain-v0'),
    'rnd_agents.ActionRepeat': _load(
        'CartPole-v1', wrappers=[wrappers.ActionRepeat]
    ),
    'rnd_agents.SomeEntries': _load(
        'CartPole-v1', wrappers=[wrappers.SomeEntries]
    ),
    'rnd_agents.SomeActions': _load(
        'CartPole-v1', wrappers=[wrappers.SomeActions]
    ),
    'rnd_agents.DelayedReward': _load(
        'CartPole-v1', wrappers=[wrappers.DelayedReward]
    ),
    'rnd_agents.RoomsVisited': _load(
        'ALE/MontezumaRevenge-v5', wrappers=[wrappers.RoomsVisited]
    ),
    'rnd_agents.FixedWorld': _load(
        'MiniGrid-FourRooms-v0', wrappers=[wrappers.FixedWorld]
    ),
    'rnd_agents.deep_sea': functools.partial(
        scripted_experts.deep_sea, np.zeros([1, 3, 3])
    ),
    'rnd_agents.episode_seeds.stream': episode_seeds.stream,
    'rnd_agents.episode_seeds.fixed': episode_seeds.fixed,
    'rnd_agents.episode_seeds.cycle': episode_seeds.cycle,
    'rnd_agents.PreviousActionReward': None,
    'rnd_agents.AgentPosition': None,
    'rnd_agents.MiniGridExpert': None,
    'rnd_agents.sign_of_reward': None,
}
_PACKAGES = {'load_atari': 'ale_py', 'RoomsVisited': 'ale_py',
             'load_minigrid': 'minigrid', 'FixedWorld': 'minigrid'}


def test_all_configurables_are_known_here():
  assert set(_FOUND) == set(_CALLS)


@pytest.mark.parametrize('selector', _CALLS)
def test_parameters_arrive_or_are_refused(selector):
  package = _PACKAGES.get(selector.rpartition('.')[2])
  if package is not None:
    pytest.importorskip(package)
  ignored = gin_parameters.without_effect(
      selector, _FOUND[selector], _CALLS[selector]
  )
  assert not ignored


def test_what_a_loader_is_passed_is_refused_by_name():
  for name in ('num_environments', 'seed', 'vectorization', 'wrappers',
               'reward_fn', 'max_episode_steps', 'step_timeout_s'):
    for loader in ('load_atari', 'load_minigrid'):
      with pytest.raises(ValueError, match=name):
        gin.bind_parameter(f'{loader}.{name}', 1)


@gin.configurable(module='gin_parameters_test')
def _sum_of(first, second=2, third=3):
  return first + second + third


def test_a_parameter_that_the_caller_passes_is_found():
  assert gin_parameters.without_effect(
      'gin_parameters_test._sum_of', _sum_of, lambda: _sum_of(third=1)
  ) == ['third']
