# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sum tree against running sums."""

import numpy as np
import pytest

from rnd_agents.replay import sequence_table


@pytest.mark.parametrize('size', [1, 2, 3, 8, 13])
def test_finds_what_running_sums_find(size):
  rng = np.random.default_rng(size)
  tree, weights = sequence_table.SumTree(size), np.zeros(size)
  for _ in range(50):
    # Multiples of 1/8, of which every sum is exact; zeros among them.
    indices = rng.integers(0, size, rng.integers(1, 6))
    new = rng.integers(0, 4, len(indices)) / 8
    tree.set(indices, new)
    for index, weight in zip(indices, new):
      weights[index] = weight
    np.testing.assert_array_equal(tree.weights(np.arange(size)), weights)
    assert tree.total == weights.sum()
    if not weights.any():
      continue
    positions = np.arange(0, weights.sum(), 1 / 16)
    expected = np.searchsorted(np.cumsum(weights), positions, side='right')
    np.testing.assert_array_equal(tree.find(positions), expected)


def test_depends_on_its_weights_and_not_on_their_history():
  rng = np.random.default_rng(0)
  used, new = sequence_table.SumTree(100), sequence_table.SumTree(100)
  for _ in range(500):
    used.set(rng.integers(0, 100, 7), rng.exponential(size=7) ** 5)
  new.set(np.arange(100), used.weights(np.arange(100)))
  np.testing.assert_array_equal(used._nodes, new._nodes)


def test_never_finds_a_weight_of_zero():
  # Positions as near to the total as numbers go, where the sums are rounded.
  rng = np.random.default_rng(1)
  for _ in range(300):
    tree = sequence_table.SumTree(11)
    weights = rng.exponential(size=11) * (rng.random(11) < 0.4)
    weights[rng.integers(11)] = 1e-9
    tree.set(np.arange(11), weights)
    positions = np.concatenate([
        np.nextafter(tree.total, 0.0) * np.ones(1),
        np.cumsum(weights), np.nextafter(np.cumsum(weights), 0.0),
    ])
    assert (tree.weights(tree.find(positions)) > 0.0).all()
