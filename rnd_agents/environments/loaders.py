# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads a batched PyEnvironment by the name of its environment."""

from collections.abc import Callable, Sequence
import functools
import re
from typing import Any

import gin
import gymnasium
from gymnasium import vector

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.environments import atari
from rnd_agents.environments import environment_ids
from rnd_agents.environments import envpool_family
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import headless
from rnd_agents.environments import interface
from rnd_agents.environments import minigrid_family
from rnd_agents.environments import old_gym
from rnd_agents.environments import parallel_agents
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization as vectorization_lib
from rnd_agents.environments import wrappers as env_wrappers

# Arguments, or a function of an environment's place that returns them.
EnvKwargs = dict[str, Any] | Callable[[int], dict[str, Any]]
EnvOrId = str | Callable[..., interface.Environment]

_KEEPS_WORLD = re.compile(r'(BipedalWalker(Hardcore)?|CarRacing)(-v3)?$')


@gin.configurable(module='rnd_agents')
def load_environment(
    env: EnvOrId,
    num_environments: int = 1,
    seed: int | None = None,
    vectorization: str = 'sync',
    max_episode_steps: int | None = None,
    env_kwargs: EnvKwargs | None = None,
    wrappers: vectorization_lib.Wrappers = (),
    action_repeat: int = 1,
    seeding: episode_seeds.EpisodeSeeds | None = None,
    reward_fn: vector_environment.RewardFn | None = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    lives_key: str | None = None,
    life_discount: float = 0.0,
    info_keys: Sequence[str] = (),
    action_mask_key: str | None = None,
    step_timeout_s: float | None = vectorization_lib.STEP_TIMEOUT_S,
    preprocessing: bool = True,
    first_place: int = 0,
    num_places: int | None = None,
    num_agents: int | None = None,
) -> vector_environment.VectorPyEnvironment:
  """Makes `num_environments` copies of an environment, stepped as one batch.

  `atari.load_atari` loads the ids of Atari games ('ALE/...') and
  `minigrid_family.load_minigrid` those of MiniGrid; their settings are
  arguments of these functions. Atari games of other names, such as 'Pong-v4',
  are refused.

  Args:
    env: A Gymnasium id, also as 'module_to_import:id'; or a callable that
      returns a new `gymnasium.Env` each time, also as 'module:callable'. The
      same of the package `gym`: 'gym:id', 'module:id' or a callable.
    num_environments: Number of copies.
    seed: Seed from which the seeds of all episodes are drawn. With
      'vector_entry_point', environment i starts from seed + i and continues by
      itself. None takes entropy from the system.
    vectorization: 'sync' steps them one after the other; 'async' in a process
      each, which is faster if a step takes longer than passing its results;
      'vector_entry_point' uses the vector implementation registered for the
      id; 'envpool' steps them in C++, the fastest way where envpool has the id.
    max_episode_steps: Time limit, reported as truncation; replaces the
      registered one. None keeps that. Limits inside an environment remain:
      raise MiniGrid's with `env_kwargs={'max_steps': ...}`.
    env_kwargs: Arguments of the environment's constructor, of the callable, or
      of `load_atari`. A function of the place of an environment that returns
      them gives each simulator a port or a display of its own.
    wrappers: Functions that take a single environment and return one, the
      innermost first. They are outside the time limit and the preprocessing.
    action_repeat: Time steps for which each action is repeated, at most to the
      end of the episode; rewards are summed. Environment steps are actions, and
      `max_episode_steps` are time steps. Inside the wrappers, and outside the
      frame skip of Atari games.
    seeding: A schedule of `episode_seeds`; replaces `stream(seed)`.
    reward_fn: Function from the rewards of the environments, float64 [B], to
      those of the time steps, such as `wrappers.sign_of_reward`. Returns of
      episodes are sums without it.
    success_key: Key of the infos that says whether an episode was a success.
    lives_key: Key of the infos with the number of lives left ('lives' in Atari
      games). The episode continues when one is lost. None for no lives.
    life_discount: Factor on the discount where a life is lost, with
      `lives_key`. 0 ends returns as a termination does, 1 has no effect.
    info_keys: Keys of the infos whose numbers at the end of an episode become
      metrics: a score, a distance, or a dict of such numbers. Their means over
      episodes are the metrics `info_KEY_mean`, or `info_KEY_ENTRY_mean` for
      each entry of a dict.
    action_mask_key: Key of a `Dict` observation, or else of the infos, with a 1
      for each discrete action that is allowed and a 0 for others. No network
      sees the mask, and no policy chooses another action. None for no mask.
    step_timeout_s: Longest wait for a worker process of 'async', which then
      counts as hung; None waits without a limit.
    preprocessing: Whether ALE and MiniGrid ids are preprocessed; False loads
      them as Gymnasium does, and Atari games of any name.
    first_place: Place of the first of these environments, for `env_kwargs`. In
      a run all places differ: those of training are the first.
    num_places: Number of places of which these are a part, for `seeding`; None
      if they are all.
    num_agents: Agents of each environment, which share the policy: each is one
      of the `num_environments` places. For callables that return a parallel
      environment of PettingZoo, such as 'mpe2.simple_spread_v3:parallel_env'.
      None for environments of Gymnasium.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentFailure: If a constructor raised an error, or a worker process
      did not start.
    EnvironmentSetupError: If an id is unknown, arguments do not fit together,
      or a callable or a wrapper does not return an environment.
    InvalidType: If an argument has a wrong type.
    InvalidValue: If a number is out of range.
    MissingPackageError: If the environment needs a package that is not
      installed.
  """
  _check_arguments(
      env,
      max_episode_steps,
      env_kwargs,
      action_repeat,
      success_key,
      action_mask_key,
      step_timeout_s,
      preprocessing,
      first_place,
      num_places,
  )
  if num_agents is not None:
    parallel_agents.check_arguments(
        num_agents,
        num_environments,
        wrappers=wrappers or action_repeat > 1,
        lives_key=lives_key,
        action_mask_key=action_mask_key,
    )
  if action_repeat > 1:
    vectorization_lib.check_wrappers(wrappers)
    repeat = functools.partial(
        env_wrappers.ActionRepeat, num_time_steps=action_repeat
    )
    wrappers = [repeat, *wrappers]
  if isinstance(env, str):
    env = environment_ids.callable_named(env) or env
  name = vectorization_lib.default_name(env)
  episode_seeds.check_schedule(seeding)
  if seeding is not None and num_places is not None:
    size = num_agents or 1  # A game has one seed.
    seeding = episode_seeds.of_part(
        seeding, first_place // size, num_places // size
    )
  if isinstance(env, str):
    env = old_gym.maker(env, keeps_limit=max_episode_steps is None) or env
  batch_arguments: dict[str, Any] = dict(
      num_environments=num_environments,
      seed=seed,
      seeding=seeding,
      vectorization=vectorization,
      wrappers=wrappers,
      reward_fn=reward_fn,
      success_key=success_key,
      lives_key=lives_key,
      life_discount=life_discount,
      info_keys=info_keys,
      action_mask_key=action_mask_key,
      step_timeout_s=step_timeout_s,
      num_agents=num_agents,
  )
  if isinstance(env, str):
    env_id = env.rpartition(':')[2]
    env = _checked_id(env, vectorization, preprocessing, num_agents)
    if preprocessing and environment_ids.has_preprocessing(env_id):
      return _load_family(
          env_id, env_kwargs, max_episode_steps, batch_arguments
      )
  make_with = functools.partial(
      _make_single, env, max_episode_steps, preprocessing, num_agents
  )
  if callable(env_kwargs):
    places = range(first_place, first_place + num_environments, num_agents or 1)
    each = [env_kwargs(place) for place in places]
    if not all(isinstance(kwargs, dict) for kwargs in each):
      raise failures.EnvironmentSetupError(
          'load_environment.env_kwargs must return a dict of arguments for each'
          f' place, and returned {each}.'
      )
    return vectorization_lib.make_batch(
        [functools.partial(make_with, dict(kwargs)) for kwargs in each],
        name,
        **batch_arguments,
    )
  env_kwargs = dict(env_kwargs or {})
  return vectorization_lib.make_batch(
      functools.partial(make_with, env_kwargs),
      name,
      functools.partial(
          envpool_family.make_pool
          if vectorization == 'envpool'
          else _make_registered_vector,
          env,
          max_episode_steps,
          env_kwargs,
      )
      if isinstance(env, str)
      else None,
      **batch_arguments,
  )


