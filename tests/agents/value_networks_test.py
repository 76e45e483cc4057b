# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TF-Agents' own value networks, one a stream."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.networks import value_network

from rnd_agents import errors
from rnd_agents.agents import return_streams
from tests.agents import agent_test_utils as utils


def _values(seed, layers=(8,)):
  tf.random.set_seed(seed)
  net = value_network.ValueNetwork(
      utils.FLAT,
      fc_layer_params=layers,
      activation_fn=tf.keras.activations.tanh,
  )
  net.create_variables()
  return net


class _BothHeads(network.Network):
  """A user's network of two heads: the same two, by hand."""

  def __init__(self, first, second):
    super().__init__(utils.FLAT, state_spec=(), name='BothHeads')
    self._first, self._second = first, second

  def call(self, observation, step_type=(), network_state=(), training=False):
    del step_type, training
    values = [net(observation)[0] for net in (self._first, self._second)]
    return tf.stack(values, axis=-1), network_state


def _assert_trained_alike(first, second, pairs):
  """Compares an update of two agents, whose variables correspond."""
  was = [variable.numpy() for variable, _ in pairs]
  infos = [agent.train(utils.rollout(agent)) for agent in (first, second)]
  np.testing.assert_allclose(infos[0].loss, infos[1].loss, rtol=1e-6)
  for then, (x, y) in zip(was, pairs, strict=True):
    assert np.any(x != then), x.name
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7)


def test_a_network_a_stream_is_a_network_of_two_heads():
  nets = [utils.small_networks(utils.FLAT, utils.DISCRETE) for _ in range(2)]
  value_nets = (_values(1), _values(2)), _BothHeads(_values(1), _values(2))
  agents = [
      utils.build_agent(nets=each._replace(value_net=value_net)._asdict())
      for each, value_net in zip(nets, value_nets)
  ]
  utils.copy_variables(*agents)
  first, second = value_nets
  trained = [v for net in first for v in net.trainable_variables]
  _assert_trained_alike(
      *agents, list(zip(trained, second.trainable_variables, strict=True))
  )


def test_one_stream_takes_one_value_network():
  value_net = _values(1)
  agents = []
  for replaces in (False, True):
    nets = utils.small_networks(
        utils.FLAT, utils.DISCRETE, value_fc_layer_params=(8,), num_values=1
    )
    agent = utils.build_agent(
        nets=dict(
            actor_net=nets.actor_net,
            value_net=value_net if replaces else nets.value_net,
        ),
        streams=[return_streams.ReturnStream('extrinsic', 0.9)],
    )
    agents.append((agent, nets))
  (ours, ours_nets), (theirs, their_nets) = agents
  actors = [nets.actor_net.weights_behind for nets in (ours_nets, their_nets)]
  pairs = [
      *zip(*actors, strict=True),
      *zip(
          ours_nets.value_net.weights_behind,
          value_net.trainable_variables,
          strict=True,
      ),
  ]
  for mine, other in pairs:
    other.assign(mine)
  theirs._shuffling.state.assign(ours._shuffling.state)
  _assert_trained_alike(ours, theirs, pairs)


@pytest.mark.parametrize(
    'value_net, message',
    [
        (lambda: (_values(1),) * 2, 'one network twice'),
        (lambda: tuple(map(_values, range(3))), 'must have 2 heads'),
        (lambda: (_values(1), utils.Slice(utils.FLAT, 0, 2)), 'one value a'),
        (lambda: (_values(1), None), 'must be a tf_agents Network'),
        (lambda: (), 'must be a tf_agents Network'),
    ],
)
def test_value_networks_that_do_not_fit_are_refused(value_net, message):
  nets = utils.small_networks(utils.FLAT, utils.DISCRETE)
  with pytest.raises(errors.UserError, match=message):
    utils.build_agent(nets=nets._replace(value_net=value_net())._asdict())
