# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments of the package `gym` where those of Gymnasium are expected."""

import gym
import gymnasium
import numpy as np
import pytest

from rnd_agents.environments import check
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import old_gym
from tests import tiny_runs

_NAMED = f'{__name__}:Counts'


class Counts(gym.Env):
  """Counts to 3, from a start that `seed` draws; pays arrays of shape [1]."""

  metadata = {'render.modes': ['rgb_array']}
  observation_space = gym.spaces.Dict(
      count=gym.spaces.Box(0, 9, (1,), np.float32),
      start=gym.spaces.Discrete(3),
  )
  action_space = gym.spaces.MultiDiscrete([2, 3])

  def __init__(self, end=3):
    self._end = end
    self._random = np.random.default_rng(0)

  def seed(self, seed=None):
    self._random = np.random.default_rng(seed)
    return [seed]

  def reset(self):
    self._count, self._start = 0, self._random.integers(3)
    return self._observation()

  def _observation(self):
    return dict(count=np.float32([self._count]), start=self._start)

  def step(self, action):
    self._count += 1
    reward = np.float32([self._count + 10 * action[1]])
    return self._observation(), reward, self._count == self._end, {}

  def render(self, mode='human'):
    assert mode == 'rgb_array'
    return np.full([2, 2, 3], self._count, np.uint8)


class _Bounded(gym.spaces.Box):
  """A space of one's own."""


class Pictures(Counts):
  """Renders as from gym 0.25 on: what it was made for, here nothing."""

  metadata = {'render_modes': ['rgb_array']}
  render_mode = None
  action_space = _Bounded(-1, 1, (2,), np.float32)

  def render(self):
    return None


def test_a_space_of_ones_own_and_frames_that_were_not_asked_for():
  env = old_gym.adapted(Pictures())
  assert env.action_space == gymnasium.spaces.Box(-1, 1, (2,), np.float32)
  assert env.render_mode is None
  assert old_gym.adapted(Counts()).render_mode == 'rgb_array'


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_a_callable_is_played_as_it_would_be_by_hand(vectorization):
  env = loaders.load_environment(
      Counts, 2, seed=3, vectorization=vectorization, env_kwargs=dict(end=4)
  )
  assert env.action_spec().maximum.tolist() == [1, 2]
  rows = [env.reset()]
  for t in range(9):
    rows.append(env.step(np.array([[0, t % 3], [1, 1]])))
  starts = []
  for b in range(2):
    expected, t = [], 0
    for _ in range(2):
      expected += [(0.0, 1.0, 0)]
      for count in range(1, 5):
        second = (t % 3) if b == 0 else 1
        expected += [(count + 10.0 * second, float(count < 4), count)]
        t += 1
      t += 1  # The action of the reset is not taken.
    found = [
        (row.reward[b], row.discount[b], row.observation['count'][b, 0])
        for row in rows
    ]
    np.testing.assert_array_equal(found, expected)
    starts += [int(row.observation['start'][b]) for row in rows[::5]]
  assert len(set(starts)) > 1  # Each episode is seeded.
  env.close()


@pytest.mark.parametrize('limit', [None, 7, 300])
def test_an_id_of_gym_is_the_same_task(limit):
  old, new = (
      loaders.load_environment(
          env, seed=5, max_episode_steps=limit, preprocessing=False
      )
      for env in ('gym:MountainCar-v0', 'MountainCar-v0')
  )
  a, b = old.reset(), new.reset()
  np.testing.assert_allclose(a.observation, b.observation, atol=1e-6)
  for t in range(limit or 200):
    assert not a.is_last(), t
    action = np.array([t % 3])
    a, b = old.step(action), new.step(action)
    np.testing.assert_allclose(a.observation, b.observation, atol=1e-6)
    np.testing.assert_array_equal(a.reward, b.reward)
    np.testing.assert_array_equal(a.discount, b.discount)
  assert a.is_last() and b.is_last() and a.discount == 1


def test_the_checker_and_a_run_take_it(tmp_path):
  report = check.examine_environment(
      check.find_callable(_NAMED, {}), tries_agent=False
  )
  assert not report.faults, report
  tiny_runs.prepare(
      tmp_path, 128, f"load_environment.env = '{_NAMED}'"
  )


class Odd(Counts):
  """Has a space without a counterpart."""

  class Odd(gym.spaces.Space):
    pass

  Odd.__module__ = 'gym.spaces.odd'
  action_space = Odd()


@pytest.mark.parametrize(
    'env, limit, message',
    [
        ('gym:Missing-v0', None, "no environment 'Missing-v0'"),
        (lambda: gym.make('MountainCar-v0'), 9, 'cannot replace the TimeLimit'),
        (gymnasium.make('CartPole-v1'), None, 'from_gymnasium or from_old_gym'),
        (Odd, None, 'space .* of gym is not supported'),
    ],
)
def test_what_cannot_be_loaded_is_told(env, limit, message):
  with pytest.raises(failures.EnvironmentSetupError, match=message):
    loaders.load_environment(env, max_episode_steps=limit)