def _check_arguments(
    env: EnvOrId,
    max_episode_steps: int | None,
    env_kwargs: EnvKwargs | None,
    action_repeat: int,
    success_key: str,
    action_mask_key: str | None,
    step_timeout_s: float | None,
    preprocessing: bool,
    first_place: int,
    num_places: int | None,
) -> None:
  """Raises a UserError for arguments that cannot be used."""
  owner = 'load_environment.'
  counts = dict(
      max_episode_steps=ranges.COUNT.or_none(),
      action_repeat=ranges.COUNT,
      first_place=ranges.COUNT_OR_0,
      num_places=ranges.COUNT.or_none(),
  )
  ranges.check(counts, locals(), owner)
  ranges.check_above_0(owner, step_timeout_s=step_timeout_s)
  ranges.check_flags(owner, preprocessing=preprocessing)
  if not (env_kwargs is None or isinstance(env_kwargs, dict)):
    if not callable(env_kwargs):
      raise errors.InvalidType(
          f'{owner}env_kwargs must be a dict, or a function of the place that'
          f' returns one, got {env_kwargs!r}.'
      )
  if not isinstance(success_key, str):
    raise errors.InvalidType(
        f'{owner}success_key must be a text, got {success_key!r}.'
    )
  if action_repeat > 1 and action_mask_key is not None:
    raise failures.EnvironmentSetupError(
        'action_repeat would repeat actions that the mask of'
        ' load_environment.action_mask_key then forbids: leave one of them out.'
    )
  if not isinstance(env, str) and not callable(env):
    raise failures.EnvironmentSetupError(
        f'env must be a Gymnasium id or a callable, not {type(env).__name__}. '
        'For an environment of your own: load_environment(lambda: MyEnv()); for'
        ' one that exists: single_environment.from_gymnasium or from_old_gym.'
    )


