# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/room_map.py counts."""

import numpy as np

from benchmarks import room_map


def test_means_of_cells():
  x = np.array([0, 9, 10, 159])
  y = np.array([130, 139, 130, 260])
  means, counts = room_map.mean_map(x, y, np.array([1.0, 2.0, 5.0, 7.0]))
  assert means.shape == counts.shape == (14, 16)
  assert counts.sum() == 4
  assert means[0, :2].tolist() == [1.5, 5.0]  # The lowest row is the first.
  assert means[-1, -1] == 7.0
  assert np.isnan(means[1, 1])


def test_a_life_begins_where_one_was_lost_and_not_where_a_game_begins():
  lives = np.array([[6, 6], [5, 6], [5, 1], [6, 1], [6, 0]])
  steps = room_map.Steps(*[None] * 3, lives, *[None] * 3)
  assert steps.begins_life.tolist() == [
      [False, False], [True, False], [False, True], [False, False],
      [False, False],
  ]
