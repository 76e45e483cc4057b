# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two agents on one network object: its variables are there once."""

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from tests.agents import agent_test_utils as utils


def _agents(**settings):
  """Two agents on one policy and value network, each with its own RND."""
  nets = utils.small_networks(utils.FLAT, utils.DISCRETE)
  other = utils.small_networks(utils.FLAT, utils.DISCRETE)
  shared = other._replace(actor_net=nets.actor_net, value_net=nets.value_net)
  return nets.actor_net, [
      utils.build_agent(
          nets=each._asdict(),
          **{name: value() for name, value in settings.items()},
      )
      for each in (nets, shared)
  ]


def _logits(agent):
  observations = utils.sample(utils.FLAT, [7], seed=3)
  return agent.collect_policy.distribution(
      ts.restart(observations, 7)
  ).action.logits.numpy()


def _num_slots(optimizer):
  """Of momenta and velocities; all that is trained here has a dimension."""
  return sum(variable.shape.rank > 0 for variable in optimizer.variables)


def test_a_checkpoint_has_the_network_once(tmp_path):
  net, agents = _agents()
  random = np.random.RandomState(0)
  values = [random.normal(size=v.shape) for v in net.variables]
  for variable, value in zip(net.variables, values, strict=True):
    variable.assign(value)
  checkpoint = tf.train.Checkpoint(first=agents[0], second=agents[1])
  path = checkpoint.save(tmp_path / 'both')

  reader = tf.train.load_checkpoint(path)
  saved = [
      reader.get_tensor(key)
      for key in reader.get_variable_to_shape_map()
      if not key.startswith('_CHECKPOINTABLE')
  ]
  for value in values:
    assert sum(
        np.shape(each) == value.shape and np.allclose(each, value)
        for each in saved
    ) == 1

  for variable in net.variables:
    variable.assign(tf.zeros_like(variable))
  checkpoint.restore(path).assert_consumed()
  for variable, value in zip(net.variables, values, strict=True):
    np.testing.assert_allclose(variable, value, rtol=1e-6)


def test_optimizers_have_each_variable_once():
  net, agents = _agents()
  predictor = agents[0].curiosity.rnd_network
  num_trained = len(net.variables) + len(predictor.variables)
  for agent in agents:  # Policy and values are two views of the network.
    assert _num_slots(agent.optimizers[0]) == 2 * num_trained


def test_what_one_learns_the_other_knows_and_both_may_have_one_optimizer():
  optimizer = utils.adam()
  net, agents = _agents(optimizer=lambda: optimizer, rnd_optimizer=utils.adam)
  before = _logits(agents[0])
  for number, agent in enumerate(agents, start=1):
    agent.train(utils.rollout(agent))
    logits = [_logits(each) for each in agents]
    np.testing.assert_array_equal(*logits)
    assert np.all(logits[0] != before)
    before = logits[0]
    assert optimizer.iterations.numpy() == number * 6
  assert _num_slots(optimizer) == 2 * len(net.variables)