def _checked_id(
    env: str, vectorization: str, preprocessing: bool, num_agents: int | None
) -> str:
  """Returns an id as it is loaded; raises a UserError if it cannot be."""
  if num_agents is not None:
    raise failures.EnvironmentSetupError(
        f'{env} is an id, and load_environment.num_agents needs a callable that'
        " returns a parallel environment, or its name: 'module:callable'."
    )
  env_id = env.rpartition(':')[2]
  environment_ids.import_needed(env_id)
  if vectorization != 'envpool':
    environment_ids.check_registered(env)
    return env
  env = envpool_family.check_id(env)
  if environment_ids.has_preprocessing(env_id) and not preprocessing:
    raise failures.EnvironmentSetupError(
        f"{env_id} needs preprocessing with vectorization='envpool': leave"
        ' load_environment.preprocessing out.'
    )
  return env


def _load_family(
    env_id: str,
    env_kwargs: EnvKwargs | None,
    max_episode_steps: int | None,
    batch_arguments: dict[str, Any],
) -> vector_environment.VectorPyEnvironment:
  """Loads preprocessed copies of an Atari game or a MiniGrid task."""
  if callable(env_kwargs):
    raise failures.EnvironmentSetupError(
        f'env_kwargs must be a dict for {env_id}, which has a preprocessing: a'
        ' function of the place is for simulators that need a port each.'
    )
  env_kwargs = dict(env_kwargs or {})
  if env_id.startswith('ALE/'):
    with failures.explained('load_atari', env_kwargs):
      return atari.load_atari(
          env_id,
          max_episode_steps=max_episode_steps,
          **batch_arguments,
          **env_kwargs,
      )
  return minigrid_family.load_minigrid(
      env_id,
      max_episode_steps=max_episode_steps,
      env_kwargs=env_kwargs,
      **batch_arguments,
  )


def _make_single(
    env: EnvOrId,
    max_episode_steps: int | None,
    preprocessing: bool,
    num_agents: int | None,
    env_kwargs: dict[str, Any],
) -> gymnasium.Env:
  """Makes one environment; runs in the worker where there is one."""
  if env_kwargs.get('render_mode') is not None:
    headless.prepare()
  if not isinstance(env, str):
    return _make_from_callable(
        env, env_kwargs, max_episode_steps, preprocessing, num_agents
    )
  env_kwargs = _with_limit(env_kwargs, max_episode_steps)
  with failures.explained(env, env_kwargs):
    # Without Gymnasium's check of each step: the adapter checks the batch.
    made = gymnasium.make(env, disable_env_checker=True, **env_kwargs)
  if preprocessing:
    atari.check_preprocessed(made)
  if _KEEPS_WORLD.match(env.rpartition(':')[2]):
    made = env_wrappers.FreshWorld(made)
  return made


def _with_limit(
    env_kwargs: dict[str, Any], max_episode_steps: int | None
) -> dict[str, Any]:
  if max_episode_steps is None:
    return env_kwargs
  return {**env_kwargs, 'max_episode_steps': max_episode_steps}


def _make_from_callable(
    make: Callable[..., Any],
    env_kwargs: dict[str, Any],
    max_episode_steps: int | None,
    preprocessing: bool,
    num_agents: int | None,
) -> gymnasium.Env:
  with failures.explained(vectorization_lib.default_name(make), env_kwargs):
    env = old_gym.adapted(make(**env_kwargs))
  if num_agents is not None or parallel_agents.is_game(env):
    env = parallel_agents.ParallelGame(env, num_agents)
  if preprocessing and isinstance(env, gymnasium.Env):
    atari.check_preprocessed(env)
  if max_episode_steps is not None and isinstance(env, gymnasium.Env):
    _check_no_time_limit(env)
    env = gymnasium.wrappers.TimeLimit(env, max_episode_steps)
  return env


def _make_registered_vector(
    env_id: str,
    max_episode_steps: int | None,
    env_kwargs: dict[str, Any],
    num_environments: int,
) -> vector.VectorEnv:
  """Makes the vector environment registered for an id."""
  env_kwargs = _with_limit(env_kwargs, max_episode_steps)
  with failures.explained(f'The vector environment of {env_id}', env_kwargs):
    return gymnasium.make_vec(
        env_id,
        num_envs=num_environments,
        vectorization_mode='vector_entry_point',
        **env_kwargs,
    )


def _check_no_time_limit(env: gymnasium.Env) -> None:
  """Raises EnvironmentSetupError for an environment with a TimeLimit."""
  while env is not None:
    if type(env).__name__ == 'TimeLimit':  # Of Gymnasium or of gym.
      raise failures.EnvironmentSetupError(
          'max_episode_steps cannot replace the TimeLimit that the callable '
          'put on its environment. Set the limit in one of the two places.'
      )
    env = getattr(env, '__dict__', {}).get('env')
