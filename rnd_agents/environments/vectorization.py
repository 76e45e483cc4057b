# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a batch of environments, stepped in turn or in a process each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import functools
import re
from typing import Any

from absl import logging
import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import infos as infos_lib
from rnd_agents.environments import masked_actions
from rnd_agents.environments import parallel_agents
from rnd_agents.environments import vector_environment
from rnd_agents.environments import watchdog
from rnd_agents.environments import worker_processes

# Those of whole batches, which have no single environments.
_OWN_VECTORS = ('vector_entry_point', 'envpool')
VECTORIZATIONS = ('sync', 'async', *_OWN_VECTORS)
_MOST_ENVIRONMENTS = 100_000
# A worker that takes longer for a step counts as hung.
STEP_TIMEOUT_S = 300.0

Wrappers = Sequence[Callable[[gymnasium.Env], gymnasium.Env]]


@_compat.overrides('_add_info')
class _SyncVectorEnv(vector.SyncVectorEnv):
  """Steps the environments in turn."""

  _add_info = infos_lib.add_info_of_vector


def make_batch(
    make: Callable[[], gymnasium.Env] | list[Callable[[], gymnasium.Env]],
    name: str,
    make_vector: Callable[[int], vector.VectorEnv] | None = None,
    *,
    num_environments: int = 1,
    seed: int | None = None,
    seeding: episode_seeds.EpisodeSeeds | None = None,
    vectorization: str = 'sync',
    wrappers: Wrappers = (),
    reward_fn: vector_environment.RewardFn | None = None,
    success_key: str = vector_environment.SUCCESS_KEY,
    lives_key: str | None = None,
    life_discount: float = 0.0,
    info_keys: Sequence[str] = (),
    action_mask_key: str | None = None,
    step_timeout_s: float | None = STEP_TIMEOUT_S,
    num_agents: int | None = None,
) -> vector_environment.VectorPyEnvironment:
  """Returns `num_environments` environments as one batched PyEnvironment.

  The keyword arguments and the errors are those of `loaders.load_environment`.
  `make` returns a new single environment; worker processes call it. A list has
  such a function for each environment, or each game of agents. `name` is
  for messages, pictures and files. `make_vector` returns the vector
  implementation that `vectorization` names, of a number of environments; None
  if there is none.
  """
  ranges.check(
      dict(num_environments=ranges.COUNT),
      dict(num_environments=num_environments),
  )
  num_environments = int(num_environments)
  if vectorization not in VECTORIZATIONS:
    raise failures.EnvironmentSetupError(
        f'vectorization must be one of {VECTORIZATIONS}, not '
        f'{vectorization!r}.'
    )
  check_wrappers(wrappers)
  if (
      isinstance(info_keys, str)
      or not isinstance(info_keys, Sequence)
      or not all(isinstance(key, str) for key in info_keys)
  ):
    raise errors.InvalidType(
        "info_keys must be a list of keys, such as ('distance',), not"
        f' {info_keys!r}.'
    )
  adapt = functools.partial(
      vector_environment.VectorPyEnvironment,
      name=name,
      reward_fn=reward_fn,
      success_key=success_key,
      lives_key=lives_key,
      life_discount=life_discount,
      info_keys=info_keys,
  )
  if vectorization in _OWN_VECTORS:
    make_own = _checked_own_vector(
        name,
        vectorization,
        make_vector,
        bool(wrappers) or action_mask_key is not None or num_agents is not None,
        seeding,
    )
    with _making(name):
      own = make_own(num_environments)
    return adapt(own, seed=seed)
  if num_environments > _MOST_ENVIRONMENTS:  # Memory ends without an error.
    raise failures.EnvironmentSetupError(
        f'num_environments must be at most {_MOST_ENVIRONMENTS:,}, since each'
        f' is an object, and is {num_environments:,}: lower it; in a run'
        ' train_eval.num_environments or train_eval.num_eval_episodes.'
    )
  if seeding is None:
    seeding = episode_seeds.new_stream(seed)
  num_games = num_environments // (num_agents or 1)
  makers = [
      functools.partial(
          _make_seeded,
          make[i] if isinstance(make, list) else make,
          tuple(wrappers),
          name,
          seeding,
          i,
          num_games,
          shares_memory=vectorization == 'async',
          action_mask_key=action_mask_key,
      )
      for i in range(num_games)
  ]
  if vectorization == 'async':
    try:
      vector_env = worker_processes.WatchedAsyncVectorEnv(
          makers, step_timeout_s
      )
    except failures.EnvironmentFailure as failure:
      failure.environment_name = name
      raise
  else:
    # Each step overwrites the arrays of the last one; the adapter copies them.
    vector_env = _SyncVectorEnv(makers, copy=False)
    _check_distinct(vector_env.envs)
  if num_agents is not None:
    return adapt(
        parallel_agents.AgentsVectorEnv(vector_env, num_agents, seeding),
        name=str(vector_env.metadata.get('name', name)),
    )
  return adapt(vector_env, seeding=seeding)


def default_name(env: str | Callable[..., gymnasium.Env]) -> str:
  """Returns a name for `env` that can be part of a file name."""
  if isinstance(env, str):
    return re.sub(r'[^\w.-]+', '-', env.rpartition(':')[2])
  while isinstance(env, functools.partial):
    env = env.func
  name = getattr(env, '__name__', type(env).__name__)
  return 'environment' if name == '<lambda>' else name


