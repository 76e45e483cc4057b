# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the policy heads: distributions against closed forms."""

import math

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import errors
from rnd_agents.networks import actor_critic_network

_COUNTS = [2, 5, 3]
_MULTI = tensor_spec.BoundedTensorSpec([3], tf.int64, 0, [1, 4, 2])


def _box(low, high):
  return tensor_spec.BoundedTensorSpec([2], tf.float32, low, high)


_BOUNDED = _box(-2, 6)


def _features(shape, seed=0):
  values = np.random.default_rng(seed).normal(size=shape)
  return tf.constant(values, tf.float32)


def _parts(distribution):
  """The distributions of an action's entries, which are independent."""
  return distribution.distribution


def _zero_weights(head, features):
  head(features)
  for variable in head.trainable_variables:
    if 'log_scale' not in variable.name:
      variable.assign(tf.zeros_like(variable))
  return head(features)


def _set_dense(head, features, kernel, bias):
  head(features)
  for variable in head.trainable_variables:
    if 'kernel' in variable.name:
      variable.assign(kernel)
    elif 'bias' in variable.name:
      variable.assign(bias)
  return head(features)


def test_first_policy_is_nearly_uniform():
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 5)
  features = _features([200, 16])
  distribution = actor_critic_network.create_policy_head(spec)(features)
  probabilities = distribution.probs_parameter()
  assert probabilities.shape == [200, 6]
  np.testing.assert_allclose(probabilities, 1 / 6, atol=0.02)
  assert np.std(probabilities) > 1e-4  # But it looks at its input.
  # With the trunk's gain it would be anything but.
  steep = actor_critic_network.create_policy_head(spec, 2**0.5)(features)
  assert np.abs(steep.probs_parameter() - 1 / 6).max() > 0.3


def test_categorical_by_hand():
  spec = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 2)
  kernel = np.float32([[1, 0, -1], [2, 1, 0]])
  bias = np.float32([0, 0.5, 1])
  features = _features([4, 5, 2])
  distribution = _set_dense(
      actor_critic_network.create_policy_head(spec), features, kernel, bias
  )
  logits = features.numpy() @ kernel + bias
  expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
  np.testing.assert_allclose(
      distribution.probs_parameter(), expected, rtol=1e-5
  )
  actions = distribution.sample(seed=1)
  assert actions.dtype == tf.int32
  taken = np.take_along_axis(expected, actions.numpy()[..., None], -1)[..., 0]
  np.testing.assert_allclose(
      distribution.log_prob(actions), np.log(taken), rtol=1e-4
  )


def test_unequal_counts_with_zero_weights():
  distribution = _zero_weights(
      actor_critic_network.create_policy_head(_MULTI), _features([2, 4])
  )
  np.testing.assert_allclose(
      _parts(distribution).entropy(),
      [[math.log(count) for count in _COUNTS]] * 2,
      rtol=1e-6,
  )
  # Choices are independent: their entropies add up, their chances multiply.
  np.testing.assert_allclose(
      distribution.entropy(), [math.log(2 * 5 * 3)] * 2, rtol=1e-6
  )
  np.testing.assert_allclose(
      distribution.log_prob([[1, 4, 2], [0, 0, 0]]),
      [-math.log(2 * 5 * 3)] * 2,
      rtol=1e-6,
  )
  expected = np.zeros([3, 5])
  for row, count in enumerate(_COUNTS):
    expected[row, :count] = 1 / count
  np.testing.assert_allclose(
      _parts(distribution).probs_parameter(), [expected] * 2, rtol=1e-6
  )


def test_impossible_actions_are_never_sampled():
  features = 30 * _features([50, 4])  # Steep: some logits are at -100.
  head = actor_critic_network.create_policy_head(_MULTI, init_gain=1.0)
  distribution = head(features)
  samples = distribution.sample(200, seed=2).numpy()  # [200, 50, 3]
  for row, count in enumerate(_COUNTS):
    assert set(np.unique(samples[..., row])) == set(range(count))
  probabilities = _parts(distribution).probs_parameter().numpy()
  assert (probabilities[:, 0, 2:] == 0).all()
  assert (probabilities[:, 2, 3:] == 0).all()
  assert np.isfinite(distribution.entropy()).all()
  assert np.isfinite(distribution.log_prob(samples)).all()


