# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ActorCriticNetwork: one pass, two views, by hand from weights."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders

_BOX = tf.TensorSpec([3], tf.float32)
_CHOICE = encoders.discrete_spec(4)


def _observations(shape=(5,), seed=0):
  values = np.random.default_rng(seed).normal(size=[*shape, 3])
  return values.astype(np.float32)


def _network(action_spec=_CHOICE, two_trunks=False, **kwargs):
  return actor_critic_network.ActorCriticNetwork(
      _BOX,
      action_spec,
      encoders.create_encoder(_BOX, (6,)),
      encoders.create_encoder(_BOX, (6,)) if two_trunks else None,
      **kwargs,
  )


def _variables(network):
  """Kernels and biases of the network by the part they belong to.

  In the order of their making: trunks, residual layers, heads.
  """
  flat = [v.numpy() for v in network.variables]
  return list(zip(flat[::2], flat[1::2], strict=True))


def _roughen(network):
  """Weights and biases of the order of 1, so that every part shows."""
  rng = np.random.default_rng(5)
  for variable in network.variables:
    variable.assign(rng.normal(0, 0.5, size=variable.shape))


def _shapes(pairs):
  return [kernel.shape for kernel, _ in pairs]


def test_both_heads_by_hand():
  network = _network()
  _roughen(network)
  (trunk, policy, extrinsic, intrinsic) = _variables(network)
  assert _shapes([trunk, policy, extrinsic, intrinsic]) == [
      (3, 6), (6, 4), (6, 1), (6, 1)
  ]
  observations = _observations()
  features = np.tanh(observations @ trunk[0] + trunk[1])
  (distribution, values), state = network(observations)
  assert state == ()
  np.testing.assert_allclose(
      distribution.logits_parameter(),
      features @ policy[0] + policy[1],
      rtol=1e-4,
      atol=1e-5,
  )
  # The extrinsic value stands first.
  expected = [
      features @ head[0][:, 0] + head[1] for head in (extrinsic, intrinsic)
  ]
  np.testing.assert_allclose(
      values, np.stack(expected, -1), rtol=1e-4, atol=1e-5
  )
  names = [v.name for v in network.variables[-4:]]
  assert ['extrinsic' in name for name in names] == [True, True, False, False]


@pytest.mark.parametrize('two_trunks', [False, True])
def test_residual_heads_by_hand(two_trunks):
  network = _network(residual_units=6, two_trunks=two_trunks)
  _roughen(network)
  *trunks, policy_residual, value_residual, policy, extrinsic, intrinsic = (
      _variables(network)
  )
  assert len(trunks) == 1 + two_trunks
  assert _shapes([policy_residual, value_residual, policy]) == [
      (6, 6), (6, 6), (6, 4)
  ]
  observations = _observations()

  def residual(trunk, layer):
    features = np.tanh(observations @ trunk[0] + trunk[1])
    return features + np.maximum(features @ layer[0] + layer[1], 0)

  policy_features = residual(trunks[0], policy_residual)
  value_features = residual(trunks[-1], value_residual)
  (distribution, values), _ = network(observations)
  np.testing.assert_allclose(
      distribution.logits_parameter(),
      policy_features @ policy[0] + policy[1],
      rtol=1e-4,
      atol=1e-5,
  )
  expected = [
      value_features @ head[0][:, 0] + head[1]
      for head in (extrinsic, intrinsic)
  ]
  np.testing.assert_allclose(
      values, np.stack(expected, -1), rtol=1e-4, atol=1e-5
  )


def test_first_weights():
  network = _network(residual_units=6)
  gains = [
      np.linalg.svd(kernel)[1].round(5) for kernel, _ in _variables(network)
  ]
  # Trunk, two residual layers, policy, two values.
  expected = [2**0.5, 0.1, 0.1, 0.01, 0.01, 0.01]
  for found, gain in zip(gains, expected, strict=True):
    np.testing.assert_allclose(found, gain, rtol=1e-3)
  kernels = [kernel for kernel, _ in _variables(network)]
  assert np.abs(kernels[1] - kernels[2]).max() > 0.01
  assert np.abs(kernels[4] - kernels[5]).max() > 0.001
  other = _network(policy_init_gain=0.5, value_init_gain=2.0)
  gains = [np.linalg.svd(kernel)[1] for kernel, _ in _variables(other)]
  for found, gain in zip(gains, [2**0.5, 0.5, 2.0, 2.0], strict=True):
    np.testing.assert_allclose(found, gain, rtol=1e-4)


def test_views_are_the_joint_pass():
  network = _network(residual_units=6, two_trunks=True)
  policy_net, value_net = network.views()
  for batch_shape in ((5,), (2, 5)):
    observations = _observations(batch_shape)
    (distribution, values), _ = network(observations)
    np.testing.assert_array_equal(
        policy_net(observations)[0].logits_parameter(),
        distribution.logits_parameter(),
    )
    np.testing.assert_array_equal(value_net(observations)[0], values)
    assert values.shape == [*batch_shape, 2]
  assert policy_net.actor_critic is network is value_net.actor_critic


def test_views_share_the_weights():
  network = _network()
  policy_net, value_net = network.views()
  own = {v.ref() for v in network.variables}
  assert len(own) == 8
  for view in (policy_net, value_net):
    assert {v.ref() for v in view.variables} == own
    assert {v.ref() for v in view.trainable_variables} == own
    assert len(view.variables) == 8
  observations = _observations()
  before = value_net(observations)[0].numpy()
  policy_net.variables[0].assign_add(tf.ones([3, 6]))
  after = value_net(observations)[0].numpy()
  assert np.abs(after - before).max() > 1e-4
  np.testing.assert_array_equal(after, network(observations)[0][1])


@pytest.mark.parametrize('two_trunks', [False, True])
def test_what_the_value_loss_moves(two_trunks):
  network = _network(two_trunks=two_trunks)
  with tf.GradientTape() as tape:
    (_, values), _ = network(_observations())
    loss = tf.reduce_sum(values)
  gradients = tape.gradient(loss, network.variables)
  reached = [g is not None for g in gradients[::2]]
  # (trunks), policy head, two value heads. One trunk learns from the values.
  trunks = [False, True] if two_trunks else [True]
  assert reached == [*trunks, False, True, True]


def test_nested_actions():
  spec = {
      'walk': tensor_spec.BoundedTensorSpec([2], tf.float32, -1, 1),
      'jump': _CHOICE,
  }
  network = _network(spec, policy_init_gain=1.0)
  policy_net, _ = network.views()
  for net_output in (network(_observations())[0][0],
                     policy_net(_observations())[0]):
    assert set(net_output) == {'walk', 'jump'}
    actions = tf.nest.map_structure(lambda d: d.sample(seed=0), net_output)
    assert actions['jump'].dtype == tf.int64
    assert actions['walk'].shape == [5, 2]
  # Each head draws on the features in its own way.
  features = np.tanh(_observations() @ network.variables[0].numpy())
  kernels = {v.shape[-1]: v.numpy() for v in network.variables[2:]
             if v.shape.rank == 2}
  np.testing.assert_allclose(
      net_output['jump'].logits_parameter(), features @ kernels[4], atol=1e-5
  )
  np.testing.assert_allclose(
      net_output['walk'].mean(), features @ kernels[2], atol=1e-5
  )
