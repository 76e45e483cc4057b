# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for deep_sea, against a second writing of its rules."""

import itertools
import math
import warnings

import gymnasium
from gymnasium import vector
from gymnasium.utils import env_checker
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.environments import vector_environment
from rnd_agents.tasks import deep_sea


class SlowDeepSea:
  """The rules of bsuite's Deep Sea as sentences, one environment.

  uniforms: one a row; the wind stops a move where it is not above 1 / size.
  normal: the noise of the last reward.
  """

  def __init__(self, size, mapping_seed, windy, cost=0.01):
    self.size, self.windy, self.cost = size, windy, cost
    random_state = np.random.RandomState(mapping_seed)
    self.mapping = random_state.binomial(1, 0.5, [size, size])

  def start(self, uniforms, normal):
    self.x, self.y = 0, 0
    self.uniforms, self.normal = uniforms, normal
    return self.picture()

  def picture(self):
    picture = np.zeros([self.size, self.size])
    if self.y < self.size:
      picture[self.y, self.x] = 1
    return picture

  def step(self, action):
    right = action == self.mapping[self.y, self.x]
    treasure = right and self.x == self.size - 1
    reward = 1.0 if treasure else 0.0
    if self.windy and self.y == self.size - 1:
      if self.x == 0 or self.x == self.size - 1:
        reward += self.normal
    if right:
      reward -= self.cost / self.size
      if not self.windy or self.uniforms[self.y] > 1 / self.size:
        if self.x < self.size - 1:
          self.x += 1
    elif self.x > 0:
      self.x -= 1
    self.y += 1
    return self.picture(), reward, self.y == self.size, treasure


@pytest.mark.parametrize('windy', [False, True])
@pytest.mark.parametrize('mapping_seed', [0, 1, 42])
@pytest.mark.parametrize('size', [1, 2, 5, 10])
def test_equals_the_rules(size, mapping_seed, windy):
  num_envs, num_episodes, seed = 3, 6, 17
  env = deep_sea.DeepSeaVectorEnv(
      num_envs, size, deterministic=not windy, mapping_seed=mapping_seed
  )
  slow = [SlowDeepSea(size, mapping_seed, windy) for _ in range(num_envs)]
  generators = [np.random.default_rng(seed + i) for i in range(num_envs)]
  actions = np.random.RandomState(size + mapping_seed)

  observation, infos = env.reset(seed=seed)
  for episode in range(num_episodes):
    expected = [
        s.start(rng.random(size), rng.standard_normal())
        for s, rng in zip(slow, generators)
    ]
    np.testing.assert_array_equal(observation, expected)
    assert infos == {}
    for t in range(size):
      # Every other episode keeps right, which chance rarely does.
      action = actions.randint(2, size=num_envs)
      if episode % 2:
        action = np.array([s.mapping[s.y, s.x] for s in slow])
      observation, reward, terminated, truncated, infos = env.step(action)
      want = [s.step(a) for s, a in zip(slow, action)]
      np.testing.assert_array_equal(observation, [w[0] for w in want])
      np.testing.assert_array_equal(reward, [w[1] for w in want])
      np.testing.assert_array_equal(terminated, [w[2] for w in want])
      assert not truncated.any()
      assert terminated.all() == (t == size - 1)
      if t == size - 1:
        assert infos['_is_success'].all()
        np.testing.assert_array_equal(
            infos['is_success'], [w[3] for w in want]
        )
      else:
        assert infos == {}
    assert not observation.any()
    observation, reward, terminated, _, infos = env.step(action)  # Autoreset.
    assert not reward.any() and not terminated.any()


def test_exactly_one_of_all_action_sequences_finds_the_treasure():
  size = 8
  sequences = np.array(list(itertools.product([0, 1], repeat=size)))  # [B, N]
  env = deep_sea.DeepSeaVectorEnv(len(sequences), size, mapping_seed=3)
  env.reset()
  returns = np.zeros(len(sequences))
  for actions in sequences.T:
    _, reward, terminated, _, infos = env.step(actions)
    returns += reward
  assert terminated.all()
  assert infos['is_success'].sum() == 1
  winner = np.argmax(infos['is_success'])
  np.testing.assert_allclose(returns[winner], 1 - 0.01, atol=1e-12)
  # C(N, k) sequences steer right k times, and pay 0.01 k / N.
  expected = [0.99] + [
      -0.01 * k / size for k in range(size) for _ in range(math.comb(size, k))
  ]
  np.testing.assert_allclose(np.sort(returns), np.sort(expected), atol=1e-12)


