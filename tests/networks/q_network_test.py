# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for q_network: the dueling head in NumPy, memory, and the pair."""

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents.networks import encoders
from rnd_agents.networks import q_network
from rnd_agents.networks import recurrent_cores
from tests.agents import agent_test_utils

FLAT = tf.TensorSpec([3], tf.float32)
ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
CORES = pytest.mark.parametrize(
    'core_class', [recurrent_cores.LSTMCore, recurrent_cores.GRUCore]
)


def _networks(core=None, observation_spec=FLAT, action_spec=ACTION, **sizes):
  sizes = {'fc_layer_params': (6,), 'head_units': 5, **sizes}
  return q_network.create_q_networks(
      observation_spec, action_spec, core=core, **sizes
  )


def _observations(*shape, seed=0):
  values = np.random.RandomState(seed).normal(size=[*shape, 3])
  return tf.constant(values, tf.float32)


def _dense(x, layer, activation=None):
  """A dense layer in float64; `layer` is (kernel, bias)."""
  kernel, bias = (np.float64(v) for v in layer)
  x = x @ kernel + bias
  return np.maximum(x, 0) if activation == 'relu' else x


def _layers(net):
  """Its (kernel, bias) pairs: trunk, advantages, value; not the core's."""
  core = () if net._core is None else net._core.variables
  values = [v.numpy() for v in net.variables if not any(v is x for x in core)]
  return list(zip(values[::2], values[1::2], strict=True))


# ----------------------------------------------------------------------- heads
def _stir(net, seed=0):
  random = np.random.RandomState(seed)
  for variable in net.variables:
    variable.assign_add(0.3 * random.normal(size=variable.shape))
  return net


def _head(features, layers):
  for layer in layers[:-1]:
    features = _dense(features, layer, 'relu')
  return _dense(features, layers[-1])


@pytest.mark.parametrize('head_units', [5, None])
@pytest.mark.parametrize('dueling', [True, False])
@pytest.mark.parametrize('shape', [(7,), (2, 4)])
def test_feed_forward_values_in_numpy(head_units, dueling, shape):
  net = _stir(_networks(head_units=head_units, dueling=dueling).q_network)
  observations = _observations(*shape)
  trunk, *heads = _layers(net)
  depth = 1 if head_units is None else 2
  assert len(heads) == depth * (2 if dueling else 1)
  if head_units is not None:
    assert heads[0][0].shape == (6, 5)
  features = _dense(np.float64(observations), trunk, 'relu')
  expected = advantages = _head(features, heads[:depth])
  assert expected.shape == (*shape, 3)
  if dueling:
    value = _head(features, heads[depth:])
    assert value.shape == (*shape, 1)
    expected = value + advantages - advantages.mean(-1, keepdims=True)
  q_values, state = net(observations)
  np.testing.assert_allclose(q_values, expected, atol=1e-5)
  assert state == () and net.state_spec == ()


def test_dueling_values_worked_out():
  net = _networks(head_units=None).q_network
  for variable in net.variables:
    variable.assign(tf.zeros_like(variable))
  advantages, value = (
      next(v for v in net.variables[3:] if v.shape == [size]) for size in (3, 1)
  )
  advantages.assign([1.0, -2.0, 0.4])
  value.assign([0.5])
  np.testing.assert_allclose(
      net(_observations(1))[0], [[1.7, -1.3, 1.1]], atol=1e-6
  )


def test_first_weights_of_the_heads():
  net = _networks(fc_layer_params=(8,), head_units=6).q_network
  _, *heads = _layers(net)
  for hidden, output in (heads[:2], heads[2:]):
    # Orthogonal columns, of length sqrt(2) before a ReLU and 1 after it.
    np.testing.assert_allclose(
        hidden[0].T @ hidden[0], 2 * np.eye(6), atol=1e-5
    )
    width = output[0].shape[1]
    np.testing.assert_allclose(
        output[0].T @ output[0], np.eye(width), atol=1e-5
    )
    assert not hidden[1].any() and not output[1].any()
  # Value and advantages do not begin as one.
  assert np.abs(heads[0][0] - heads[2][0]).max() > 0.05


