# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random Network Distillation: input whitening, error, predictor loss."""


import tensorflow as tf


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
