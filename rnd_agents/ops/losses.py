# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms of the PPO objective."""

import tensorflow as tf


def combine_advantages(advantages, coefficients):
  """`A = c_1 A_1 + c_2 A_2 + ...` (Burda et al., 2018, section 2.3, table 5).

  Args:
    advantages: A list of float tensors of one shape, one a stream.
    coefficients: A list of as many factors.

  Returns:
    A float tensor of that shape.
  """
  first, *others = [
      coefficient * advantage
      for coefficient, advantage in zip(coefficients, advantages, strict=True)
  ]
  for term in others:
    first += term
  return first


def normalize_advantages(advantages, mask, epsilon=1e-8, least_variance=0.0):
  """Zero mean and unit variance over the rows that the mask keeps.

  Args:
    advantages: A float tensor [B, T].
    mask: Boolean tensor [B, T].
    epsilon: Added to the population variance.
    least_variance: Takes the place of a smaller population variance.

  Returns:
    A tuple (float tensor [B, T], 0 where the mask is False; variance [] that
    divided it).
  """
  weights = tf.cast(mask, advantages.dtype)
  count = tf.maximum(tf.reduce_sum(weights), 1.0)
  mean = tf.reduce_sum(weights * advantages) / count
  centred = (advantages - mean) * weights
  variance = tf.maximum(
      tf.reduce_sum(tf.square(centred)) / count, least_variance
  )
  return centred * tf.math.rsqrt(variance + epsilon), variance


def clipped_surrogate_loss(
    log_probabilities, old_log_probabilities, advantages, clip_value
):
  """PPO's clipped objective, negated (Schulman et al., 2017, equation 7).

      rho = exp(log p - log p_old)
      L   = max(-A rho, -A clip(rho, 1 - c, 1 + c))

  Args:
    log_probabilities: log p of the actions taken, a float tensor [M].
    old_log_probabilities: The same when they were taken, [M].
    advantages: A, [M].
    clip_value: c, a float above 0.

  Returns:
    A tuple (loss [M], ratio [M]).
  """
  ratio = tf.exp(log_probabilities - old_log_probabilities)
  clipped = tf.clip_by_value(ratio, 1.0 - clip_value, 1.0 + clip_value)
  return tf.maximum(-advantages * ratio, -advantages * clipped), ratio


def squared_value_error(values, returns, old_values=None, clip_value=0.0):
  """Squared error of a value head, optionally clipped around its old output.

      max((V - R)^2, (V_old + clip(V - V_old, -c, c) - R)^2)

  Args:
    values: V, a float tensor.
    returns: R, of the same shape.
    old_values: V at the start of the update; needed when clipping.
    clip_value: c; 0 for no clipping (as in the paper's code).

  Returns:
    A float tensor of the same shape.
  """
  error = tf.math.squared_difference(values, returns)
  if clip_value <= 0:
    return error
  if old_values is None:
    raise ValueError('Value clipping needs old_values.')
  near = old_values + tf.clip_by_value(
      values - old_values, -clip_value, clip_value
  )
  return tf.maximum(error, tf.math.squared_difference(near, returns))


def explained_variance(values, returns, mask):
  """`1 - Var(R - V) / Var(R)`: 1 is perfect, 0 as good as a constant.

  Args:
    values: V, a float tensor.
    returns: R, of the same shape.
    mask: Booleans of the same shape.

  Returns:
    A float scalar; 0 where the returns do not vary.
  """
  weights = tf.cast(mask, values.dtype)
  count = tf.maximum(tf.reduce_sum(weights), 1.0)

  def variance(x):
    mean = tf.reduce_sum(weights * x) / count
    return tf.reduce_sum(weights * tf.square(x - mean)) / count

  total = variance(returns)
  return tf.where(
      total > 1e-12,
      1.0 - tf.math.divide_no_nan(variance(returns - values), total),
      0.0,
  )
