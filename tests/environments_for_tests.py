# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments whose every number a test can tell."""

import gymnasium
from gymnasium import spaces
import numpy as np


class Steps(gymnasium.Env):
  """Observes and pays the number of the step, whatever the action.

  A test gives what differs as a number or as a function of the environment,
  which has `seed`, `num_steps` of the episode, the last `action` and
  `np_random`. A subclass may override `begin`, which is called at each reset.
  """

  observation_space = spaces.Box(0, 99, (1,), np.float32)
  action_space = spaces.Discrete(5)

  def __init__(
      self,
      length=7,
      reward=lambda env: env.num_steps,
      observation=None,
      info=lambda env: {},
      truncates=False,
      observation_space=None,
      action_space=None,
  ):
    self._length = length
    self._reward = reward
    self._observation = observation
    self._info = info
    self._truncates = truncates
    if observation_space is not None:
      self.observation_space = observation_space
    if action_space is not None:
      self.action_space = action_space

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.seed, self.num_steps, self.action = seed, 0, None
    self.begin()
    return self.observation(), self._info(self)

  def begin(self):
    """Begins an episode, after its seed is known."""

  def step(self, action):
    self.action = action
    self.num_steps += 1
    is_over = self.is_over()
    return (
        self.observation(),
        self.reward(),
        is_over and not self._truncates,
        is_over and self._truncates,
        self._info(self),
    )

  def is_over(self):
    length = self._length(self) if callable(self._length) else self._length
    return self.num_steps == length

  def observation(self):
    if self._observation is not None:
      return self._observation(self)
    space = self.observation_space
    return np.full(space.shape, self.num_steps, space.dtype)

  def reward(self):
    return self._reward(self)


class Hybrid(gymnasium.Env):
  """Dict and Tuple actions, all of which the observation shows."""

  observation_space = spaces.Box(-9, 9, (8,), np.float32)
  action_space = spaces.Dict(
      kind=spaces.Discrete(3, start=2),
      parts=spaces.Tuple([
          spaces.Box(-1, 1, (2,), np.float64),
          spaces.MultiDiscrete([2, 3]),
          spaces.MultiBinary(2),
      ]),
  )

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._sum = self.np_random.random(8)
    return self._sum.astype(np.float32), {}

  def step(self, action):
    assert self.action_space.contains(action)
    numbers = np.concatenate([[action['kind']], *action['parts']])
    self._sum = 0.9 * self._sum + 0.1 * np.append(numbers, 1)
    is_over = self.np_random.random() < 0.05
    return self._sum.astype(np.float32), 1.0, is_over, False, {}
