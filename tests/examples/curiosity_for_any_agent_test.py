# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A curious DQN learns, and so does its curiosity."""

import numpy as np

from examples import curiosity_for_any_agent as example
from rnd_agents import curiosity


def test_dqn_and_predictor_learn_together():
  drawn = []

  def remember(*specs):
    rnd = curiosity.create_rnd(*specs)
    for network in (rnd.rnd_network, rnd.target_rnd_network):
      drawn.append([variable.numpy() for variable in network.variables])
    return rnd

  agent, replay_buffer = example.train(
      'CartPole-v1', num_iterations=100, num_envs=2, curiosity_fn=remember
  )
  rnd = agent.curiosity

  assert agent.train_step_counter.numpy() == 100
  rows = replay_buffer.gather_all()
  # A transition of each environment an iteration, and 100 before the first;
  # the driver takes one more of one of them where the other one starts anew.
  assert 2 * 200 <= np.sum(~rows.is_boundary()) < 3 * 200
  observations = rows.observation
  for variable, value in zip(
      rnd.target_rnd_network.variables, drawn[1], strict=True
  ):
    np.testing.assert_array_equal(variable, value)
  after = np.mean(rnd.errors(observations))
  for variable, value in zip(rnd.rnd_network.variables, drawn[0], strict=True):
    variable.assign(value)
  assert after < 0.8 * np.mean(rnd.errors(observations))


def test_replayed_transitions_know_their_episode():
  agent, replay_buffer = example.train(
      'rnd_agents/DeepSea-v0',
      num_iterations=50,
      num_envs=2,
      curiosity_fn=example.CURIOSITIES['novel_d'],
  )
  rows = replay_buffer.gather_all()
  transitions = curiosity.Transitions.of_trajectory(rows)
  # No cell of Deep Sea is seen twice in an episode.
  np.testing.assert_array_equal(
      transitions.episodic.numpy()[transitions.valid.numpy()], 1
  )
  rewards = agent.curiosity.rewards(transitions).numpy()
  assert 0.2 < np.mean(rewards > 0) < 1
