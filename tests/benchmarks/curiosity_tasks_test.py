# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The environments of benchmarks/experiment_groups.py do what they say."""

import gymnasium
import numpy as np
import pytest

from benchmarks import curiosity_tasks
from rnd_agents.tasks import deep_sea


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


def _empty_maze():
  pytest.importorskip('minigrid')
  from minigrid import wrappers  # pylint: disable=import-outside-toplevel

  return wrappers.ImgObsWrapper(
      wrappers.OneHotPartialObsWrapper(gymnasium.make('MiniGrid-Empty-8x8-v0'))
  )


def test_noisy_tile_changes_the_colour_of_one_tile():
  env = curiosity_tasks.NoisyTile(_empty_maze())
  env.reset(seed=0)
  seen = [env.observation(np.zeros([7, 7, 20], np.uint8)) for _ in range(300)]
  assert all(x.sum() == 1 for x in seen)
  shares = np.mean(seen, axis=0)[0, -1, 11:17]
  np.testing.assert_allclose(shares, 1 / 6, atol=0.07)


def test_television_shows_a_new_picture_when_its_key_is_pressed():
  env = curiosity_tasks.Television(_empty_maze())
  bare = _empty_maze()
  bare.reset(seed=0)
  observation, _ = env.reset(seed=0)
  left, forward, done = 0, 2, 6
  pictures = [observation[0, :, 11:17]]
  for action in [left, forward, done] * 400:
    observation, *_, is_cut, _ = env.step(action)
    seen = bare.step(action)[0]
    picture = observation[0, :, 11:17].copy()
    # Nothing but the television's colours differs from the maze.
    observation[0, :, 11:17] = seen[0, :, 11:17]
    np.testing.assert_array_equal(observation, seen)
    if action == done:
      pictures.append(picture)
    np.testing.assert_array_equal(picture, pictures[-1])
    if is_cut:
      pictures.append(env.reset()[0][0, :, 11:17])
      bare.reset()
  assert len(pictures) > 400
  # Each tile has each colour equally often, and tiles do not agree.
  np.testing.assert_allclose(np.mean(pictures, axis=0), 1 / 6, atol=0.07)
  assert len({x.tobytes() for x in pictures}) > 395


@pytest.mark.parametrize('num_noise_rows', [1, 3])
def test_noisy_deep_sea_is_deep_sea_above_uniform_noise(num_noise_rows):
  env = gymnasium.make_vec(
      'benchmarks/NoisyDeepSea-v0',
      num_envs=3,
      vectorization_mode='vector_entry_point',
      size=4,
      num_noise_rows=num_noise_rows,
  )
  assert env.observation_space.shape == (3, 4 + num_noise_rows, 4)
  bare = deep_sea.DeepSeaVectorEnv(3, size=4)
  snow = [env.reset(seed=0)[0][:, 4:]]
  bare.reset(seed=0)
  actions = np.random.default_rng(0).integers(2, size=[500, 3])
  for action in actions:
    observation, *others = env.step(action)
    expected, *expected_others = bare.step(action)
    np.testing.assert_array_equal(observation[:, :4], expected)
    for x, y in zip(others[:3], expected_others[:3]):
      np.testing.assert_array_equal(x, y)
    snow.append(observation[:, 4:])
  # Moments of the uniform distribution; no number comes twice in a row.
  np.testing.assert_allclose(np.mean(snow, axis=0), 1 / 2, atol=0.06)
  np.testing.assert_allclose(np.var(snow, axis=0), 1 / 12, atol=0.02)
  assert np.all(np.diff(snow, axis=0) != 0)
  # A restored state shows the picture that it was saved with, and goes on.
  state = env.unwrapped.get_state()
  later = env.step(actions[0])[0]
  np.testing.assert_array_equal(env.unwrapped.set_state(state), observation)
  np.testing.assert_array_equal(env.step(actions[0])[0], later)
