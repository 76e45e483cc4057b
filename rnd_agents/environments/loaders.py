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

from rnd_agents.environments import atari
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import minigrid_tasks
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorizing
from rnd_agents.environments import wrappers as env_wrappers

EnvOrId = Union[str, Callable[..., gymnasium.Env]]

_KEEPS_WORLD = re.compile(r'(BipedalWalker(Hardcore)?|CarRacing)(-v3)?$')
_MINIGRID = re.compile(r'(MiniGrid|BabyAI)-')
# (ids, the module that registers them or that they need, our extra with it)
_OPTIONAL = (
    (re.compile(r'ALE/'), 'ale_py', 'atari'),
    (_MINIGRID, 'minigrid', 'minigrid'),
    (
        re.compile(
            r'(LunarLander(Continuous)?|BipedalWalker(Hardcore)?|CarRacing)'
            r'(-v\d+)?$'
        ),
        'Box2D',
        'box2d',
    ),
    (
        re.compile(
            r'(Ant|HalfCheetah|Hopper|Humanoid(Standup)?|Inverted(Double)?'
            r'Pendulum|Pusher|Reacher|Swimmer|Walker2d)-v5$'
        ),
        'mujoco',
        'mujoco',
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
    seeding: Optional[episode_seeds.EpisodeSeeds] = None,
    reward_fn: Optional[vector_environment.RewardFn] = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    step_timeout_s: Optional[float] = vectorizing.STEP_TIMEOUT_S,
    preprocessing: bool = True,
) -> vector_environment.VectorPyEnvironment:
  """Makes `num_environments` copies of an environment, stepped as one batch.

  Ids of Atari games ('ALE/...') go to `atari.load_atari` and those of MiniGrid
  to `minigrid_tasks.load_minigrid`, whose own settings are configured there.

  Args:
    env: a Gymnasium id, also as 'module_to_import:id'; or a callable that
      returns a new `gymnasium.Env` each time.
    num_environments: how many.
    seed: every episode has a seed of its own drawn from this one; a vector
      environment of its own starts environment i from seed + i and goes on by
      itself. None takes entropy.
    vectorization: 'sync' steps them one after the other; 'async' in a process
      each, which pays off where a step takes longer than the hand-over does;
      'vector_entry_point' uses the vector implementation registered for the id.
    max_episode_steps: a time limit in place of the registered one, reported as
      truncation; None keeps that. Limits inside an environment stay, so raise
      MiniGrid's with `env_kwargs={'max_steps': ...}`.
    env_kwargs: for the environment's constructor, for the callable, or for
      `load_atari`.
    wrappers: each takes a single environment and returns one; the first is the
      innermost. Outside the time limit and the preprocessing.
    seeding: a schedule of `episode_seeds` in place of `stream(seed)`.
    reward_fn: of the rewards float64 [B], gives those that time steps carry,
      such as `rewards.sign_of_reward`. Returns of episodes are sums without it.
    success_key: where infos tell of success at the end of an episode.
    step_timeout_s: longest wait for a worker process of 'async', after which it
      counts as hung; None waits for ever.
    preprocessing: False leaves ALE and MiniGrid ids as Gymnasium has them.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentFailure: a worker process did not come up.
    ImportError: the environment needs a package that is not installed.
    TypeError: `env` is neither an id nor a callable that returns an Env, a
      wrapper returns none, or a registered vector environment does not take an
      argument.
    ValueError: an unknown id, or an argument out of range.
  """
  vectorizing.check_arguments(num_environments, vectorization, wrappers)
  _check_arguments(env, max_episode_steps)
  env_kwargs = dict(env_kwargs or {})
  common = dict(
      num_environments=num_environments,
      seed=seed,
      seeding=seeding,
      vectorization=vectorization,
      reward_fn=reward_fn,
      success_key=success_key,
      step_timeout_s=step_timeout_s,
  )
  if isinstance(env, str):
    _import_optional(env)
    _check_registered(env)
    name = env.rpartition(':')[2]
    outer = dict(max_episode_steps=max_episode_steps, wrappers=wrappers)
    if preprocessing and name.startswith('ALE/'):
      return atari.load_atari(name, **common, **outer, **env_kwargs)
    if preprocessing and _MINIGRID.match(name):
      return minigrid_tasks.load_minigrid(
          name, **common, **outer, env_kwargs=env_kwargs
      )
    if max_episode_steps is not None:
      env_kwargs['max_episode_steps'] = max_episode_steps

  if vectorization == 'vector_entry_point':
    vectorizing.refuse_for_own_vector(wrappers, seeding)
    return vector_environment.VectorPyEnvironment(
        _make_registered_vector(env, num_environments, env_kwargs),
        seed=seed,
        name=vectorizing.default_name(env),
        reward_fn=reward_fn,
        success_key=success_key,
    )
  make = functools.partial(
      _make_single, env, max_episode_steps, env_kwargs, tuple(wrappers)
  )
  return vectorizing.vectorize(make, vectorizing.default_name(env), **common)


def _check_arguments(env, max_episode_steps):
  """Raises TypeError or ValueError for what no environment could have."""
  if max_episode_steps is not None and max_episode_steps < 1:
    raise ValueError(
        'max_episode_steps must be None (the registered limit) or at least 1, '
        f'not {max_episode_steps}.'
    )
  if not isinstance(env, str) and not callable(env):
    raise TypeError(
        f'env must be a Gymnasium id or a callable, not {type(env).__name__}. '
        'For an environment of your own: load_environment(lambda: MyEnv()).'
    )


def _make_single(env, max_episode_steps, env_kwargs, wrappers):
  """Makes one environment; runs in the worker where there is one."""
  if isinstance(env, str):
    # What it checks at each step, the adapter does for the whole batch.
    single = gymnasium.make(env, disable_env_checker=True, **env_kwargs)
    if _KEEPS_WORLD.match(env.rpartition(':')[2]):
      single = env_wrappers.FreshWorld(single)
  else:
    single = env(**env_kwargs)
    if max_episode_steps is not None and isinstance(single, gymnasium.Env):
      _check_no_time_limit(single)
      single = gymnasium.wrappers.TimeLimit(single, max_episode_steps)
  return vectorizing.wrapped(single, wrappers)


def _make_registered_vector(env, num_environments, env_kwargs):
  """Makes the vector environment registered for the id `env`."""
  if not isinstance(env, str):
    raise ValueError(
        "vectorization='vector_entry_point' needs a Gymnasium id; for a vector "
        'environment of your own, use VectorPyEnvironment(vector_env).'
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
        f'The vector environment of {env} did not take {env_kwargs}.'
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
    with gin.unlock_config():  # It may define what gin configures.
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
