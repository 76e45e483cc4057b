# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Steps all environments of a batch in C++: `vectorization='envpool'`.

`PoolVectorEnv` is a pool of envpool as a Gymnasium vector environment that
plays by the rules of the original: spaces, time limits, terminations on the
step of a limit, seeds. Where a pool's world is another one than the original's,
its id is refused. docs/environments.md has the table of what differs.
"""

from collections.abc import Callable
import difflib
import functools
import importlib
import re
from types import ModuleType
from typing import Any

from absl import logging
import gymnasium
from gymnasium import spaces
from gymnasium import vector
from gymnasium.envs import registration
import numpy as np

from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures

# An id with this prefix names the pool's world, also where it is not the one
# that Gymnasium has under the id.
PREFIX = 'envpool:'
# Ids whose worlds differ, and how.
_OTHER_WORLDS = (
    (
        re.compile(r'MiniGrid-ObstructedMaze-Full'),
        'episodes begin in a side room, not in the middle one',
    ),
    (
        re.compile(r'BabyAI-ActionObjDoor'),
        'half of its doors are locked and have no key',
    ),
    (re.compile(r'BabyAI-SynthS5R2'), 'some resets never return'),
    (
        re.compile(r'MiniGrid-MultiRoom'),
        'in most of its worlds a door opens on a wall, and the goal cannot be'
        ' reached',
    ),
)
# Ids that are loaded although something differs, which the log says.
_SMALL_DIFFERENCES = (
    (
        re.compile(r'Pendulum-'),
        'at the largest speed, the angle moves by the speed before it is'
        ' limited, up to 0.035 too far',
    ),
    (
        re.compile(r'BabyAI-'),
        'an instruction that fails on the step of the time limit is truncated',
    ),
)
# Modules of pools in which a limit does nothing but end episodes. Others may
# show it, or rename ends by it.
_LIMIT_ENDS_ONLY = frozenset(
    f'envpool.{name}'
    for name in (
        'box2d', 'classic_control', 'mujoco.dmc', 'mujoco.gym',
        'mujoco.robotics', 'toy_text',
    )
)
_NO_LIMIT = 2**31 - 1  # In the settings of a pool.
# Settings of a pool that are set here, not by `env_kwargs`.
_RESERVED = frozenset({
    'num_envs', 'batch_size', 'max_num_players', 'base_path', 'seed',
    'env_seed', 'gym_reset_return_info', 'max_episode_steps',
})
_NOT_TOLD = ('env_id', 'players', 'elapsed_step')  # Infos for envpool's users.
_FOR_SPEED = ('num_threads', 'thread_affinity_offset')
# What the C++ side and envpool's checks raise for settings that they refuse.
_SETTINGS_ERRORS = (AssertionError, RuntimeError, TypeError, ValueError)
_NO_INDICES = np.zeros(0, np.int64)

# (what the pool returns, steps since the resets [B]) -> what the original does
Function = Callable[[Any, np.ndarray], Any]


class PoolVectorEnv(vector.VectorEnv):
  """A pool of envpool as a vector environment with next-step autoreset.

  A pool takes no seed at a reset: `reset(seed=...)` makes a new one. Each
  environment has a seed of its own, drawn from the given one and its index, so
  that no two environments of a run share a stream; a list gives each its seed.

  A pool calls all that ends on the step of its limit a truncation. So the
  functions below give it a limit that is longer by a step, where it allows
  that, and this class truncates and resets: an episode that ends by itself on
  the last step is terminated.
  """

  metadata = {'autoreset_mode': vector.AutoresetMode.NEXT_STEP}

  def __init__(
      self,
      pool_id: str,
      num_environments: int,
      settings: dict[str, Any],
      limit_env_steps: int | None = None,
      *,
      observation_space: spaces.Space | None = None,
      action_space: spaces.Space | None = None,
      observe: Function | None = None,
      reward: Function | None = None,
      tell: Callable[[dict[str, Any], np.ndarray], None] | None = None,
      rewarded_ends: bool = False,
      reward_bounds: tuple[float, float] = (-np.inf, np.inf),
  ):
    """Creates a PoolVectorEnv; its first reset makes the pool.

    Args:
      pool_id: Id of envpool.
      num_environments: B.
      settings: Settings of the pool.
      limit_env_steps: Time limit, besides that of the pool.
      observation_space: Space of the original, or of what `observe` returns;
        None for that of the pool, with bounds that hold.
      action_space: Space of the original; None for that of the pool.
      observe: Function of the pool's observations, and of the steps since the
        resets [B], that returns those of the space.
      reward: The same for rewards [B].
      tell: Function of the infos and the steps that adds to the infos.
      rewarded_ends: Whether a positive reward ends an episode, also on the last
        step of the pool's own limit.
      reward_bounds: Bounds of the rewards of the original.

    Raises:
      EnvironmentSetupError: If the pool refuses the settings, or its spaces are
        not those given.
    """
    envpool = _import(pool_id)
    self.num_envs = num_environments
    self._settings = dict(settings, num_envs=num_environments)
    self._make = functools.partial(envpool.make_gymnasium, pool_id)
    self._is_original = _difference(pool_id) is None
    _say_differences(pool_id)
    own = _spec(envpool, pool_id, self._settings)
    if own.config.max_num_players > 1:
      raise failures.EnvironmentSetupError(
          f'{pool_id} is for {own.config.max_num_players} players, and the'
          ' package trains one agent.'
      )
    self.spec = registration.EnvSpec(pool_id, max_episode_steps=limit_env_steps)
    if observation_space is None:
      observation_space = _with_bounds(own.observation_space)
    elif observe is None:
      _check_alike(pool_id, own.observation_space, observation_space)
    action_space = action_space or own.action_space
    _check_alike(pool_id, own.action_space, action_space)
    if not isinstance(action_space, (spaces.Box, spaces.Discrete)):
      raise failures.EnvironmentSetupError(
          f'{pool_id} has actions {action_space} in envpool: only Box and'
          ' Discrete ones are supported.'
      )
    self.reward_bounds = reward_bounds
    self.single_observation_space = observation_space
    self.single_action_space = action_space
    self.observation_space, self.action_space = (
        vector.utils.batch_space(space, num_environments)
        for space in (observation_space, action_space)
    )
    self._limit = _NO_LIMIT if limit_env_steps is None else limit_env_steps
    self._observe, self._reward, self._tell = observe, reward, tell
    self._rewarded_ends = rewarded_ends
    self._pool: Any = None
    self._steps = np.zeros(num_environments, np.int64)
    self._ended = np.zeros(num_environments, np.bool_)
    self._cut = _NO_INDICES  # Ended by the limit, of which the pool is unaware.

  def reset(
      self, *, seed: Any = None, options: dict[str, Any] | None = None
  ) -> tuple[Any, dict[str, Any]]:
    """Begins new episodes.

    Args:
      seed: An int, from which seeds are drawn, or B seeds; None continues the
        random streams.
      options: Not used.

    Returns:
      Observations and infos.
    """
    del options
    if np.ndim(seed) and not self._is_original:
      raise failures.EnvironmentFailure(
          'it is not the world that Gymnasium has under its id, in which'
          ' policies are evaluated: set eval/load_environment.env to the id'
          " alone, and eval/load_environment.vectorization = 'sync'."
      )
    if seed is not None or self._pool is None:
      if np.ndim(seed) == 0:
        schedule = episode_seeds.new_stream(seed)
        seed = [
            schedule.seed_of(i, self.num_envs, 0) for i in range(self.num_envs)
        ]
      self._pool = None  # Frees the last one before the next one is made.
      self._pool = self._make(**self._settings, seed=[int(s) for s in seed])
    observation, infos = self._pool.reset()
    self._steps = np.zeros(self.num_envs, np.int64)
    self._ended = np.zeros(self.num_envs, np.bool_)
    self._cut = _NO_INDICES
    return self._observed(observation), self._told(infos)

  def step(self, actions: np.ndarray) -> tuple[Any, ...]:
    """Steps all environments; those whose episodes had ended are reset."""
    if self._cut.size:
      results = self._reset_and_step(actions)
    else:
      results = self._pool.step(actions)
    observation, reward, terminated, truncated, infos = results
    self._steps += 1
    self._steps[self._ended] = 0
    if self._reward is not None:
      reward = self._reward(reward, self._steps)
    if self._rewarded_ends:
      terminated = terminated | (truncated & (reward > 0))
    at_limit = self._steps >= self._limit
    self._cut = np.flatnonzero(at_limit & ~terminated & ~truncated)
    truncated = truncated | at_limit
    self._ended = terminated | truncated
    return (
        self._observed(observation),
        reward,
        terminated,
        truncated,
        self._told(infos),
    )

  def close_extras(self, **kwargs: Any) -> None:
    del kwargs
    self._pool = None  # Its `close` keeps the threads, its deletion does not.

  def _reset_and_step(self, actions: np.ndarray) -> tuple[Any, ...]:
    """Resets the environments of `_cut` and steps the others."""
    observation, infos = self._pool.reset(self._cut.astype(np.int32))
    number = self._cut.size
    nothing = np.zeros(number, np.bool_)
    rows = (observation, np.zeros(number, np.float32), nothing, nothing, infos)
    others = np.delete(np.arange(self.num_envs, dtype=np.int32), self._cut)
    if not others.size:
      return rows
    return _merged(
        rows,
        self._pool.step(actions[others], others),
        np.argsort(np.concatenate([self._cut, others])),
    )

  def _observed(self, observation: Any) -> Any:
    if self._observe is None:
      return observation
    return self._observe(observation, self._steps)

  def _told(self, infos: dict[str, Any]) -> dict[str, Any]:
    infos = {k: v for k, v in infos.items() if k not in _NOT_TOLD}
    if self._tell is not None:
      self._tell(infos, self._steps)
    return infos


def make_pool(
    env_id: str,
    max_episode_steps: int | None,
    env_kwargs: dict[str, Any],
    num_environments: int,
) -> PoolVectorEnv:
  """Makes the pool of an id that needs no preprocessing.

  Args:
    env_id: Id that `check_id` has checked.
    max_episode_steps: Time limit; None for that of Gymnasium, or of envpool
      where Gymnasium does not have the id.
    env_kwargs: Settings that both of them take, or a `num_threads`.
    num_environments: B.
  """
  default = check_settings(env_id, env_kwargs).max_episode_steps
  original = _original(env_id, env_kwargs)
  limit = max_episode_steps
  settings = dict(env_kwargs)
  if _module_of(env_id) in _LIMIT_ENDS_ONLY:
    if limit is None and original is not None:
      limit = original.spec and original.spec.max_episode_steps
    elif limit is None:
      limit = default if default < _NO_LIMIT else None
    settings['max_episode_steps'] = _NO_LIMIT if limit is None else limit + 1
  else:
    _say_once(
        f'{env_id}: envpool says truncated where an episode ends by itself on'
        ' the step of its own time limit.'
    )
  return PoolVectorEnv(
      env_id,
      num_environments,
      settings,
      limit,
      observation_space=original and original.observation_space,
      action_space=original and original.action_space,
      reward_bounds=episode_replay.reward_bounds_of(original),
  )


def check_id(env_id: str) -> str:
  """Returns an id without a prefix or a module.

  Args:
    env_id: Id as the user wrote it.

  Raises:
    EnvironmentSetupError: If envpool does not have it, or it has another world
      under it and the prefix does not say so.
    MissingPackageError: If envpool is not installed.
  """
  bare = env_id.rpartition(':')[2]
  pool_id = bare.removeprefix('ALE/')
  ids = _import(bare).list_all_envs()
  if pool_id not in ids:
    close = difflib.get_close_matches(pool_id, ids, n=5, cutoff=0.7)
    raise failures.EnvironmentSetupError(
        f'envpool does not have {bare!r}'
        + (f' (similar ids: {", ".join(close)})' if close else '')
        + ": use vectorization='sync' or 'async'."
    )
  if pool_id == bare and _module_of(pool_id) == 'envpool.atari':
    raise failures.EnvironmentSetupError(
        f'Load ALE/{bare} in place of {bare}: its settings are those of'
        ' load_atari.'
    )
  difference = _difference(pool_id)
  if difference is not None and not env_id.startswith(PREFIX):
    raise failures.EnvironmentSetupError(
        f"envpool's {bare} is not Gymnasium's: {difference}. Use"
        " vectorization='sync' or 'async'; or say that you mean it, by"
        f' train/load_environment.env = {PREFIX + bare!r}, and evaluate on'
        f' eval/load_environment.env = {bare!r}.'
    )
  return bare


def check_settings(pool_id: str, settings: dict[str, Any]) -> Any:
  """Returns the configuration of a pool with a user's settings.

  Raises:
    EnvironmentSetupError: If the pool does not have them, or refuses them.
  """
  envpool = _import(pool_id)
  known = set(_spec(envpool, pool_id, {}).config._fields) - _RESERVED
  if not known.issuperset(settings):
    raise failures.EnvironmentSetupError(
        f'{pool_id} of envpool does not take'
        f' {sorted(set(settings) - known)}: env_kwargs may have'
        f" {sorted(known)}, and vectorization='sync' takes the arguments of the"
        ' original.'
    )
  return _spec(envpool, pool_id, settings).config


def is_in_envpool(env_id: str) -> bool:
  """Returns whether envpool is installed and has an id."""
  try:
    return env_id in _import(env_id).list_all_envs()
  except failures.MissingPackageError:
    return False


def _import(who: str) -> ModuleType:
  try:
    return importlib.import_module('envpool')
  except ImportError as error:
    raise failures.MissingPackageError(
        f"vectorization='envpool' of {who} needs the package envpool, which"
        ' Python 3.11 and later have: pip install "rnd_agents[envpool]"'
        f' ({error}).'
    ) from error


def _module_of(pool_id: str) -> str:
  """Returns the name of the module of envpool that has an id."""
  return _import(pool_id).registration.registry.specs[pool_id][0]


def _difference(pool_id: str) -> str | None:
  """Returns how the world of an id differs from the original's, or None."""
  for pattern, difference in _OTHER_WORLDS:
    if pattern.match(pool_id):
      return difference
  return None


