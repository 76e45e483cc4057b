# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads MiniGrid and BabyAI tasks with observations for a network."""

import functools
from typing import Any, Dict, Optional

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import errors
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization

OBSERVATIONS = ('one_hot', 'pixels', 'dict')


@gin.configurable(module='rnd_agents', allowlist=['observation', 'tile_size'])
def load_minigrid(
    env_id: str,
    num_environments: int = 1,
    *,
    max_episode_steps: Optional[int] = None,
    env_kwargs: Optional[Dict[str, Any]] = None,
    observation: str = 'one_hot',
    tile_size: int = 8,
    **batch_arguments,
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
    num_environments: how many.
    max_episode_steps: as in `load_environment`; MiniGrid's own limit stays, and
      `env_kwargs={'max_steps': ...}` is what moves it.
    env_kwargs: for the task's constructor.
    observation: one of the three above.
    tile_size: pixels a cell.
    **batch_arguments: `seed`, `seeding`, `vectorization` ('sync' or 'async'),
      `wrappers` (around the encoding), `reward_fn`, `success_key`,
      `step_timeout_s`, as in `load_environment`.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentSetupError: an unknown id, or an argument out of range.
    MissingPackageError: `pip install "rnd_agents[minigrid]"` is needed.
  """
  if observation not in OBSERVATIONS:
    raise errors.EnvironmentSetupError(
        f'observation must be one of {OBSERVATIONS}, not {observation!r}.'
    )
  try:
    import minigrid  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise errors.MissingPackageError(
        f'{env_id} needs the package minigrid: '
        'pip install "rnd_agents[minigrid]"'
    ) from error
  gymnasium.register_envs(minigrid)
  env_kwargs = dict(env_kwargs or {})
  if max_episode_steps is not None:
    env_kwargs['max_episode_steps'] = max_episode_steps
  return vectorization.make_batch(
      functools.partial(
          _make_single, env_id, env_kwargs, observation, tile_size
      ),
      vectorization.default_name(env_id),
      num_environments=num_environments,
      **batch_arguments,
  )


def _make_single(env_id, env_kwargs, observation, tile_size):
  """Returns one task."""
  from minigrid import wrappers  # pylint: disable=import-outside-toplevel

  with errors.explained(env_id, env_kwargs):
    env = gymnasium.make(env_id, disable_env_checker=True, **env_kwargs)
  if observation == 'one_hot':
    return _zeros_and_ones(
        wrappers.ImgObsWrapper(wrappers.OneHotPartialObsWrapper(env))
    )
  if observation == 'pixels':
    return wrappers.ImgObsWrapper(
        wrappers.RGBImgPartialObsWrapper(env, tile_size)
    )
  return env


def _zeros_and_ones(env):
  """Bounds the observations by 0 and 1, not 255, by which networks divide."""
  space = spaces.Box(0, 1, env.observation_space.shape, np.uint8)
  return gymnasium.wrappers.TransformObservation(env, lambda x: x, space)