def check_wrappers(wrappers: Any) -> None:
  """Raises EnvironmentSetupError unless wrappers are a list."""
  if not isinstance(wrappers, (list, tuple)):
    raise failures.EnvironmentSetupError(
        'wrappers must be a list of callables, such as [MyWrapper], not'
        f' {wrappers!r}.'
    )


def _checked_own_vector(
    name: str,
    vectorization: str,
    make_vector: Callable[[int], vector.VectorEnv] | None,
    has_wrappers: bool,
    seeding: episode_seeds.EpisodeSeeds | None,
) -> Callable[[int], vector.VectorEnv]:
  """Returns `make_vector`; raises EnvironmentSetupError if it is unusable."""
  if make_vector is None:
    raise failures.EnvironmentSetupError(
        f'{name} has no vector environment: vectorization={vectorization!r}'
        " needs a Gymnasium id that has one. Use 'sync' or 'async', or"
        ' VectorPyEnvironment(vector_env) for one of your own.'
    )
  if has_wrappers or seeding is not None:
    raise failures.EnvironmentSetupError(
        'wrappers, action_repeat, action_mask_key, num_agents and seeding are'
        f' for single environments, and vectorization={vectorization!r} has'
        " none; use 'sync' or 'async'."
    )
  return make_vector


def _make_seeded(
    make: Callable[[], gymnasium.Env],
    wrappers: Wrappers,
    name: str,
    seeding: episode_seeds.EpisodeSeeds,
    index: int,
    num_environments: int,
    shares_memory: bool,
    action_mask_key: str | None,
) -> gymnasium.Env:
  """Makes one environment with its wrappers; workers call it."""
  with _making(name, 'its constructor', index):
    env = _checked(make(), name)
  for i, wrapper in enumerate(wrappers):  # The first is the innermost.
    what = f'wrappers[{i}], {default_name(wrapper)},'
    with _making(name, what, index):
      env = _checked(wrapper(env), what)
  if shares_memory:
    env = _without_text(env, is_first=index == 0)
  if action_mask_key is not None:
    env = masked_actions.MaskedActions(env, action_mask_key)
  return episode_replay.SeededEpisodes(
      env,
      seeding,
      index,
      num_environments,
      checks_observations=shares_memory,
  )


@contextlib.contextmanager
def _making(
    name: str, doing: str = 'its constructor', index: int | None = None
) -> Iterator[None]:
  """Turns errors of a constructor into EnvironmentFailures; for a watchdog."""
  try:
    with watchdog.Inside(name, doing):
      yield
  except BaseException as error:
    if (
        isinstance(error, errors.UserError)
        or failures.is_of_user(error)
        or failures.is_of_memory(error)
    ):
      raise
    failure = failures.failure_of(error, doing, index)
    failure.environment_name = name
    # After `raise failure from StopIteration` contextlib raises that again.
    raise failure from (None if isinstance(error, StopIteration) else error)


def _check_rescaled(env: gymnasium.Env) -> None:
  """Raises EnvironmentSetupError for integers in a range of fewer of them."""
  while isinstance(env, gymnasium.Wrapper):
    if isinstance(env, gymnasium.wrappers.RescaleObservation):
      outer, inner = env.observation_space, env.env.observation_space
      widths = [np.subtract(s.high, s.low, dtype=float) for s in (outer, inner)]
      if outer.dtype.kind in 'iu' and np.any(widths[0] < widths[1]):
        raise failures.EnvironmentSetupError(
            f'RescaleObservation keeps the type {outer.dtype}, which cannot'
            ' hold numbers of the smaller range: leave it out, since networks'
            ' divide pictures by 255, or put DtypeObservation(env, np.float32)'
            ' inside.'
        )
    env = env.env


def _checked(env: gymnasium.Env, source: str) -> gymnasium.Env:
  """Returns `env`; raises EnvironmentSetupError unless a gymnasium.Env.

  Gymnasium and NumPy fail on other spaces before their specs are made.
  """
  if not isinstance(env, gymnasium.Env):
    raise failures.EnvironmentSetupError(
        f'{source} must return a gymnasium.Env, or a gym.Env of the older'
        f' package, and returned {type(env).__name__}.'
    )
  config = getattr(env.unwrapped, 'config', None)
  if isinstance(config, Mapping) and 'num_envs' in config:  # EnvPool's.
    raise failures.EnvironmentSetupError(
        f'{source} must return a single environment, and returned a pool of'
        f' {config["num_envs"]}: make a gymnasium.vector.VectorEnv with'
        ' next-step autoreset of it, for VectorPyEnvironment.'
    )
  for name in ('observation_space', 'action_space'):
    gymnasium_spaces.check_space(
        getattr(env, name, None), f'{source}.{name}'
    )
  _check_rescaled(env)
  return env


def _without_text(env: gymnasium.Env, is_first: bool) -> gymnasium.Env:
  """Drops text, which Gymnasium cannot pass through shared memory."""
  space = env.observation_space
  if not isinstance(space, spaces.Dict):
    return env
  kept = [k for k, v in space.items() if not gymnasium_spaces.is_text(v)]
  if len(kept) in (0, len(space)):
    return env
  if is_first:
    logging.info('Text is dropped: %s', sorted(set(space.keys()) - set(kept)))
  return gymnasium.wrappers.FilterObservation(env, kept)


def _check_distinct(envs: Sequence[gymnasium.Env]) -> None:
  """Raises EnvironmentSetupError if two of `envs` are one environment."""
  if len({id(env.unwrapped) for env in envs}) < len(envs):
    raise failures.EnvironmentSetupError(
        'The callable returned the same environment more than once; it must '
        'make a new one each time.'
    )
