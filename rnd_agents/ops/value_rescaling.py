# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Value rescaling: maps returns of any size to a range that networks can fit.

      h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x

(Pohlen et al., 2018, arXiv 1805.11593, section 3.2; R2D2, Kapturowski et al.,
2019, section 2.3, with epsilon 1e-3.) The usual code subtracts nearly equal
numbers, in h^-1 divided by epsilon: at epsilon 1e-3 that leaves 1e-4 of error
in float32. The forms here are equal to it in algebra and subtract nothing, so
that h^-1(h(x)) in float32 is x to a relative error of 1e-6 for every |x| from
1e-30 to 1e6, and both have their true slope at 0.
"""

import tensorflow as tf


def rescale(values: tf.Tensor, epsilon: float = 1e-3) -> tf.Tensor:
  """Computes h, as `x / (sqrt(|x| + 1) + 1) + epsilon x`.

  Args:
    values: x, a float tensor of any shape.
    epsilon: A float, at least 0. Above 0 it bounds the slope of h^-1.

  Returns:
    h(x), a tensor like `values`.

  Raises:
    ValueError: If epsilon is negative.
  """
  _check_epsilon(epsilon)
  values = tf.convert_to_tensor(values)
  return values / (tf.sqrt(tf.abs(values) + 1.0) + 1.0) + epsilon * values


def inverse_rescale(values: tf.Tensor, epsilon: float = 1e-3) -> tf.Tensor:
  """Computes h^-1.

  With u = sqrt(|x| + 1) - 1, so that |x| = u (u + 2), h(|x|) = |y| reads
  epsilon u^2 + (1 + 2 epsilon) u - |y| = 0, and its positive root is

      u = 2 |y| / (1 + 2 epsilon + sqrt((1 + 2 epsilon)^2 + 4 epsilon |y|))

  Args:
    values: y, a float tensor of any shape.
    epsilon: The argument of `rescale`.

  Returns:
    x with h(x) = y, a tensor like `values`.

  Raises:
    ValueError: If epsilon is negative.
  """
  _check_epsilon(epsilon)
  values = tf.convert_to_tensor(values)
  linear = 1.0 + 2.0 * epsilon
  root = tf.sqrt(linear**2 + 4.0 * epsilon * tf.abs(values))
  # Has the sign of y: no tf.sign is needed, whose slope at 0 would be 0.
  u = 2.0 * values / (linear + root)
  return u * (tf.abs(u) + 2.0)


def _check_epsilon(epsilon: float) -> None:
  if epsilon < 0:
    raise ValueError(
        f'The epsilon of value rescaling must be at least 0, got {epsilon}: h'
        ' would have no inverse.'
    )
