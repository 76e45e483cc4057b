# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An environment that fails at an action that its mask forbids."""

import gymnasium
from gymnasium import spaces
import numpy as np


class Lamps(gymnasium.Env):
  """Some lamps are lit in each step; only a lit one may be switched off.

  Two of four are lit, or one of the lamps of each entry of another action. The
  first lit one pays 1. The last of six steps shows none.
  """

  def __init__(self, place='info', action_space=None, mask='lamps'):
    self._in_info = place == 'info'
    self._mask = mask
    self.action_space = action_space or spaces.Discrete(4)
    self._counts = getattr(action_space, 'nvec', [4])
    self._start = np.asarray(getattr(action_space, 'start', 0))
    lamps = spaces.MultiBinary(int(sum(self._counts)))
    self.observation_space = (
        lamps
        if self._in_info
        else spaces.Dict(lamps=lamps, legal=spaces.MultiBinary(4))
    )

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._num_steps = 0
    return self._look()

  def _look(self):
    parts = []
    for count in self._counts:
      part = np.zeros(count, np.int8)
      num_lit = 2 if count == 4 else 1
      part[self.np_random.choice(count, num_lit, replace=False)] = 1
      parts.append(part)
    self._lamps = np.concatenate(parts)
    if self._num_steps == 6:
      self._lamps[:] = 0
    mask = self._lamps if isinstance(self._mask, str) else self._mask
    if self._in_info:
      return self._lamps.copy(), {} if mask is None else {'legal': mask}
    return dict(lamps=self._lamps.copy(), legal=mask), {}

  def step(self, action):
    places = np.atleast_1d(action - self._start)
    places = places + np.cumsum([0, *self._counts])[:-1]
    assert self._lamps[places].all(), f'{action} is forbidden: {self._lamps}'
    reward = float(places[0] == np.argmax(self._lamps))
    self._num_steps += 1
    observation, info = self._look()
    return observation, reward, self._num_steps == 6, False, info

  def expert_action(self):
    """The first lit lamp."""
    return np.int64(np.argmax(self._lamps))