def test_gradients_of_a_masked_head_are_finite():
  head = actor_critic_network.create_policy_head(_MULTI)
  features = _features([6, 4])
  actions = tf.constant([[1, 4, 2]] * 6, tf.int64)
  with tf.GradientTape() as tape:
    distribution = head(features)
    result = distribution.entropy() + distribution.log_prob(actions)
  kernel, bias = tape.gradient(result, head.trainable_variables)
  assert np.isfinite(kernel).all()
  # d/d logits of log p(a) is 1[a] - p, near uniform as the entropy is flat.
  expected = np.zeros([3, 5])
  for row, count in enumerate(_COUNTS):
    expected[row, :count] = -1 / count
    expected[row, count - 1] += 1
  np.testing.assert_allclose(
      bias.numpy().reshape([3, 5]), 6 * expected, atol=0.2
  )


def test_a_mask_by_hand():
  probabilities = np.float32([0.1, 0.2, 0.3, 0.4])
  others = np.float32([0.4, 0.3, 0.2, 0.1])
  mask = np.uint8([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]])
  features = _features([3, 2])
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3)

  def masked(probabilities):
    head = actor_critic_network.create_policy_head(spec)
    _set_dense(head, features, np.zeros([2, 4]), np.log(probabilities))
    expected = mask * probabilities
    return head, head(features, mask), expected / expected.sum(-1)[:, None]

  def sum_of(terms):
    return np.where(mask, terms, 0).sum(-1)

  head, distribution, p = masked(probabilities)
  _, other, q = masked(others)
  np.testing.assert_allclose(distribution.probs_parameter(), p, rtol=1e-6)
  assert (distribution.probs_parameter().numpy()[mask == 0] == 0).all()
  with np.errstate(divide='ignore', invalid='ignore'):
    np.testing.assert_allclose(
        distribution.entropy(), sum_of(-p * np.log(p)), 1e-5, 1e-6
    )
    np.testing.assert_allclose(
        distribution.kl_divergence(other), sum_of(p * np.log(p / q)), 1e-5, 1e-6
    )
  np.testing.assert_allclose(
      distribution.log_prob([1, 1, 2]), np.log([0.2, 1 / 3, 1]), 1e-5, 1e-6
  )
  np.testing.assert_array_equal(distribution.mode(), [3, 3, 2])
  samples = distribution.sample(500, seed=1).numpy()
  assert set(samples[:, 1]) == {1, 3} and set(samples[:, 2]) == {2}
  # Forbidden logits get no gradient, and nothing is NaN.
  with tf.GradientTape() as tape:
    distribution = head(features, mask)
    loss = tf.reduce_sum(
        distribution.entropy() + distribution.log_prob([3, 3, 2])
    )
  _, bias = tape.gradient(loss, head.trainable_variables)
  expected = np.zeros(4)
  for row in range(3):
    entropy = sum_of(-p * np.log(np.where(mask, p, 1)))[row]
    slope = -p[row] * (np.log(np.where(mask, p, 1))[row] + entropy)
    chosen = np.eye(4)[3 if row < 2 else 2]
    expected += mask[row] * (slope + chosen - p[row])
  np.testing.assert_allclose(bias, expected, rtol=1e-4, atol=1e-6)


def test_a_mask_of_several_entries():
  mask = np.zeros([2, 3, 5], np.uint8)
  mask[:, 0, 1] = mask[:, 1, 2:5] = mask[:, 2, :2] = 1
  head = actor_critic_network.create_policy_head(_MULTI)
  features = _features([2, 4])
  _zero_weights(head, features)
  np.testing.assert_allclose(
      head(features, mask).entropy(), [math.log(1 * 3 * 2)] * 2, rtol=1e-6
  )


