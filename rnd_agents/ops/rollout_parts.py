# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Applies functions to a rollout of images, a few environments at a time.

The activations of a network on 16,384 frames take gigabytes. Small observations
are faster in one piece.
"""

from collections.abc import Callable
import functools

import numpy as np
import tensorflow as tf
from tf_agents.typing import types

# Numbers of an observation: 64 x 64 pixels.
_LARGE = 4_096
# Frames of a part: few enough for the caches of a CPU, and enough to keep a GPU
# busy, where launching a small kernel takes longer than its work.
_CPU_FRAMES, _GPU_FRAMES = 128, 4_096


def is_large(shape: types.Shape) -> bool:
  """Returns whether observations of a shape are computed in parts."""
  return int(np.prod(shape, dtype=np.int64)) >= _LARGE


@functools.cache
def _max_frames() -> int:
  has_gpu = bool(tf.config.list_physical_devices('GPU'))
  return _GPU_FRAMES if has_gpu else _CPU_FRAMES


def split(nest: types.NestedTensor) -> types.NestedTensor:
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


def by_environment(
    function: Callable[..., tf.Tensor], *nests: types.NestedTensor
) -> tf.Tensor:
  """Returns `function(*nests)`, computed in parts if the first nest is large.

  Args:
    function: Function from nests of tensors [B, ...] to a float32 tensor
      [B, ...], whose row b depends on rows b alone.
    *nests: Arguments of the function; () for none. The first holds observations
      [B, T, ...].

  Returns:
    The result of the function.
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
