# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for minigrid_tasks."""

import functools
import sys

import numpy as np
import pytest

from rnd_agents.environments import errors
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_tasks
from rnd_agents.environments import wrappers

pytest.importorskip('minigrid')

DOOR_KEY = 'MiniGrid-DoorKey-5x5-v0'


def load(**kwargs):
  return minigrid_tasks.load_minigrid(DOOR_KEY, 2, seed=0, **kwargs)


def test_one_hot_says_what_the_numbers_say():
  numbers, one_hot = load(observation='dict'), load()
  assert set(numbers.observation_spec()) == {'direction', 'image'}
  steps = [numbers.reset()], [one_hot.reset()]
  for action in np.random.RandomState(0).randint(7, size=[40, 2]):
    steps[0].append(numbers.step(action))
    steps[1].append(one_hot.step(action))
  for given, encoded in zip(*steps, strict=True):
    image = given.observation['image']
    # Kinds, colours and states, one after the other.
    expected = np.concatenate(
        [np.eye(n)[image[..., k]] for k, n in enumerate((11, 6, 3))], axis=-1
    )
    np.testing.assert_array_equal(encoded.observation, expected)
    assert encoded.observation.dtype == np.uint8


def test_pixels():
  env = load(observation='pixels', tile_size=5)
  observation = env.reset().observation
  assert observation.shape == (2, 35, 35, 3) and observation.dtype == np.uint8
  numbers = load(observation='dict').reset().observation['image']
  # Cells of equal numbers look alike, others do not. Those out of sight, 0,
  # are grey throughout; the agent's own is at the bottom, in the middle.
  tiles = observation.reshape(2, 7, 5, 7, 5, 3).swapaxes(2, 3)
  looks = {}
  for i in range(2):
    for row in range(7):
      for column in range(7):
        if (row, column) != (6, 3):
          cell = tuple(numbers[i, column, row])
          looks.setdefault(cell, set()).add(tiles[i, row, column].tobytes())
  assert len(looks) >= 4 and all(len(look) == 1 for look in looks.values())
  assert len(set.union(*looks.values())) == len(looks)


def test_the_id_alone_and_raw():
  env = loaders.load_environment(DOOR_KEY, seed=0)
  np.testing.assert_array_equal(
      env.reset().observation[0], load(seeding=None).reset().observation[0]
  )
  for vectorization in ('sync', 'async'):
    env = loaders.load_environment(
        DOOR_KEY, seed=0, preprocessing=False, vectorization=vectorization
    )
    assert set(env.observation_spec()) == {'direction', 'image'}
    np.testing.assert_array_equal(
        env.reset().observation['image'][0],
        load(observation='dict').reset().observation['image'][0],
    )
    env.close()


def test_time_limit_and_positions():
  env = load(env_kwargs={'max_steps': 9}, wrappers=[wrappers.AgentPosition])
  env.reset()
  cells = [e.unwrapped for e in env.gymnasium_vector_env.envs]
  turns = np.full(2, 0)
  forward = np.full(2, 2)
  for t in range(9):
    positions = env.get_info()['position']
    np.testing.assert_array_equal(positions, [c.agent_pos for c in cells])
    time_step = env.step(turns if t % 3 else forward)
  np.testing.assert_array_equal(time_step.step_type, [2, 2])
  np.testing.assert_array_equal(time_step.discount, [1, 1])
  assert {e[2:4] for e in env.pop_episodes()} == {(9, False)}
  env = load(max_episode_steps=4)
  env.reset()
  for _ in range(4):
    time_step = env.step(turns)
  np.testing.assert_array_equal(time_step.step_type, [2, 2])


def test_a_fixed_world_and_where_the_agent_is():
  def four_rooms(world_seed):
    env = loaders.load_environment(
        'MiniGrid-FourRooms-v0',
        3,
        seed=world_seed + 1,
        preprocessing=False,
        env_kwargs={'max_steps': 30},
        wrappers=[
            functools.partial(wrappers.FixedWorld, world_seed=world_seed)
        ],
    )
    time_step = env.reset()
    tasks = [each.unwrapped for each in env.gymnasium_vector_env.envs]
    worlds = set()
    generator = np.random.RandomState(0)
    for _ in range(100):
      expected = np.zeros([3, 19, 19]), np.zeros([3, 4])
      for i, task in enumerate(tasks):
        x, y = task.agent_pos
        expected[0][i, y, x] = expected[1][i, task.agent_dir] = 1
        worlds.add(task.grid.encode().tobytes())
      np.testing.assert_array_equal(
          time_step.observation,
          np.concatenate([expected[0].reshape(3, 361), expected[1]], axis=1),
      )
      np.testing.assert_array_equal(
          env.get_info()['position'], [task.agent_pos for task in tasks]
      )
      if time_step.is_first().all():
        # Everyone begins alike, in each of the four episodes.
        assert len(np.unique(time_step.observation, axis=0)) == 1
      time_step = env.step(generator.choice([0, 1, 2, 2], 3))
    assert len(env.pop_episodes()) == 9
    return worlds

  first, second = four_rooms(0), four_rooms(1)
  assert len(first) == len(second) == 1 and first != second


def test_bad_arguments(monkeypatch):
  with pytest.raises(ValueError, match="observation must be one of .*'pixels'"):
    load(observation='rgb')
  with pytest.raises(ValueError, match='registers no vector environment'):
    load(vectorization='vector_entry_point')
  with pytest.raises(errors.EnvironmentSetupError, match="take {'sise': 3}"):
    load(env_kwargs={'sise': 3})
  monkeypatch.setitem(sys.modules, 'minigrid', None)
  with pytest.raises(ImportError, match=r'install "rnd_agents\[minigrid\]"'):
    load()
