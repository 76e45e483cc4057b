# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for wrappers."""

import functools

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents.environments import failures
from rnd_agents.environments import interface
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from rnd_agents.evaluation import evaluator
from tests import environments_for_tests
from tests.environments import known

Counts = functools.partial(
    environments_for_tests.Steps,
    info=lambda env: {'won': env.num_steps % 2 == 1},
)


def ale():
  ale_py = pytest.importorskip('ale_py')
  gymnasium.register_envs(ale_py)
  return gymnasium.make('ALE/MontezumaRevenge-v5', max_episode_steps=60)


def minigrid():
  minigrid_module = pytest.importorskip('minigrid')
  gymnasium.register_envs(minigrid_module)
  return gymnasium.make('MiniGrid-DoorKey-5x5-v0', max_steps=40)


def hybrid():
  return Counts(
      action_space=spaces.Dict(
          kind=spaces.Discrete(3, start=2),
          where=spaces.Tuple([
              spaces.Box(1, 2, (2,), np.float32),
              spaces.MultiDiscrete([2, 3]),
              spaces.MultiBinary(2),
          ]),
      )
  )


@pytest.mark.parametrize('make, wrap', [
    (lambda: gymnasium.make('CartPole-v1'), wrappers.PreviousActionReward),
    (lambda: gymnasium.make('Pendulum-v1'), wrappers.PreviousActionReward),
    (hybrid, wrappers.PreviousActionReward),
    (minigrid, wrappers.PreviousActionReward),
    (ale, wrappers.RoomsVisited),
    (lambda: gymnasium.make('Pendulum-v1'),
     lambda env: wrappers.DelayedReward(env, 3)),
    (minigrid, wrappers.AgentPosition),
    (minigrid, wrappers.FixedWorld),
    (lambda: gymnasium.make('CartPole-v1'),
     lambda env: wrappers.SomeEntries(env, (0, 2))),
])
def test_observations_and_actions_lie_in_the_spaces(make, wrap):
  env = wrap(make())
  env.action_space.seed(0)
  for episode in range(2):
    observation, info = env.reset(seed=episode)
    assert env.observation_space.contains(observation)
    done = False
    while not done:
      action = env.action_space.sample()
      observation, reward, terminated, truncated, info = env.step(action)
      done = terminated or truncated
      assert env.observation_space.contains(observation)
      assert np.isfinite(reward) and isinstance(info, dict)


