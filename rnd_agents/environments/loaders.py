# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the name of an environment to one batched PyEnvironment."""

import difflib
import functools
import importlib
import re
from typing import Any, Callable, Dict, Optional, Sequence, Union

import gin
import gymnasium
from gymnasium import vector

from rnd_agents.environments import vector_environment

EnvOrId = Union[str, Callable[..., gymnasium.Env]]

_VECTORIZATIONS = ('sync', 'async', 'vector_entry_point')
# (ids, the module that registers them or that they need, our extra with it)
_OPTIONAL = (
    (re.compile(r'ALE/'), 'ale_py', 'atari'),
    (re.compile(r'(MiniGrid|BabyAI)-'), 'minigrid', 'minigrid'),
    (
        re.compile(
            r'(LunarLander(Continuous)?|BipedalWalker(Hardcore)?|CarRacing)'
            r'(-v\d+)?$'
        ),
        'Box2D',
        'box2d',
    ),
)


@gin.configurable(module='rnd_agents')
def load_environment(
    env: EnvOrId,
    num_environments: int = 1,
    seed: Optional[int] = None,
    vectorization: str = 'sync',
    max_episode_steps: Optional[int] = None,
    env_kwargs: Optional[Dict[str, Any]] = None,
    wrappers: Sequence[Callable[[gymnasium.Env], gymnasium.Env]] = (),
) -> vector_environment.VectorPyEnvironment:
  """Makes `num_environments` copies of an environment, stepped as one batch.

  Args:
    env: a Gymnasium id, also as 'module_to_import:id'; or a callable that
      returns a new `gymnasium.Env` each time.
    num_environments: how many.
    seed: environment i starts from seed + i; None takes entropy.
    vectorization: 'sync' steps them one after the other; 'async' in a process
      each, which pays off where a step takes longer than the hand-over does;
      'vector_entry_point' uses the vector implementation registered for the id.
    max_episode_steps: a time limit in place of the registered one, reported as
      truncation; None keeps that. Limits inside an environment stay, so raise
      MiniGrid's with `env_kwargs={'max_steps': ...}`, and ALE's with
      'max_num_frames_per_episode'.
    env_kwargs: for the environment's constructor, or for the callable.
    wrappers: each takes a single environment and returns one; the first is the
      innermost. Outside the time limit.

  Returns:
    A batched PyEnvironment.

  Raises:
    ImportError: the environment needs a package that is not installed.
    TypeError: `env` is neither an id nor a callable that returns an Env, or a
      registered vector environment does not take an argument.
    ValueError: an unknown id, or an argument out of range.
  """
  _check_arguments(env, num_environments, vectorization, max_episode_steps)
  env_kwargs = dict(env_kwargs or {})
  if isinstance(env, str):
    _import_optional(env)
    _check_registered(env)
    if max_episode_steps is not None:
      env_kwargs['max_episode_steps'] = max_episode_steps

  if vectorization == 'vector_entry_point':
    vector_env = _make_registered_vector(
        env, num_environments, env_kwargs, wrappers
    )
  else:
    make = functools.partial(
        _make_single, env, max_episode_steps, env_kwargs, tuple(wrappers)
    )
    makers = [make] * num_environments
    if vectorization == 'async':
      vector_env = vector.AsyncVectorEnv(makers)
    else:
      vector_env = vector.SyncVectorEnv(makers)
      _check_distinct(vector_env.envs)
  return vector_environment.VectorPyEnvironment(
      vector_env, seed=seed, name=default_name(env)
  )


def default_name(env: EnvOrId) -> str:
  """Returns a name for `env` that can be part of a file name."""
  if isinstance(env, str):
    return re.sub(r'[^\w.-]+', '-', env.rpartition(':')[2])
  while isinstance(env, functools.partial):
    env = env.func
  name = getattr(env, '__name__', type(env).__name__)
  return 'environment' if name == '<lambda>' else name


