# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for RandomNetworkDistillation: its numbers, in plain numpy."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import rnd_network

_to = curiosity.Transitions

_BOX = tf.TensorSpec([3], tf.float32)


def _make(spec=_BOX, observation_fn=None, **kwargs):
  seen = curiosity.observation_spec(spec, observation_fn)
  return curiosity.RandomNetworkDistillation(
      spec,
      rnd_network.RNDNetwork(seen, (8, 6), 5, conv_layers=()),
      rnd_network.RNDNetwork(seen, (7,), 5, conv_layers=(), trainable=False),
      observation_fn=observation_fn,
      **kwargs,
  )


def _observations(shape, seed=0):
  values = np.random.default_rng(seed).normal(2, 3, size=[*shape, 3])
  return values.astype(np.float32)


def _mlp(network, values):
  pairs = [v.numpy() for v in network.variables]
  for kernel, bias in zip(pairs[:-2:2], pairs[1:-2:2], strict=True):
    values = np.maximum(values @ kernel + bias, 0)
  return values @ pairs[-2] + pairs[-1]


def _slow_bonus(rnd, whitened):
  """Mean over the features of the squared difference, sample by sample."""
  flat = whitened.reshape([-1, whitened.shape[-1]])
  bonus = []
  for x in flat:
    difference = _mlp(rnd.rnd_network, x) - _mlp(rnd.target_rnd_network, x)
    bonus.append(sum(difference**2) / len(difference))
  return np.reshape(bonus, whitened.shape[:-1])


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('shape', [(6,), (2, 5)])
def test_bonus_from_the_weights(shape, in_graph):
  rnd = _make()
  seen = _observations([50], 1)
  rnd.update_observation_statistics(seen)
  # The fresh statistic weighs 1e-4 samples beside these 50.
  mean, deviation = seen.mean(0), seen.std(0)
  observations = _observations(shape)
  observations[0] = 100.0  # Clipped.
  whitened = ((observations - mean) / deviation).clip(-5, 5)
  function = tf.function(rnd.bonus) if in_graph else rnd.bonus
  bonus = function(_to(observations))
  np.testing.assert_allclose(bonus, _slow_bonus(rnd, whitened), rtol=1e-3)


@pytest.mark.parametrize('clip_value', [1.0, None])
def test_clip_value(clip_value):
  rnd = _make(observation_clip_value=clip_value)
  observations = _observations([6])
  assert np.abs(observations).max() > 5
  inputs = observations if clip_value is None else observations.clip(-1, 1)
  np.testing.assert_array_equal(rnd.seen.whiten(observations), inputs)
  np.testing.assert_allclose(
      rnd.bonus(_to(observations)), _slow_bonus(rnd, inputs), rtol=1e-4
  )


def test_masked_observations_do_not_count():
  rnd = _make()
  observations = _observations([4, 6])
  mask = np.random.default_rng(1).random([4, 6]) < 0.5
  rnd.update_observation_statistics(
      np.where(mask[..., None], observations, 1e6).astype(np.float32),
      tf.constant(mask),
  )
  kept = observations[mask]
  np.testing.assert_allclose(
      rnd.seen.whiten(observations),
      ((observations - kept.mean(0)) / kept.std(0)).clip(-5, 5),
      rtol=1e-2,
      atol=1e-3,
  )


def test_one_entry_of_a_dict():
  spec = {'image': tf.TensorSpec([2, 2], tf.uint8), 'position': _BOX}
  rnd = _make(spec, curiosity.key_observation_fn('position'))
  observations = {
      'image': tf.zeros([4, 2, 2], tf.uint8),
      'position': _observations([4]),
  }
  bonus = rnd.bonus(_to(observations))
  np.testing.assert_allclose(
      bonus, _slow_bonus(rnd, observations['position'].clip(-5, 5)), rtol=1e-4
  )
  # The rest is not seen, neither by the networks nor by the statistics.
  observations['image'] = tf.fill([4, 2, 2], tf.constant(9, tf.uint8))
  np.testing.assert_array_equal(rnd.bonus(_to(observations)), bonus)
  rnd.update_observation_statistics(observations)
  assert [v.shape for v in rnd.variables].count([2, 2]) == 0


