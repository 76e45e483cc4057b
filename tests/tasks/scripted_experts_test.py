# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the experts of a few lines, each against its environment."""

import gymnasium
import numpy as np
import pytest

from rnd_agents.tasks import deep_sea
from rnd_agents.tasks import scripted_experts


def _play(env, seed, expert):
  """Returns (return, length, terminated) of gymnasium's own environment."""
  observation, _ = env.reset(seed=seed)
  total = 0.0
  for length in range(1, 1000):
    action = expert(observation[np.newaxis])
    assert action.shape == (1,) and action.dtype == np.int64
    observation, reward, terminated, truncated, _ = env.step(int(action[0]))
    total += reward
    if terminated or truncated:
      return total, length, terminated


def test_mountain_car_is_solved_in_good_time():
  env = gymnasium.make('MountainCar-v0')
  results = [
      _play(env, seed, scripted_experts.mountain_car) for seed in range(20)
  ]
  assert all(terminated for _, _, terminated in results)
  # As long as the reference sheet measured; the limit is 200.
  assert 110 < np.mean([length for _, length, _ in results]) < 125


def test_mountain_car_pushes_along_the_velocity():
  np.testing.assert_array_equal(
      scripted_experts.mountain_car(
          np.array([[0.3, -0.01], [-0.9, 0.02], [-0.5, 0.0]], np.float32)
      ),
      [0, 2, 2],
  )


@pytest.mark.parametrize(
    ('size', 'kwargs'),
    [
        (10, {}),
        (20, dict(mapping_seed=7)),
        (8, dict(randomize_actions=False)),
    ],
)
def test_deep_sea_treasure_is_found(size, kwargs):
  env = deep_sea.DeepSeaEnv(size, **kwargs)
  return_, length, _ = _play(
      env, 0, lambda x: scripted_experts.deep_sea(x, **kwargs)
  )
  assert return_ == pytest.approx(0.99) and length == size


def test_deep_sea_of_another_map_is_not_solved():
  env = deep_sea.DeepSeaEnv(20, mapping_seed=8)
  assert _play(env, 0, scripted_experts.deep_sea)[0] < 0.5


def test_deep_sea_batch_and_the_end():
  mapping = deep_sea.make_action_mapping(4, 42, True)
  observation = np.zeros([3, 4, 4], np.float32)
  observation[0, 1, 0] = observation[1, 3, 2] = 1.0
  np.testing.assert_array_equal(
      scripted_experts.deep_sea(observation), [mapping[1, 0], mapping[3, 2], 0]
  )


def test_deep_sea_of_an_unknown_map():
  observation = np.zeros([1, 4, 4], np.float32)
  observation[0, 0, 0] = 1.0
  with pytest.raises(ValueError, match='needs the mapping_seed'):
    scripted_experts.deep_sea(observation, mapping_seed=None)
  everywhere_right = scripted_experts.deep_sea(
      observation, mapping_seed=None, randomize_actions=False
  )
  np.testing.assert_array_equal(everywhere_right, [1])
