# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ActorCriticNetwork: one pass, two views, by hand from weights."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import recurrent_cores
from tests import tensors

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


def _assert_by_hand(outputs, features, value_features, layers):
  """Compares with residual layers, if there are any, and heads in NumPy."""
  *residuals, policy, extrinsic, intrinsic = layers
  if residuals:
    features, value_features = [
        x + np.maximum(x @ kernel + bias, 0)
        for x, (kernel, bias) in zip(
            (features, value_features), residuals, strict=True
        )
    ]
  distribution, values = outputs
  np.testing.assert_allclose(
      distribution.logits_parameter(),
      features @ policy[0] + policy[1],
      rtol=1e-4,
      atol=1e-5,
  )
  # The extrinsic value stands first.
  expected = [
      value_features @ kernel + bias for kernel, bias in (extrinsic, intrinsic)
  ]
  np.testing.assert_allclose(
      values, np.concatenate(expected, -1), rtol=1e-4, atol=1e-5
  )


@pytest.mark.parametrize(
    ('two_trunks', 'units'), [(False, None), (False, 6), (True, 6)]
)
def test_heads_by_hand(two_trunks, units):
  network = _network(residual_units=units, two_trunks=two_trunks)
  _roughen(network)
  pairs = _variables(network)
  num_trunks = 1 + two_trunks
  assert _shapes(pairs) == (
      [(3, 6)] * num_trunks
      + ([] if units is None else [(6, 6)] * 2)
      + [(6, 4), (6, 1), (6, 1)]
  )
  observations = _observations()
  outputs, state = network(observations)
  assert state == ()
  features = [
      np.tanh(observations @ kernel + bias)
      for kernel, bias in pairs[:num_trunks]
  ]
  _assert_by_hand(outputs, features[0], features[-1], pairs[num_trunks:])
  names = [v.name for v in network.variables[-4:]]
  assert ['value_0' in name for name in names] == [True, True, False, False]


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
  assert policy_net.state_spec == network.state_spec == ()


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


def test_what_the_value_loss_moves_of_two_trunks():
  network = _network(two_trunks=True)
  with tf.GradientTape() as tape:
    (_, values), _ = network(_observations())
    loss = tf.reduce_sum(values)
  gradients = tape.gradient(loss, network.variables)
  # Trunks, policy head, two value heads. One trunk learns from the values:
  # `test_what_the_losses_move_with_a_core`.
  reached = [g is not None for g in gradients[::2]]
  assert reached == [False, True, False, True, True]


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


# -------------------------------------------------------------------- with core
_FIRST, _MID = int(ts.StepType.FIRST), int(ts.StepType.MID)
# One episode that begins inside, one that goes on.
_STEP_TYPES = np.int32([[_MID, _MID, _FIRST, _MID], [_MID] * 4])
_CORES = (recurrent_cores.LSTMCore, recurrent_cores.GRUCore)
_IMAGE = tensor_spec.BoundedTensorSpec([6, 6, 2], tf.uint8, 0, 255)
_SPECS = {
    'flat': _BOX,
    'image': _IMAGE,
    'dict': {'box': _BOX, 'image': _IMAGE, 'choice': encoders.discrete_spec(5)},
}


def _recurrent(spec, core_class=recurrent_cores.LSTMCore, **kwargs):
  network = actor_critic_network.ActorCriticNetwork(
      spec,
      _CHOICE,
      encoders.create_encoder(spec, (6,)),
      core=core_class(5),
      **kwargs,
  )
  _roughen(network)
  return network


def _samples(spec, *shape):
  """Observations [*shape, ...] of a nest of specs."""
  return tensor_spec.sample_spec_nest(spec, seed=4, outer_dims=shape)


def _states(network, batch_size=2):
  """States of the order of 1, different in each row."""
  rng = np.random.default_rng(8)
  return tf.nest.map_structure(
      lambda spec: tf.constant(
          rng.normal(size=[batch_size, *spec.shape]), tf.float32
      ),
      network.state_spec,
  )


def _at(observations, t):
  return tf.nest.map_structure(lambda x: x[:, t], observations)


