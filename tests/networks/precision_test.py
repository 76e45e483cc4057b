# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Layers that compute in bfloat16, between inputs and outputs in float32."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents.agents import r2d3_agent
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.networks import actor_critic_network
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import precision
from rnd_agents.networks import q_network
from rnd_agents.networks import recurrent_cores
from rnd_agents.networks import rnd_network
from rnd_agents.training import experiment
from tests.agents import agent_test_utils

_IMAGE = tf.TensorSpec([16, 16, 2], tf.uint8)
_ACTION = encoders.discrete_spec(4)
_SIZES = dict(
    fc_layer_params=(32, 24),
    activation='relu',
    conv_layers=((8, 4, 2), (8, 3, 1)),
    residual_heads=True,
)
_RND_SIZES = dict(
    fc_layer_params=(32, 32),
    target_fc_layer_params=(),
    output_size=16,
    conv_layers=((8, 4, 2),),
)


def _frames(shape=(64,), seed=0):
  rng = np.random.default_rng(seed)
  return tf.constant(rng.integers(0, 256, shape + (16, 16, 2)), tf.uint8)


def _twins(create):
  """The same weights in both precisions: {compute dtype: network}."""
  exact, short = create('float32'), create('bfloat16')
  for ours, theirs in zip(short.variables, exact.variables, strict=True):
    assert ours.dtype == theirs.dtype == tf.float32
    ours.assign(theirs)
  return exact, short


def _check_close(short, exact):
  """Equal to within what 8 bits a layer leave, and not to the last digit."""
  assert short.dtype == exact.dtype == tf.float32
  scale = np.abs(exact).max()
  error = np.abs(short - exact).max() / scale
  assert 1e-5 < error < 0.03
  # No layer has rounded the output itself: it is no multiple of bfloat16's.
  rounded = tf.cast(tf.cast(short, tf.bfloat16), tf.float32)
  assert np.mean(rounded.numpy() != short.numpy()) > 0.9


@pytest.mark.parametrize('wrap', [lambda f: f, tf.function])
def test_actor_critic(wrap):
  exact, short = _twins(
      lambda dtype: factory.create_networks(
          _IMAGE, _ACTION, compute_dtype=dtype, **_SIZES
      ).actor_net.actor_critic
  )

  def outputs(net):
    (distributions, values), _ = wrap(lambda x: net(x))(_frames())
    return distributions.logits, values

  for ours, theirs in zip(outputs(short), outputs(exact), strict=True):
    _check_close(ours, theirs)


@pytest.mark.parametrize('output', ['policy', 'values'])
def test_residual_layers_round_what_they_see(output):
  """The layer before each head computes in 8 bits as the trunk does."""
  box = tf.TensorSpec([3], tf.float32)
  exact, short = _twins(
      lambda dtype: actor_critic_network.ActorCriticNetwork(
          box,
          _ACTION,
          encoders.create_encoder(box, (8,)),  # In float32 for both.
          residual_units=8,
          policy_init_gain=1.0,
          compute_dtype=dtype,
      )
  )
  for network in (exact, short):
    for variable in network.variables:
      variable.assign(np.random.default_rng(1).normal(0.3, 0.5, variable.shape))
  x = np.random.default_rng(0).normal(size=[64, 3]).astype(np.float32)

  def outputs(network):
    (distribution, values), _ = network(x)
    return distribution.logits if output == 'policy' else values

  _check_close(outputs(short), outputs(exact))


@pytest.mark.parametrize('wrap', [lambda f: f, tf.function])
@pytest.mark.parametrize('name', ['rnd_network', 'target_rnd_network'])
def test_rnd_networks(wrap, name):
  exact, short = _twins(
      lambda dtype: getattr(
          factory.create_networks(
              _IMAGE,
              _ACTION,
              rnd_networks_fn=functools.partial(
                  factory.create_rnd_networks, compute_dtype=dtype, **_RND_SIZES
              ),
              **_SIZES,
          ),
          name,
      )
  )
  whitened = tf.cast(_frames(), tf.float32) / 64.0 - 2.0
  _check_close(
      *(wrap(lambda x, net=net: net(x)[0])(whitened) for net in (short, exact))
  )


@pytest.mark.parametrize('core', [None, recurrent_cores.GRUCore])
def test_a_memory_and_q_values_stay_float32(core):
  exact, short = _twins(
      lambda dtype: q_network.create_q_networks(
          _IMAGE,
          _ACTION,
          fc_layer_params=(32,),
          conv_layers=_SIZES['conv_layers'],
          core=core and core(12),
          compute_dtype=dtype,
      ).q_network
  )
  (ours, state), (theirs, _) = (
      net(_frames((3, 7)), tf.ones([3, 7], tf.int32)) for net in (short, exact)
  )
  _check_close(ours, theirs)
  for part in tf.nest.flatten(state):
    assert part.dtype == tf.float32