def _say_differences(pool_id: str) -> None:
  for pattern, difference in _SMALL_DIFFERENCES:
    if pattern.match(pool_id):
      _say_once(f'{pool_id} of envpool: {difference}.')


def _spec(envpool: ModuleType, pool_id: str, settings: dict[str, Any]) -> Any:
  """Returns envpool's spec of an id with settings."""
  try:
    return envpool.make_spec(pool_id, **settings)
  except ImportError as error:  # A library of the system.
    raise failures.MissingPackageError(f'{pool_id}: {error}') from error
  except _SETTINGS_ERRORS as error:
    raise failures.EnvironmentSetupError(
        f'envpool refuses {settings} for {pool_id}: {error}'
    ) from error


def _original(
    env_id: str, env_kwargs: dict[str, Any]
) -> gymnasium.Env | None:
  """Returns Gymnasium's environment of an id; None if it has none that runs."""
  if env_id not in gymnasium.registry:
    return None
  env_kwargs = {k: v for k, v in env_kwargs.items() if k not in _FOR_SPEED}
  try:
    with failures.explained(env_id, env_kwargs):
      return gymnasium.make(env_id, disable_env_checker=True, **env_kwargs)
  except (ImportError, failures.EnvironmentSetupError) as error:
    if env_kwargs:
      raise
    _say_once(f'{env_id} has the spaces of envpool, without Gymnasium: {error}')
    return None


