# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of what an environment offers besides being played."""

import inspect
import os
from typing import Callable, Optional, Sequence

import cloudpickle
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments.checks import episodes
from rnd_agents.environments.checks import rules


def check_spaces(
    envs: Sequence[gymnasium.Env], findings: rules.Findings
) -> None:
  """Checks the spaces of two instances."""
  for attribute, convert in (
      ('observation_space', gymnasium_spaces.observation_converter),
      (
          'action_space',
          lambda space: gymnasium_spaces.action_converter(space, 1, 'action'),
      ),
  ):
    rule = attribute.replace('_', '-')
    space = getattr(envs[0], attribute, None)
    if not isinstance(space, spaces.Space):
      findings.add(rule, f'{attribute} is {space!r}, no gymnasium Space.')
      raise episodes.StopChecking
    try:
      convert(space)
    except ValueError as error:
      findings.add(rule, f'{attribute}: {error}')
    if space != getattr(envs[1], attribute):
      findings.add(
          'equal-spaces',
          f'{attribute} of one instance is {brief(space)}, and of the next '
          f'{brief(getattr(envs[1], attribute))}.',
          attribute,
      )
  if envs[0].unwrapped is envs[1].unwrapped:
    findings.add(
        'fresh-instance', 'Two calls returned the same environment.'
    )
  _check_bounds(envs[0].action_space, 'action', findings)


def _check_bounds(space, name, findings):
  """Looks for continuous actions without bounds."""
  if isinstance(space, (spaces.Dict, spaces.Tuple)):
    items = (
        space.spaces.items()
        if isinstance(space, spaces.Dict)
        else enumerate(space.spaces)
    )
    for key, part in items:
      _check_bounds(part, f'{name}/{key}', findings)
  elif isinstance(space, spaces.Box) and not space.is_bounded():
    findings.add('action-bounds', f'{name} is {brief(space)}.', name)


def check_close(env: gymnasium.Env, findings: rules.Findings) -> None:
  """Closes the environment, twice."""
  for time in ('once', 'twice'):
    try:
      env.close()
    except Exception as error:  # Whatever an environment may raise.
      findings.add(
          'close', f'close() called {time} raised {episodes.describe(error)}.'
      )
      return


def check_picklable(
    env_fn: Callable[..., gymnasium.Env], findings: rules.Findings
) -> None:
  """Checks that the callable survives the way to a worker process."""
  try:
    cloudpickle.loads(cloudpickle.dumps(env_fn))
  except Exception as error:  # It raises of all kinds.
    findings.add(
        'picklable', f'The callable: {type(error).__name__}: {error}.'
    )


def _takes(function, name):
  """Returns whether a callable takes an argument of that name."""
  try:
    parameters = inspect.signature(function).parameters
  except (TypeError, ValueError):
    return False
  return name in parameters or any(
      p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
  )


def brief(space: spaces.Space) -> str:
  """Returns a space in words, without its arrays of bounds."""
  if isinstance(space, spaces.Dict):
    parts = (f'{k}: {brief(v)}' for k, v in space.spaces.items())
    return f'Dict({", ".join(parts)})'
  if isinstance(space, spaces.Tuple):
    return f'Tuple({", ".join(map(brief, space.spaces))})'
  if isinstance(space, spaces.Box):
    return (
        f'Box({space.low.min()!s}, {space.high.max()!s}, {space.shape}, '
        f'{space.dtype})'
    )
  if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
    return str(space)
  return type(space).__name__


def check_render(
    env: gymnasium.Env,
    env_fn: Callable[..., gymnasium.Env],
    findings: rules.Findings,
) -> Optional[str]:
  """Checks a frame.

  Args:
    env: as `env_fn` makes it.
    env_fn: tried with render_mode='rgb_array' where `env` has another.
    findings: to add to.

  Returns:
    Why what the environment declares could not be checked, or None.
  """
  if 'rgb_array' not in (env.metadata or {}).get('render_modes', ()):
    return None
  if _lacks_a_screen(env):
    return 'MuJoCo has no screen; MUJOCO_GL=egl gives it one'
  rendering = env
  if env.render_mode != 'rgb_array':
    if not _takes(env_fn, 'render_mode'):
      return 'the callable takes no render_mode'
    rendering = env_fn(render_mode='rgb_array')
  try:
    rendering.reset(seed=0)
    frame = rendering.render()
  except Exception as error:  # Also for want of a screen.
    findings.add('render', f'render raised {episodes.describe(error)}.')
    return None
  finally:
    if rendering is not env:
      episodes.close_quietly(rendering)
  if not (
      isinstance(frame, np.ndarray)
      and frame.dtype == np.uint8
      and frame.ndim == 3
      and frame.shape[-1] == 3
  ):
    form = (
        f'{frame.dtype} {list(frame.shape)}'
        if isinstance(frame, np.ndarray)
        else f'a {type(frame).__name__}'
    )
    findings.add('render', f'render returned {form}.')
  return None


def _lacks_a_screen(env):
  """Returns whether MuJoCo would end the process, at the second attempt."""
  modules = [base.__module__ for base in type(env.unwrapped).__mro__]
  return any('mujoco' in module.lower() for module in modules) and not (
      os.environ.get('MUJOCO_GL') or os.environ.get('DISPLAY')
  )