def test_newest_of_stacked_frames():
  spec = tf.TensorSpec([4, 4, 4], tf.uint8)
  rnd = _make(spec, curiosity.newest_frame_observation_fn)
  frames = np.random.default_rng(0).integers(0, 6, [3, 2, 4, 4, 4])
  frames = frames.astype(np.uint8)
  bonus = rnd.bonus(_to(frames))
  # Channel 3 alone, as the bytes it is: 0 to 5, whitened by nothing yet.
  np.testing.assert_allclose(
      bonus,
      _slow_bonus(rnd, frames[..., 3].reshape([3, 2, 16]).astype(np.float32)),
      rtol=1e-4,
  )
  frames[..., :3] = 77
  np.testing.assert_array_equal(rnd.bonus(_to(frames)), bonus)
  # Each pixel has statistics of its own, in float64.
  rnd.update_observation_statistics(frames)
  newest = frames[..., 3].reshape([6, 16]).astype(np.float64)
  np.testing.assert_allclose(
      rnd.seen.whiten(frames).numpy().reshape([6, 16]),
      ((newest - newest.mean(0)) / newest.std(0)).clip(-5, 5),
      atol=2e-3,
  )


def test_discrete_entries_are_one_hot_for_functions_too():
  # Or state 3 would lie between 2 and 4, and be no news after those.
  spec = {'state': encoders.discrete_spec(4), 'reward': _BOX}
  rnd = _make(spec, curiosity.key_observation_fn('state'))
  states = tf.constant([0, 3, 1], tf.int64)
  observations = {'state': states, 'reward': _observations([3])}
  alone = _make(encoders.discrete_spec(4))
  for a, b in zip(rnd.variables, alone.variables, strict=True):
    b.assign(a)
  np.testing.assert_array_equal(
      rnd.bonus(_to(observations)), alone.bonus(_to(states))
  )


def test_discrete_observations_are_one_hot():
  rnd = _make(encoders.discrete_spec(4))
  states = tf.constant([0, 3, 1], tf.int64)
  np.testing.assert_allclose(
      rnd.bonus(_to(states)), _slow_bonus(rnd, np.eye(4)[[0, 3, 1]]), rtol=1e-4
  )
  # Every state is as far from every other: bonuses do not lie on a line.
  rnd.update_observation_statistics(tf.constant([0, 0, 3, 0], tf.int64))
  whitened = rnd.seen.whiten(states).numpy()
  np.testing.assert_allclose(
      whitened[:2, [0, 3]], [[0.57735, -0.57735], [-1.73205, 1.73205]],
      rtol=1e-3,
  )
  assert whitened[2, 1] == 5  # Never seen before.


def test_whole_of_a_nested_observation():
  spec = {'n': encoders.discrete_spec(3), 'x': _BOX}
  rnd = _make(spec)
  observations = {
      'n': tf.constant([[0, 2]], tf.int64), 'x': _observations([1, 2])
  }
  joined = np.concatenate(
      [np.eye(3)[[[0, 2]]], observations['x'].clip(-5, 5)], axis=-1
  )
  np.testing.assert_allclose(
      rnd.bonus(_to(observations)), _slow_bonus(rnd, joined), rtol=1e-4
  )
  rnd.update_observation_statistics(observations)
  whitened = rnd.seen.whiten(observations)['x']
  assert np.abs(whitened - observations['x']).min() > 0.01


# TV1: bonus of two environments over three steps, and the rollout after it.
_FIRST = np.float32([[1, 3, 5], [2, 4, 6]])
_SECOND = np.float32([[0, 1, 0], [2, 0, 2]])


def _normalized(rnd, bonus, valid=None):
  bonus = tf.convert_to_tensor(bonus)
  rnd.update_return_statistics(bonus, valid)
  return rnd.normalize_bonus(bonus)


@pytest.mark.parametrize('in_graph', [False, True])
def test_normalized_bonus(in_graph):
  rnd = _make()

  def normalized(bonus):
    return _normalized(rnd, bonus)

  if in_graph:
    normalized = tf.function(
        normalized, input_signature=[tf.TensorSpec([None, None], tf.float32)]
    )
  np.testing.assert_allclose(
      normalized(_FIRST),
      [[0.261092, 0.783275, 1.305458], [0.522183, 1.044366, 1.566549]],
      atol=2e-6,
  )
  # The sums live on.
  np.testing.assert_allclose(
      normalized(_SECOND),
      [[0, 0.221980, 0], [0.443961, 0, 0.443961]],
      atol=2e-6,
  )


def test_boundary_rows_are_passed_over():
  with_boundary = np.insert(_FIRST, 1, 1e5, axis=1)
  valid = np.array([[True, False, True, True]] * 2)
  normalized = _normalized(_make(), with_boundary, tf.constant(valid))
  np.testing.assert_allclose(
      normalized.numpy()[:, [0, 2, 3]],
      [[0.261092, 0.783275, 1.305458], [0.522183, 1.044366, 1.566549]],
      atol=2e-6,
  )


