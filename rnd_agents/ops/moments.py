# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Running moments and the discounted-return filter behind them."""


import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.ops import recurrences


def batch_moments(
    values: tf.Tensor, mask: tf.Tensor | None = None, num_outer_dims: int = 1
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Computes mean, population variance and count over the outer dimensions.

  Args:
    values: A float tensor [outer..., inner...].
    mask: Optional boolean tensor [outer...]; False rows do not count.
    num_outer_dims: Number of outer dimensions.

  Returns:
    A tuple (mean [inner...], variance [inner...], count []). With nothing to
    count, mean and variance are 0 and so is the count.
  """
  values = tf.convert_to_tensor(values)
  outer_shape = tf.shape(values)[:num_outer_dims]
  axes = list(range(num_outer_dims))
  if mask is None:
    weights = tf.ones(outer_shape, values.dtype)
  else:
    weights = tf.cast(mask, values.dtype)
    tf.debugging.assert_equal(tf.shape(weights), outer_shape)
  count = tf.reduce_sum(weights)
  divisor = tf.maximum(count, tf.ones_like(count))
  inner_rank = values.shape.rank - num_outer_dims
  weights = tf.reshape(
      weights, tf.concat([outer_shape, [1] * inner_rank], axis=0)
  )
  mean = tf.reduce_sum(weights * values, axes) / divisor
  variance = tf.reduce_sum(weights * tf.square(values - mean), axes) / divisor
  return mean, variance, count


def merge_moments(
    mean_a: tf.Tensor,
    variance_a: tf.Tensor,
    count_a: tf.Tensor,
    mean_b: tf.Tensor,
    variance_b: tf.Tensor,
    count_b: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Computes the moments of the union of two sets (Chan et al., 1983).

      n   = n_a + n_b,   d = m_b - m_a
      m   = m_a + d n_b / n
      n v = n_a v_a + n_b v_b + d^2 n_a n_b / n

  Args:
    mean_a: Mean of the first set, a float tensor.
    variance_a: Its population variance, of the same shape.
    count_a: Its size, a float scalar, above 0.
    mean_b: Mean of the second set.
    variance_b: Its population variance.
    count_b: Its size; 0 leaves the first set as it is.

  Returns:
    A tuple (mean, variance, count) of the union.
  """
  count = count_a + count_b
  difference = mean_b - mean_a
  mean = mean_a + difference * count_b / count
  sum_of_squares = (
      variance_a * count_a
      + variance_b * count_b
      + tf.square(difference) * count_a * count_b / count
  )
  return mean, sum_of_squares / count, count


def discounted_return_filter(
    rewards: tf.Tensor,
    discounts: types.Float,
    initial: tf.Tensor,
    valid: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes the discounted sums whose standard deviation scales rewards.

      R_t = g_t R_{t-1} + r_t

  It runs forwards in time, as the RND authors' `RewardForwardFilter` does
  (Burda et al., 2018, section 2.4): each value is a discounted return seen from
  its last reward. Rows that are not valid (boundaries between episodes) leave
  it unchanged.

  Args:
    rewards: `r`, a float tensor [B, T].
    discounts: `g`, a float tensor [B, T] or a float. A never-reset stream has
      the same g everywhere; 0 at an episode's first transition resets.
    initial: `R` after the rollout before this one, a float tensor [B].
    valid: Boolean tensor [B, T].

  Returns:
    A tuple (filtered [B, T], last [B]): `R` at every row and after the last
    one, to be handed in as `initial` next time.
  """
  rewards = tf.convert_to_tensor(rewards)
  discounts = discounts * tf.ones_like(rewards)
  filtered = recurrences.linear_recurrence(
      tf.where(valid, rewards, tf.zeros_like(rewards)),
      tf.where(valid, discounts, tf.ones_like(discounts)),
      initial,
  )
  return filtered, filtered[:, -1]