def test_a_random_policy_succeeds_once_in_two_to_the_size():
  num_envs = 8000
  env = vector_environment.VectorPyEnvironment(
      deep_sea.DeepSeaVectorEnv(num_envs, size=4)
  )
  env.reset()
  actions = np.random.RandomState(0)
  for _ in range(4):
    env.step(actions.randint(2, size=num_envs))
  episodes = env.pop_episodes()
  assert len(episodes) == num_envs
  successes = np.mean([episode.success for episode in episodes])
  deviation = np.sqrt(1 / 16 * 15 / 16 / num_envs)
  assert abs(successes - 1 / 16) < 4 * deviation
  for episode in episodes:
    assert episode.success is (episode.return_ > 0.9)


def test_wind_and_noise_have_their_distributions():
  num_envs, size = 4000, 4
  env = deep_sea.DeepSeaVectorEnv(
      num_envs, size, deterministic=False, randomize_actions=False
  )
  env.reset(seed=0)
  for _ in range(size):
    _, reward, _, _, infos = env.step(np.ones(num_envs, int))
  # It must move right size - 1 times; the last move's fate does not matter.
  probability = (1 - 1 / size) ** (size - 1)
  deviation = np.sqrt(probability * (1 - probability) / num_envs)
  assert abs(infos['is_success'].mean() - probability) < 4 * deviation
  # Those who missed the last column and are not in the first get no noise.
  assert (reward == -0.01 / size).sum() > 0.3 * num_envs

  env.reset(seed=1)
  for _ in range(size):
    _, reward, _, _, infos = env.step(np.zeros(num_envs, int))
  assert not infos['is_success'].any()
  assert abs(reward.mean()) < 4 / np.sqrt(num_envs)
  assert abs(reward.var() - 1) < 4 * np.sqrt(2 / num_envs)


def test_single_and_vector_environments_are_one():
  kwargs = dict(size=4, deterministic=False, mapping_seed=5)
  many = deep_sea.DeepSeaVectorEnv(3, **kwargs)
  single = vector.SyncVectorEnv([lambda: deep_sea.DeepSeaEnv(**kwargs)] * 3)
  actions = np.random.RandomState(0)
  results = [many.reset(seed=9)], [single.reset(seed=9)]
  for i in range(25):
    action = actions.randint(2, size=3)
    for env, result in zip((many, single), results):
      result.append(env.reset() if i == 13 else env.step(action))
  for a, b in zip(*results, strict=True):
    for x, y in zip(a[:-1], b[:-1], strict=True):
      np.testing.assert_array_equal(x, y)
    assert a[-1].keys() == b[-1].keys()
    for key in a[-1]:
      np.testing.assert_array_equal(a[-1][key], b[-1][key])


def test_seeds():
  # Of size 1, every episode is one step, whose reward is noisy.
  env = deep_sea.DeepSeaVectorEnv(2, size=1, deterministic=False)

  def noise_of_two_episodes(**kwargs):
    env.reset(**kwargs)
    rewards = [env.step(np.zeros(2))[1] for _ in range(3)]
    assert not rewards[1].any()  # The autoreset.
    return np.array(rewards[::2]).T  # [B, 2]

  one = noise_of_two_episodes(seed=3)
  np.testing.assert_array_equal(noise_of_two_episodes(seed=3), one)
  assert (noise_of_two_episodes(seed=8) != one).all()
  assert (one[:, 0] != one[:, 1]).all()  # Nor are episodes alike.
  swapped = noise_of_two_episodes(seed=[4, 3])
  np.testing.assert_array_equal(swapped, one[::-1])
  # No seed: the stream goes on.
  assert (noise_of_two_episodes() != swapped).all()
  with pytest.raises(ValueError, match='2 seeds are needed; got 1'):
    env.reset(seed=[1])


