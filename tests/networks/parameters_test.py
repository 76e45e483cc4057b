# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks copied with parameters of their own, and parameters by position."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.networks import parameters
from tests.agents import agent_test_utils as utils

_VECTOR = tf.TensorSpec([3], tf.float32)
_IMAGE = tensor_spec.BoundedTensorSpec([9, 9, 2], tf.uint8, 0, 255)
_ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)


def _create(spec=_VECTOR, **kwargs):
  return networks.create_networks(
      spec, _ACTION, rnd_networks_fn=None, fc_layer_params=(8,), **kwargs
  ).actor_net.actor_critic


def _q_network(core=None, **kwargs):
  return networks.create_q_networks(
      _VECTOR, _ACTION, fc_layer_params=(8,), core=core, **kwargs
  ).q_network


_NETWORKS = dict(
    actor_critic=_create,
    two_trunks=lambda: _create(
        dict(a=_VECTOR, b=_IMAGE), value_fc_layer_params=(8,),
        residual_heads=True,
    ),
    with_lstm=lambda: _create(core=networks.LSTMCore(4)),
    values=lambda: _create(core=networks.GRUCore(4)).views()[1],
    q_network=_q_network,
    q_network_with_gru=lambda: _q_network(networks.GRUCore(4)),
    predictor=lambda: networks.RNDNetwork(_VECTOR, (8,), 4),
    target=lambda: networks.RNDNetwork(_IMAGE, (8,), 4, trainable=False),
)


def _values(net):
  return [variable.numpy() for variable in net.variables]


def _outputs(net):
  """Numbers that a network makes of sequences, from a state that is not 0."""
  state = tf.nest.map_structure(
      lambda spec: tf.fill([2, *spec.shape], 0.3), net.state_spec
  )
  observation = utils.sample(net.input_tensor_spec, [2, 5], seed=1)
  step_type = tf.constant([[1, 1, 2, 0, 1], [1] * 5])
  outputs, state = net(observation, step_type, network_state=state)
  return [
      getattr(output, 'logits', output).numpy()
      for output in tf.nest.flatten((outputs, state))
  ]


@pytest.mark.parametrize('name', _NETWORKS)
def test_a_copy_has_parameters_of_its_own(name):
  net = _NETWORKS[name]()
  before = _values(net)
  other = net.copy(name='Other')
  other.create_variables()

  own = {variable.ref() for variable in net.variables}
  assert not own & {variable.ref() for variable in other.variables}
  assert len(net.trainable_variables) == len(other.trainable_variables)
  assert other.state_spec == net.state_spec
  # Drawn anew, and not copied.
  assert all(
      np.all(a != b)
      for a, b in zip(before, _values(other), strict=True)
      if a.ndim > 1
  )
  assert not np.allclose(_outputs(net)[0], _outputs(other)[0])

  for variable in other.variables:
    variable.assign_add(tf.ones_like(variable))
  for a, b in zip(before, _values(net), strict=True):
    np.testing.assert_array_equal(a, b)

  parameters.update(net, other)
  names = [[v.name for v in each.variables] for each in (net, other)]
  assert names[0] != names[1]
  for a, b in zip(_outputs(net), _outputs(other), strict=True):
    np.testing.assert_array_equal(a, b)


def test_a_share_of_the_way_is_a_mixture():
  net, other = _q_network(), _q_network()
  expected = [0.25 * a + 0.75 * b for a, b in zip(_values(net), _values(other))]
  parameters.update(net, other, tau=0.25)
  for a, b in zip(expected, _values(other), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize(
    'difference', [dict(head_units=5), dict(dueling=False)]
)
def test_another_structure_is_refused_before_anything_changes(difference):
  net, other = _q_network(), _q_network(**difference)
  before = _values(other)
  with pytest.raises(errors.InvalidValue, match='source and target must have'):
    parameters.update(net, other)
  for a, b in zip(before, _values(other), strict=True):
    np.testing.assert_array_equal(a, b)


def test_target_that_tf_agents_copies_is_a_network_of_its_own():
  net = _q_network()
  agent = dqn_agent.DqnAgent(ts.time_step_spec(_VECTOR), _ACTION, net, None)
  agent.initialize()
  target = agent._target_q_network
  for variable in net.trainable_variables:
    variable.assign_add(tf.ones_like(variable))
  for a, b in zip(_values(net), _values(target), strict=True):
    np.testing.assert_allclose(a, b + 1.0, atol=1e-6)
