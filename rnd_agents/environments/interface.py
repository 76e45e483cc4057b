# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks what `reset` and `step` take and return; adapts those of older Gym."""

import inspect
import re
from typing import Any, Protocol, runtime_checkable

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import failures

_RIGHT = {
    'reset': (
        "Gymnasium's reset takes seed and options and returns (observation,"
        ' info)'
    ),
    'step': (
        "Gymnasium's step returns (observation, reward, terminated, truncated,"
        ' info)'
    ),
}
_WAY = (
    'Change it, or add the wrapper that adapts older methods:'
    ' load_environment.wrappers = [@adapt_old_interface].'
)
# What Python says of a reset that takes no seed or options, and of a wrapper
# that unpacks what it got from an older reset or step.
_OLD_HABITS = re.compile(
    r'reset\(\) (got an unexpected keyword|takes \d+ positional)'
    r'|to unpack \(expected (2|5, got 4)\)'
)
# Types of the values of a step that need no closer look.
NUMBERS = frozenset([float, int, np.float64, np.float32])
FLAGS = frozenset([bool, np.bool_])


@runtime_checkable
class Environment(Protocol):
  """An environment of Gymnasium, of `gym`, or a parallel one of PettingZoo."""

  def reset(self, *args: Any, **kwargs: Any) -> Any:
    """Begins an episode."""

  def step(self, *args: Any, **kwargs: Any) -> Any:
    """Takes an action."""


def checked_reset(env: gymnasium.Env, result: Any) -> tuple[Any, dict]:
  """Returns what `env.reset` returned.

  Raises:
    EnvironmentFailure: If it is not an observation and an info.
  """
  if (
      isinstance(result, tuple)
      and len(result) == 2
      and isinstance(result[1], dict)
  ):
    return result
  raise _returned(env, 'reset', _described(result, 2))


def checked_step(
    env: gymnasium.Env, result: Any
) -> tuple[Any, float, bool, bool, dict]:
  """Returns what `env.step` returned, with its ends as booleans.

  Raises:
    EnvironmentFailure: If it has not 5 values, the reward is not one number, an
      end is neither True nor False, or the info is not a dict.
  """
  if not isinstance(result, (tuple, list)) or len(result) != 5:
    raise _returned(env, 'step', _described(result, 5))
  observation, reward, *ends, info = result
  if not isinstance(info, dict):
    raise _returned(env, 'step', f'an info of type {type(info).__name__}')
  number = np.asarray(reward)
  if number.ndim or number.dtype.kind not in 'biuf':
    what = f'has shape {list(number.shape)}' if number.ndim else repr(reward)
    raise failures.EnvironmentFailure(
        f'the reward must be one number, and {_name(env, "step")} returned one'
        f' that {"" if number.ndim else "is "}{what}.'
    )
  for name, end in zip(('terminated', 'truncated'), ends):
    array = np.asarray(end)
    if array.size != 1 or array.dtype.kind not in 'biuf' or array not in (0, 1):
      raise failures.EnvironmentFailure(
          f'{name} must be True or False, and {_name(env, "step")} returned'
          f' {end!r}.'
      )
  return observation, number.item(), *(bool(np.all(e)) for e in ends), info


def failure_with_advice(
    error: BaseException, method: str, env: gymnasium.Env, index: int
) -> failures.EnvironmentFailure:
  """Returns `failures.failure_of`, with advice if the method is of old Gym."""
  failure = failures.failure_of(error, method, index)
  if failure.environment_index is None:
    failure.environment_index = index
  if failure is not error and _OLD_HABITS.search(str(error)):
    where = '' if f'.{method}()' in str(error) else f' in {_name(env, method)}'
    failure.what += f'{where}. {_RIGHT[method]}. {_WAY}'
  return failure


def _name(env: gymnasium.Env, method: str) -> str:
  return f'{type(env.unwrapped).__name__}.{method}'


def _returned(
    env: gymnasium.Env, method: str, what: str
) -> failures.EnvironmentFailure:
  return failures.EnvironmentFailure(
      f'{_name(env, method)} returned {what}. {_RIGHT[method]}. {_WAY}'
  )


def _described(result: Any, number: int) -> str:
  """Returns a short description of what a method returned."""
  if not isinstance(result, tuple):
    return f'one value of type {type(result).__name__}'
  if len(result) != number:
    return f'{len(result)} values'
  return f'an info of type {type(result[-1]).__name__}'


@gin.configurable(module='rnd_agents', denylist=['env'])
def adapt_old_interface(env: gymnasium.Env) -> gymnasium.Env:
  """Adapts an environment whose `reset` and `step` are those of older Gym.

  A wrapper for `load_environment.wrappers`. It goes around the innermost
  environment, inside of its time limit, and adapts

  *   a `reset` that takes no `seed` or no `options`: its `seed(seed)` is called
      instead if there is one, and `np_random` is seeded;
  *   a `reset` that returns the observation alone;
  *   a `step` that returns (observation, reward, done, info), where
      `info['TimeLimit.truncated']` tells a time limit;
  *   infos that are not dicts, which become empty.

  Returns:
    The environment.
  """
  if not isinstance(env, gymnasium.Wrapper):
    return _OldInterface(env)
  outer = env
  while isinstance(outer.env, gymnasium.Wrapper):
    outer = outer.env
  outer.env = _OldInterface(outer.env)
  return env


class _OldInterface(gymnasium.Wrapper):
  """The wrapper of `adapt_old_interface`."""

  def __init__(self, env: gymnasium.Env):
    super().__init__(env)
    parameters = inspect.signature(env.reset).parameters.values()
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    self._arguments = [
        name
        for name in ('seed', 'options')
        if takes_all or name in (each.name for each in parameters)
    ]

  def reset(
      self, *, seed: int | None = None, options: dict[str, Any] | None = None
  ) -> tuple[Any, dict[str, Any]]:
    given = dict(seed=seed, options=options)
    if seed is not None and 'seed' not in self._arguments:
      self.unwrapped.np_random = np.random.default_rng(seed)
      if callable(getattr(self.unwrapped, 'seed', None)):
        self.unwrapped.seed(seed)
    result = self.env.reset(**{name: given[name] for name in self._arguments})
    is_pair = (
        isinstance(result, tuple)
        and len(result) == 2
        and (result[1] is None or isinstance(result[1], dict))
    )
    space = self.observation_space
    if not is_pair or (
        isinstance(space, spaces.Tuple) and space.contains(result)
    ):
      return result, {}
    return result[0], _dict(result[1])

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    result = self.env.step(action)
    if len(result) != 4:
      return *result[:-1], _dict(result[-1])
    observation, reward, done, info = result
    info = _dict(info)
    truncated = bool(done) and bool(info.get('TimeLimit.truncated', False))
    return observation, reward, False if truncated else done, truncated, info


def _dict(info: Any) -> dict[str, Any]:
  return info if isinstance(info, dict) else {}