def test_action_mapping_options():
  make = deep_sea.DeepSeaVectorEnv
  # The first cells of RandomState(42).binomial(1, 0.5, [10, 10]), written down.
  np.testing.assert_array_equal(
      make(1, size=10).action_mapping[0], [0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
  )
  assert (make(1, mapping_seed=1).action_mapping
          != make(1, mapping_seed=2).action_mapping).any()
  assert (make(1, randomize_actions=False).action_mapping == 1).all()
  env = make(1, size=2, randomize_actions=False, unscaled_move_cost=0.5)
  env.reset()
  rewards = [env.step(np.array([1]))[1][0] for _ in range(2)]
  assert rewards == [-0.25, 0.75]


def test_time_limit_truncates():
  env = vector_environment.VectorPyEnvironment(
      deep_sea.DeepSeaVectorEnv(2, size=5, max_episode_steps=3)
  )
  env.reset()
  steps = [env.step(np.array([0, 1])) for _ in range(4)]
  assert [s.step_type.tolist() for s in steps] == [[1, 1], [1, 1], [2, 2],
                                                    [0, 0]]
  np.testing.assert_array_equal(steps[2].discount, [1, 1])
  assert steps[2].observation[:, 3].sum() == 2  # Where they are, not zeros.
  for episode in env.pop_episodes():
    assert episode[2:6] == (3, False, False, None)


def test_returned_arrays_are_not_written_again():
  env = deep_sea.DeepSeaVectorEnv(2, size=3)
  results = [env.reset()[0]]
  copies = [results[0].copy()]
  for _ in range(9):
    observation, reward, terminated, truncated, infos = env.step(np.ones(2))
    arrays = [observation, reward, terminated, truncated, *infos.values()]
    results += arrays
    copies += [array.copy() for array in arrays]
    if terminated.all():
      env.reset()
  for result, copy in zip(results, copies, strict=True):
    np.testing.assert_array_equal(result, copy)


@pytest.mark.parametrize('kwargs', [{}, {'size': 1}, {'deterministic': False}])
def test_gymnasium_checks(kwargs):
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    env = gymnasium.make('rnd_agents/DeepSea-v0', **kwargs)
    env_checker.check_env(env.unwrapped)
  assert isinstance(env.unwrapped, deep_sea.DeepSeaEnv)
  many = gymnasium.make_vec('rnd_agents/DeepSea-v0', num_envs=2, **kwargs)
  assert isinstance(many, deep_sea.DeepSeaVectorEnv)


def test_misuse():
  make = deep_sea.DeepSeaVectorEnv
  for kwargs in ({'size': 0}, {'num_envs': 0}, {'max_episode_steps': 0}):
    with pytest.raises(ValueError, match='an integer from 1, got 0'):
      make(**kwargs)
  with pytest.raises(ValueError, match='does not render'):
    make(render_mode='human')
  env = make(2)
  with pytest.raises(gymnasium.error.ResetNeeded):
    env.step(np.zeros(2))
  env.reset()
  for bad in ([0, 2], [-1, 0], [0.5, 1], [0]):
    with pytest.raises(gymnasium.error.InvalidAction, match='each 0 or 1'):
      env.step(np.array(bad))
  single = deep_sea.DeepSeaEnv(size=1)
  with pytest.raises(gymnasium.error.ResetNeeded):
    single.step(0)
  single.reset()
  assert single.step(0)[2]
  with pytest.raises(gymnasium.error.ResetNeeded):
    single.step(0)


def test_saved_states():
  env = deep_sea.DeepSeaVectorEnv(2, size=3, deterministic=False)
  with pytest.raises(gymnasium.error.ResetNeeded):
    env.get_state()
  env.reset(seed=0)
  env.step(np.array([0, 1]))
  state = env.get_state()
  # Four more episodes, each of which draws wind and noise.
  actions = np.random.RandomState(0).randint(2, size=[12, 2])
  expected = [env.step(action) for action in actions]
  for _ in range(2):  # The state itself does not move.
    other = deep_sea.DeepSeaVectorEnv(2, size=3, deterministic=False)
    other.set_state(state)
    for action, step in zip(actions, expected, strict=True):
      for a, b in zip(other.step(action)[:4], step[:4], strict=True):
        np.testing.assert_array_equal(a, b)
  with pytest.raises(ValueError, match=r'has \(2, 3\) environments and rows'):
    deep_sea.DeepSeaVectorEnv(2, size=4).set_state(state)


@pytest.mark.parametrize('flag', ['deterministic', 'randomize_actions'])
def test_a_text_is_no_flag(flag):
  with pytest.raises(errors.UserError, match=f"{flag} must be .*'False'"):
    deep_sea.DeepSeaVectorEnv(**{flag: 'False'})
