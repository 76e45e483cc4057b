# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Areas of a picture, whose means are the pixels of a smaller one."""

import functools
from typing import TypeVar

import numpy as np
import tensorflow as tf

from rnd_agents import ranges

_Array = TypeVar('_Array', np.ndarray, tf.Tensor)

# How many a small picture may have.
GREY_LEVELS = ranges.Range(
    lambda x: 2 <= x <= 256 and x % 1 == 0, 'an integer from 2 to 256'
)


@functools.lru_cache(maxsize=16)
def shares(size: int, num_areas: int) -> np.ndarray:
  """Returns the share of each of `size` pixels in each mean, [areas, size]."""
  edges = np.linspace(0, size, num_areas + 1)
  pixels = np.arange(size)
  overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(
      edges[:-1, None], pixels
  )
  return (np.maximum(overlap, 0) * (num_areas / size)).astype(np.float32)


def in_levels(means: _Array, levels: int) -> _Array:
  """Returns means of bytes in levels, whose whole part is the level."""
  # The smallest part of a level more, or a mean of 255 may be 254.99998.
  return means * (levels / 256) + 1e-3
