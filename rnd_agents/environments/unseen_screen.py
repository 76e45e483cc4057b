# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Sea that shows, once in a run, a screen that was never seen before.

For experiments on what a single large bonus does to an optimizer.
"""

from typing import Any

import numpy as np

from rnd_agents import errors
from rnd_agents.environments import deep_sea


class UnseenScreenVectorEnv(deep_sea.DeepSeaVectorEnv):
  """B Deep Seas, one of which shows a fixed other screen in one episode.

  Each step within an episode (its first and last observation aside) has the
  chance `screen_chance` that the screen comes, until it has come in one of the
  B. It stays until that episode ends, as a new room would, and changes nothing
  but observations.

  The screen lights the cells that a diver cannot reach, above the diagonal, all
  alike and with norm 1, as each observation has. A policy sees an input of the
  usual size; RND, which divides each pixel by a standard deviation that for
  these is almost 0, sees all of them at the bound of its whitening. A new room
  of an Atari game does the same to it.
  """

  def __init__(
      self,
      num_envs: int = 1,
      size: int = deep_sea.DEFAULT_SIZE,
      screen_chance: float = 1e-5,
      first_env_step: int = 0,
      **kwargs: Any,
  ):
    """Creates an UnseenScreenVectorEnv.

    Args:
      num_envs: B.
      size: N, at least 2.
      screen_chance: of each step of each environment, above 0 and at most 1.
      first_env_step: steps of each environment before which it does not come.
      **kwargs: of DeepSeaVectorEnv.

    Raises:
      ValueError: a number is out of range.
    """
    if size < 2 or not 0 < screen_chance <= 1 or first_env_step < 0:
      raise errors.InvalidValue(
          'size must be at least 2, screen_chance above 0 and at most 1,'
          f' first_env_step not negative; got {size}, {screen_chance},'
          f' {first_env_step}.'
      )
    super().__init__(num_envs, size, **kwargs)
    self._screen_chance = screen_chance
    self._first_env_step = first_env_step
    screen = np.triu(np.ones([size, size], np.float32), 1)
    self._screen = screen / np.linalg.norm(screen)
    # Steps within episodes until it comes; 0 where it is shown, -1 for never.
    self._steps_to_screen = np.full(num_envs, -1, np.int64)

  _state = (*deep_sea.DeepSeaVectorEnv._state, '_steps_to_screen')

  @property
  def screen(self) -> np.ndarray:
    """The screen, float32 [N, N]. A copy."""
    return self._screen.copy()

  def reset(self, *, seed=None, options=None):
    """As DeepSeaVectorEnv does; with a seed, the screen is due again."""
    draws = seed is not None or self._generators is None
    self._steps_to_screen[self._steps_to_screen == 0] = -1
    observations, infos = super().reset(seed=seed, options=options)
    if draws:
      self._steps_to_screen[:] = self._first_env_step + np.array(
          [g.geometric(self._screen_chance) for g in self._generators]
      )
    return observations, infos

  def step(self, actions):
    shown = self._steps_to_screen == 0
    _, *rest = super().step(actions)
    inside = (self._row > 0) & (self._row < self._size)
    if shown.any():
      self._steps_to_screen[~inside] = -1
    else:
      self._steps_to_screen -= inside
      due = np.flatnonzero(self._steps_to_screen == 0)
      if due.size:  # Of two at the same step, the first.
        self._steps_to_screen[self._all != due[0]] = -1
    return self._observations(), *rest

  def _observations(self):
    observations = super()._observations()
    observations[self._steps_to_screen == 0] = self._screen
    return observations
