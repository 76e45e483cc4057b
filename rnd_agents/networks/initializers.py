# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An initializer that is safe to hand to more than one layer."""

from typing import Any

import tensorflow as tf
from tf_agents.typing import types


class FreshOrthogonal(tf.keras.initializers.Initializer):
  """Draws new orthogonal weights at every call.

  Keras's own initializer object repeats its draw: two layers of one shape that
  share it start with equal weights, and an RND predictor that shares it with
  its target starts with an error of exactly 0, so that no observation earns a
  bonus. This one draws a seed from TensorFlow's global generator at each call,
  so `tf.random.set_seed` still determines all weights.
  """

  def __init__(self, gain: float = 1.0):
    """Creates the initializer.

    Args:
      gain: Factor on the orthogonal matrix: `2 ** 0.5` before a ReLU.
    """
    self._gain = gain

  def __call__(
      self, shape: types.Shape, dtype: tf.DType = tf.float32, **kwargs: Any
  ) -> tf.Tensor:
    with tf.init_scope():
      seed = int(tf.random.uniform([], 1, 2**31 - 1, dtype=tf.int32))
    orthogonal = tf.keras.initializers.Orthogonal(self._gain, seed=seed)
    return orthogonal(shape, dtype=dtype, **kwargs)

  def get_config(self) -> dict[str, Any]:
    return {'gain': self._gain}
