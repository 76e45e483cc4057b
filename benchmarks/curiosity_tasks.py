# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments that tell curiosities apart, for benchmarks/experiments.py."""

import gin
import gymnasium
from gymnasium import spaces
import numpy as np


@gin.configurable(module='benchmarks')
class RiverSwim(gymnasium.Env):
  """A chain against the current (Strehl and Littman, 2008), seen one-hot.

  Left always moves a cell to the left. Right moves one to the right with chance
  0.35, to the left with 0.05, and else nothing. The episode begins in the first
  cell and ends with reward 1 in the last one, which random actions find once in
  3^20 tries, or after six steps a cell.
  """

  def __init__(self, num_cells=20):
    self.observation_space = spaces.Box(0, 1, [num_cells], np.float32)
    self.action_space = spaces.Discrete(2)
    self._num_cells = num_cells

  def _observation(self):
    return np.eye(self._num_cells, dtype=np.float32)[self._cell]

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._cell, self._num_steps = 0, 0
    return self._observation(), {}

  def step(self, action):
    chance = self.np_random.random()
    move = -1 if action == 0 or chance >= 0.95 else int(chance < 0.35)
    self._cell = max(self._cell + move, 0)
    self._num_steps += 1
    is_end = self._cell == self._num_cells - 1
    is_cut = self._num_steps >= 6 * self._num_cells
    return self._observation(), float(is_end), is_end, is_cut, {}


@gin.configurable(module='benchmarks', denylist=['env'])
class NoisyTile(gymnasium.ObservationWrapper):
  """Draws a colour for the nearest left tile of MiniGrid's view in each step.

  A noisy screen (Burda et al., 2019, "the noisy TV") that is always in view.
  """

  # Of the one-hot view [7, 7, 20]: 11 kinds, 6 colours, 3 states.
  _COLOURS = slice(11, 17)

  def observation(self, observation):
    observation = np.array(observation)
    colours = np.zeros(6, observation.dtype)
    colours[self.env.unwrapped.np_random.integers(6)] = 1
    observation[0, -1, self._COLOURS] = colours
    return observation
