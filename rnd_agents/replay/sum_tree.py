# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws indices in proportion to their weights (Schaul et al., 2016, B.2.1)."""

import numpy as np


class SumTree:
  """A binary tree whose leaves are weights and whose nodes are sums.

  Setting and finding n weights takes O(n log size), a few NumPy operations for
  each level. A node is always the sum of its two children and never changed by
  a difference, so that a tree depends on its weights only, to the last bit, and
  not on the way they were set.
  """

  def __init__(self, size):
    """Creates a tree of zeros.

    Args:
      size: Number of weights, from 1.
    """
    self._num_levels = (size - 1).bit_length()
    self._first = 1 << self._num_levels  # Node of the first leaf; the root is 1
    self._nodes = np.zeros(2 * self._first)

  @property
  def total(self):
    """The sum of all weights."""
    return self._nodes[1]

  def weights(self, indices):
    """Returns the weights, float64 [n], at integer indices [n]."""
    return self._nodes[self._first + indices]

  def set(self, indices, weights):
    """Sets weights.

    Args:
      indices: Integers [n]; of one that comes twice the last weight counts.
      weights: Finite numbers from 0, [n].
    """
    nodes = self._first + np.asarray(indices, np.int64)
    self._nodes[nodes] = weights
    for _ in range(self._num_levels):
      nodes = np.unique(nodes >> 1)
      self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

  def find(self, positions):
    """Returns the index at each position of the line of all weights.

    Args:
      positions: Numbers from 0 to below `total`, [n].

    Returns:
      int64 [n]: the first i whose weights 0 to i sum to more than the position.
      Its weight is above 0 whatever was rounded.
    """
    left_over = np.array(positions, np.float64)
    nodes = np.ones(left_over.shape, np.int64)
    for _ in range(self._num_levels):
      nodes *= 2
      left, right = self._nodes[nodes], self._nodes[nodes + 1]
      goes_right = (left_over >= left) & (right > 0.0)
      left_over -= np.where(goes_right, left, 0.0)
      nodes += goes_right
    return nodes - self._first