def _check_arguments(env, num_environments, vectorization, max_episode_steps):
  """Raises TypeError or ValueError for what no environment could have."""
  if num_environments < 1:
    raise ValueError(
        f'num_environments must be at least 1, not {num_environments}.'
    )
  if max_episode_steps is not None and max_episode_steps < 1:
    raise ValueError(
        'max_episode_steps must be None (the registered limit) or at least 1, '
        f'not {max_episode_steps}.'
    )
  if vectorization not in _VECTORIZATIONS:
    raise ValueError(
        f'vectorization must be one of {_VECTORIZATIONS}, not '
        f'{vectorization!r}.'
    )
  if not isinstance(env, str) and not callable(env):
    raise TypeError(
        f'env must be a Gymnasium id or a callable, not {type(env).__name__}. '
        'For an environment of your own: load_environment(lambda: MyEnv()).'
    )


def _make_single(env, max_episode_steps, env_kwargs, wrappers):
  """Makes one environment; runs in the worker where there is one."""
  if isinstance(env, str):
    single = gymnasium.make(env, **env_kwargs)
  else:
    single = env(**env_kwargs)
    if not isinstance(single, gymnasium.Env):
      raise TypeError(
          f'{default_name(env)} must return a gymnasium.Env, and returned '
          f'{type(single).__name__}.'
      )
    if max_episode_steps is not None:
      _check_no_time_limit(single)
      single = gymnasium.wrappers.TimeLimit(single, max_episode_steps)
  for wrapper in wrappers:
    single = wrapper(single)
  return single


def _make_registered_vector(env, num_environments, env_kwargs, wrappers):
  """Makes the vector environment registered for the id `env`."""
  if not isinstance(env, str):
    raise ValueError(
        "vectorization='vector_entry_point' needs a Gymnasium id; for a vector "
        'environment of your own, use VectorPyEnvironment(vector_env).'
    )
  if wrappers:
    raise ValueError(
        'wrappers are for single environments, and '
        "vectorization='vector_entry_point' has none; use 'sync' or 'async'."
    )
  try:
    return gymnasium.make_vec(
        env,
        num_envs=num_environments,
        vectorization_mode='vector_entry_point',
        **env_kwargs,
    )
  except TypeError as error:  # ALE's says no more than that.
    raise TypeError(
        f'The vector environment of {env} did not take {env_kwargs}. ALE has '
        'max_num_frames_per_episode for max_episode_steps.'
    ) from error


def _import_optional(env_id):
  """Imports what registers or runs the id, if it is one of the known extras."""
  for ids, module, extra in _OPTIONAL:
    if not ids.match(env_id.rpartition(':')[2]):
      continue
    try:
      imported = importlib.import_module(module)
    except ImportError as error:
      raise ImportError(
          f'{env_id} needs the package {module}: '
          f'pip install "rnd_agents[{extra}]"'
      ) from error
    gymnasium.register_envs(imported)


def _check_registered(env_id):
  """Raises ValueError, naming ids like it, unless Gymnasium knows `env_id`."""
  module, _, name = env_id.rpartition(':')
  if module:
    importlib.import_module(module)
  known = list(gymnasium.registry)
  # Gymnasium takes an id without its version for the newest one.
  newest = re.compile(re.escape(name) + r'-v\d+')
  if name in known or any(newest.fullmatch(other) for other in known):
    return
  close = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
  raise ValueError(
      f'Gymnasium knows no environment {name!r}. '
      + (f'Close to it: {", ".join(close)}. ' if close else '')
      + 'Import the module that registers it, or load "module:id".'
  )


def _check_no_time_limit(env):
  """Raises ValueError if `env` has a TimeLimit: a second cannot replace it."""
  while isinstance(env, gymnasium.Wrapper):
    if isinstance(env, gymnasium.wrappers.TimeLimit):
      raise ValueError(
          'max_episode_steps cannot replace the TimeLimit that the callable '
          'put on its environment. Set the limit in one of the two places.'
      )
    env = env.env


def _check_distinct(envs):
  """Raises ValueError if a callable returned the same environment twice."""
  if len({id(env.unwrapped) for env in envs}) < len(envs):
    raise ValueError(
        'The callable returned the same environment more than once; it must '
        'make a new one each time.'
    )
