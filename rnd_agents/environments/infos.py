# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Joins the infos of the environments of a batch, and reads numbers in them.

An environment may put anything into its info, also under a key that this
package or Gymnasium uses for something else. Nothing in an info ends a run.
"""

from collections.abc import Sequence
import math
from typing import Any

from absl import logging
from gymnasium import vector
import numpy as np

from rnd_agents.environments import failures

# What `numbers` looks for.
FLAG, COUNT, NUMBER = 'True or False', 'a whole number', 'a number'

_LIMIT = 2**63  # Of 64-bit integers.
_TYPES: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}


def add_info(
    infos: dict[Any, Any], info: dict[Any, Any], index: int, size: int
) -> dict[Any, Any]:
  """Adds the info of one environment to those of a batch, and returns these.

  As Gymnasium does: an array of `size` values for each key, and a mask with an
  underscore before its name. Where Gymnasium raises an error or cuts a number,
  the array gets a wider type, or becomes one of objects.

  Args:
    infos: Infos of the environments before this one, which are changed.
    info: Info of this environment.
    index: Index of this environment.
    size: B, the number of environments.
  """
  for key, value in info.items():
    mark = f'_{key}'
    values: Any = infos.get(key)
    given = infos.get(mark)
    if given is None or not _fits(value, values):
      if mark[:2] == '__' and mark[2:] in info:
        continue  # The name of another key's mask.
      if given is None:
        given = infos[mark] = np.zeros(size, np.bool_)
      if isinstance(value, dict) and isinstance(values, (dict, type(None))):
        infos[key] = add_info(values or {}, value, index, size)
        given[index] = True
        continue
      values = infos[key] = _array_for(value, values, given)
    values[index] = value
    given[index] = True
  return infos


def add_info_of_vector(
    vector_env: vector.VectorEnv,
    infos: dict[Any, Any],
    info: dict[Any, Any],
    index: int,
) -> dict[Any, Any]:
  """Adds an info as `add_info` does; a method for vector environments."""
  if not info:  # Most have none, at each step.
    return infos
  return add_info(infos, info, index, vector_env.num_envs)


def of_one(infos: dict[Any, Any], index: int) -> dict[Any, Any]:
  """Returns the info of one environment from those of a batch."""
  marks = {f'_{key}' for key in infos}
  return {
      key: of_one(values, index) if isinstance(values, dict) else values[index]
      for key, values in infos.items()
      if key not in marks and infos.get(f'_{key}', {index: True})[index]
  }


def numbers(
    infos: dict[Any, Any], key: Any, indices: Sequence[int], kind: str
) -> dict[int, float]:
  """Returns {i: number} of those `indices` whose info has a number.

  What is not a number of this kind is ignored, as if the key were missing, and
  the log says so once.

  Args:
    infos: Infos of a batch.
    key: Key of the numbers. One value stands for all environments.
    indices: Indices of environments.
    kind: FLAG for 0 and 1, COUNT for whole numbers from 0, or NUMBER.
  """
  values = infos.get(key)
  if values is None:
    return {}
  # Gymnasium marks with an underscore which environments gave the key.
  given = infos.get(f'_{key}')
  if getattr(getattr(given, 'dtype', None), 'kind', '') != 'b':
    given = None
  is_each = isinstance(values, (list, tuple)) or np.ndim(values) > 0
  found = {}
  for i in indices:
    if given is None or given[i]:
      value = values[i] if is_each and i < len(values) else values
      number = _as_number(value, kind)
      if number is None:
        say_ignored(key, kind, value)
      else:
        found[i] = number
  return found


def numbers_at_keys(
    infos: dict[str, Any], keys: Sequence[str], indices: Sequence[int]
) -> dict[int, dict[str, float]]:
  """Returns {i: {name: number}} of those `indices` whose info has numbers.

  Args:
    infos: Infos of a batch.
    keys: Keys of numbers, which are names, or of dicts of numbers, whose
      entries are named KEY_ENTRY.
    indices: Indices of environments.
  """
  found: dict[int, dict[str, float]] = {}
  for key in keys:
    values = infos.get(key)
    if values is None:
      failures.say_once(
          logging.warning,
          (key, 'info_keys'),
          'No info[%r], a key of info_keys, at the end of an episode: there are'
          ' %s. Its metrics are empty until there is one.',
          key,
          sorted(str(k) for k in infos if f'_{k}' in infos) or 'no infos',
      )
    if isinstance(values, dict):
      marks = {f'_{entry}' for entry in values}
      sources = [
          (f'{key}_{entry}', values, entry)
          for entry in values
          if entry not in marks
      ]
    else:
      sources = [(key, infos, key)]
    for name, holder, entry in sources:
      for i, number in numbers(holder, entry, indices, NUMBER).items():
        found.setdefault(i, {})[name] = number
  return found


def _fits(value: Any, values: Any) -> bool:
  """Returns whether an array can hold `value` without a loss."""
  kind = type(value)
  if type(values) is not np.ndarray or kind is dict:
    return False
  expected = values.dtype.type
  if expected is np.object_ and values.ndim == 1:
    return True
  if kind is np.ndarray:
    return value.dtype is values.dtype and value.shape == values.shape[1:]
  return (
      values.ndim == 1
      and _TYPES.get(kind, kind) is expected
      and (kind is not int or -_LIMIT < value < _LIMIT)
  )


def _array_for(value: Any, values: Any, given: np.ndarray) -> np.ndarray:
  """Returns an array [B, ...] that can hold `value`, with the given `values`.

  Args:
    value: A value of one environment.
    values: Values of the environments before it, or None.
    given: Booleans [B], which environments these are.
  """
  is_plain = isinstance(value, (*_TYPES, np.number, np.bool_, np.ndarray))
  array = np.asarray(value) if is_plain else np.asarray(None)
  shape = (len(given), *array.shape)
  if values is None:
    return np.zeros(shape, array.dtype) if is_plain else np.full(shape, None)
  if (
      isinstance(values, np.ndarray)
      and values.shape == shape
      and values.dtype.kind in 'biuf'
      and array.dtype.kind in 'biuf'
  ):
    return values.astype(np.result_type(values, array))
  objects = np.full(len(given), None)
  for i in np.flatnonzero(given).tolist():
    objects[i] = of_one({0: values}, i)[0]
  return objects


def _as_number(value: Any, kind: str) -> float | None:
  """Returns a value as a number of a kind; None if it is not one."""
  if isinstance(value, np.ndarray) and value.size == 1:
    value = value.item()
  if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
    return None
  is_of_kind = (
      value in (0, 1)
      if kind == FLAG
      else math.isfinite(value)
      and (kind == NUMBER or (value >= 0 and value % 1 == 0))
  )
  return float(value) if is_of_kind else None


def say_ignored(key: Any, kind: str, value: Any) -> None:
  """Says once in the log that the value of a key is ignored."""
  failures.say_once(
      logging.warning,
      (key, kind),
      'info[%r] is not %s but %s %.70s: ignored, as if it were missing.',
      key,
      kind,
      type(value).__name__,
      value,
  )
