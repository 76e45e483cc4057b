# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ReturnScaler, against sums of one environment at a time."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.statistics import running_statistics

_GAMMA = 0.9


class _SlowScaler:
  """Sums as Python floats, and every value they ever had in a list."""

  def __init__(self):
    self.sums = []
    self.seen = []

  def update(self, rewards, valid, starts=None):
    if len(self.sums) != len(rewards):
      self.sums = [0.0] * len(rewards)
    for b in range(len(rewards)):
      for t in range(len(rewards[b])):
        if starts is not None and starts[b, t]:
          self.sums[b] = 0.0
        if not valid[b, t]:
          continue
        self.sums[b] = _GAMMA * self.sums[b] + float(rewards[b, t])
        self.seen.append(self.sums[b])

  @property
  def variance(self):
    count = 1e-4 + len(self.seen)
    mean = sum(self.seen) / count
    return (sum(x**2 for x in self.seen) + 1e-4) / count - mean**2


def _rollout(rng, batch_size, num_steps=8):
  rewards = rng.normal(1, 2, size=[batch_size, num_steps])
  valid = rng.random([batch_size, num_steps]) < 0.8
  starts = rng.random([batch_size, num_steps]) < 0.2
  return rewards.astype(np.float32), valid, starts


def _updates(scaler, in_graph):
  """`update` as it is, or in one `tf.function` for every batch size."""
  if not in_graph:
    return scaler.update
  signature = [
      tf.TensorSpec([None, None], dtype)
      for dtype in (tf.float32, tf.bool, tf.bool)
  ]
  with_starts = tf.function(scaler.update, signature, autograph=False)
  without = tf.function(scaler.update, signature[:2], autograph=False)

  def update(rewards, valid, starts=None):
    return (
        without(rewards, valid)
        if starts is None
        else with_starts(rewards, valid, starts)
    )

  return update


@pytest.mark.parametrize('in_graph', [False, True])
@pytest.mark.parametrize('episodic', [False, True])
def test_several_rollouts(episodic, in_graph):
  rng = np.random.default_rng(0)
  scaler, slow = running_statistics.ReturnScaler(_GAMMA), _SlowScaler()
  update = _updates(scaler, in_graph)
  for _ in range(4):
    rewards, valid, starts = _rollout(rng, 3)
    # Boundary rows must not count, whatever stands in them.
    filled = np.where(valid, rewards, 1e6).astype(np.float32)
    arguments = (rewards, valid, starts) if episodic else (rewards, valid)
    slow.update(*arguments)
    update(*(tf.constant(x) for x in (filled, *arguments[1:])))
    np.testing.assert_allclose(
        scaler.moments.variance, slow.variance, rtol=1e-5
    )
    np.testing.assert_allclose(
        scaler.scale(tf.constant(rewards)),
        rewards / np.sqrt(slow.variance),
        rtol=1e-5,
    )
  np.testing.assert_allclose(scaler.moments.mean, np.mean(slow.seen), rtol=1e-4)


@pytest.mark.parametrize('in_graph', [False, True])
def test_starts_reset_the_sum(in_graph):
  scaler = running_statistics.ReturnScaler(_GAMMA)
  ones = np.ones([1, 4], np.float32)
  starts = np.array([[False, False, True, False]])
  # Sums 1, 1.9, 1, 1.9; without `starts` 1, 1.9, 2.71, 3.439.
  _updates(scaler, in_graph)(ones, ones > 0, starts)
  np.testing.assert_allclose(scaler.moments.mean, 1.45, rtol=1e-4)
  np.testing.assert_allclose(scaler.moments.variance, 0.2025, rtol=1e-3)


@pytest.mark.parametrize('signature', [None, 'unknown'])
@pytest.mark.parametrize('in_graph', [False, True])
def test_another_batch_size_starts_at_zero(in_graph, signature):
  scaler = running_statistics.ReturnScaler(_GAMMA)
  if not in_graph:
    update = scaler.update
  elif signature is None:
    update = tf.function(scaler.update, autograph=False)
  else:
    update = _updates(scaler, True)
  slow = _SlowScaler()
  rng = np.random.default_rng(1)
  for batch_size in (2, 3, 3, 1, 2, 2):
    rewards, valid, _ = _rollout(rng, batch_size)
    slow.update(rewards, valid)
    update(tf.constant(rewards), tf.constant(valid))
    np.testing.assert_allclose(
        scaler.moments.variance, slow.variance, rtol=1e-5
    )


