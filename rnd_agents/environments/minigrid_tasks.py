# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""MiniGrid and BabyAI tasks as one array, which a network takes."""

import functools
from typing import Any, Callable, Dict, Optional, Sequence

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorizing

OBSERVATIONS = ('one_hot', 'pixels', 'dict')


@gin.configurable(module='rnd_agents')
def load_minigrid(
    env_id: str,
    num_environments: int = 1,
    seed: Optional[int] = None,
    seeding: Optional[episode_seeds.EpisodeSeeds] = None,
    vectorization: str = 'sync',
    max_episode_steps: Optional[int] = None,
    env_kwargs: Optional[Dict[str, Any]] = None,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]] = (),
    reward_fn: Optional[vector_environment.RewardFn] = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    step_timeout_s: Optional[float] = vectorizing.STEP_TIMEOUT_S,
    observation: str = 'one_hot',
    tile_size: int = 8,
) -> vector_environment.VectorPyEnvironment:
  """Makes copies of a MiniGrid task, stepped as one batch.

  The agent sees the 7 x 7 cells before it. The cells hold numbers of kinds,
  colours and states, whose order means nothing, so that they come as

  * 'one_hot': uint8 [7, 7, 20], 0 or 1: 11 kinds, 6 colours, 3 states;
  * 'pixels': uint8 [7 tile_size, 7 tile_size, 3], drawn;
  * 'dict': direction and numbers as MiniGrid gives them, without the mission,
    which is text.

  Args:
    env_id: such as 'MiniGrid-DoorKey-8x8-v0'.
    num_environments: as in `load_environment`, like all the rest down to
      `step_timeout_s`.
    seed: see there.
    seeding: see there.
    vectorization: see there; 'sync' or 'async'.
    max_episode_steps: see there; MiniGrid's own limit stays, and
      `env_kwargs={'max_steps': ...}` is what moves it.
    env_kwargs: see there.
    wrappers: see there; around the encoding.
    reward_fn: see there.
    success_key: see there.
    step_timeout_s: see there.
    observation: one of the three above.
    tile_size: pixels a cell.

  Returns:
    A batched PyEnvironment.

  Raises:
    ImportError: `pip install "rnd_agents[minigrid]"` is needed.
    ValueError: an unknown id, or an argument out of range.
  """
  vectorizing.check_arguments(num_environments, vectorization, wrappers)
  if vectorization == 'vector_entry_point':
    raise ValueError(
        f'{env_id} registers no vector environment; use vectorization='
        "'sync' or 'async'."
    )
  if observation not in OBSERVATIONS:
    raise ValueError(
        f'observation must be one of {OBSERVATIONS}, not {observation!r}.'
    )
  try:
    import minigrid  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise ImportError(
        f'{env_id} needs the package minigrid: '
        'pip install "rnd_agents[minigrid]"'
    ) from error
  gymnasium.register_envs(minigrid)
  env_kwargs = dict(env_kwargs or {})
  if max_episode_steps is not None:
    env_kwargs['max_episode_steps'] = max_episode_steps
  return vectorizing.vectorize(
      functools.partial(
          make_single, env_id, env_kwargs, tuple(wrappers), observation,
          tile_size,
      ),
      vectorizing.default_name(env_id),
      num_environments,
      seed,
      seeding,
      vectorization,
      reward_fn,
      success_key,
      step_timeout_s,
  )


def make_single(
    env_id: str,
    env_kwargs: Optional[Dict[str, Any]] = None,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]] = (),
    observation: str = 'one_hot',
    tile_size: int = 8,
) -> gymnasium.Env:
  """Returns one task. The arguments are those of `load_minigrid`."""
  from minigrid import wrappers as minigrid_wrappers  # pylint: disable=import-outside-toplevel

  env = gymnasium.make(env_id, disable_env_checker=True, **(env_kwargs or {}))
  if observation == 'one_hot':
    env = _zeros_and_ones(
        minigrid_wrappers.ImgObsWrapper(
            minigrid_wrappers.OneHotPartialObsWrapper(env)
        )
    )
  elif observation == 'pixels':
    env = minigrid_wrappers.ImgObsWrapper(
        minigrid_wrappers.RGBImgPartialObsWrapper(env, tile_size)
    )
  return vectorizing.wrapped(env, wrappers)


def _zeros_and_ones(env):
  """Bounds of 0 and 1 in place of 255, by which networks would divide."""
  space = spaces.Box(0, 1, env.observation_space.shape, np.uint8)
  return gymnasium.wrappers.TransformObservation(env, lambda x: x, space)
