# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments for tests whose every number is known."""

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np

from rnd_agents.environments import vector_environment

FIRST, MID, LAST = 0, 1, 2


class ScriptedEnv(gymnasium.Env):
  """Episode e ends at step ends[e]. Observes (e, step), pays 10 e + step."""

  observation_space = spaces.Box(-1.0, 99.0, (2,), np.float64)
  action_space = spaces.Discrete(2)

  def __init__(self, ends):
    self._ends = ends
    self._episode = -1
    self.actions = []

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._episode += 1
    self._step = 0
    return self._observation(), {}

  def step(self, action):
    self.actions.append(action)
    self._step += 1
    terminated = self._step == self._ends[self._episode]
    info = {'is_success': self._episode == 0} if terminated else {}
    reward = 10.0 * self._episode + self._step
    return self._observation(), reward, terminated, False, info

  def _observation(self):
    return np.array([self._episode, self._step], np.float64)


def scripted_vector(**kwargs):
  """Two scripted environments, out of phase, cut after 3 steps."""
  return vector.SyncVectorEnv(
      [
          lambda: gymnasium.wrappers.TimeLimit(ScriptedEnv([2, 9, 1, 9]), 3),
          lambda: gymnasium.wrappers.TimeLimit(ScriptedEnv([9, 1, 3, 9]), 3),
      ],
      **kwargs,
  )


def scripted(**kwargs):
  return vector_environment.VectorPyEnvironment(scripted_vector(**kwargs))


# Worked out by hand. Columns: environment 0, environment 1. Each entry is
# (step type, reward, discount, episode, step).
SCRIPT = [
    ((FIRST, 0, 1, 0, 0), (FIRST, 0, 1, 0, 0)),
    ((MID, 1, 1, 0, 1), (MID, 1, 1, 0, 1)),
    ((LAST, 2, 0, 0, 2), (MID, 2, 1, 0, 2)),  # 0 terminates.
    ((FIRST, 0, 1, 1, 0), (LAST, 3, 1, 0, 3)),  # 1 is truncated.
    ((MID, 11, 1, 1, 1), (FIRST, 0, 1, 1, 0)),
    ((MID, 12, 1, 1, 2), (LAST, 11, 0, 1, 1)),  # 1 terminates at once.
    ((LAST, 13, 1, 1, 3), (FIRST, 0, 1, 2, 0)),  # 0 is truncated.
    ((FIRST, 0, 1, 2, 0), (MID, 21, 1, 2, 1)),
    ((LAST, 21, 0, 2, 1), (MID, 22, 1, 2, 2)),
    ((FIRST, 0, 1, 3, 0), (LAST, 23, 0, 2, 3)),  # Both at once: terminated.
]
# (environment, return, length, terminated, success, seed)
SCRIPT_EPISODES = [
    (0, 3.0, 2, True, True, None),
    (1, 6.0, 3, False, None, None),
    (1, 11.0, 1, True, False, None),
    (0, 36.0, 3, False, None, None),
    (0, 21.0, 1, True, False, None),
    (1, 66.0, 3, True, False, None),
]


class PlaybackVectorEnv(vector.VectorEnv):
  """Returns what it is given: tuples as of `VectorEnv.step`."""

  metadata = {'autoreset_mode': vector.AutoresetMode.NEXT_STEP}

  def __init__(self, space, first, steps=()):
    self.num_envs = 2
    self.single_observation_space = space
    self.observation_space = vector.utils.batch_space(space, 2)
    self.single_action_space = spaces.Discrete(2)
    self.action_space = vector.utils.batch_space(self.single_action_space, 2)
    self._first = first
    self._steps = iter(steps)
    self.seeds = []

  def reset(self, *, seed=None, options=None):
    self.seeds.append(seed)
    return self._first, {}

  def step(self, actions):
    return next(self._steps)


def playback(space, first, steps=(), **arguments):
  return vector_environment.VectorPyEnvironment(
      PlaybackVectorEnv(space, first, steps), **arguments
  )
