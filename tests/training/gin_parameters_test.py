# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each gin parameter of a run and its agents arrives, or gin refuses it."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.agents import agent_factory
from rnd_agents.networks import encoders
from rnd_agents.replay import prioritized_replay
from rnd_agents.training import epsilons
from rnd_agents.training import experiment
from rnd_agents.training import off_policy
from rnd_agents.training import on_policy
from tests import gin_parameters

_FOUND = gin_parameters.configurables(
    'rnd_agents/agents',
    'rnd_agents/collecting',
    'rnd_agents/curiosity',
    'rnd_agents/networks',
    'rnd_agents/plotting',
    'rnd_agents/replay',
    'rnd_agents/training',
)
_SPECS = (
    ts.time_step_spec(tf.TensorSpec([3], tf.float32)),
    encoders.discrete_spec(2),
)
_IMAGES = (
    ts.time_step_spec(tf.TensorSpec([12, 12, 1], tf.uint8)),
    encoders.discrete_spec(2),
)


def _agent(specs=_SPECS, **arguments):
  return functools.partial(
      agent_factory.create_rnd_ppo_agent, *specs, **arguments
  )


_r2d3 = functools.partial(agent_factory.create_r2d3_agent, *_SPECS)
# What a run does to call each of them; None where all parameters are refused.
_CALLS = {
    'rnd_agents.train_eval': functools.partial(experiment.Experiment, 'folder'),
    'rnd_agents.OnPolicyTraining': on_policy.OnPolicyTraining,
    'rnd_agents.ReplayTraining': off_policy.ReplayTraining,
    'rnd_agents.ladder_epsilon': lambda: epsilons.ladder_epsilon(0, 2),
    'rnd_agents.linear_epsilon': lambda: epsilons.linear_epsilon(0, 2),
    'rnd_agents.exponential_epsilon': (
        lambda: epsilons.exponential_epsilon(0, 2)
    ),
    'rnd_agents.PrioritizedReplay': functools.partial(
        prioritized_replay.PrioritizedReplay,
        None,
        seed=np.uint64(1),
        checkpoint_dir=None,
        restore_from=None,
    ),
    'rnd_agents.create_rnd_ppo_agent': _agent(),
    'rnd_agents.create_r2d3_agent': _r2d3,
    'rnd_agents.RNDPPOAgent': _agent(),
    'rnd_agents.R2D3Agent': _r2d3,
    'rnd_agents.create_networks': _agent(),
    'rnd_agents.create_q_networks': _r2d3,
    'rnd_agents.key_observation_fn': None,
    'rnd_agents.newest_frame_observation_fn': None,
}


def test_all_configurables_are_known_here():
  assert set(_FOUND) == set(_CALLS)


@pytest.mark.parametrize('selector', _CALLS)
def test_parameters_arrive_or_are_refused(selector):
  ignored = gin_parameters.without_effect(
      selector, _FOUND[selector], _CALLS[selector]
  )
  assert not ignored
