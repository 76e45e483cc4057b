# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The environments of benchmarks/experiment_groups.py do what they say."""

import gymnasium
import numpy as np
import pytest

from benchmarks import curiosity_tasks


def _moves(action, num_steps=4_000):
  """Shares of moves by -1, 0 and 1 from cells that are not the first."""
  env = curiosity_tasks.RiverSwim(num_cells=8)
  cell, moves = int(np.argmax(env.reset(seed=0)[0])), []
  for _ in range(num_steps):
    observation, reward, is_end, is_cut, _ = env.step(action if cell else 1)
    assert is_end == (reward == 1.0) == (np.argmax(observation) == 7)
    if cell:
      moves.append(int(np.argmax(observation)) - cell)
    cell = int(np.argmax(observation))
    if is_end or is_cut:
      cell = int(np.argmax(env.reset()[0]))
  return [np.mean(np.array(moves) == move) for move in (-1, 0, 1)]


def test_river_swim():
  np.testing.assert_allclose(_moves(1), [0.05, 0.6, 0.35], atol=0.03)
  np.testing.assert_array_equal(_moves(0), [1, 0, 0])
  env = curiosity_tasks.RiverSwim(num_cells=4)
  env.reset(seed=0)
  cuts = [env.step(0)[3] for _ in range(24)]
  assert cuts == [False] * 23 + [True]


def test_noisy_tile_changes_the_colour_of_one_tile():
  pytest.importorskip('minigrid')
  from minigrid import wrappers  # pylint: disable=import-outside-toplevel

  env = curiosity_tasks.NoisyTile(
      wrappers.ImgObsWrapper(
          wrappers.OneHotPartialObsWrapper(
              gymnasium.make('MiniGrid-Empty-8x8-v0')
          )
      )
  )
  env.reset(seed=0)
  seen = [env.observation(np.zeros([7, 7, 20], np.uint8)) for _ in range(300)]
  assert all(x.sum() == 1 for x in seen)
  shares = np.mean(seen, axis=0)[0, -1, 11:17]
  np.testing.assert_allclose(shares, 1 / 6, atol=0.07)
