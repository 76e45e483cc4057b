# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of key functions."""

import ast
import enum

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.archive import cells
from rnd_agents.environments import loaders


def test_coarse_image_is_the_mean_of_areas():
  # 6 x 4 pixels to 3 x 2: each is the mean of 2 x 2, in levels of 64.
  image = np.array([
      [0, 0, 64, 64, 255, 255],
      [0, 0, 64, 64, 255, 255],
      [0, 255, 126, 130, 63, 64],
      [255, 0, 128, 128, 63, 63],
  ], np.uint8)
  small = cells.coarse_image(image, width=3, height=2, levels=4)
  np.testing.assert_array_equal(small, [[0, 1, 3], [1, 2, 0]])
  frames = np.stack([image * 0, image], -1)  # The newest frame is the last.
  np.testing.assert_array_equal(cells.coarse_image(frames, 3, 2, 4), small)


def test_coarse_image_where_areas_cut_pixels():
  rng = np.random.default_rng(0)
  image = rng.integers(0, 256, [10, 7], np.uint8)
  # Each pixel as 12 x 12, so that 4 and 3 areas hold whole ones.
  fine = np.repeat(np.repeat(image, 12, 0), 12, 1).astype(np.float64)
  means = fine.reshape(4, 30, 3, 28).mean((1, 3))
  np.testing.assert_array_equal(
      cells.coarse_image(image, 3, 4, 64), np.floor(means / 4 + 1e-3)
  )


@pytest.mark.parametrize(
    'setting', ['width=0', 'height=-1', 'levels=1', 'levels=257', 'width=2.5']
)
def test_pictures_that_would_mix_cells_are_refused(setting):
  name, _, value = setting.partition('=')
  with pytest.raises(errors.InvalidValue, match=f'coarse_observation.{name}'):
    cells.coarse_observation(
        np.zeros([16, 16], np.uint8), None, **{name: float(value)}
    )


def test_coarse_observation_rounds_vectors():
  def key(*numbers):
    return cells.coarse_observation(np.array(numbers, np.float32), None)

  assert len(key(0.0)) == 16
  assert key(0.123, -0.001) == key(0.1249, 0.0)
  assert key(0.123, 0.0) != key(0.126, 0.0)
  assert cells.coarse_observation({'a': np.array([1]), 'b': 2}, None) == (
      cells.coarse_observation({'b': 2, 'a': np.array([1])}, None)
  )


def test_coarse_observation_forgives_small_changes_of_images():
  image = np.full([84, 84, 4], 100, np.uint8)
  changed = image.copy()
  changed[40, 40, -1] = 110
  other = image.copy()
  other[..., -1] = 200
  keys = [cells.coarse_observation(i, None) for i in (image, changed, other)]
  assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize('layout', [
    lambda frames: np.moveaxis(frames, 0, -1),
    lambda frames: frames,  # Of Gymnasium's FrameStackObservation.
    lambda frames: np.repeat(frames[..., np.newaxis], 3, -1),  # Of colours.
    lambda frames: frames[-1],
])
def test_coarse_observation_of_every_layout(layout):
  rng = np.random.default_rng(0)
  base = rng.integers(0, 256, [84, 84], np.uint8)
  keys = set()
  for _ in range(50):
    frame = base.copy()
    frame[tuple(rng.integers(84, size=2))] ^= 1  # One pixel by one level.
    keys.add(cells.coarse_observation(layout(np.stack([frame] * 4)), None))
  assert len(keys) < 5
  bright = layout(np.stack([base // 2] * 3 + [base // 2 + 100]))
  assert cells.coarse_observation(bright, None) not in keys


def test_position_of_largest():
  grid = np.zeros([4, 5])
  grid[3, 1] = 1.0
  assert cells.position_of_largest(grid, None) == (1, 3)  # Column, row.


def test_minigrid_state():
  env = loaders.load_environment('MiniGrid-DoorKey-5x5-v0')
  task = env.gymnasium_vector_env.envs[0]
  task.reset(seed=0)

  def key():
    return cells.minigrid_state(None, task)

  x, y, direction, carrying, doors, boxes = key()
  assert (x, y) == tuple(task.unwrapped.agent_pos)
  assert (carrying, doors, boxes) == ('', (2,), 0)
  task.step(1)
  assert key()[2] == (direction + 1) % 4
  (door,) = [c for c in task.unwrapped.grid.grid if c and c.type == 'door']
  door.is_locked, door.is_open = False, True
  assert key()[4] == (0,)
  assert ast.literal_eval(repr(cells.canonical(key()))) == key()
  env.close()


def test_ram_bytes():
  env = loaders.load_environment('ALE/MontezumaRevenge-v5')
  game = env.gymnasium_vector_env.envs[0]
  game.reset(seed=0)
  # Where the game starts: room 1, the man at x = 77 and y = 235 (the addresses
  # of RoomsVisited and of Anand et al., 2019, arXiv 1906.08226).
  addresses = (3, 42, 43)
  assert cells.ram_bytes(None, game, addresses) == (1, 77, 235)
  key = cells.ram_bytes(None, game, addresses, divisors=(1, 16, 16))
  assert key == (1, 4, 14)
  for kwargs, message in (
      (dict(addresses=(3, 128)), 'addresses must be from 0 to 127'),
      (dict(addresses=(-1,)), 'addresses must be from 0 to 127'),
      (dict(addresses=(3, 42), divisors=(1,)), 'must be 2 whole numbers'),
      (dict(addresses=(3,), divisors=(0,)), 'must be 1 whole numbers'),
      (dict(addresses=(3,), divisors=(1.5,)), 'must be 1 whole numbers'),
      ({}, 'needs an ALE game and addresses'),
  ):
    with pytest.raises(errors.InvalidValue, match=message):
      cells.ram_bytes(None, game, **kwargs)
  env.close()


class _Direction(enum.IntEnum):
  NORTH = 3


class _Colour(str, enum.Enum):
  RED = 'red'


@pytest.mark.parametrize(('key', 'plain'), [
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (_Direction.NORTH, 3),
    (_Colour.RED, 'red'),
    (np.array(2.5), 2.5),
    ([np.int64(1), (b'x', 'y')], (1, (b'x', 'y'))),
    (np.array([[1, 2]]), ((1, 2),)),
])
def test_canonical(key, plain):
  assert cells.canonical(key) == plain
  assert type(cells.canonical(key)) is type(plain)
  assert ast.literal_eval(repr(cells.canonical(key))) == plain


@pytest.mark.parametrize('key', [None, object(), float('nan'), {1: 2}])
def test_no_key(key):
  with pytest.raises(cells.KeyFailure, match='it returned'):
    cells.canonical(key)
