# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Coefficients that change with the number of optimizer steps."""


import tensorflow as tf
from tf_agents.typing import types


def linear(
    first: float,
    last: float,
    train_step: tf.Tensor,
    num_train_steps: int | None,
) -> types.Float:
  """Interpolates from `first` to `last` over the first optimizer steps.

  Args:
    first: Value at step 0.
    last: Value from step `num_train_steps` on.
    train_step: Optimizer steps so far, a scalar integer tensor.
    num_train_steps: Steps from `first` to `last`, at least 1; None keeps
      `first`.

  Returns:
    A float32 scalar tensor; `first` itself if `num_train_steps` is None.
  """
  if num_train_steps is None:
    return first
  done = tf.cast(train_step, tf.float32) / num_train_steps
  return first + (last - first) * tf.minimum(done, 1.0)
