# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of a whole rollout of images, a few environments at a time.

What a network makes of 16,384 frames on the way is gigabytes. Small
observations are faster in one piece.
"""

import functools

import numpy as np
import tensorflow as tf

# Numbers of an observation: 64 x 64 pixels.
_LARGE = 4_096
# Frames of a part: as many as stay in the caches of a CPU, or as keep a GPU at
# work, where the start of each small kernel would take longer than its work.
_CPU_FRAMES, _GPU_FRAMES = 128, 4_096


def is_large(shape):
  """Returns whether observations of a shape are computed in parts."""
  return int(np.prod(shape, dtype=np.int64)) >= _LARGE


@functools.cache
def _max_frames():
  has_gpu = bool(tf.config.list_physical_devices('GPU'))
  return _GPU_FRAMES if has_gpu else _CPU_FRAMES


def split(nest):
  """Cuts a rollout [B, T, ...] into parts [P, B / P, T, ...] of equal size.

  Args:
    nest: A nest of tensors [B, ...], of which the first is [B, T, ...].

  Returns:
    The nest, cut. A part is one environment where B or T is not known.
  """
  num_environments, num_frames = tf.nest.flatten(nest)[0].shape[:2]
  rows = 1
  if num_environments and num_frames:
    most = max(1, _max_frames() // num_frames)
    rows = max(
        divisor
        for divisor in range(1, min(most, num_environments) + 1)
        if num_environments % divisor == 0
    )
  return tf.nest.map_structure(
      lambda x: tf.reshape(x, tf.concat([[-1, rows], tf.shape(x)[1:]], 0)), nest
  )


def by_environment(function, *nests):
  """`function(*nests)`, computed in parts where the first nest is large.

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
  results = tf.map_fn(
      lambda flat: function(*tf.nest.pack_sequence_as(nests, flat)),
      tf.nest.flatten(split(nests)),
      parallel_iterations=1,
      fn_output_signature=tf.float32,
  )
  return tf.reshape(results, tf.concat([[-1], tf.shape(results)[2:]], 0))