def _check_alike(
    pool_id: str, found: spaces.Space, expected: spaces.Space
) -> None:
  """Raises EnvironmentSetupError if spaces differ in kind or shape."""
  if type(found) is not type(expected) or found.shape != expected.shape:
    raise failures.EnvironmentSetupError(
        f'{pool_id} has the space {found} in envpool, and {expected} in'
        " Gymnasium: use vectorization='sync' or 'async'."
    )


def _with_bounds(space: spaces.Space) -> spaces.Space:
  """Returns a space without lows that stand for "unbounded".

  envpool writes the smallest positive number, outside of which are all negative
  ones.
  """
  if isinstance(space, spaces.Dict):
    return spaces.Dict({k: _with_bounds(part) for k, part in space.items()})
  if not isinstance(space, spaces.Box) or space.dtype.kind != 'f':
    return space
  low = np.where(space.low == np.finfo(space.dtype).tiny, -np.inf, space.low)
  return spaces.Box(low.astype(space.dtype), space.high, dtype=space.dtype)


def _merged(first: Any, second: Any, order: np.ndarray) -> Any:
  """Returns the rows of two nests of arrays in an order."""
  if isinstance(first, dict):
    return {k: _merged(part, second[k], order) for k, part in first.items()}
  if isinstance(first, tuple):
    return tuple(_merged(*pair, order) for pair in zip(first, second))
  return np.concatenate([first, second])[order]


def _say_once(text: str) -> None:
  failures.say_once(logging.info, text, '%s', text)
