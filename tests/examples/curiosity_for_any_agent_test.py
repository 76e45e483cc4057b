# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A curious DQN learns, and so does its curiosity."""

import numpy as np

from examples import curiosity_for_any_agent as example


def test_dqn_and_predictor_learn_together(monkeypatch):
  drawn = []
  create_curiosity = example.create_curiosity

  def remember(spec):
    rnd = create_curiosity(spec)
    for network in (rnd.rnd_network, rnd.target_rnd_network):
      drawn.append([variable.numpy() for variable in network.variables])
    return rnd

  monkeypatch.setattr(example, 'create_curiosity', remember)

  agent, rnd, replay_buffer = example.train(
      'CartPole-v1', num_iterations=100, num_envs=2
  )

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
  for variable, value in zip(
      rnd.rnd_network.variables, drawn[0], strict=True
  ):
    variable.assign(value)
  assert after < 0.8 * np.mean(rnd.errors(observations))
