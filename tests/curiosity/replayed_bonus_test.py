# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Replayed rewards with a bonus, and what the curiosity takes in and learns."""

import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import networks
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.curiosity import replayed_bonus

_SPEC = tf.TensorSpec([2], tf.float32)


def _rows(step_types, observations, rewards):
  """A `Trajectory` of rows; every array has the same outer dimensions."""
  shape = np.shape(step_types)
  return trajectory.Trajectory(
      step_type=tf.constant(step_types, tf.int32),
      observation=tf.constant(observations, tf.float32),
      action=tf.zeros(shape, tf.int64),
      policy_info=(),
      next_step_type=tf.fill(shape, ts.StepType.MID),
      reward=tf.constant(rewards, tf.float32),
      discount=tf.ones(shape),
  )


def _curiosity():
  return random_network_distillation.RandomNetworkDistillation(
      _SPEC,
      networks.RNDNetwork(_SPEC, (128, 128), 64),
      networks.RNDNetwork(_SPEC, (128,), 64, trainable=False),
  )


def _error(rnd, whitened):
  """Mean squared difference of the two networks' outputs."""
  inputs = tf.constant(np.clip(whitened, -5, 5), tf.float32)
  predicted = rnd.rnd_network(inputs)[0].numpy()
  return np.mean((predicted - rnd.target_rnd_network(inputs)[0]) ** 2, axis=-1)


def test_bonus_is_added_to_the_first_of_two_rows():
  rnd = _curiosity()
  arrivals = np.array([[0.5, -1.0], [9.0, 2.0]])
  rows = _rows(
      [[0, 1], [1, 1]],
      np.stack([np.zeros([2, 2]), arrivals], axis=1),
      [[-1.0, 7.0], [3.0, 8.0]],
  )

  rewards = replayed_bonus.add_bonus(rnd, rows, 0.5).reward

  # Without any statistics: whitening and scale are the identity.
  bonus = _error(rnd, arrivals)
  assert bonus.min() > 1e-3
  np.testing.assert_allclose(
      rewards,
      [[-1.0 + 0.5 * bonus[0], 7.0], [3.0 + 0.5 * bonus[1], 8.0]],
      rtol=1e-5,
  )


def test_statistics_pass_over_the_first_rows_of_episodes():
  tf.keras.utils.set_random_seed(0)
  rnd = _curiosity()
  generator = np.random.default_rng(0)
  step_types = [[0, 0], [1, 1], [1, 2], [2, 0], [0, 1], [1, 1]]  # [T, B]
  observations = generator.normal(2.0, 3.0, [6, 2, 2])
  sums, seen, returns = np.zeros(2), [], []

  for kinds, row in zip(step_types, observations, strict=True):
    replayed_bonus.watch(rnd, _rows(kinds, row, [0.0, 0.0]))
    arrived = np.array(kinds) != 0
    seen += list(row[arrived])
    if not seen:
      continue
    bonus = _error(rnd, (row - np.mean(seen, 0)) / np.std(seen, 0).clip(1e-6))
    sums[arrived] = 0.99 * sums[arrived] + bonus[arrived]
    returns += list(sums[arrived])

  assert len(returns) == 8
  scale = rnd.normalize_bonus(tf.constant(1.0)).numpy()
  # Fresh statistics weigh as much as 1e-4 samples of N(0, 1).
  np.testing.assert_allclose(scale, 1 / np.std(returns), rtol=1e-2)


def test_longer_sequences_and_what_ends_them():
  rnd = _curiosity()
  observations = np.random.default_rng(0).normal(size=[2, 4, 2])
  # The third frame of the first sequence ends an episode, and padding follows.
  step_types = [[0, 1, 2, 2], [1, 1, 1, 1]]
  rows = _rows(step_types, observations, np.zeros([2, 4]))
  bonus = _error(rnd, observations[:, 1:])
  expected = np.concatenate([bonus, np.zeros([2, 1])], axis=1)
  expected[0, 2] = 0.0
  np.testing.assert_allclose(
      replayed_bonus.add_bonus(rnd, rows, 1.0).reward, expected, rtol=1e-5
  )
  kept = np.append(bonus[0, :2], bonus[1])
  np.testing.assert_allclose(
      replayed_bonus.predictor_loss(rnd, rows), kept.mean(), rtol=1e-5
  )
