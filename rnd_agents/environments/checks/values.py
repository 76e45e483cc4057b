# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of single values: an observation, a reward, the flags, the info."""

import numbers
from typing import Any, Callable, Iterator, Tuple

from gymnasium import spaces
import numpy as np

from rnd_agents.environments.checks import rules

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def check_observation(
    observation: Any,
    space: spaces.Space,
    where: str,
    findings: rules.Findings,
    name: str = 'observation',
) -> None:
  """Checks an observation against its space, part by part.

  Args:
    observation: of one environment.
    space: its space.
    where: at which step, for the message.
    findings: to add to.
    name: of the part.
  """

  def found(rule, what):
    findings.add(rule, f'{where}: {name} {what}', name)

  if isinstance(space, spaces.Dict):
    if not isinstance(observation, dict):
      found('observation-structure', f'is {_kind(observation)}, not a dict.')
    elif set(observation) != set(space.spaces):
      found(
          'observation-structure',
          f'has the keys {sorted(map(str, observation))}, and its space '
          f'{sorted(map(str, space.spaces))}.',
      )
    else:
      for key, part in space.spaces.items():
        check_observation(
            observation[key], part, where, findings, f'{name}/{key}'
        )
  elif isinstance(space, spaces.Tuple):
    if not isinstance(observation, tuple):
      found('observation-structure', f'is {_kind(observation)}, not a tuple.')
    elif len(observation) != len(space.spaces):
      found(
          'observation-structure',
          f'has {len(observation)} parts, and its space {len(space.spaces)}.',
      )
    else:
      for i, part in enumerate(space.spaces):
        check_observation(observation[i], part, where, findings, f'{name}/{i}')
  elif isinstance(space, spaces.Discrete):
    _check_discrete(observation, space, found)
  elif isinstance(
      space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)
  ):
    _check_array(observation, space, found)
  # Others, text for one, are dropped by the adapter.


def check_reward(reward: Any, where: str, findings: rules.Findings) -> None:
  """Checks that a reward is a finite number."""
  if isinstance(reward, (bool, np.bool_)) or not isinstance(
      reward, (numbers.Real, np.integer, np.floating)
  ):
    findings.add(
        'reward-type', f'{where}: the reward is {_kind(reward)}, no number.'
    )
  elif not abs(float(reward)) <= _FLOAT32_MAX:
    findings.add('reward-finite', f'{where}: the reward is {reward!s}.')


def check_flag(
    flag: Any, name: str, where: str, findings: rules.Findings
) -> None:
  """Checks that `terminated` or `truncated` is a bool."""
  if not isinstance(flag, (bool, np.bool_)):
    findings.add(
        'end-type', f'{where}: {name} is {_kind(flag)}, no bool.', name
    )


def check_info(info: Any, where: str, findings: rules.Findings) -> None:
  """Checks that `info` is a dict."""
  if not isinstance(info, dict):
    findings.add('info-type', f'{where}: info is {_kind(info)}, not a dict.')


def leaves(value: Any, name: str = 'observation') -> Iterator[Tuple[str, Any]]:
  """Yields (name, part) of what dicts and tuples hold, in a fixed order.

  Args:
    value: an observation, or its space.
    name: of all of it.
  """
  if isinstance(value, (spaces.Dict, spaces.Tuple)):
    value = value.spaces
  if isinstance(value, dict):
    for key in sorted(value, key=str):
      yield from leaves(value[key], f'{name}/{key}')
  elif isinstance(value, (tuple, list)):
    for i, part in enumerate(value):
      yield from leaves(part, f'{name}/{i}')
  else:
    yield name, value


def equal(first: Any, second: Any) -> bool:
  """Returns whether two parts are equal; NaN equals itself."""
  if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
      return False
    same = first == second
    if first.dtype.kind == second.dtype.kind == 'f':
      same |= np.isnan(first) & np.isnan(second)
    return bool(np.all(same))
  return bool(first == second) or (first != first and second != second)


def _check_discrete(observation, space, found):
  """Checks an observation of a Discrete space."""
  if isinstance(observation, np.ndarray) and observation.shape:
    found(
        'observation-shape',
        f'has shape {observation.shape}, and its space is one integer.',
    )
  elif not isinstance(
      observation, (int, np.integer, np.ndarray)
  ) or isinstance(observation, bool):
    found('observation-structure', f'is {_kind(observation)}, no integer.')
  elif isinstance(observation, np.ndarray) and observation.dtype.kind not in (
      'iu'
  ):
    found('observation-dtype', f'has dtype {observation.dtype}, no integer.')
  elif not space.start <= observation < space.start + space.n:
    found(
        'observation-bounds',
        f'is {observation}, and its space goes from {space.start} to '
        f'{space.start + space.n - 1}.',
    )


def _check_array(observation, space, found: Callable[[str, str], None]):
  """Checks an observation of a space of arrays."""
  if not isinstance(observation, (np.ndarray, np.generic)):
    found(
        'observation-structure', f'is {_kind(observation)}, no NumPy array.'
    )
    return
  observation = np.asarray(observation)
  if isinstance(space, spaces.Box):
    if observation.dtype != space.dtype:
      found(
          'observation-dtype',
          f'has dtype {observation.dtype}, and its space {space.dtype}.',
      )
    low, high = space.low, space.high
  else:
    if observation.dtype.kind not in 'iub':
      found('observation-dtype', f'has dtype {observation.dtype}, no integer.')
    if isinstance(space, spaces.MultiDiscrete):
      low, high = space.start, space.start + space.nvec - 1
    else:
      low, high = 0, 1
  if observation.shape != space.shape:
    found(
        'observation-shape',
        f'has shape {observation.shape}, and its space {space.shape}.',
    )
    return
  if observation.dtype.kind == 'f':
    finite = np.abs(observation) <= _FLOAT32_MAX
    if not finite.all():
      index, value = _first(~finite, observation)
      found('observation-finite', f'is {value!s}{index}.')
      return
  outside = (observation < low) | (observation > high)
  if outside.any():
    index, value = _first(outside, observation)
    _, low = _first(outside, np.broadcast_to(low, observation.shape))
    _, high = _first(outside, np.broadcast_to(high, observation.shape))
    found(
        'observation-bounds',
        f'is {value!s}{index}, outside of [{low!s}, {high!s}].',
    )


def _first(where, array):
  """Returns the first index at which `where` holds, in words, and the value."""
  index = tuple(int(i) for i in np.argwhere(where)[0])
  return f' at index {index}' if index else '', array[index]


def _kind(value):
  """Returns what a value is, for a message."""
  if isinstance(value, np.ndarray):
    return f'an array of shape {value.shape}'
  if value is None:
    return 'None'
  name = type(value).__name__
  return f'{"an" if name[0] in "aeiou" else "a"} {name}'
