# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments that tell curiosities apart, for benchmarks/experiments.py."""

import gin
import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np

from rnd_agents.tasks import deep_sea


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


class NoisyDeepSeaVectorEnv(deep_sea.DeepSeaVectorEnv):
  """Deep Sea above rows of noise: numbers of [0, 1), new in each step.

  Observations are float32 [B, N + R, N]. All else is as in Deep Sea.
  """

  _state = (*deep_sea.DeepSeaVectorEnv._state, '_snow')

  def __init__(
      self,
      num_envs=1,
      size=deep_sea.DEFAULT_SIZE,
      num_noise_rows=1,
      **kwargs,
  ):
    """Creates the environments; further arguments as for `DeepSeaVectorEnv`.

    Args:
      num_envs: B.
      size: N.
      num_noise_rows: R, each of N numbers.
      **kwargs: Of Deep Sea.
    """
    super().__init__(num_envs, size, **kwargs)
    self._snow = np.zeros([num_envs, num_noise_rows, size], np.float32)
    self.single_observation_space = spaces.Box(
        0.0, 1.0, (size + num_noise_rows, size)
    )
    self.observation_space = vector.utils.batch_space(
        self.single_observation_space, num_envs
    )

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed, options=options)  # It seeds the generators.
    self._draw()
    return self._observations(), {}

  def step(self, actions):
    self._draw()
    return super().step(actions)

  def _draw(self):
    for i, generator in enumerate(self._generators):
      self._snow[i] = generator.random(self._snow[i].shape, np.float32)

  def _observations(self):
    return np.concatenate([super()._observations(), self._snow], axis=1)


gymnasium.register(
    'benchmarks/NoisyDeepSea-v0',
    vector_entry_point=f'{__name__}:NoisyDeepSeaVectorEnv',
)


# Of MiniGrid's one-hot view [7, 7, 20]: 11 kinds, 6 colours, 3 states.
_COLOURS = slice(11, 17)


def _draw_colours(env, num_tiles=None):
  """Returns a one-hot colour [6], or of each tile [num_tiles, 6]."""
  return np.eye(6)[env.unwrapped.np_random.integers(6, size=num_tiles)]


@gin.configurable(module='benchmarks', denylist=['env'])
class Television(gymnasium.Wrapper):
  """A television left in MiniGrid's view, whose remote control is `done`.

  It fills the colours of the seven left tiles: one of 6^7 pictures, each as
  likely, and another one whenever the agent chooses `done`, which does nothing
  else in DoorKey. An agent that looks for what is new can stay and press it
  (Burda et al., 2019, "the noisy TV" that the agent controls).
  """

  def _watch(self, observation):
    observation = np.array(observation)
    observation[0, :, _COLOURS] = self._picture
    return observation

  def reset(self, *, seed=None, options=None):
    observation, info = self.env.reset(seed=seed, options=options)
    self._picture = _draw_colours(self.env, 7)
    return self._watch(observation), info

  def step(self, action):
    observation, *others = self.env.step(action)
    if action == self.env.unwrapped.actions.done:
      self._picture = _draw_colours(self.env, 7)
    return (self._watch(observation), *others)


@gin.configurable(module='benchmarks', denylist=['env'])
class NoisyTile(gymnasium.ObservationWrapper):
  """Draws a colour for the nearest left tile of MiniGrid's view in each step.

  A noisy screen (Burda et al., 2019, "the noisy TV") that is always in view.
  """

  def observation(self, observation):
    observation = np.array(observation)
    observation[0, -1, _COLOURS] = _draw_colours(self.env)
    return observation