@pytest.mark.parametrize('in_graph', [False, True])
def test_checkpoint_keeps_sums_and_moments(tmp_path, in_graph):
  rng = np.random.default_rng(2)
  scaler, slow = running_statistics.ReturnScaler(_GAMMA), _SlowScaler()
  first, second = _rollout(rng, 3)[:2], _rollout(rng, 3)[:2]
  scaler.update(*map(tf.constant, first))
  slow.update(*first)
  path = tf.train.Checkpoint(scaler=scaler).save(tmp_path / 'c')

  other = running_statistics.ReturnScaler(_GAMMA)
  tf.train.Checkpoint(scaler=other).restore(path).assert_consumed()
  slow.update(*second)
  for continued in (scaler, other):
    _updates(continued, in_graph)(*map(tf.constant, second))
    np.testing.assert_allclose(
        continued.moments.variance, slow.variance, rtol=1e-5
    )
  # Had only the moments come back, the sums would start at zero.
  forgetful = _SlowScaler()
  forgetful.seen = slow.seen[: first[1].sum()]
  forgetful.update(*second)
  assert abs(forgetful.variance / slow.variance - 1) > 1e-3


def test_fresh_scaler_scales_by_one():
  scaler = running_statistics.ReturnScaler(_GAMMA)
  np.testing.assert_array_equal(
      scaler.scale(tf.constant([[3.0, -2.0]])), [[3.0, -2.0]]
  )


@pytest.mark.parametrize('in_graph', [False, True])
def test_a_single_return_divides_by_its_size(in_graph):
  # It has no deviation: the first reward would be 45 times itself.
  scaler = running_statistics.ReturnScaler(_GAMMA)
  update = _updates(scaler, in_graph)
  scale = scaler.scale
  if in_graph:
    scale = tf.function(scale, autograph=False)
  one = np.float32([[0.5]])
  update(one, np.array([[True]]))
  np.testing.assert_allclose(scale(one), [[1.0]], rtol=1e-3)
  # From the second on it is the deviation: half the distance from 0.5 to 0.95.
  update(one, np.array([[True]]))
  np.testing.assert_allclose(scale(one), 0.5 / 0.225, rtol=1e-3)


class _ForgetfulScaler(_SlowScaler):
  """Weighs every value it ever saw; the first is the fresh statistic."""

  horizon = 30.0

  def __init__(self):
    super().__init__()
    self._mean, self._square, self._weights = [0.0], [1.0], [1e-4]
    self.largest = 0.0

  def update(self, rewards, valid, starts=None):
    self.seen = []
    super().update(rewards, valid, starts)
    fading = min(1.0, self.horizon / sum(self._weights))
    self._weights = [fading * weight for weight in self._weights]
    self._mean += self.seen
    self._square += [x**2 for x in self.seen]
    self._weights += [1.0] * len(self.seen)
    self.largest = max(self.largest, self.variance)

  @property
  def variance(self):
    mean = np.average(self._mean, weights=self._weights)
    return np.average(self._square, weights=self._weights) - mean**2


@pytest.mark.parametrize('in_graph', [False, True])
def test_a_scale_that_forgets(in_graph):
  rng = np.random.default_rng(0)
  scaler = running_statistics.ReturnScaler(
      _GAMMA, horizon=_ForgetfulScaler.horizon, least_share=0.2
  )
  slow, never = _ForgetfulScaler(), _SlowScaler()
  update = _updates(scaler, in_graph)
  scales = []
  for i in range(12):
    rewards, valid, _ = _rollout(rng, 3)
    rewards *= 0.3**i
    slow.update(rewards, valid)
    never.update(rewards, valid)
    update(tf.constant(rewards), tf.constant(valid))
    np.testing.assert_allclose(
        scaler.moments.variance, slow.variance, rtol=1e-4
    )
    scales.append(1 / scaler.scale(tf.constant(1.0)))
    np.testing.assert_allclose(
        scales[-1],
        max(np.sqrt(slow.variance), 0.2 * np.sqrt(slow.largest)),
        rtol=1e-4,
    )
  # By the end the floor holds; with all of the past it would be far higher.
  np.testing.assert_allclose(scales[-1], 0.2 * max(scales), rtol=1e-4)
  assert scales[-1] < 0.5 * np.sqrt(never.variance)