def test_gradients_are_float32_and_close():
  exact, short = _twins(
      lambda dtype: factory.create_networks(
          _IMAGE, _ACTION, compute_dtype=dtype, **_SIZES
      ).value_net
  )

  def gradients(net):
    with tf.GradientTape() as tape:
      loss = tf.reduce_mean(tf.square(net(_frames(), training=True)[0] - 1.0))
    variables = net.trainable_weights
    found = zip(tape.gradient(loss, variables), variables, strict=True)
    return [g for g, _ in found if g is not None]

  ours, theirs = gradients(short), gradients(exact)
  assert len(ours) == len(theirs) > 8
  for a, b in zip(ours, theirs, strict=True):
    assert a.dtype == tf.float32
    # Sums of many that nearly cancel: as a whole, not one by one.
    assert np.linalg.norm(a - b) < 0.1 * np.linalg.norm(b)


def test_the_bonus_of_a_repeated_state_decays_a_hundredfold():
  def create(fc_layer_params, trainable):
    return rnd_network.RNDNetwork(
        tf.TensorSpec([16, 16, 1], tf.float32),
        fc_layer_params,
        32,
        ((8, 4, 2),),
        trainable=trainable,
        compute_dtype='bfloat16',
    )

  predictor, target = create((64, 64), True), create((), False)
  state = tf.random.stateless_normal([1, 16, 16, 1], seed=[3, 4])
  optimizer = tf.keras.optimizers.Adam(1e-4, epsilon=1e-8)
  optimizer.build(predictor.trainable_variables)

  @tf.function
  def step():
    with tf.GradientTape() as tape:
      error = tf.reduce_mean(tf.square(predictor(state)[0] - target(state)[0]))
    variables = predictor.trainable_variables
    gradients = tape.gradient(error, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return error

  errors = [float(step()) for _ in range(400)]
  assert errors[0] > 0.1
  assert max(errors[-10:]) < errors[0] / 100


@pytest.mark.parametrize(
    ('flags', 'expected'),
    [
        ('fpu avx2 avx512f avx512_bf16', True),
        ('fpu amx_bf16 amx_tile', True),
        ('fpu avx2 avx512f avx512_vnni', False),
        ('', False),
    ],
)
def test_auto_asks_the_processor(monkeypatch, flags, expected):
  monkeypatch.setattr(tf.config, 'list_physical_devices', lambda kind: [])
  monkeypatch.setattr(precision, 'cpu_flags', lambda: frozenset(flags.split()))
  assert precision.has_fast_bfloat16() is expected
  policy = precision.layer_policy('auto')
  assert policy.compute_dtype == ('bfloat16' if expected else 'float32')
  assert policy.variable_dtype == 'float32'


@pytest.mark.parametrize(
    ('capabilities', 'expected'),
    [([(8, 0)], True), ([(9, 0), (7, 5)], False), ([None], False)],
)
def test_auto_asks_the_gpus_if_there_are_any(
    monkeypatch, capabilities, expected
):
  monkeypatch.setattr(
      tf.config, 'list_physical_devices', lambda kind: capabilities
  )
  monkeypatch.setattr(
      tf.config.experimental,
      'get_device_details',
      lambda gpu: {} if gpu is None else {'compute_capability': gpu},
  )
  monkeypatch.setattr(
      precision, 'cpu_flags', lambda: frozenset(['avx512_bf16'])
  )
  assert precision.has_fast_bfloat16() is expected


def test_other_dtypes_are_refused():
  with pytest.raises(ValueError, match="'bfloat16', got 'float16'"):
    factory.create_networks(_IMAGE, _ACTION, compute_dtype='float16', **_SIZES)


@pytest.mark.parametrize(
    ('setting', 'owner', 'left_behind'),
    [
        ('set_floatx', tf.keras.backend, 'float64'),
        ('set_floatx', tf.keras.backend, 'float16'),
        ('set_image_data_format', tf.keras.backend, 'channels_first'),
        ('set_global_policy', tf.keras.mixed_precision, 'mixed_float16'),
        ('set_global_policy', tf.keras.mixed_precision, 'mixed_bfloat16'),
        ('enable_numpy_behavior', None, None),
    ],
)
def test_what_other_code_leaves_behind_is_refused(
    setting, owner, left_behind, monkeypatch
):
  build = agent_test_utils.build_agent
  before = dict(
      set_floatx='float32',
      set_image_data_format='channels_last',
      set_global_policy='float32',
  )
  networks = factory.create_networks(_IMAGE, _ACTION, **_SIZES)
  time_step_spec = ts.time_step_spec(_IMAGE)
  if owner is None:  # It cannot be undone.
    monkeypatch.setattr(tf.Tensor, 'astype', None, raising=False)
  else:
    getattr(owner, setting)(left_behind)
  try:
    for start in (
        build,
        lambda: factory.create_networks(_IMAGE, _ACTION, **_SIZES),
        lambda: rnd_ppo_agent.RNDPPOAgent(
            time_step_spec, _ACTION, optimizer=None, **networks._asdict()
        ),
        lambda: r2d3_agent.R2D3Agent(
            time_step_spec,
            _ACTION,
            q_network=None,
            target_q_network=None,
            optimizer=None,
        ),
        lambda: experiment.run(experiment.Experiment('nowhere')),
    ):
      with pytest.raises(errors.InvalidValue, match=setting):
        start()
  finally:
    if owner is not None:
      getattr(owner, setting)(before[setting])
