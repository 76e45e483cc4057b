# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""First-order linear recurrences over time, in logarithmic depth."""


import tensorflow as tf


def reverse_linear_recurrence(
    inputs: tf.Tensor, weights: tf.Tensor
) -> tf.Tensor:
  """Solves `y_t = x_t + w_t y_{t+1}` with `y_T = 0`, backwards in time.

  Two steps of the recurrence compose into one of the same form, so doubling
  the stride solves T steps in ceil(log2 T) vector operations instead of a loop
  of T small ones.

  Args:
    inputs: `x`, a float tensor [B, T].
    weights: `w`, a float tensor [B, T]; the last column has no effect.

  Returns:
    `y`, a float tensor [B, T].
  """
  inputs = tf.convert_to_tensor(inputs)
  weights = tf.convert_to_tensor(weights, dtype=inputs.dtype)
  tf.debugging.assert_rank(inputs, 2, 'inputs must be [B, T]')
  tf.debugging.assert_rank(weights, 2, 'weights must be [B, T]')
  num_steps = tf.shape(inputs)[1]

  def shift_left(x: tf.Tensor, stride: tf.Tensor) -> tf.Tensor:
    return tf.pad(x[:, stride:], [[0, 0], [0, stride]])

  def double(
      stride: tf.Tensor, y: tf.Tensor, w: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    return (
        2 * stride,
        y + w * shift_left(y, stride),
        w * shift_left(w, stride),
    )

  # The weight of the last step would multiply y_T = 0: dropping it keeps an
  # infinite or NaN filler there from spreading.
  weights = tf.pad(weights[:, :-1], [[0, 0], [0, 1]])
  dynamic = tf.TensorShape([inputs.shape[0], None])
  _, result, _ = tf.while_loop(
      lambda stride, *_: stride < num_steps,
      double,
      (tf.constant(1), inputs, weights),
      shape_invariants=(tf.TensorShape([]), dynamic, dynamic),
  )
  return tf.ensure_shape(result, inputs.shape)


def linear_recurrence(
    inputs: tf.Tensor, weights: tf.Tensor, initial: tf.Tensor
) -> tf.Tensor:
  """Solves `y_t = x_t + w_t y_{t-1}` with `y_{-1} = initial`, forwards in time.

  Args:
    inputs: `x`, a float tensor [B, T].
    weights: `w`, a float tensor [B, T].
    initial: The value before the first step, a float tensor [B].

  Returns:
    `y`, a float tensor [B, T].
  """
  inputs = tf.convert_to_tensor(inputs)
  weights = tf.convert_to_tensor(weights, dtype=inputs.dtype)
  initial = tf.convert_to_tensor(initial, dtype=inputs.dtype)
  first = inputs[:, :1] + weights[:, :1] * initial[:, tf.newaxis]
  inputs = tf.concat([first, inputs[:, 1:]], axis=1)
  backwards = reverse_linear_recurrence(
      tf.reverse(inputs, [1]), tf.reverse(weights, [1])
  )
  return tf.reverse(backwards, [1])
