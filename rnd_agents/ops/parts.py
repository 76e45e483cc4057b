# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of a whole rollout of images, one environment after the other.

What a network makes of 16,384 frames on the way is gigabytes. Small
observations are faster in one piece.
"""

import numpy as np
import tensorflow as tf

# Numbers of an observation: 64 x 64 pixels.
_LARGE = 4_096


def is_large(shape):
  """Returns whether observations of a shape are computed in parts."""
  return int(np.prod(shape, dtype=np.int64)) >= _LARGE


def by_environment(function, *nests):
  """`function(*nests)`, computed row by row where the first nest is large.

  Args:
    function: From nests of tensors [B, ...] to a tensor [B, ...], of which row
      b depends on the rows b alone.
    *nests: Its arguments; () for none. The first is of observations [B, T,
      ...].

  Returns:
    What the function returns.
  """
  if not any(is_large(leaf.shape[2:]) for leaf in tf.nest.flatten(nests[0])):
    return function(*nests)

  def of_one(flat):
    of_row = tf.nest.map_structure(lambda x: x[tf.newaxis], flat)
    return function(*tf.nest.pack_sequence_as(nests, of_row))[0]

  return tf.map_fn(
      of_one,
      tf.nest.flatten(nests),
      parallel_iterations=1,
      fn_output_signature=tf.float32,
  )