def test_hidden_layers_compute_in_bfloat16_and_the_last_one_in_float32():
  exact = _stir(_networks().q_network)
  rounded = _networks(compute_dtype='bfloat16').q_network
  for mine, theirs in zip(rounded.variables, exact.variables, strict=True):
    mine.assign(theirs)
  types = [layer.compute_dtype for layer in rounded._advantage_head.layers]
  assert types == ['bfloat16', 'float32']
  x, y = (net(_observations(50))[0].numpy() for net in (rounded, exact))
  assert x.dtype == np.float32
  assert 1e-3 < np.abs(x - y).max() / np.abs(y).max() < 0.03
  # Values of 8 bits would be few.
  assert np.mean(x == tf.cast(tf.cast(x, tf.bfloat16), tf.float32)) < 0.1


@pytest.mark.parametrize(
    ('spec', 'num_actions'),
    [
        (tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1), 2),
        (tensor_spec.BoundedTensorSpec([], tf.int64, 0, [17]), 18),
        (encoders.discrete_spec(4), 4),
    ],
)
def test_one_value_for_each_action(spec, num_actions):
  spec = tensor_spec.BoundedTensorSpec(
      [], spec.dtype, spec.minimum, np.max(spec.maximum)
  )
  net = _networks(action_spec=spec).q_network
  values = net(_observations(2))[0].numpy()
  assert len(set(values[0].round(5))) == num_actions


@pytest.mark.parametrize(
    'spec',
    [
        {'position': FLAT, 'room': encoders.discrete_spec(4)},
        tensor_spec.BoundedTensorSpec([6, 6, 2], tf.uint8, 0, 255),
    ],
    ids=['dict', 'image'],
)
def test_every_part_of_an_observation_counts(spec):
  net = _networks(recurrent_cores.GRUCore(4), spec).q_network
  step_types = tf.zeros([2, 3], tf.int32)
  first, second = (
      agent_test_utils.sample(spec, (2, 3), seed) for seed in (1, 2)
  )
  flat, others = map(tf.nest.flatten, (first, second))
  values = net(first, step_types)[0].numpy()
  for i in range(len(flat)):
    mixed = flat[:i] + [others[i]] + flat[i + 1 :]
    changed = net(tf.nest.pack_sequence_as(spec, mixed), step_types)[0]
    assert np.abs(values - changed).max() > 1e-4


# ---------------------------------------------------------------------- memory
@CORES
def test_a_sequence_is_its_steps(core_class):
  net = _networks(core_class(4)).q_network
  assert net.state_spec == core_class(4).state_spec
  observations = _observations(3, 6)
  step_types = np.int32([
      [0, 1, 1, 1, 2, 0], [1, 1, 2, 0, 1, 1], [1, 1, 1, 1, 1, 1]
  ])
  random = np.random.RandomState(1)
  start = tf.nest.map_structure(
      lambda s: tf.constant(random.normal(size=[3, *s.shape]), s.dtype),
      net.state_spec,
  )
  q_values, final = net(
      observations, tf.constant(step_types), network_state=start
  )
  state, expected = start, []
  for t in range(6):
    resets = step_types[:, t : t + 1] == ts.StepType.FIRST
    state = tf.nest.map_structure(
        lambda x, r=resets: tf.where(r, 0.0, x), state
    )
    # What no step type tells, a state does.
    q, state = net(observations[:, t], None, network_state=state)
    expected.append(q.numpy())
  np.testing.assert_allclose(q_values, np.stack(expected, 1), atol=1e-5)
  for x, y in zip(*map(tf.nest.flatten, (final, state)), strict=True):
    np.testing.assert_allclose(x, y, atol=1e-5)
  # It does remember: zeros are another beginning where no episode begins.
  zeros, _ = net(observations, tf.constant(step_types))
  differs = np.abs(zeros - q_values).max((1, 2))
  assert differs[0] == 0 and min(differs[1:]) > 1e-3


@CORES
def test_the_core_stands_between_trunk_and_head(core_class):
  core = core_class(4)
  net = _networks(core, dueling=False, head_units=None).q_network
  observations = _observations(2, 5)
  features, _ = net._encoder(observations)
  outputs, _ = core(features)
  *_, head = _layers(net)
  np.testing.assert_allclose(
      net(observations)[0], _dense(np.float64(outputs), head), atol=1e-5
  )
  assert all(
      any(v is x for x in net.trainable_variables) for v in core.variables
  )


