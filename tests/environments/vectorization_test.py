# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""LeanSyncVectorEnv does what Gymnasium's SyncVectorEnv does."""

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np
import pytest

from rnd_agents.environments import vectorization
from tests.environments import known


class Nested(gymnasium.Env):
  """Dict observations, and infos of several kinds at some of the steps."""

  observation_space = spaces.Dict(
      a=spaces.Box(-9, 9, (2,), np.float32), b=spaces.Discrete(9)
  )
  action_space = spaces.Box(-1, 1, (2,), np.float32)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._step = 0
    return self._observation(np.zeros(2)), {'began': self.np_random.random()}

  def step(self, action):
    self._step += 1
    info = {'half': {'action': action[0]}} if self._step % 2 else {}
    is_over = self.np_random.random() < 0.2
    return self._observation(action), float(action[1]), is_over, False, info

  def _observation(self, action):
    return {'a': action.astype(np.float32), 'b': self._step % 9}


def assert_equal(one, other):
  assert type(one) is type(other)
  if isinstance(one, dict):
    assert one.keys() == other.keys()
    for key in one:
      assert_equal(one[key], other[key])
  else:
    np.testing.assert_array_equal(one, other)
    assert one.dtype == other.dtype and one.shape == other.shape


@pytest.mark.parametrize('make', [
    lambda: gymnasium.make('CartPole-v1'),
    lambda: gymnasium.make('FrozenLake-v1'),
    lambda: gymnasium.wrappers.TimeLimit(known.ScriptedEnv([2, 9] * 50), 3),
    Nested,
])
def test_equals_gymnasiums(make):
  lean = vectorization.LeanSyncVectorEnv([make] * 3)
  theirs = vector.SyncVectorEnv([make] * 3)
  lean.action_space.seed(0)
  for one, other in zip(lean.reset(seed=5), theirs.reset(seed=5)):
    assert_equal(one, other)
  num_ends = 0
  for _ in range(60):
    action = lean.action_space.sample()
    steps = lean.step(action), theirs.step(action)
    for one, other in zip(*steps, strict=True):
      assert_equal(one, other)
    num_ends += (steps[0][2] | steps[0][3]).sum()
  assert num_ends > 5


class Gives(gymnasium.Env):
  """Observes what it is told to."""

  observation_space = spaces.Box(0, 255, (2,), np.uint8)
  action_space = spaces.Discrete(2)

  def __init__(self, observation):
    self._observation = observation

  def reset(self, *, seed=None, options=None):
    return np.zeros(2, np.uint8), {}

  def step(self, action):
    return self._observation, 0.0, False, False, {}


@pytest.mark.parametrize('observation', [
    np.zeros(2),  # Would be cut to whole numbers.
    np.zeros(3, np.uint8),
    np.zeros((1, 2), np.uint8),
    np.uint8(0),
])
def test_what_does_not_fit_is_refused(observation):
  env = vectorization.LeanSyncVectorEnv([lambda: Gives(observation)] * 2)
  env.reset()
  with pytest.raises((TypeError, ValueError)):
    env.step(np.zeros(2, int))
