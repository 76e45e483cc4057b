# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Running moments, and whitening by them."""

import tensorflow as tf


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


def whiten_and_clip(
    values: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    clip_value: float | None,
) -> tf.Tensor:
  """Computes `clip((x - mean) / sqrt(variance), -c, c)`.

  (Burda et al., 2018, section 2.4.)

  No epsilon is added to the variance: it would hide inputs whose natural scale
  is small. An input that never varied is clipped as soon as it varies.

  Args:
    values: A float tensor [..., inner...].
    mean: A tensor [inner...].
    variance: A tensor [inner...], above 0.
    clip_value: `c`, a float above 0, or None for no clipping.

  Returns:
    A tensor like `values`.
  """
  # The moments may be float64: only their quotient is needed in float32.
  mean = tf.cast(mean, values.dtype)
  scale = tf.cast(tf.math.rsqrt(variance), values.dtype)
  whitened = (values - mean) * scale
  if clip_value is None:
    return whitened
  return tf.clip_by_value(whitened, -clip_value, clip_value)
