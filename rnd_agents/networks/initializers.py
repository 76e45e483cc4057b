# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An initializer that is safe to hand to more than one layer."""

import tensorflow as tf


class FreshOrthogonal(tf.keras.initializers.Initializer):
  """Orthogonal weights, drawn anew at every call.

  Keras's own initializer object repeats its draw: two layers of one shape that
  share it start equal, and an RND predictor that shares it with its target
  starts with an error of exactly 0 and never earns a bonus. This one draws a
  seed from TensorFlow's global generator at each call, so
  `tf.random.set_seed` still decides everything.
  """

  def __init__(self, gain=1.0):
    """Creates the initializer.

    Args:
      gain: Factor on the orthogonal matrix: `2 ** 0.5` before a ReLU.
    """
    self._gain = gain

  def __call__(self, shape, dtype=tf.float32, **kwargs):
    with tf.init_scope():
      seed = int(tf.random.uniform([], 1, 2**31 - 1, dtype=tf.int32))
    orthogonal = tf.keras.initializers.Orthogonal(self._gain, seed=seed)
    return orthogonal(shape, dtype=dtype, **kwargs)

  def get_config(self):
    return {'gain': self._gain}
