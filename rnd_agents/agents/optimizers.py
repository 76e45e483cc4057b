# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the agent needs of an optimizer of any TensorFlow generation."""

import tensorflow as tf


def build(optimizer, variables):
  """Creates an optimizer's variables before its first step.

  The first step happens inside a `tf.while_loop`, where none can be created.

  Args:
    optimizer: A Keras optimizer, new or legacy, or one of
      `tf.compat.v1.train`.
    variables: What it is going to train.
  """
  with tf.init_scope():
    if isinstance(optimizer, tf.keras.optimizers.legacy.Optimizer):
      optimizer._create_all_weights(variables)  # pylint: disable=protected-access
    elif hasattr(optimizer, 'build'):
      optimizer.build(variables)
    else:
      optimizer._create_slots(variables)  # pylint: disable=protected-access


def clip(gradients, max_norm):
  """Clips gradients to a global norm.

  Args:
    gradients: A list of gradients; None entries stay.
    max_norm: Largest norm; None or 0 for no clipping.

  Returns:
    A tuple (gradients, norm before clipping).
  """
  norm = tf.linalg.global_norm(gradients)
  if max_norm:
    gradients, _ = tf.clip_by_global_norm(gradients, max_norm, use_norm=norm)
  return gradients, norm


def apply(optimizer, gradients, variables):
  """One step with those gradients that are not None."""
  optimizer.apply_gradients([
      (gradient, variable)
      for gradient, variable in zip(gradients, variables, strict=True)
      if gradient is not None
  ])
