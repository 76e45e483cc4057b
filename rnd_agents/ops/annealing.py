# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers that change with the optimizer steps so far."""

import tensorflow as tf


def linear(first, last, train_step, num_train_steps):
  """Goes from `first` to `last` in some optimizer steps, and stays.

  Args:
    first: A float.
    last: A float.
    train_step: Optimizer steps so far, a scalar integer tensor.
    num_train_steps: How many it takes, from 1; None to stay at `first`.

  Returns:
    A float32 scalar, or `first` itself.
  """
  if num_train_steps is None:
    return first
  done = tf.cast(train_step, tf.float32) / num_train_steps
  return first + (last - first) * tf.minimum(done, 1.0)
