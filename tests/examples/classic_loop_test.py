# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The classic loop: what it counts, trains, saves and takes up again."""

import os

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from examples import classic_loop


def _values(variables):
  return [variable.numpy() for variable in variables]


def _assert_equal(a, b):
  for x, y in zip(a, b, strict=True):
    np.testing.assert_array_equal(x, y)


def _mean_error(agent, observations, weights):
  """RND's error with other weights of the predictor."""
  for variable, value in zip(
      agent.curiosity.rnd_network.variables, weights, strict=True
  ):
    variable.assign(value)
  return agent.rnd_loss(observations)[1].numpy()


def test_trains_saves_and_goes_on(tmp_path, monkeypatch):
  drawn = []  # (predictor, target) of every agent, as they were drawn.
  create_agent = classic_loop.create_agent

  def remember(env):
    agent = create_agent(env)
    drawn.append((
        _values(agent.curiosity.rnd_network.variables),
        _values(agent.curiosity.target_rnd_network.variables),
    ))
    return agent

  monkeypatch.setattr(classic_loop, 'create_agent', remember)
  small = dict(num_envs=4, rollout_length=16)

  first, metrics = classic_loop.train(tmp_path, 3, **small)

  # 4 epochs of 4 minibatches; nothing ends in the first 3 * 17 steps.
  assert first.train_step_counter.numpy() == 3 * 16
  assert metrics['env_steps'].result().numpy() == 3 * 4 * 17
  _assert_equal(
      _values(first.curiosity.target_rnd_network.variables), drawn[0][1]
  )
  # The cars have not left the bottom: it is less of a surprise than before.
  bottom = tf.constant([[[x, 0.0] for x in np.linspace(-0.6, -0.4, 50)]])
  trained = _values(first.curiosity.rnd_network.variables)
  assert _mean_error(first, bottom, trained) < 0.7 * _mean_error(
      first, bottom, drawn[0][0]
  )

  saved = tf.saved_model.load(os.path.join(tmp_path, 'policy'))
  low, high = [-1.2, -0.07], [0.6, 0.07]
  states = ts.restart(
      np.random.default_rng(0).uniform(low, high, [500, 2]).astype(np.float32),
      batch_size=500,
  )
  _assert_equal(
      _values(saved.model_variables), _values(first.policy.variables())
  )
  actions = first.policy.action(states).action
  np.testing.assert_array_equal(saved.action(states, ()).action, actions)

  second, metrics = classic_loop.train(tmp_path, 3, **small)

  # All iterations are done: it has what the first one had, and no more.
  assert second.train_step_counter.numpy() == 3 * 16
  assert metrics['env_steps'].result().numpy() == 0
  _assert_equal(
      _values(second.policy.variables()), _values(first.policy.variables())
  )
  _assert_equal(_values(second.curiosity.rnd_network.variables), trained)
  _assert_equal(
      _values(second.curiosity.target_rnd_network.variables), drawn[0][1]
  )
  assert len(drawn) == 2