@pytest.mark.parametrize('ends', ['terminated', 'truncated'])
@pytest.mark.parametrize('action_repeat', [1, 3, 10])
def test_a_repeated_action_is_steps_in_one(action_repeat, ends):
  clock = functools.partial(
      environments_for_tests.Steps,
      length=8,
      reward=lambda env: float(env.action * env.num_steps**2),
      truncates=ends == 'truncated',
  )
  env = loaders.load_environment(clock, 2, action_repeat=action_repeat)
  env.reset()
  for episode in range(2):
    for start in range(0, 8, action_repeat):
      passed = range(start + 1, min(start + action_repeat, 8) + 1)
      time_step = env.step(np.array([1, 0]))
      np.testing.assert_array_equal(time_step.observation[:, 0], passed[-1])
      paid = sum(time**2 for time in passed)
      np.testing.assert_array_equal(time_step.reward, [paid, 0])
      is_end = passed[-1] == 8
      assert (time_step.step_type == known.LAST).all() == is_end
      discount = 0.0 if is_end and ends == 'terminated' else 1.0
      np.testing.assert_array_equal(time_step.discount, discount)
    episodes = env.pop_episodes()
    lengths = {each.length_env_steps for each in episodes}
    assert lengths == {-(-8 // action_repeat)}, episode
    metrics = evaluator.summarize_episodes(episodes)
    if action_repeat == 1:
      assert 'length_time_steps_mean' not in metrics
    else:
      assert metrics['length_time_steps_mean'] == 8
    env.step(np.array([0, 0]))


def test_an_action_is_taken_at_least_once():
  with pytest.raises(ValueError, match='num_time_steps .*at least 1'):
    wrappers.ActionRepeat(Counts(), 0)


def test_previous_action_and_reward_are_right_by_one_step():
  env = loaders.load_environment(
      Counts, 2, wrappers=[wrappers.PreviousActionReward]
  )
  steps = [env.reset()]
  actions = np.random.RandomState(0).randint(1, 5, size=[20, 2])
  buffer = np.empty(2, int)
  for action in actions:
    buffer[:] = action  # The same array each time.
    steps.append(env.step(buffer))
  for t, step in enumerate(steps):
    observation = step.observation
    if t % 8 == 0:  # FIRST: 7 steps and a reset.
      assert (step.step_type == known.FIRST).all()
      np.testing.assert_array_equal(observation['previous_action'], [0, 0])
      np.testing.assert_array_equal(observation['previous_reward'], [[0], [0]])
    else:
      np.testing.assert_array_equal(
          observation['previous_action'], actions[t - 1]
      )
      np.testing.assert_array_equal(
          observation['previous_reward'], step.reward[:, np.newaxis]
      )
      np.testing.assert_array_equal(step.reward, [t % 8, t % 8])
    np.testing.assert_array_equal(observation['observation'], [[t % 8]] * 2)


def test_the_previous_action_does_not_change_afterwards():
  space = spaces.Box(-1, 1, (2,), np.float32)
  env = wrappers.PreviousActionReward(Counts(action_space=space))
  observations = [env.reset()[0]]
  buffer = np.zeros(2, np.float32)
  for i in range(3):
    buffer[:] = i / 3
    observations.append(env.step(buffer)[0])
  np.testing.assert_allclose(
      [o['previous_action'] for o in observations],
      [[0, 0], [0, 0], [1 / 3] * 2, [2 / 3] * 2],
      rtol=1e-6,
  )


def test_what_stands_for_no_action():
  env = wrappers.PreviousActionReward(hybrid())
  observation, _ = env.reset()
  action = observation['previous_action']
  assert action['kind'] == 2  # 0 is none of them.
  np.testing.assert_array_equal(action['where'][0], [1, 1])  # Nor of these.


@pytest.mark.parametrize('delay, paid', [
    (1, [1, 2, 3, 4, 5, 6, 7]),
    (3, [0, 0, 6, 0, 0, 15, 7]),
    (100, [0, 0, 0, 0, 0, 0, 28]),
])
def test_delayed_rewards(delay, paid):
  env = loaders.load_environment(
      Counts, 1, wrappers=[lambda e: wrappers.DelayedReward(e, delay)]
  )
  env.reset()
  for _ in range(2):
    rewards = [float(env.step(np.zeros(1, int)).reward[0]) for _ in range(8)]
    assert rewards == paid + [0]
  assert [e.return_ for e in env.pop_episodes()] == [28.0, 28.0]
  # A reset in the middle forgets what is owed.
  single = wrappers.DelayedReward(Counts(), 3)
  for _ in range(2):
    single.reset()
    rewards = [single.step(0)[1] for _ in range(4)]
    assert rewards == [0, 0, 6, 0]
  with pytest.raises(ValueError, match='at least 1, not 0'):
    wrappers.DelayedReward(Counts(), 0)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_statistics_from_inside_a_wrapper_that_changes_rewards(vectorization):
  env = loaders.load_environment(
      Counts,
      2,
      env_kwargs={'length': 4},
      wrappers=[
          gymnasium.wrappers.RecordEpisodeStatistics,
          lambda e: gymnasium.wrappers.TransformReward(e, np.sign),
      ],
      success_key='won',
      vectorization=vectorization,
  )
  env.reset()
  rewards = [env.step(np.zeros(2, int)).reward for _ in range(5)]
  np.testing.assert_array_equal(rewards[:4], np.ones([4, 2]))
  # Raw: 1 + 2 + 3 + 4; `won` after an odd number of steps.
  assert [e[:5] for e in env.pop_episodes()] == [
      (0, 10.0, 4, True, False), (1, 10.0, 4, True, False)
  ]
  env.close()


class Remembers(environments_for_tests.Steps):
  """Keeps the actions of an episode, and counts its resets."""

  num_resets = 0

  def begin(self):
    self.num_resets += 1
    self.actions = []

  def step(self, action):
    self.actions.append(action)
    return super().step(action)


@pytest.mark.parametrize(
    'length, actions, resets', [(9, [1, 2], 1), (1, [], 3), (2, [], 2)]
)
def test_an_episode_begins_by_fire(length, actions, resets):
  # Stable-Baselines3's FireResetEnv presses the second button after an end by
  # the first one, too, and returns the observation before its last reset.
  env = wrappers.FireReset(Remembers(length=length))
  observation, info = env.reset(seed=3)
  assert env.unwrapped.actions == actions and not info
  assert env.unwrapped.num_resets == resets
  np.testing.assert_array_equal(observation, [len(actions)])
  if length == 9:
    assert env.step(4)[:2] == (np.float32([3]), 3)
  other = wrappers.FireReset(Remembers(), actions=(4,))
  assert other.reset()[0] == [1] and other.unwrapped.actions == [4]


class Unseeded(Remembers):
  """Leaves Gymnasium's generator without the seed, as some environments do."""

  def reset(self, *, seed=None, options=None):
    return super().reset()


@pytest.mark.parametrize('make', [Remembers, Unseeded])
def test_an_episode_begins_with_a_number_of_noops_that_its_seed_draws(make):
  env = wrappers.NoopReset(make(length=99), noop_action=3)
  numbers = []
  for seed in (0, 1, 2, 0):
    env.reset(seed=seed)
    expected = gymnasium.utils.seeding.np_random(seed)[0].integers(1, 31)
    assert env.unwrapped.actions == [3] * expected
    numbers.append(expected)
  assert len(set(numbers)) > 1
  assert max(numbers) <= 30
  # An end on the way begins another episode, in which the rest is taken.
  short = wrappers.NoopReset(Remembers(length=4))
  observation, _ = short.reset(seed=0)
  np.testing.assert_array_equal(observation, [numbers[0] % 4])
  assert short.unwrapped.num_resets == 1 + numbers[0] // 4


class Lives(environments_for_tests.Steps):
  """Loses a life each third step; the third one ends the game."""

  def __init__(self):
    super().__init__(
        length=9, info=lambda env: {'lives': 3 - env.num_steps // 3}
    )


def test_returns_end_with_a_life_and_the_game_with_the_last():
  # As through Stable-Baselines3's EpisodicLifeEnv, without its step from a life
  # to the next: ends are at steps 3, 6 and 9, and only the last is a reset.
  env = loaders.load_environment(Lives, lives_key='lives', seed=0)
  steps = [env.reset()] + [env.step(np.array([1])) for _ in range(9)]
  np.testing.assert_array_equal(
      [step.discount[0] for step in steps], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]
  )
  np.testing.assert_array_equal(
      [step.observation[0, 0] for step in steps], range(10)
  )
  assert [bool(step.is_last()[0]) for step in steps] == [False] * 9 + [True]
  (episode,) = env.pop_episodes()
  assert episode.return_ == sum(range(10))


class Entries(gymnasium.Env):
  """Observes 10 t, 10 t + 1, ..., always in the same array."""

  action_space = spaces.Discrete(2)

  def __init__(self, size=4, dtype=np.float64):
    self.observation_space = spaces.Box(
        np.arange(size, dtype=dtype) - 1,
        np.arange(size, dtype=dtype) + 100,
        dtype=dtype,
    )
    self._buffer = np.arange(size, dtype=dtype)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._buffer -= self._buffer[0]
    return self._buffer, {'from': 'reset'}

  def step(self, action):
    self._buffer += 10
    ended = bool(self._buffer[0] == 50)
    return self._buffer, float(action), ended, False, {'from': 'step'}


@pytest.mark.parametrize('entries', [(2,), [3, 0], (1, 3, 1), np.array([0, 2])])
@pytest.mark.parametrize('dtype', [np.float64, np.float32, np.int32])
def test_some_entries_in_their_order(entries, dtype):
  env = wrappers.SomeEntries(Entries(dtype=dtype), entries)
  indices = [int(entry) for entry in entries]
  space = env.observation_space
  assert space.dtype == dtype and space.shape == (len(indices),)
  assert space.low.tolist() == [i - 1 for i in indices]
  assert space.high.tolist() == [i + 100 for i in indices]
  if isinstance(entries, np.ndarray):
    entries[:] = 3  # It keeps its own.
  seen, info = env.reset(seed=0)
  observations = [seen]
  assert info == {'from': 'reset'}
  for t in range(1, 6):
    seen, reward, terminated, truncated, info = env.step(1)
    observations.append(seen)
    assert (reward, terminated, truncated) == (1.0, t == 5, False)
    assert info == {'from': 'step'}
  # None is a view of the buffer, which has gone on.
  np.testing.assert_array_equal(
      observations, [[10 * t + i for i in indices] for t in range(6)]
  )
  assert all(seen.dtype == dtype for seen in observations)


@pytest.mark.parametrize('entries', [
    (), (4,), (0, -1), (0.0, 1.5), (True, False, True, False), 2, [[0, 1]],
    ('0',), (None,),
])
def test_entries_that_there_are_not(entries):
  with pytest.raises(ValueError, match='indices from 0 to 3'):
    wrappers.SomeEntries(Entries(), entries)


@pytest.mark.parametrize('make', [
    minigrid,
    lambda: gymnasium.make('FrozenLake-v1'),
    lambda: wrappers.PreviousActionReward(Entries()),
    functools.partial(gymnasium.make, 'rnd_agents/DeepSea-v0'),
])
def test_some_entries_need_a_flat_box(make):
  with pytest.raises(ValueError, match='needs a flat Box, not '):
    wrappers.SomeEntries(make(), (0,))


@pytest.mark.parametrize('wrap, message', [
    (wrappers.RoomsVisited, 'needs an ALE game'),
    (wrappers.AgentPosition, 'needs a MiniGrid task'),
    (wrappers.FixedWorld, 'needs a MiniGrid task'),
    (functools.partial(wrappers.FireReset, actions=(9,)), 'FireReset.actions'),
    (functools.partial(wrappers.NoopReset, noop_action=-1), 'noop_action must'),
    (functools.partial(wrappers.NoopReset, noop_max=0), 'NoopReset.noop_max'),
])
def test_environments_that_do_not_fit(wrap, message):
  with pytest.raises(ValueError, match=message):
    wrap(Counts())


class Draws(environments_for_tests.Steps):
  """Observes a random number at each step."""

  def observation(self):
    return self.np_random.random(1).astype(np.float32)


class NoOptions(Draws):

  def reset(self, seed=None):
    return super().reset(seed=seed)


class NoArguments(Draws):

  def reset(self):
    return super().reset()


class SeedMethod(Draws):
  """Is seeded before the reset, as in Gym before 0.22."""

  def seed(self, seed=None):
    self.given_seed = seed

  def reset(self):
    observation, info = super().reset()
    return np.full_like(observation, self.given_seed), info


class ObservationAlone(Draws):

  def reset(self, *, seed=None, options=None):
    return super().reset(seed=seed, options=options)[0]


class FourValues(Draws):
  """Tells a time limit as Gym's TimeLimit did."""

  def step(self, action):
    observation, reward, terminated, truncated, info = super().step(action)
    info = {'TimeLimit.truncated': True} if truncated else None
    return observation, reward, terminated or truncated, info


class AllHabits(NoArguments, FourValues):

  def reset(self):
    return super().reset()[0]


OLD = [NoOptions, NoArguments, ObservationAlone, FourValues, AllHabits]


@pytest.mark.parametrize('old', OLD)
@pytest.mark.parametrize('arguments', [
    {}, dict(env_kwargs=dict(truncates=True)), dict(max_episode_steps=5)
])
def test_environments_of_older_habits_are_like_others(old, arguments):
  adapted, plain = (
      loaders.load_environment(each, 2, seed=0, wrappers=wrap, **arguments)
      for each, wrap in ((old, [interface.adapt_old_interface]), (Draws, []))
  )
  steps = [(adapted.reset(), plain.reset())]
  for _ in range(17):
    steps.append([env.step(np.zeros(2, int)) for env in (adapted, plain)])
  for step, expected in steps:
    np.testing.assert_equal(step._asdict(), expected._asdict())
  assert len(adapted.pop_episodes()) == len(plain.pop_episodes()) >= 4


def test_an_old_seed_method_is_called():
  env = interface.adapt_old_interface(SeedMethod())
  assert env.reset(seed=7)[0] == 7


def test_an_observation_that_looks_like_a_pair():
  class Pair(ObservationAlone):
    observation_space = spaces.Tuple(
        [spaces.Discrete(2), spaces.Dict(a=spaces.Discrete(2))]
    )

    def observation(self):
      return 1, {'a': 0}

  env = interface.adapt_old_interface(Pair())
  assert env.reset(seed=0) == ((1, {'a': 0}), {})


@pytest.mark.parametrize('old, limit, words', [
    (NoOptions, None, ['NoOptions.reset()', "'options'"]),
    (NoArguments, None, ['NoArguments.reset()', "'seed'"]),
    (ObservationAlone, None, ['ObservationAlone.reset returned one value']),
    (FourValues, None, ['FourValues.step returned 4 values']),
    (FourValues, 5, ['FourValues.step', 'expected 5, got 4']),  # TimeLimit's.
])
def test_older_habits_are_named_with_the_way(old, limit, words):
  env = loaders.load_environment(old, max_episode_steps=limit)
  with pytest.raises(failures.EnvironmentFailure) as caught:
    env.reset()
    env.step(np.zeros(1, int))
  for word in [*words, '@adapt_old_interface']:
    assert word in caught.value.what


def test_another_error_of_a_reset_gets_no_advice():
  def begin(env):
    raise TypeError("f() got an unexpected keyword argument 'x'")

  env = loaders.load_environment(
      lambda: type('Env', (Draws,), dict(begin=begin))()
  )
  with pytest.raises(failures.EnvironmentFailure) as caught:
    env.reset()
  assert 'adapt_old_interface' not in str(caught.value)
