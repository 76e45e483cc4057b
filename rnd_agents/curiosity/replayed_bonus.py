# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The bonus for agents that learn from replayed experience.

An old transition is worth what its novelty is today: the bonus is computed on
the replayed batch, not when it was collected. Statistics follow what is
collected, in its order.
"""

import tensorflow as tf


def watch(curiosity, row):
  """Takes a row of all environments into the statistics; a driver's observer.

  The bonus is of arriving at the row's observation. Nothing arrives at the
  first observation of an episode.

  Args:
    curiosity: A `RandomNetworkDistillation`.
    row: A `Trajectory` [B]; row b of every call belongs to environment b.
  """
  arrived = ~row.is_first()
  curiosity.update_observation_statistics(row.observation, arrived)
  bonus = curiosity.bonus(row.observation)
  # [B] -> [B, 1]: one step in time of the filter that each environment has.
  curiosity.update_return_statistics(
      bonus[:, tf.newaxis], arrived[:, tf.newaxis]
  )


def arrivals(experience):
  """Observations [B, T-1, ...] that transitions between T frames lead to."""
  return tf.nest.map_structure(lambda x: x[:, 1:], experience.observation)


def target_features(curiosity, experience):
  """The target's output [B, T-1, F] for a batch's transitions.

  For both functions below: they stay the same while the statistics do.
  """
  return curiosity.target_features(arrivals(experience))


def arrived(experience):
  """Which transitions [B, T-1] were made: none leads out of an episode."""
  return ~experience.is_boundary()[:, :-1]


def add_bonus(curiosity, experience, weight, features=None):
  """A replayed batch with the bonus of each transition added to its reward.

  Args:
    curiosity: A `RandomNetworkDistillation`.
    experience: A `Trajectory` [B, T] of frames; frame t holds the reward of
      the transition to frame t + 1.
    weight: What the normalised bonus is multiplied with.
    features: `target_features` of the batch, where already known.

  Returns:
    The `Trajectory` with other rewards. Those of the last frame, whose
    transition leads out of the batch, and of frames that end an episode, from
    which nobody acted, stay.
  """
  bonus = curiosity.normalize_bonus(
      curiosity.bonus(arrivals(experience), features)
  )
  bonus = tf.where(arrived(experience), bonus, 0.0)
  padded = tf.concat([bonus, tf.zeros_like(bonus[:, :1])], axis=1)
  return experience.replace(
      reward=experience.reward + tf.cast(weight * padded, tf.float32)
  )


def predictor_loss(curiosity, experience, features=None):
  """The predictor's loss on the transitions of a replayed batch.

  Args:
    curiosity: A `RandomNetworkDistillation`.
    experience: A `Trajectory` [B, T].
    features: `target_features` of the batch, where already known.

  Returns:
    A float scalar; 0 where there is no transition.
  """

  def flatten(x):
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0))

  return curiosity.loss(
      tf.nest.map_structure(flatten, arrivals(experience)),
      mask=flatten(tf.cast(arrived(experience), tf.float32)),
      target_features=None if features is None else flatten(features),
  )