@pytest.mark.parametrize(
    'spec',
    [
        tensor_spec.BoundedTensorSpec([], tf.int64, 1, 3),
        tensor_spec.BoundedTensorSpec([], tf.int64, -1, 1),
        tensor_spec.BoundedTensorSpec([2], tf.int64, [0, 1], [2, 2]),
    ],
)
def test_discrete_actions_start_at_0(spec):
  with pytest.raises(ValueError, match='start at 0'):
    actor_critic_network.create_policy_head(spec)


@pytest.mark.parametrize('dtype', [tf.uint8, tf.int8, tf.int16])
def test_short_integers_as_actions_are_refused(dtype):
  spec = tensor_spec.BoundedTensorSpec([2], dtype, 0, 3)
  with pytest.raises(ValueError, match=f'int32 or int64.*got {dtype.name}'):
    actor_critic_network.create_policy_head(spec)


def test_discrete_actions_need_bounds():
  with pytest.raises(ValueError, match='need bounds'):
    actor_critic_network.create_policy_head(tf.TensorSpec([], tf.int64))


# Bounds that are no numbers to reckon with must not be reckoned with.
@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize(
    ('spec', 'middle', 'half_range'),
    [
        (_BOUNDED, [2, 2], [4, 4]),
        (_box([-1, 0], [1, 10]), [0, 5], [1, 5]),
        (tf.TensorSpec([2], tf.float32), [0, 0], [1, 1]),
        (_box([-np.inf, -1], [np.inf, 3]), [0, 1], [1, 2]),
        (_box(0, [np.inf, 1]), [1, 0.5], [1, 0.5]),
        (_box([-np.inf, 4], [-9, np.inf]), [-18, 8], [9, 4]),
        (_box(0, [2e6, 2e12]), [1e6, 1e12], [1e6, 1e12]),
        # The second entry can have one value only.
        (_box([-1, 3], [1, 3]), [0, 3], [1, 1]),
        # What TF-Agents makes of a Box without bounds.
        (_box(tf.float32.min, tf.float32.max), [0, 0], [1, 1]),
    ],
)
def test_normal_in_half_ranges(spec, middle, half_range):
  features = _features([3, 2])
  head = actor_critic_network.create_policy_head(spec)
  distribution = _parts(_zero_weights(head, features))
  np.testing.assert_allclose(distribution.loc, [middle] * 3)
  np.testing.assert_allclose(
      distribution.scale, 0.6 * np.array([half_range] * 3), rtol=1e-6
  )
  # An output of 1 is the upper bound, one of -0.5 half way to the lower one.
  bias = np.float32([1.0, -0.5])
  distribution = _parts(_set_dense(head, features, np.zeros([2, 2]), bias))
  np.testing.assert_allclose(
      distribution.loc,
      [np.array(middle) + np.array(half_range) * bias] * 3,
      rtol=1e-6,
  )


def test_normal_by_hand():
  features = _features([4, 5, 3])
  kernel = _features([3, 2], 1).numpy()
  bias = np.float32([0.5, -0.5])
  head = actor_critic_network.NormalHead(_BOUNDED, init_scale=0.25)
  head(features)
  (log_scale,) = [v for v in head.trainable_variables if 'log_scale' in v.name]
  np.testing.assert_allclose(log_scale, [math.log(0.25)] * 2, rtol=1e-6)
  log_scale.assign([math.log(0.5), math.log(2)])
  distribution = _set_dense(head, features, kernel, bias)
  location = 2 + 4 * (features.numpy() @ kernel + bias)
  scale = 4 * np.array([0.5, 2])
  np.testing.assert_allclose(
      _parts(distribution).loc, location, rtol=1e-4, atol=1e-5
  )
  actions = _features([4, 5, 2], 2).numpy()
  # Of the whole action: entries are independent.
  quadratic = (((actions - location) / scale) ** 2).sum(-1)
  np.testing.assert_allclose(
      distribution.log_prob(actions),
      -0.5 * quadratic - np.log(scale).sum() - math.log(2 * math.pi),
      rtol=1e-4,
      atol=1e-4,
  )
  entropy = (0.5 * np.log(2 * math.pi * math.e * scale**2)).sum()
  np.testing.assert_allclose(
      distribution.entropy(), np.full([4, 5], entropy), rtol=1e-5
  )


