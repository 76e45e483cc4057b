# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments of the package `gym`, from which Gymnasium was forked."""

from collections.abc import Callable, Mapping
import functools
import inspect
import sys
from typing import Any

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import failures
from rnd_agents.environments import interface


def is_old(env: Any) -> bool:
  """Returns whether an object is an environment with spaces of `gym`."""
  space = getattr(env, 'action_space', None)
  config = getattr(env, 'config', None)
  is_pool = isinstance(config, Mapping) and 'num_envs' in config  # EnvPool's.
  return (
      not isinstance(env, gymnasium.Env)
      and not is_pool
      and _class_of_gym(space) is not None
      and all(callable(getattr(env, name, None)) for name in ('reset', 'step'))
  )


def adapted(env: Any) -> Any:
  """Returns an environment of `gym` as a `gymnasium.Env`, others as they are.

  `interface.adapt_old_interface` adapts the methods of any version.
  """
  return interface.adapt_old_interface(_OldGym(env)) if is_old(env) else env


def maker(env_id: str, keeps_limit: bool) -> Callable[..., Any] | None:
  """Returns the function that makes an environment of `gym`; None if no id.

  Args:
    env_id: 'gym:ID', or 'module:ID' of a module that registers ids in `gym`.
    keeps_limit: Whether to keep its registered time limit.
  """
  module, _, name = env_id.rpartition(':')
  if not module:
    return None
  failures.import_module(module, env_id)
  gym = sys.modules.get('gym')
  if gym is None or module != 'gym' and name in gymnasium.registry:
    return None
  registry = gym.envs.registry
  if name in getattr(registry, 'env_specs', registry):
    return functools.partial(_make, name, keeps_limit)
  if module != 'gym':
    return None
  raise failures.EnvironmentSetupError(
      f'gym {gym.__version__} has no environment {name!r}: name the module that'
      " registers it, as in 'module:ID'."
  )


def _make(name: str, keeps_limit: bool, **kwargs: Any) -> Any:
  """Makes an environment of `gym`, with or without its time limit."""
  env = sys.modules['gym'].make(name, **kwargs)
  if keeps_limit:
    return env
  if type(env).__name__ == 'TimeLimit':
    return env.env
  outer = env
  while 'env' in vars(outer):
    if type(outer.env).__name__ == 'TimeLimit':
      outer.env = outer.env.env
    outer = outer.env
  return env


def _class_of_gym(value: Any) -> str | None:
  """Returns the name of the class of `gym` that a value is of; None if none."""
  for each in type(value).__mro__:
    if each.__module__.partition('.')[0] == 'gym':
      return each.__name__
  return None


class _OldGym(gymnasium.Env):
  """Spaces and attributes of Gymnasium for an environment of `gym`."""

  def __init__(self, env: Any):
    self.env = env
    self.observation_space = _space(env.observation_space)
    self.action_space = _space(env.action_space)
    metadata = dict(getattr(env, 'metadata', None) or {})
    modes = metadata.get('render_modes') or metadata.get('render.modes') or []
    self.metadata = {**metadata, 'render_modes': list(modes)}
    self._unwrapped = getattr(env, 'unwrapped', env)
    mode = getattr(self._unwrapped, 'render_mode', None)
    if self._render_takes_a_mode():
      mode = 'rgb_array'
    if mode in modes:
      self.render_mode = mode
    if callable(getattr(env, 'seed', None)):
      self.seed = env.seed

    @functools.wraps(self._unwrapped.reset)  # A wrapper's takes anything.
    def reset(**arguments: Any) -> Any:
      return env.reset(**arguments)

    self.reset = reset

  def step(self, action: Any) -> Any:
    observation, reward, *others = self.env.step(action)
    if np.size(reward) == 1:  # Some rewards have a shape of [1].
      reward = np.asarray(reward).item()
    return observation, reward, *others

  def _render_takes_a_mode(self) -> bool:
    """Returns whether the mode is said at each call, as before gym 0.25."""
    return 'mode' in inspect.signature(self._unwrapped.render).parameters

  def render(self) -> Any:
    if self._render_takes_a_mode():
      return self.env.render(mode='rgb_array')
    return self.env.render()

  def close(self) -> None:
    self.env.close()


def _space(space: Any) -> spaces.Space:
  """Returns the space of Gymnasium like one of `gym`."""
  kind = _class_of_gym(space)
  if kind is None:
    return space
  if kind == 'Box':
    return spaces.Box(space.low, space.high, space.shape, space.dtype)
  if kind == 'Discrete':
    start = int(getattr(space, 'start', 0))
    return spaces.Discrete(int(space.n), start=start)
  if kind == 'MultiDiscrete':
    return spaces.MultiDiscrete(space.nvec, space.dtype)
  if kind == 'MultiBinary':
    return spaces.MultiBinary(space.n)
  if kind == 'Dict':
    return spaces.Dict({key: _space(s) for key, s in space.spaces.items()})
  if kind == 'Tuple':
    return spaces.Tuple([_space(s) for s in space.spaces])
  raise failures.EnvironmentSetupError(
      f'The space {space} of gym is not supported: take Box, Discrete,'
      ' MultiDiscrete, MultiBinary, Dict or Tuple.'
  )
