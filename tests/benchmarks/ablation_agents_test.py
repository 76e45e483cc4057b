# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ablations change what they name."""

import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from benchmarks import ablation_agents
from rnd_agents import agents
from rnd_agents import curiosity
from tests.agents import agent_test_utils


def _agent(*bindings):
  tf.keras.utils.set_random_seed(0)
  gin.clear_config()
  gin.parse_config(bindings)
  try:
    return agents.create_rnd_ppo_agent(
        ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE
    )
  finally:
    gin.clear_config()


def _curious(name):
  return _agent(f'create_rnd_ppo_agent.curiosity_fn = @{name}')


def test_one_value_head():
  agent = _agent(
      'RNDPPOAgent.streams = @one_value_head',
      'create_networks.num_values = 1',
      'create_rnd_ppo_agent.curiosity_fn = None',  # As operative_config.gin.
      'one_value_head.bonus_weight = 0.25',
  )
  (stream,) = agent.streams
  assert stream.reward == [(1.0, None), (0.25, agent.curiosity)]
  info = agent.train(agent_test_utils.rollout(agent)).extra
  assert info.bonus_mean > 0


def test_current_observation():
  agent = _curious('create_current_observation')
  assert isinstance(agent.curiosity, ablation_agents.CurrentObservation)
  experience = agent_test_utils.rollout(agent)
  transitions = curiosity.Transitions.of_trajectory(experience)
  rnd = agent.curiosity
  errors = rnd.errors(experience.observation[:, :-1])
  np.testing.assert_allclose(rnd.bonus(transitions), errors, rtol=1e-5)
  np.testing.assert_allclose(
      rnd.loss(transitions.flatten()),
      np.mean(errors[transitions.valid]),
      rtol=1e-5,
  )
  assert agent.train(experience).extra.rnd_loss > 0
