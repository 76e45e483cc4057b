# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""From rewards, bonus and values of a rollout to advantages and returns."""

import collections

import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.ops import gae
from rnd_agents.ops import losses

# Numbers about a rollout that both streams leave behind.
STATISTICS = (
    'bonus_mean',
    'bonus_std',
    'bonus_max',
    'intrinsic_reward_mean',
    'intrinsic_episode_return_mean',
    'num_ended_episodes',
    'extrinsic_return_mean',
    'intrinsic_return_mean',
    'extrinsic_explained_variance',
    'intrinsic_explained_variance',
)

Streams = collections.namedtuple(
    'Streams', ('advantages', 'returns', 'values', 'valid', 'statistics')
)

# What the streams need to know of T transitions, each [B, T].
Transitions = collections.namedtuple(
    'Transitions', ('discounts', 'is_boundary', 'next_is_last')
)


class ReturnStreams:
  """The two return streams of RND-PPO (Burda et al., 2018, section 2.3)."""

  def __init__(
      self,
      discount_factor,
      intrinsic_discount_factor,
      lambda_value,
      extrinsic_coefficient,
      intrinsic_coefficient,
      episodic_intrinsic_stream=False,
      bootstrap_at_time_limit=True,
      normalize_advantages=False,
  ):
    """Creates the streams; `RNDPPOAgent` explains the arguments."""
    self._discount_factor = discount_factor
    self._intrinsic_discount_factor = intrinsic_discount_factor
    self._lambda_value = lambda_value
    self.extrinsic_coefficient = extrinsic_coefficient
    self.intrinsic_coefficient = intrinsic_coefficient
    self._episodic_intrinsic_stream = episodic_intrinsic_stream
    self._bootstrap_at_time_limit = bootstrap_at_time_limit
    self._normalize_advantages = normalize_advantages

  def __call__(self, experience, rewards, bonus, intrinsic_rewards, values):
    """Computes both streams.

    Args:
      experience: A `Trajectory` [B, T+1].
      rewards: Extrinsic rewards of the transitions, float [B, T].
      bonus: Raw bonus of the transitions, float [B, T]; None without RND.
      intrinsic_rewards: The same normalised; None without RND.
      values: Both values of every row, float [B, T+1, 2].

    Returns:
      `Streams`: combined advantages [B, T], returns [B, T, 2], values
      [B, T, 2], valid [B, T] (False where a transition LAST -> FIRST joins two
      episodes: no sample), and `STATISTICS` by name.
    """
    transitions = Transitions(
        experience.discount[:, :-1],
        tf.equal(experience.step_type[:, :-1], ts.StepType.LAST),
        tf.equal(experience.next_step_type[:, :-1], ts.StepType.LAST),
    )
    valid = tf.logical_not(transitions.is_boundary)
    statistics = dict.fromkeys(STATISTICS, tf.constant(0.0))
    if bonus is None:
      intrinsic_rewards = tf.zeros_like(rewards)
    else:
      intrinsic_rewards = tf.where(valid, intrinsic_rewards, 0.0)
      statistics.update(_bonus_statistics(bonus, intrinsic_rewards, valid))
    extrinsic, intrinsic = self.stream_advantages(
        transitions, rewards, intrinsic_rewards, values
    )
    if bonus is None:
      intrinsic = tf.zeros_like(extrinsic)
    advantages = losses.combine_advantages(
        extrinsic,
        intrinsic,
        self.extrinsic_coefficient,
        self.intrinsic_coefficient,
    )
    if self._normalize_advantages:
      advantages = losses.normalize_advantages(advantages, valid)
    old_values = values[:, :-1]
    returns = tf.stack([extrinsic, intrinsic], axis=-1) + old_values
    statistics.update(_return_statistics(returns, old_values, valid))
    return Streams(advantages, returns, old_values, valid, statistics)

  def stream_advantages(self, transitions, rewards, intrinsic_rewards, values):
    """GAE of each stream.

    Args:
      transitions: `Transitions`.
      rewards: Extrinsic rewards [B, T].
      intrinsic_rewards: Intrinsic rewards [B, T], 0 at boundaries.
      values: Both values of every row [B, T+1, 2].

    Returns:
      A tuple (extrinsic [B, T], intrinsic [B, T]).
    """
    return (
        self._episodic(
            transitions, rewards, values[..., 0], self._discount_factor
        ),
        self._intrinsic(transitions, intrinsic_rewards, values[..., 1]),
    )

  def _episodic(self, transitions, rewards, values, discount_factor):
    weights = gae.episodic_weights(
        discount_factor,
        self._lambda_value,
        transitions.discounts,
        transitions.next_is_last,
        self._bootstrap_at_time_limit,
    )
    return gae.generalized_advantage_estimation(
        rewards, values[:, :-1], values[:, -1], *weights
    )

  def _intrinsic(self, transitions, rewards, values):
    discount_factor = self._intrinsic_discount_factor
    if self._episodic_intrinsic_stream:
      return self._episodic(transitions, rewards, values, discount_factor)
    values = gae.bridge_boundary_values(values, transitions.is_boundary)
    weights = gae.continuing_weights(
        discount_factor, self._lambda_value, transitions.is_boundary
    )
    return gae.generalized_advantage_estimation(
        rewards, values[:, :-1], values[:, -1], *weights
    )


def _bonus_statistics(bonus, intrinsic_rewards, valid):
  kept = tf.boolean_mask(bonus, valid)
  return dict(
      bonus_mean=tf.reduce_mean(kept),
      bonus_std=tf.math.reduce_std(kept),
      bonus_max=tf.reduce_max(kept),
      intrinsic_reward_mean=tf.reduce_mean(
          tf.boolean_mask(intrinsic_rewards, valid)
      ),
  )


def _return_statistics(returns, values, valid):
  statistics = {}
  for head, stream in enumerate(('extrinsic', 'intrinsic')):
    statistics[f'{stream}_return_mean'] = tf.reduce_mean(
        tf.boolean_mask(returns[..., head], valid)
    )
    statistics[f'{stream}_explained_variance'] = losses.explained_variance(
        values[..., head], returns[..., head], valid
    )
  return statistics