def test_first_normal_policy_is_nearly_the_same_everywhere():
  head = actor_critic_network.create_policy_head(_BOUNDED)
  distribution = _parts(head(_features([200, 16])))
  np.testing.assert_allclose(distribution.loc, 2, atol=0.2)
  assert np.std(distribution.loc) > 1e-3


def test_scalar_actions():
  spec = tensor_spec.BoundedTensorSpec([], tf.float32, 0, 1)
  features = _features([3, 2])
  head = actor_critic_network.create_policy_head(spec)
  distribution = _set_dense(head, features, [[1.0], [-1.0]], [0.0])
  np.testing.assert_allclose(
      distribution.loc, 0.5 + 0.5 * (features[:, 0] - features[:, 1]), rtol=1e-5
  )


@pytest.mark.parametrize(
    ('sign', 'bound'), [(1, math.exp(2)), (-1, math.exp(-20))]
)
def test_the_scale_is_bounded_and_returns_from_the_bound(sign, bound):
  head = actor_critic_network.create_policy_head(_BOUNDED)
  features = _features([8, 3])
  head(features)
  (log_scale,) = [v for v in head.trainable_variables if 'log_scale' in v.name]
  optimizer = tf.keras.optimizers.Adam(0.1)

  # Only the first entry is pushed: nothing depends on the other but its start.
  @tf.function(autograph=False)
  def push(direction):
    with tf.GradientTape() as tape:
      entropy = _parts(head(features)).entropy()[:, 0]
      loss = -direction * tf.reduce_mean(entropy)
    (gradient,) = tape.gradient(loss, [log_scale])
    optimizer.apply_gradients([(gradient, log_scale)])
    return _parts(head(features)).scale[0] / 4  # Half ranges.

  scales = np.log([push(tf.constant(sign, tf.float32)) for _ in range(300)])
  assert np.abs(scales).max() <= abs(math.log(bound))
  np.testing.assert_allclose(
      scales[-1], np.log([bound, 0.6]), rtol=1e-5, atol=0.2
  )
  for _ in range(60):
    scale = push(tf.constant(-sign, tf.float32))
  assert abs(math.log(scale[0]) - math.log(bound)) > 1


def test_the_bound_does_not_change_ordinary_scales():
  head = actor_critic_network.create_policy_head(_BOUNDED)
  features = _features([8, 3])
  head(features)
  (log_scale,) = [v for v in head.trainable_variables if 'log_scale' in v.name]
  log_scale.assign([-19.9, 1.99])
  with tf.GradientTape() as tape:
    distribution = _parts(head(features))
    loss = tf.reduce_mean(distribution.entropy() * [1.0, -3.0], axis=0)
  np.testing.assert_allclose(
      distribution.scale[0] / 4, np.exp([-19.9, 1.99]), rtol=1e-6
  )
  # The entropy of a normal is the logarithm of its scale, and a constant.
  np.testing.assert_allclose(tape.gradient(loss, log_scale), [1.0, -3.0], 1e-5)


def test_too_many_discrete_values():
  spec = tensor_spec.BoundedTensorSpec([3], tf.int32, 0, 2**31 - 1)
  with pytest.raises(errors.InvalidValue, match='TransformAction'):
    actor_critic_network.create_policy_head(spec)


@pytest.mark.parametrize('spec', [_MULTI, _BOUNDED])
def test_unknown_batch_size(spec):
  head = actor_critic_network.create_policy_head(spec)
  head(_features([1, 4]))

  @tf.function(input_signature=[tf.TensorSpec([None, None, 4], tf.float32)])
  def mode(features):
    distribution = head(features)
    assert distribution.batch_shape.as_list() == [None, None]
    assert distribution.event_shape == spec.shape
    return distribution.mode()

  features = _features([3, 2, 4])
  np.testing.assert_array_equal(mode(features), head(features).mode())
