# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Sea: a small environment that random exploration does not solve.

A diver falls one row in each step through an N x N grid and steers left or
right. Steering right costs a little, and only one of 2^N ways to play, steering
right N times in a row, reaches the treasure. The action that means right
differs from cell to cell, so that an agent cannot generalise from one cell to
another.

Source: Osband et al., "Behaviour Suite for Reinforcement Learning", 2019
(arXiv 1908.03568), and its package `bsuite`, whose rules these are. With the
same `mapping_seed` the action mapping is the same as there.
"""

from collections.abc import Sequence
import copy
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium import vector
from gymnasium.utils import seeding
import numpy as np

from rnd_agents import errors
from rnd_agents import ranges

TREASURE_REWARD = 1.0
DEFAULT_SIZE = 10
DEFAULT_MOVE_COST = 0.01  # For a whole episode of steering right.
# The seed of bsuite's own experiments.
DEFAULT_MAPPING_SEED = 42


def make_action_mapping(
    size: int, mapping_seed: int | None, randomize_actions: bool
) -> np.ndarray:
  """Returns which action steers right in each cell, int64 [size, size]."""
  ranges.check_flags('', randomize_actions=randomize_actions)
  if not randomize_actions:
    return np.ones([size, size], np.int64)
  random_state = np.random.RandomState(mapping_seed)
  return random_state.binomial(1, 0.5, [size, size])


class DeepSeaVectorEnv(vector.VectorEnv):
  """Steps B Deep Seas together. Autoreset: NEXT_STEP.

  Observations are float32 [B, N, N], 1 at the diver's cell. An episode
  terminates after exactly N steps, with an observation of zeros. At that step
  `infos['is_success']` (bool [B], valid where `infos['_is_success']`) is True
  if the diver found the treasure.

  Environment i draws from its own generator: in the windy variant N uniforms
  for the wind and a normal for the noise, at the start of each episode.
  """

  metadata: dict[str, Any] = {
      'autoreset_mode': vector.AutoresetMode.NEXT_STEP,
      'render_modes': [],
  }
  # Arrays of the state, beside the random streams.
  _state = ('_action_mapping', '_row', '_column', '_ended', '_wind', '_noise')

  def __init__(
      self,
      num_envs: int = 1,
      size: int = DEFAULT_SIZE,
      deterministic: bool = True,
      unscaled_move_cost: float = DEFAULT_MOVE_COST,
      randomize_actions: bool = True,
      mapping_seed: int | None = DEFAULT_MAPPING_SEED,
      max_episode_steps: int | None = None,
      render_mode: None = None,
  ):
    """Creates a DeepSeaVectorEnv.

    Args:
      num_envs: B.
      size: N, the number of rows, columns and steps of an episode.
      deterministic: False for the windy variant: steering right fails with
        probability 1/N, and the two ends of the last row pay N(0, 1) more.
      unscaled_move_cost: Cost of steering right N times; the best return is 1
        minus this cost.
      randomize_actions: Whether the action that steers right differs from cell
        to cell. False, action 1 everywhere, is for debugging and not Deep Sea.
      mapping_seed: Seed of the action mapping, which all B share. None draws a
        mapping that no other environment shares: train and evaluate on one
        instance.
      max_episode_steps: Steps after which episodes are truncated; None, as in
        the source, never truncates them.
      render_mode: None; Deep Sea does not render.
    """
    ranges.check(
        dict(
            num_envs=ranges.COUNT,
            size=ranges.COUNT,
            max_episode_steps=ranges.COUNT.or_none(),
        ),
        dict(num_envs=num_envs, size=size, max_episode_steps=max_episode_steps),
    )
    ranges.check_flags('', deterministic=deterministic)
    if render_mode is not None:
      raise errors.InvalidValue(f'Deep Sea does not render ({render_mode!r}).')
    self.num_envs = num_envs
    self._size = size
    self._deterministic = deterministic
    self._unscaled_move_cost = unscaled_move_cost
    self._max_episode_steps = max_episode_steps
    self._action_mapping = make_action_mapping(
        size, mapping_seed, randomize_actions
    )
    self.single_observation_space = spaces.Box(0.0, 1.0, (size, size))
    self.single_action_space = spaces.Discrete(2)
    self.observation_space = vector.utils.batch_space(
        self.single_observation_space, num_envs
    )
    self.action_space = vector.utils.batch_space(
        self.single_action_space, num_envs
    )
    self._generators: list[np.random.Generator] = []
    self._all = np.arange(num_envs)
    self._row = np.zeros(num_envs, np.int64)
    self._column = np.zeros(num_envs, np.int64)
    self._ended = np.zeros(num_envs, np.bool_)
    self._wind = np.zeros([num_envs, self._size], np.bool_)  # [B, row].
    self._noise = np.zeros(num_envs, np.float64)  # Of the episode's last step.

  @property
  def action_mapping(self) -> np.ndarray:
    """Action that steers right in each cell, [N, N]; a copy."""
    return self._action_mapping.copy()

  def reset(
      self,
      *,
      seed: int | Sequence[int | None] | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    """Puts all divers in the top left corner.

    Args:
      seed: A number s seeds environment i with s + i; a list holds a seed or
        None for each environment. None continues the random streams.
      options: Ignored.

    Returns:
      Observations [B, N, N] and an empty dict.

    Raises:
      InvalidValue: If `seed` is a list of the wrong length.
    """
    del options
    if isinstance(seed, (int, np.integer)):
      seed = [int(seed) + i for i in range(self.num_envs)]
    elif seed is None:
      seed = [None] * self.num_envs
    if len(seed) != self.num_envs:
      raise errors.InvalidValue(
          f'{self.num_envs} seeds are needed; got {len(seed)}.'
      )
    old: Sequence[np.random.Generator | None] = self._generators
    old = old or [None] * self.num_envs
    self.use_generators([
        seeding.np_random(s)[0] if s is not None or g is None else g
        for s, g in zip(seed, old)
    ])
    self._ended[:] = False
    self._start_episodes(self._all)
    return self._observations(), {}

  def use_generators(self, generators: Sequence[np.random.Generator]) -> None:
    """Sets the random streams of the B environments."""
    self._generators = list(generators)

  def get_state(self) -> dict[str, Any]:
    """Returns a picklable state: divers, random streams and mapping.

    Raises:
      gymnasium.error.ResetNeeded: Before the first reset.
    """
    if not self._generators:
      raise gymnasium.error.ResetNeeded('Call reset() before get_state().')
    arrays = {name: getattr(self, name).copy() for name in self._state}
    return {**arrays, '_generators': copy.deepcopy(self._generators)}

  def set_state(self, state: dict[str, Any]) -> np.ndarray:
    """Restores a state from `get_state`; returns the observations.

    Raises:
      InvalidValue: If the state has another number or size of environments.
    """
    for name in self._state:
      if state[name].shape != getattr(self, name).shape:
        raise errors.InvalidValue(
            f'The saved state has {state["_wind"].shape} environments and rows,'
            f' and here are {self._wind.shape}.'
        )
    for name in self._state:
      setattr(self, name, state[name].copy())
    self._generators = copy.deepcopy(state['_generators'])
    return self._observations()

  def step(
      self, actions: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Steps all environments; those that have ended begin a new episode.

    Args:
      actions: Integers [B], 0 or 1.

    Returns:
      Observations [B, N, N], rewards float64 [B], terminated and truncated
      bool [B], infos.

    Raises:
      gymnasium.error.ResetNeeded: Before the first reset.
      gymnasium.error.InvalidAction: If an action is neither 0 nor 1.
    """
    if not self._generators:
      raise gymnasium.error.ResetNeeded('Call reset() before step().')
    actions = np.asarray(actions)
    valid = (actions == 0) | (actions == 1)
    if actions.shape != self._row.shape or not valid.all():
      raise gymnasium.error.InvalidAction(
          f'{self.num_envs} actions, each 0 or 1, are needed; got {actions}.'
      )
    starting = self._ended
    if starting.any():
      # It also keeps the rows below inside the grid.
      self._start_episodes(np.flatnonzero(starting))
    last = self._size - 1
    right = actions == self._action_mapping[self._row, self._column]
    treasure = (self._column == last) & right
    at_an_end = (self._row == last) & (
        (self._column == last) | (self._column == 0)
    )
    reward = TREASURE_REWARD * treasure + self._noise * at_an_end
    reward -= self._unscaled_move_cost / self._size * right
    # Steering right costs the move even where the wind stops it.
    move = np.where(right, ~self._wind[self._all, self._row], -1)
    column = np.minimum(np.maximum(self._column + move, 0), last)
    going = ~starting
    self._row = (self._row + 1) * going
    self._column = column * going
    terminated = self._row == self._size
    if self._max_episode_steps is None:
      truncated = np.zeros(self.num_envs, np.bool_)
    else:
      truncated = self._row >= self._max_episode_steps
    self._ended = terminated | truncated
    infos = {}
    if self._ended.any():
      infos['is_success'] = treasure & self._ended
      infos['_is_success'] = self._ended.copy()
    reward *= going
    return self._observations(), reward, terminated, truncated, infos

  def _start_episodes(self, indices: np.ndarray) -> None:
    self._row[indices] = 0
    self._column[indices] = 0
    if self._deterministic:
      return
    for i in indices:
      # bsuite: a move succeeds where a uniform number exceeds 1 / N.
      self._wind[i] = self._generators[i].random(self._size) <= 1 / self._size
      self._noise[i] = self._generators[i].standard_normal()

  def _observations(self) -> np.ndarray:
    """Returns new arrays, float32 [B, N, N]; zeros below the last row."""
    shape = [self.num_envs, self._size, self._size]
    observations = np.zeros(shape, np.float32)
    inside = np.flatnonzero(self._row < self._size)
    observations[inside, self._row[inside], self._column[inside]] = 1.0
    return observations


