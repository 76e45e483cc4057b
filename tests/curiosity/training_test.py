# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for RandomNetworkDistillation under training, and after a restart."""

import numpy as np
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import rnd_network

_to = curiosity.Transitions

_SPEC = {'x': tf.TensorSpec([3], tf.float32), 'n': encoders.discrete_spec(4)}


def _make(spec=_SPEC):
  seen = curiosity.observation_spec(spec)
  return curiosity.RandomNetworkDistillation(
      spec,
      rnd_network.RNDNetwork(seen, (32, 32), 8),
      rnd_network.RNDNetwork(seen, (32,), 8, trainable=False),
  )


def _observations(seed, shape):
  rng = np.random.default_rng(seed)
  return {
      'x': tf.constant(rng.normal(1, 2, [*shape, 3]), tf.float32),
      'n': tf.constant(rng.integers(0, 4, shape), tf.int64),
  }


def _step_fn(rnd):
  optimizer = tf.keras.optimizers.legacy.Adam(1e-3)

  @tf.function
  def step(observations):
    with tf.GradientTape() as tape:
      loss = rnd.loss(_to(observations))
    variables = rnd.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss

  return step


def test_training_moves_the_predictor_alone():
  rnd = _make()
  rnd.update_observation_statistics(_observations(1, [4, 50]))
  rnd.update_return_statistics(rnd.bonus(_to(_observations(1, [4, 50]))))
  observations = _observations(0, [64])
  before = {v.ref(): v.numpy() for v in rnd.variables}
  first = rnd.loss(_to(observations))
  step = _step_fn(rnd)
  losses = [step(observations).numpy() for _ in range(60)]
  np.testing.assert_allclose(losses[0], first, rtol=1e-5)
  assert losses[-1] < 0.5 * losses[0]
  assert rnd.loss(_to(observations)) < losses[30] < losses[0]

  trained = {v.ref() for v in rnd.rnd_network.variables}
  assert len(trained) == 6 and len(before) > 16
  for reference, value in before.items():
    moved = (reference.deref().numpy() != value).any()
    assert moved == (reference in trained), reference.deref().name


def test_a_familiar_state_loses_its_bonus_and_a_distant_one_does_not():
  rnd = _make(tf.TensorSpec([3], tf.float32))
  familiar = tf.constant([[1.0, -0.5, 0.5]])
  distant = tf.constant([[-2.0, 2.0, 3.0]])
  start = rnd.bonus(_to(familiar)).numpy()[0]
  assert start > 0.01
  step = _step_fn(rnd)
  batch = tf.repeat(familiar, 8, axis=0)
  halfway = None
  for i in range(200):
    step(batch)
    if i == 10:
      halfway = rnd.bonus(_to(familiar)).numpy()[0]
  end = rnd.bonus(_to(familiar)).numpy()[0]
  assert end * 100 < start
  assert end < halfway < start
  assert rnd.bonus(_to(distant)).numpy()[0] > 10 * end
  assert rnd.bonus(_to(distant)).numpy()[0] > 0.1 * start


def test_a_checkpoint_holds_everything(tmp_path):
  rnd = _make()
  step = _step_fn(rnd)

  def rollout(module, seed):
    """One rollout's normalised bonus, in the authors' order."""
    observations = _observations(seed, [3, 5])
    bonus = module.bonus(_to(observations))
    module.update_return_statistics(bonus)
    module.update_observation_statistics(observations)
    return module.normalize_bonus(bonus).numpy()

  rollout(rnd, 0)
  for _ in range(5):
    step(_observations(0, [16]))
  path = tf.train.Checkpoint(curiosity=rnd).save(tmp_path / 'c')

  other = _make()
  fresh = rollout(_make(), 1)
  tf.train.Checkpoint(curiosity=other).restore(path).assert_consumed()
  for ours, theirs in (
      (rnd.rnd_network, other.rnd_network),
      (rnd.target_rnd_network, other.target_rnd_network),
  ):
    for a, b in zip(ours.variables, theirs.variables, strict=True):
      np.testing.assert_array_equal(a, b)
  for seed in (1, 2):
    expected = rollout(rnd, seed)
    np.testing.assert_array_equal(rollout(other, seed), expected)
  # A restart that lost any of it would show: from the weights to the sums.
  assert np.abs(fresh - expected).max() > 0.01
  for lost in ('rnd_network', 'target_rnd_network', 'seen',
               '_return_scaler'):
    partial = _make()
    tf.train.Checkpoint(curiosity=partial).restore(path)
    setattr(partial, lost, getattr(_make(), lost))
    rnd_again = _make()
    tf.train.Checkpoint(curiosity=rnd_again).restore(path)
    whole = rollout(rnd_again, 1)
    assert np.abs(rollout(partial, 1) - whole).max() > 1e-3, lost
