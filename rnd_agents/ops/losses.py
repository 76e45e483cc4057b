# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms of the PPO objective, and of that of RND's predictor."""

from collections.abc import Sequence

import tensorflow as tf
from tf_agents.typing import types


def combine_advantages(
    advantages: Sequence[tf.Tensor], coefficients: Sequence[types.Float]
) -> tf.Tensor:
  """Computes `A = c_1 A_1 + c_2 A_2 + ...`.

  (Burda et al., 2018, section 2.3, table 5.)

  Args:
    advantages: A list of float tensors of one shape, one for each stream.
    coefficients: A list with a factor for each stream.

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


def normalize_advantages(
    advantages: tf.Tensor,
    mask: tf.Tensor,
    epsilon: float = 1e-8,
    least_variance: types.Float = 0.0,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Normalizes to zero mean and unit variance over the rows of a mask.

  Args:
    advantages: A float tensor [B, T].
    mask: Boolean tensor [B, T].
    epsilon: Added to the population variance.
    least_variance: Lower bound on the population variance.

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
    log_probabilities: tf.Tensor,
    old_log_probabilities: tf.Tensor,
    advantages: tf.Tensor,
    clip_value: float,
    dual_clip: types.Float | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes PPO's clipped objective, negated.

  (Schulman et al., 2017, equation 7; with `dual_clip` d, Ye et al., 2020,
  "Mastering Complex Control in MOBA Games", equation 5.)

      rho = exp(log p - log p_old)
      L   = max(-A rho, -A clip(rho, 1 - c, 1 + c))
      L   = min(L, -A d)  where A < 0

  Args:
    log_probabilities: log p of the actions taken, a float tensor [M].
    old_log_probabilities: log p_old, of the policy that took them, [M].
    advantages: A, [M].
    clip_value: c, a float above 0.
    dual_clip: d, above 1; None for no bound.

  Returns:
    A tuple (loss [M], ratio [M]).
  """
  ratio = tf.exp(log_probabilities - old_log_probabilities)
  clipped = tf.clip_by_value(ratio, 1.0 - clip_value, 1.0 + clip_value)
  loss = tf.maximum(-advantages * ratio, -advantages * clipped)
  if dual_clip is not None:
    bounded = tf.minimum(loss, -advantages * dual_clip)
    loss = tf.where(advantages < 0, bounded, loss)
  return loss, ratio


def squared_value_error(
    values: tf.Tensor,
    returns: tf.Tensor,
    old_values: tf.Tensor | None = None,
    clip_value: float = 0.0,
) -> tf.Tensor:
  """Computes the squared error of values, optionally clipped (PPO2).

      max((V - R)^2, (V_old + clip(V - V_old, -c, c) - R)^2)

  Args:
    values: V, a float tensor.
    returns: R, of the same shape.
    old_values: V_old, the values before the update; needed for clipping.
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


def explained_variance(
    values: tf.Tensor, returns: tf.Tensor, mask: tf.Tensor
) -> tf.Tensor:
  """Computes `1 - Var(R - V) / Var(R)`: 1 is perfect, 0 a constant's.

  Args:
    values: V, a float tensor.
    returns: R, of the same shape.
    mask: Booleans of the same shape.

  Returns:
    A float scalar; 0 where the returns do not vary.
  """
  weights = tf.cast(mask, values.dtype)
  count = tf.maximum(tf.reduce_sum(weights), 1.0)

  def variance(x: tf.Tensor) -> tf.Tensor:
    mean = tf.reduce_sum(weights * x) / count
    return tf.reduce_sum(weights * tf.square(x - mean)) / count

  total = variance(returns)
  return tf.where(
      total > 1e-12,
      1.0 - tf.math.divide_no_nan(variance(returns - values), total),
      0.0,
  )


def rnd_error(predictions: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
  """Computes the prediction error of each sample, a mean over the features.

      e(x) = 1/F sum_j (f^_j(x) - f_j(x))^2

  The paper (section 2.2) writes the squared norm; its code takes the mean. The
  factor cancels when the bonus is normalised. No gradient reaches the targets.

  Args:
    predictions: f^, a float tensor [..., F].
    targets: f, a float tensor [..., F].

  Returns:
    A float tensor [...].
  """
  predictions = tf.convert_to_tensor(predictions)
  targets = tf.convert_to_tensor(targets)
  if not predictions.shape.is_compatible_with(targets.shape):
    raise ValueError(
        'predictions and targets must have equal shapes, got'
        f' {predictions.shape} and {targets.shape}.'
    )
  return tf.reduce_mean(
      tf.math.squared_difference(predictions, tf.stop_gradient(targets)), -1
  )


def predictor_loss(
    errors: tf.Tensor,
    mask: tf.Tensor | None = None,
    weights: tf.Tensor | None = None,
) -> tf.Tensor:
  """Computes the mean weighted error of the samples that the mask keeps.

      L = sum_i m_i w_i e_i / max(sum_i m_i, 1)

  (The authors' code, with weights of 1; appendix A.4 of the paper gives the
  kept proportion.) It is 0 where the mask keeps none, and linear in the
  weights.

  Args:
    errors: `e`, a float tensor [M].
    mask: `m`, booleans [M]; None for all.
    weights: `w`, floats [M]; None for 1.

  Returns:
    A float scalar.
  """
  if mask is None:
    mask = tf.ones_like(errors)
  mask = tf.cast(mask, errors.dtype)
  kept = mask * errors
  if weights is not None:
    kept *= tf.cast(weights, errors.dtype)
  return tf.reduce_sum(kept) / tf.maximum(tf.reduce_sum(mask), 1.0)