@pytest.mark.parametrize('residual_units', [None, 5])
def test_recurrent_heads_by_hand(residual_units):
  core = recurrent_cores.GRUCore(5)
  network = _recurrent(_BOX, lambda _: core, residual_units=residual_units)
  trunk_w, trunk_b, _, _, _, *heads = [v.numpy() for v in network.variables]
  observations, state = _observations((2, 4)), _states(network)
  # recurrent_cores_test.py looks into the core.
  features, expected_state = core(
      np.tanh(observations @ trunk_w + trunk_b), _STEP_TYPES, state
  )
  outputs, final = network(observations, _STEP_TYPES, state)
  layers = list(zip(heads[::2], heads[1::2], strict=True))
  assert len(layers) == 3 + 2 * (residual_units is not None)
  _assert_by_hand(outputs, features.numpy(), features.numpy(), layers)
  np.testing.assert_allclose(final, expected_state, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('core_class', _CORES)
@pytest.mark.parametrize('observed', list(_SPECS))
def test_unrolling_is_stepping(observed, core_class):
  network = _recurrent(_SPECS[observed], core_class, residual_units=5)
  observations = _samples(_SPECS[observed], 2, 4)
  start = state = _states(network)
  (distribution, values), final = network(observations, _STEP_TYPES, start)
  logits = distribution.logits_parameter()
  for t in range(4):
    (distribution, step_values), state = network(
        _at(observations, t), _STEP_TYPES[:, t], state
    )
    np.testing.assert_allclose(
        distribution.logits_parameter(), logits[:, t], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(step_values, values[:, t], rtol=1e-4, atol=1e-5)
  tf.nest.assert_same_structure(state, final)
  for x, y in zip(tf.nest.flatten(state), tf.nest.flatten(final)):
    np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
  # The first row forgets where its episode begins; the second remembers.
  (fresh, fresh_values), _ = network(_at(observations, slice(2, 4)))
  for found, expected in (
      (fresh.logits_parameter(), logits), (fresh_values, values)
  ):
    difference = np.abs(found - expected[:, 2:]).max(axis=(1, 2))
    assert difference[0] < 1e-5 and difference[1] > 1e-3


@pytest.mark.parametrize('core_class', _CORES)
def test_lengths_known_only_to_the_graph(core_class):
  network = _recurrent(_BOX, core_class)
  flat_states = [x.numpy() for x in tf.nest.flatten(_states(network))]

  def apply(observations, step_types, *states):
    (distribution, values), state = network(
        tf.ensure_shape(observations, [None, None, 3]),
        step_types,
        tf.nest.pack_sequence_as(
            network.state_spec, [tf.ensure_shape(x, [None, 5]) for x in states]
        ),
    )
    return [distribution.logits_parameter(), values, *tf.nest.flatten(state)]

  arguments = (_observations((2, 4)), _STEP_TYPES, *flat_states)
  for found, expected in zip(
      tensors.unknown_shapes(apply, *arguments),
      tensors.eager(apply, *arguments),
  ):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('core_class', _CORES)
def test_views_share_one_state(core_class):
  network = _recurrent(_BOX, core_class, residual_units=5)
  policy_net, value_net = network.views()
  spec = network.state_spec
  assert spec == core_class(5).state_spec
  assert policy_net.state_spec == spec == value_net.state_spec
  # Keras would wrap what it tracks, and Reverb's tables refuse lists.
  assert type(policy_net.state_spec) is type(core_class(5).state_spec)
  states = _states(network)
  for observations, step_types in (
      (_observations((2, 4)), _STEP_TYPES),
      (_observations((2,)), _STEP_TYPES[:, 0]),
  ):
    (distribution, values), final = network(observations, step_types, states)
    policy, policy_final = policy_net(observations, step_types, states)
    found_values, value_final = value_net(observations, step_types, states)
    np.testing.assert_array_equal(
        policy.logits_parameter(), distribution.logits_parameter()
    )
    np.testing.assert_array_equal(found_values, values)
    for view_final in (policy_final, value_final):
      tf.nest.assert_same_structure(view_final, states)
      for x, y in zip(tf.nest.flatten(view_final), tf.nest.flatten(final)):
        np.testing.assert_array_equal(x, y)
    # The state enters both; without one it is 0.
    zeros = tf.nest.map_structure(tf.zeros_like, states)
    fresh = value_net(observations, step_types)[0]
    np.testing.assert_array_equal(
        fresh, value_net(observations, step_types, zeros)[0]
    )
    assert np.abs(fresh - values).max() > 1e-3
    fresh = policy_net(observations, step_types)[0].logits_parameter()
    assert np.abs(fresh - distribution.logits_parameter()).max() > 1e-3
  own = {v.ref() for v in network.variables}
  assert len(own) == 2 + 3 + 4 + 6
  for view in (policy_net, value_net):
    assert {v.ref() for v in view.trainable_variables} == own


def test_what_the_losses_move_with_a_core():
  network = _recurrent(_BOX, residual_units=5)
  with tf.GradientTape(persistent=True) as tape:
    (distribution, values), _ = network(_observations((2, 4)), _STEP_TYPES)
    value_loss = tf.reduce_sum(values)
    policy_loss = tf.reduce_sum(
        distribution.log_prob(np.tile([0, 1, 2, 3], [2, 1]))
    )
  shared = [True] * (2 + 3)  # Trunk and core learn from both.
  # Residual layers of policy and values, policy head, two value heads.
  for loss, heads in (
      (value_loss, [False, True, False, True, True]),
      (policy_loss, [True, False, True, False, False]),
  ):
    gradients = tape.gradient(loss, network.trainable_variables)
    assert [g is not None and np.abs(g).max() > 1e-4 for g in gradients] == (
        shared + [reached for reached in heads for _ in range(2)]
    )


def test_core_on_two_trunks_is_refused():
  with pytest.raises(ValueError, match='one trunk and one core'):
    _network(two_trunks=True, core=recurrent_cores.LSTMCore(5))