def test_discount_factor_of_the_returns():
  # Without memory the values are the rewards: variance 35 / 12.
  rnd = _make(discount_factor=0.0)
  np.testing.assert_allclose(
      _normalized(rnd, _FIRST), _FIRST / (35 / 12) ** 0.5, rtol=1e-4
  )


def test_order_of_a_rollout():
  # The bonus a rollout earned does not depend on its own statistics update,
  # but the next one's does.
  rnd = _make()
  observations = _observations([2, 4])
  bonus = rnd.bonus(_to(observations))
  rnd.update_return_statistics(bonus)
  np.testing.assert_array_equal(rnd.bonus(_to(observations)), bonus)
  rnd.update_observation_statistics(observations)
  assert np.abs(rnd.bonus(_to(observations)) - bonus).min() > 1e-3


def test_loss_is_the_mean_of_the_bonus():
  rnd = _make()
  observations = _observations([8])
  bonus = rnd.bonus(_to(observations)).numpy()
  np.testing.assert_allclose(
      rnd.loss(_to(observations)), bonus.mean(), rtol=1e-5
  )
  mask = np.array([True, False, True, True, False, False, False, False])
  np.testing.assert_allclose(
      rnd.loss(_to(observations, mask)), bonus[mask].mean(), rtol=1e-5
  )
  assert rnd.loss(_to(observations, mask & False)) == 0
  weights = np.arange(8, dtype=np.float32) / 100
  np.testing.assert_allclose(
      rnd.loss(_to(observations, mask), weights),
      (weights * bonus)[mask].mean(),
      rtol=1e-5,
  )


def test_masked_samples_leave_no_gradient():
  rnd = _make()
  observations = _observations([8])
  mask = np.arange(8) < 3

  def gradients(*transitions):
    with tf.GradientTape() as tape:
      loss = rnd.loss(_to(*transitions))
    return tape.gradient(loss, rnd.trainable_variables)

  masked = gradients(observations, mask)
  kept = gradients(observations[:3])
  whole = gradients(observations)
  for a, b, c in zip(masked, kept, whole, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    assert np.abs(a - c).max() > 1e-3


def test_known_target_features_spare_the_target():
  rnd = _make()
  observations = _observations([8])
  features = rnd.target_features(observations)
  np.testing.assert_allclose(
      features,
      _mlp(rnd.target_rnd_network, observations.clip(-5, 5)),
      rtol=1e-3,
      atol=1e-4,
  )
  np.testing.assert_array_equal(rnd.constants(_to(observations)), features)
  for use in (rnd.bonus, rnd.loss):
    np.testing.assert_array_equal(
        use(_to(observations), constants=features), use(_to(observations))
    )
  # They are used, not computed again.
  np.testing.assert_allclose(
      rnd.loss(_to(observations), constants=features + 1),
      np.square(
          _mlp(rnd.rnd_network, observations.clip(-5, 5)) - features - 1
      ).mean(),
      rtol=1e-4,
  )


def test_no_gradient_passes_the_bonus_or_the_target():
  rnd = _make()
  observations = _observations([8])
  everything = rnd.rnd_network.variables + rnd.target_rnd_network.variables
  with tf.GradientTape(persistent=True) as tape:
    tape.watch(everything)
    bonus = rnd.bonus(_to(observations))
    features = rnd.target_features(observations)
    loss = rnd.loss(_to(observations))
  assert tape.gradient(bonus, everything) == [None] * 10
  assert tape.gradient(features, everything) == [None] * 10
  found = [g is not None for g in tape.gradient(loss, everything)]
  assert found == [True] * 6 + [False] * 4
  ours = [v.ref() for v in rnd.trainable_variables]
  assert ours == [v.ref() for v in everything[:6]]


def test_loss_function_of_the_user():
  def absolute_error(predictions, targets):
    return tf.reduce_mean(tf.abs(predictions - targets), -1)

  rnd = _make(loss_fn=absolute_error)
  inputs = _observations([8]).clip(-5, 5)
  expected = np.abs(
      _mlp(rnd.rnd_network, inputs) - _mlp(rnd.target_rnd_network, inputs)
  ).mean(-1)
  np.testing.assert_allclose(rnd.bonus(_to(inputs)), expected, rtol=1e-4)
  np.testing.assert_allclose(rnd.loss(_to(inputs)), expected.mean(), rtol=1e-4)