class DeepSeaEnv(gymnasium.Env):
  """A single Deep Sea, for wrappers of single environments.

  It steps a DeepSeaVectorEnv of one environment.
  """

  ends_by_itself = True  # No time limit is needed.

  metadata: dict[str, Any] = {'render_modes': []}

  def __init__(self, size: int = DEFAULT_SIZE, **kwargs: Any):
    """Creates a DeepSeaEnv with the arguments of DeepSeaVectorEnv."""
    self._vector_env = DeepSeaVectorEnv(1, size, **kwargs)
    self.observation_space = self._vector_env.single_observation_space
    self.action_space = self._vector_env.single_action_space
    self._needs_reset = True

  @property
  def action_mapping(self) -> np.ndarray:
    """Action that steers right in each cell, [N, N]; a copy."""
    return self._vector_env.action_mapping

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    super().reset(seed=seed)
    self._vector_env.use_generators([self.np_random])
    observations, infos = self._vector_env.reset(options=options)
    self._needs_reset = False
    return observations[0], infos

  def step(
      self, action: int
  ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
    if self._needs_reset:
      # The vector environment would begin the next episode.
      raise gymnasium.error.ResetNeeded('Call reset() first.')
    observations, rewards, *ends, infos = self._vector_env.step(
        np.array([action])
    )
    terminated, truncated = (bool(end[0]) for end in ends)
    self._needs_reset = terminated or truncated
    info = {'is_success': bool(infos['is_success'][0])} if infos else {}
    return observations[0], float(rewards[0]), terminated, truncated, info
