# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""From something that makes one environment to a batch of them."""

import functools
import re
from typing import Callable, Optional, Sequence, Union

from absl import logging
import gymnasium
from gymnasium import spaces

from rnd_agents.environments import async_vector
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import errors
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import seeded_episodes
from rnd_agents.environments import sync_vector
from rnd_agents.environments import vector_environment

VECTORIZATIONS = ('sync', 'async', 'vector_entry_point')
# A worker that takes longer hangs.
STEP_TIMEOUT_S = 300.0


def vectorize(
    make: Callable[[], gymnasium.Env],
    name: str,
    num_environments: int = 1,
    seed: Optional[int] = None,
    seeding: Optional[episode_seeds.EpisodeSeeds] = None,
    vectorization: str = 'sync',
    reward_fn: Optional[vector_environment.RewardFn] = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    step_timeout_s: Optional[float] = STEP_TIMEOUT_S,
) -> vector_environment.VectorPyEnvironment:
  """Returns a batch of what `make` returns. Arguments: `load_environment`.

  Raises:
    EnvironmentFailure: a worker process did not come up.
    TypeError: `make` returns no `gymnasium.Env`.
    ValueError: `make` returned one environment twice, or a seed is negative.
  """
  if seeding is None:
    seeding = episode_seeds.stream(seed)
  makers = [
      functools.partial(
          _make_seeded, make, name, seeding, i, num_environments, vectorization
      )
      for i in range(num_environments)
  ]
  if vectorization == 'async':
    try:
      vector_env = async_vector.WatchedAsyncVectorEnv(makers, step_timeout_s)
    except errors.EnvironmentFailure as failure:
      failure.environment_name = name
      raise
  else:
    vector_env = sync_vector.LeanSyncVectorEnv(makers)
    _check_distinct(vector_env.envs)
  return vector_environment.VectorPyEnvironment(
      vector_env,
      name=name,
      seeding=seeding,
      reward_fn=reward_fn,
      success_key=success_key,
  )


def default_name(env: Union[str, Callable[..., gymnasium.Env]]) -> str:
  """Returns a name for `env` that can be part of a file name."""
  if isinstance(env, str):
    return re.sub(r'[^\w.-]+', '-', env.rpartition(':')[2])
  while isinstance(env, functools.partial):
    env = env.func
  name = getattr(env, '__name__', type(env).__name__)
  return 'environment' if name == '<lambda>' else name


def check_arguments(
    num_environments: int,
    vectorization: str,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]],
) -> None:
  """Raises ValueError or TypeError for what no loader takes."""
  if num_environments < 1:
    raise ValueError(
        f'num_environments must be at least 1, not {num_environments}.'
    )
  if vectorization not in VECTORIZATIONS:
    raise ValueError(
        f'vectorization must be one of {VECTORIZATIONS}, not '
        f'{vectorization!r}.'
    )
  if not isinstance(wrappers, (list, tuple)):
    raise TypeError(
        'wrappers must be a list of callables, such as [MyWrapper], not'
        f' {wrappers!r}.'
    )


def wrapped(
    env: gymnasium.Env,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]],
) -> gymnasium.Env:
  """Returns `env` in `wrappers`, the first of which is the innermost.

  Raises:
    TypeError: one returned no `gymnasium.Env`.
  """
  for i, wrapper in enumerate(wrappers):
    env = wrapper(env)
    if not isinstance(env, gymnasium.Env):
      raise TypeError(
          f'wrappers[{i}], {getattr(wrapper, "__name__", wrapper)}, must return'
          f' a gymnasium.Env, and returned {type(env).__name__}.'
      )
  return env


def refuse_for_own_vector(wrappers, seeding) -> None:
  """Raises ValueError for what a vector environment of its own cannot do."""
  for name, given in (
      ('wrappers are', bool(wrappers)), ('seeding is', seeding is not None)
  ):
    if given:
      raise ValueError(
          f'{name} for single environments, and '
          "vectorization='vector_entry_point' has none; use 'sync' or 'async'."
      )


def _make_seeded(
    make, name, seeding, index, num_environments, vectorization
):
  """Makes one environment; runs in the worker where there is one."""
  env = make()
  if not isinstance(env, gymnasium.Env):
    raise TypeError(
        f'{name} must return a gymnasium.Env, and returned '
        f'{type(env).__name__}.'
    )
  if vectorization == 'async':
    env = _without_text(env, is_first=index == 0)
  return seeded_episodes.SeededEpisodes(env, seeding, index, num_environments)


def _without_text(env, is_first):
  """Drops text here, which Gymnasium cannot pass through shared memory."""
  space = env.observation_space
  if not isinstance(space, spaces.Dict):
    return env
  kept = [k for k, v in space.items() if not gymnasium_spaces.is_text(v)]
  if len(kept) in (0, len(space)):
    return env
  if is_first:
    logging.info('Text is dropped: %s', sorted(set(space.keys()) - set(kept)))
  return gymnasium.wrappers.FilterObservation(env, kept)


def _check_distinct(envs):
  """Raises ValueError if a callable returned the same environment twice."""
  if len({id(env.unwrapped) for env in envs}) < len(envs):
    raise ValueError(
        'The callable returned the same environment more than once; it must '
        'make a new one each time.'
    )
