# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the seeding of vector_environment."""

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from tests.environments import known


def test_episodes_have_the_seeds_of_the_stream():
  env = loaders.load_environment('CartPole-v1', 3, seed=5)
  stream = episode_seeds.stream(5)
  for episode in range(2):
    expected = [
        gymnasium.make('CartPole-v1').reset(
            seed=stream.seed_of(i, 3, episode)
        )[0]
        for i in range(3)
    ]
    np.testing.assert_array_equal(env.reset().observation, expected)


def test_a_vector_environment_of_its_own_gets_seed_plus_i():
  env = loaders.load_environment(
      'rnd_agents/DeepSea-v0',
      3,
      seed=5,
      vectorization='vector_entry_point',
      env_kwargs={'size': 1, 'deterministic': False},
  )
  env.reset()
  # Of one row: a uniform for the wind, and a normal on the only reward.
  noise = []
  for i in range(3):
    rng = np.random.default_rng(5 + i)
    rng.random(1)
    noise.append(rng.standard_normal())
  reward = env.step(np.zeros(3, int)).reward
  treasure = reward - np.float32(noise)
  np.testing.assert_allclose(np.abs(treasure - 0.495), 0.495, atol=1e-6)


def play(env, num_steps=60):
  """Observations of a fixed sequence of actions, with a reset half way."""
  actions = np.random.RandomState(0).randint(2, size=[num_steps, 2])
  observations = [env.reset().observation]
  for i, action in enumerate(actions):
    if i == num_steps // 2:
      observations.append(env.reset().observation)
    observations.append(env.step(action).observation)
  return np.array(observations)


def test_runs_repeat_with_the_seed_and_differ_without():
  one, same, other = (
      play(loaders.load_environment('CartPole-v1', 2, seed=s))
      for s in (1, 1, 2)
  )
  np.testing.assert_array_equal(one, same)
  assert (one != other).any(axis=-1).all()
  # The second reset continues the stream.
  assert (one[0] != one[31]).all()


def test_seed_is_used_at_the_next_reset_only():
  vector_env = known.PlaybackVectorEnv(spaces.Discrete(2), np.zeros(2, int))
  env = vector_environment.VectorPyEnvironment(vector_env, seed=3)
  for _ in range(2):
    env.reset()
  assert env.seed(np.int64(8)) == 8
  for _ in range(2):
    env.reset()
  env.reset_with_seeds([4, 4])
  env.reset()
  assert vector_env.seeds == [3, None, 8, None, [4, 4], None]
  with pytest.raises(ValueError, match='not negative; got -1'):
    env.seed(-1)


def test_reset_with_seeds_repeats_each_episode():
  env = loaders.load_environment('CartPole-v1', 2, seed=0)
  make = gymnasium.make('CartPole-v1')
  expected = [make.reset(seed=seed)[0] for seed in (11, 7)]
  for _ in range(2):
    np.testing.assert_array_equal(
        env.reset_with_seeds([11, 7]).observation, expected
    )
    assert (env.current_time_step().step_type == known.FIRST).all()
    for _ in range(5):
      env.step(np.array([0, 1]))
  with pytest.raises(ValueError, match='needs 2 seeds'):
    env.reset_with_seeds([1])


def test_reset_with_seeds_where_an_array_is_taken():

  class Arrays(known.PlaybackVectorEnv):

    def reset(self, *, seed=None, options=None):
      if isinstance(seed, list):
        raise TypeError('Unsupported seed type')
      return super().reset(seed=seed)

  vector_env = Arrays(spaces.Discrete(2), np.array([1, 0]))
  env = vector_environment.VectorPyEnvironment(vector_env)
  np.testing.assert_array_equal(
      env.reset_with_seeds([4, 2]).observation, [1, 0]
  )
  np.testing.assert_array_equal(vector_env.seeds, [[4, 2]])


def test_reset_with_seeds_where_no_list_is_taken():
  env = loaders.load_environment(
      'CartPole-v1', 2, vectorization='vector_entry_point'
  )
  with pytest.raises(ValueError, match='did not reset with a list of seeds'):
    env.reset_with_seeds([1, 2])
