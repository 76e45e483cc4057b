# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the inverse model and ICM, from their weights in NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import curiosity
from rnd_agents import errors

_OBSERVATION = tf.TensorSpec([3], tf.float32)
_ACTIONS = dict(
    discrete=tensor_spec.BoundedTensorSpec([], tf.int64, 2, 5),
    several=tensor_spec.BoundedTensorSpec([2], tf.int32, 0, 2),
    bounded=tensor_spec.BoundedTensorSpec([2], tf.float32, [-1, 0], [1, 4]),
    unbounded=tensor_spec.BoundedTensorSpec([1], tf.float32, -np.inf, np.inf),
)
_LEFT_OUT = 2


def _model(action_spec):
  return curiosity.InverseModel(
      _OBSERVATION,
      action_spec,
      fc_layer_params=(7,),
      num_features=4,
      action_fc_layer_params=(6,),
  )


def _mlp(variables, values):
  """Layers with ReLUs between them."""
  variables = [v.numpy() for v in variables]
  for i in range(0, len(variables), 2):
    if i:
      values = np.maximum(values, 0)
    values = values @ variables[i] + variables[i + 1]
  return values


def _slow_error(outputs, action, kind):
  """Negative log likelihood of one sample."""
  if kind == 'discrete':
    return np.log(np.exp(outputs).sum()) - outputs[action - 2]
  if kind == 'several':
    logits = outputs.reshape([2, 3])
    return sum(
        np.log(np.exp(row).sum()) - row[entry]
        for row, entry in zip(logits, action, strict=True)
    )
  if kind == 'bounded':
    action = np.array([action[0], (action[1] - 2) / 2])
  return 0.5 * np.square(outputs - action).sum()


def _transitions(action_spec, seed=0):
  rng = np.random.default_rng(seed)
  observations = rng.normal(size=[9, 3]).astype(np.float32)
  tf.random.set_seed(seed)
  bounded = tensor_spec.BoundedTensorSpec(
      action_spec.shape,
      action_spec.dtype,
      np.maximum(action_spec.minimum, -3),
      np.minimum(action_spec.maximum, 5),
  )
  valid = np.ones([8], bool)
  valid[_LEFT_OUT] = False
  return curiosity.Transitions(
      tf.constant(observations[1:]),
      valid=tf.constant(valid),
      observation=tf.constant(observations[:-1]),
      action=tensor_spec.sample_spec_nest(bounded, outer_dims=[8]),
      is_first=tf.zeros([8], tf.bool),
  )


def _slow(model, transitions, kind, variables):
  """(features [8, 4], next features, errors [8]) from an inverse model."""
  encoder, head = variables[:4], variables[4:8]
  # Of no statistics yet: mean 0, variance 1, clipped at 5.
  features, following = (
      _mlp(encoder, np.clip(x.numpy(), -5, 5))
      for x in (transitions.observation, transitions.next_observation)
  )
  outputs = _mlp(head, np.concatenate([features, following], axis=1))
  errors = [
      _slow_error(output, action, kind)
      for output, action in zip(
          outputs, transitions.action.numpy(), strict=True
      )
  ]
  return features, following, np.array(errors)


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('kind', list(_ACTIONS))
def test_icm_and_its_inverse_model_from_their_weights(kind, in_graph):
  tf.keras.utils.set_random_seed(1)
  spec = _ACTIONS[kind]
  icm = curiosity.IntrinsicCuriosityModule(
      _model(spec), spec, fc_layer_params=(5,), forward_loss_share=0.3
  )
  transitions = _transitions(spec)
  variables = icm.trainable_variables
  for variable in variables:  # Small initial heads would hide them.
    variable.assign(tf.random.normal(variable.shape))
  features, following, errors = _slow(icm.model, transitions, kind, variables)
  actions = transitions.action.numpy()
  encoded = {
      'discrete': lambda: np.eye(4)[actions - 2],
      'several': lambda: np.eye(3)[actions].reshape([8, 6]),
      'bounded': lambda: (actions - [0, 2]) / [1, 2],
      'unbounded': lambda: actions,
  }[kind]()
  predicted = _mlp(variables[8:], np.concatenate([features, encoded], axis=1))
  forward = 0.5 * np.square(predicted - following).sum(axis=1)
  run = tf.function if in_graph else lambda function: function
  np.testing.assert_allclose(run(icm.bonus)(transitions), forward, rtol=1e-4)
  weights = np.linspace(0.5, 2, 8).astype(np.float32)
  kept = transitions.valid.numpy()
  np.testing.assert_allclose(
      run(icm.loss)(transitions, tf.constant(weights)),
      (weights * (0.7 * errors + 0.3 * forward))[kept].mean(),
      rtol=1e-4,
  )
  e3b = curiosity.EllipticalBonus(icm.model)
  np.testing.assert_allclose(
      run(e3b.loss)(transitions), errors[kept].mean(), rtol=1e-4
  )


def test_icm_of_rollouts_is_that_of_single_transitions():
  spec = _ACTIONS['discrete']
  icm = curiosity.IntrinsicCuriosityModule(_model(spec), spec)
  flat = _transitions(spec)
  rollout = tf.nest.map_structure(
      lambda x: None if x is None else x[tf.newaxis], flat
  )
  np.testing.assert_allclose(icm.bonus(rollout)[0], icm.bonus(flat), rtol=1e-5)


def test_features_learn_what_tells_the_action_and_no_gradient_is_a_bonus():
  tf.keras.utils.set_random_seed(2)
  spec = _ACTIONS['discrete']
  e3b = curiosity.EllipticalBonus(_model(spec))
  optimizer = tf.keras.optimizers.Adam(1e-2)
  rng = np.random.default_rng(0)

  def batch():
    observation = rng.normal(size=[64, 3]).astype(np.float32)
    action = rng.integers(2, 6, size=64)
    following = rng.normal(size=[64, 3]).astype(np.float32)
    following[:, 0] = observation[:, 0] + action - 3.5
    return curiosity.Transitions(
        *map(tf.constant, (following, np.ones(64, bool), observation, action)),
        is_first=tf.zeros([64], tf.bool),
    )

  @tf.function
  def step(transitions):
    with tf.GradientTape() as tape:
      loss = e3b.loss(transitions)
    variables = e3b.trainable_variables
    optimizer.apply_gradients(
        zip(tape.gradient(loss, variables), variables, strict=True)
    )
    return loss

  first = step(batch()).numpy()
  for _ in range(400):
    last = step(batch()).numpy()
  np.testing.assert_allclose(first, np.log(4), rtol=0.3)
  assert last < 0.25
  with tf.GradientTape() as tape:
    bonus = e3b.bonus(batch().add_time())
  gradients = tape.gradient(bonus, e3b.trainable_variables)
  assert gradients == [None] * len(e3b.trainable_variables)


@pytest.mark.parametrize(
    'layers, message',
    [
        (dict(conv_layers=3), 'InverseModel.conv_layers .*triples'),
        (dict(conv_layers=((8, 3, 1),)), 'image'),
        (dict(num_features=0), 'InverseModel.num_features .*integer'),
    ],
)
def test_bad_layers(layers, message):
  with pytest.raises(errors.InvalidValue, match=message):
    curiosity.InverseModel(_OBSERVATION, _ACTIONS['discrete'], **layers)
