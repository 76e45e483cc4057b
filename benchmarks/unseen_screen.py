# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Sea with a screen that is seen once, for benchmarks/surprise.py.

Importing it registers `benchmarks/DeepSeaUnseenScreen-v0` with Gymnasium, as a
vector environment only.
"""

from typing import Any

import gymnasium
import numpy as np

from rnd_agents import errors
from rnd_agents.tasks import deep_sea

_ID = 'benchmarks/DeepSeaUnseenScreen-v0'


class UnseenScreenVectorEnv(deep_sea.DeepSeaVectorEnv):
  """B Deep Seas, one of which shows a fixed other screen in one episode.

  For experiments on what a single large bonus does to an optimizer.

  Each episode has the chance `screen_chance` to be that one, until one of the B
  has had it. Its observations but the first and the last are the screen;
  nothing else changes.

  The screen lights the cells that a diver cannot reach, above the diagonal, all
  alike and with norm 1, as each observation has. A policy sees an input of the
  usual size; RND, which divides each pixel by a standard deviation that for
  these is almost 0, sees all of them at the bound of its whitening. A new room
  of an Atari game does the same to it.
  """

  _state = (*deep_sea.DeepSeaVectorEnv._state, '_episodes_to_screen')

  def __init__(
      self,
      num_envs: int = 1,
      size: int = deep_sea.DEFAULT_SIZE,
      screen_chance: float = 1e-4,
      first_episode: int = 0,
      **kwargs: Any,
  ):
    """Creates an UnseenScreenVectorEnv.

    Args:
      num_envs: B.
      size: N, at least 2.
      screen_chance: of each episode of each environment, above 0, at most 1.
      first_episode: of each environment, from 0, that may show the screen.
      **kwargs: of DeepSeaVectorEnv.

    Raises:
      ValueError: a number is out of range.
    """
    if size < 2 or not 0 < screen_chance <= 1 or first_episode < 0:
      raise errors.InvalidValue(
          'size must be at least 2, screen_chance above 0 and at most 1,'
          f' first_episode not negative; got {size}, {screen_chance},'
          f' {first_episode}.'
      )
    super().__init__(num_envs, size, **kwargs)
    self._screen_chance = screen_chance
    self._first_episode = first_episode
    screen = np.triu(np.ones([size, size], np.float32), 1)
    self._screen = screen / np.linalg.norm(screen)
    # 0 where the present episode shows it, below 0 where none will.
    self._episodes_to_screen = np.full(num_envs, -1, np.int64)

  @property
  def screen(self) -> np.ndarray:
    """The screen, float32 [N, N]. A copy."""
    return self._screen.copy()

  def reset(self, *, seed=None, options=None):
    """As DeepSeaVectorEnv does; with a seed, the screen is due again."""
    draws = seed is not None or self._generators is None
    result = super().reset(seed=seed, options=options)
    if draws:
      self._episodes_to_screen[:] = self._first_episode + np.array(
          [g.geometric(self._screen_chance) for g in self._generators]
      )
      self._count_episodes(self._all)
    return result

  def _start_episodes(self, indices):
    super()._start_episodes(indices)
    self._count_episodes(indices)

  def _count_episodes(self, indices):
    self._episodes_to_screen[indices] -= 1
    due = np.flatnonzero(self._episodes_to_screen == 0)
    if due.size:  # Of two at once, the first.
      self._episodes_to_screen[self._all != due[0]] = -1

  def _observations(self):
    observations = super()._observations()
    inside = (self._row > 0) & (self._row < self._size)
    observations[inside & (self._episodes_to_screen == 0)] = self._screen
    return observations


if _ID not in gymnasium.registry:  # The module may be imported anew.
  gymnasium.register(
      _ID, vector_entry_point='benchmarks.unseen_screen:UnseenScreenVectorEnv'
  )
