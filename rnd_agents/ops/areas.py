# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Areas of a picture, whose means are the pixels of a smaller one."""

import functools

import numpy as np


@functools.lru_cache(maxsize=16)
def shares(size: int, num_areas: int) -> np.ndarray:
  """Returns the share of each of `size` pixels in each mean, [areas, size]."""
  edges = np.linspace(0, size, num_areas + 1)
  pixels = np.arange(size)
  overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(
      edges[:-1, None], pixels
  )
  return (np.maximum(overlap, 0) * (num_areas / size)).astype(np.float32)
