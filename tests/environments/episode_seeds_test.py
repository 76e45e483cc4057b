# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of schedules of seeds, and of the seeds of environments."""

import pickle

import gin
import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from tests.environments import known


def test_stream_gives_every_episode_another_seed():
  # 200 episodes: more than are drawn at a time.
  seeds = np.array([
      [episode_seeds.stream(1).seed_of(i, 32, e) for e in range(200)]
      for i in range(32)
  ])
  assert seeds.min() >= 0 and seeds.max() < 2**31
  # 6,400 of 2^31: a repetition has probability 0.01.
  assert len(np.unique(seeds)) == seeds.size
  # Uniform: the mean of n has deviation 2^31 / sqrt(12 n).
  deviation = 2**31 / np.sqrt(12 * seeds.size)
  assert abs(seeds.mean() - 2**30) < 4 * deviation
  # Neither B nor what was asked before matters; the seed of all does.
  fresh = episode_seeds.stream(1)
  assert fresh.seed_of(7, 1, 150) == seeds[7, 150]
  assert episode_seeds.stream(2).seed_of(7, 1, 150) not in seeds


def test_stream_without_a_seed_keeps_the_one_it_drew():
  one, other = episode_seeds.stream(), episode_seeds.stream()
  assert one.seed_of(0, 1, 0) != other.seed_of(0, 1, 0)
  again = pickle.loads(pickle.dumps(one))
  assert again.seed_of(2, 3, 4) == one.seed_of(2, 3, 4)


def test_fixed_and_cycle():
  fixed = episode_seeds.fixed(9)
  assert {fixed.seed_of(i, 4, e) for i in range(4) for e in range(9)} == {9}
  cycle = episode_seeds.cycle([5, 6, 7])
  # In the order in which two environments begin them.
  assert [cycle.seed_of(i, 2, e) for e in range(4) for i in range(2)] == [
      5, 6, 7, 5, 6, 7, 5, 6
  ]
  assert episode_seeds.cycle(3) == episode_seeds.cycle([0, 1, 2])
  # With as many seeds as environments, each keeps its own.
  assert [cycle.seed_of(1, 3, e) for e in range(3)] == [6, 6, 6]


@pytest.mark.parametrize('make', [
    lambda: episode_seeds.stream(-1),
    lambda: episode_seeds.fixed(-1),
    lambda: episode_seeds.cycle([1, -1]),
])
def test_negative_seeds_are_refused(make):
  with pytest.raises(ValueError, match='not negative; got -1'):
    make()


def test_an_empty_cycle_is_refused():
  with pytest.raises(ValueError, match='at least one seed'):
    episode_seeds.cycle([])


def starts(seeding, num_steps=150, num_environments=2):
  """First observations of the episodes of each environment of CartPole."""
  env = loaders.load_environment(
      'CartPole-v1', num_environments, seeding=seeding
  )
  found = [[] for _ in range(num_environments)]
  time_step = env.reset()
  for action in np.random.RandomState(0).randint(
      2, size=[num_steps, num_environments]
  ):
    for i in np.flatnonzero(time_step.step_type == 0):
      found[i].append(tuple(time_step.observation[i]))
    time_step = env.step(action)
  return found, env.pop_episodes()


def test_schedules_in_environments():
  stream, _ = starts(episode_seeds.stream(3))
  assert stream == starts(episode_seeds.stream(3))[0]
  other, _ = starts(episode_seeds.stream(4))
  everything = sum(stream, []) + sum(other, [])
  assert len(stream[0]) > 3
  assert len(set(everything)) == len(everything)

  fixed, episodes = starts(episode_seeds.fixed(3))
  assert len(set(sum(fixed, []))) == 1 and len(fixed[0]) > 3
  assert {episode.seed for episode in episodes} == {3}
  assert fixed[0][0] != starts(episode_seeds.fixed(4))[0][0][0]

  cycle, _ = starts(episode_seeds.cycle(3))
  assert len(cycle[0]) > 3 and len(set(cycle[0])) == 3
  # Environment 0 has seeds 0, 2, 1, 0 ... and 1 has 1, 0, 2, 1 ...
  assert cycle[0][0] == cycle[0][3] == cycle[1][1]
  assert cycle[0][1] == cycle[1][2]


def test_gin_chooses_the_schedule():
  gin.parse_config("""
      load_environment.env = 'CartPole-v1'
      load_environment.seeding = @episode_seeds.cycle()
      episode_seeds.cycle.seeds = [8]
  """)
  env = loaders.load_environment()
  one = env.reset().observation
  np.testing.assert_array_equal(env.reset().observation, one)
  # A new seed starts a stream in its place.
  env.seed(1)
  assert (env.reset().observation != env.reset().observation).all()


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