# -------------------------------------------------------------------- the pair
@pytest.mark.parametrize('core_class', [
    None, recurrent_cores.LSTMCore, recurrent_cores.GRUCore
])
def test_a_pair_is_alike_and_shares_nothing(core_class):
  core = None if core_class is None else core_class(4)
  nets = _networks(core)
  assert nets._fields == ('q_network', 'target_q_network')
  online, target = (net.variables for net in nets)
  assert [v.shape for v in online] == [v.shape for v in target]
  assert not {v.ref() for v in online} & {v.ref() for v in target}
  kernels = [
      (x.numpy(), y.numpy())
      for x, y in zip(online, target)
      if x.shape.rank == 2
  ]
  # Trunk, two heads of two layers; input and recurrent weights of a core.
  assert len(kernels) == (5 if core is None else 7)
  assert min(np.abs(x - y).max() for x, y in kernels) > 0.01
  observations = _observations(2, 3)
  values = [net(observations)[0].numpy() for net in nets]
  assert np.abs(values[0] - values[1]).max() > 0.01
  for x, y in zip(online, target):
    y.assign(x)
  np.testing.assert_array_equal(nets.target_q_network(observations)[0],
                                values[0])
  # To move one does not move the other.
  for x in online:
    x.assign_add(tf.ones_like(x))
  np.testing.assert_array_equal(nets.target_q_network(observations)[0],
                                values[0])


def test_sizes_from_gin():
  gin.parse_config("""
      create_q_networks.fc_layer_params = (7, 8)
      create_q_networks.head_units = 9
      create_q_networks.activation = 'tanh'
      create_q_networks.core = @LSTMCore()
      LSTMCore.units = 5
  """)
  nets = q_network.create_q_networks(FLAT, ACTION)
  assert [tuple(v.shape) for v in nets.target_q_network.variables
          if v.shape.rank == 2] == [
      (3, 7), (7, 8), (8, 20), (5, 20), (5, 9), (9, 3), (5, 9), (9, 1)
  ]
  observations = _observations(4)
  net = nets.q_network
  first, second = _layers(net)[:2]
  np.testing.assert_allclose(
      net._encoder(observations)[0],
      np.tanh(_dense(np.tanh(_dense(observations, first)), second)),
      atol=1e-5,
  )


# ---------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    'spec',
    [
        tensor_spec.BoundedTensorSpec([], tf.float32, 0, 2),
        tensor_spec.BoundedTensorSpec([1], tf.int64, 0, 2),
        tensor_spec.BoundedTensorSpec([], tf.int64, 1, 2),
        tensor_spec.BoundedTensorSpec([], tf.int64, -1, 2),
        tf.TensorSpec([], tf.int64),
        array_spec.BoundedArraySpec([], np.int64, 0, 2),
        {'jump': ACTION},
        (ACTION, ACTION),
    ],
    ids=[
        'float', 'vector', 'from 1', 'from -1', 'no bounds', 'array', 'dict',
        'two',
    ],
)
def test_actions_must_be_one_choice_from_0(spec):
  match = 'one discrete action from 0'
  with pytest.raises(ValueError, match=match):
    _networks(action_spec=spec)


def test_cores_that_cannot_serve():
  with pytest.raises(ValueError, match='create_q_networks.core .*core'):
    _networks(recurrent_cores.LSTMCore)
  core = recurrent_cores.LSTMCore(4)
  _networks(core)
  with pytest.raises(
      ValueError, match='create_q_networks.core .*other'
  ):
    _networks(core)


@pytest.mark.parametrize(
    'settings, message',
    [
        (dict(fc_layer_params=(0,)), 'fc_layer_params .*integers'),
        (dict(fc_layer_params=64), 'fc_layer_params .*list'),
        (dict(head_units=0), 'head_units .*got 0'),
        (dict(activation='tan'), "activation: unknown .*'tan'"),
        (dict(conv_layers=((8, 3, 1),)), 'conv_layers .*image'),
    ],
)
def test_settings_that_make_no_q_networks(settings, message):
  with pytest.raises(errors.UserError, match=f'create_q_networks.{message}'):
    q_network.create_q_networks(FLAT, ACTION, **settings)
