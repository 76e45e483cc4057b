# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Describes the differences of two nests of specs."""

from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.typing import types
from tf_agents.utils import nest_utils

# Wider bounds, such as those of counters, may differ.
_MAX_RANGE = 1_000

Bounds = tuple[np.ndarray, np.ndarray]  # Minimum, maximum.


def leaves(nest: types.NestedSpec, prefix: str = '') -> list[tuple[str, Any]]:
  """Returns pairs of a leaf's name, such as 'observation/a', and the leaf."""
  return [
      ('/'.join(part for part in (prefix, path) if part), leaf)
      for path, leaf in nest_utils.flatten_with_joined_paths(nest)
  ]


def described(spec: tf.TensorSpec, bounds: Bounds | None = None) -> str:
  """Returns type, shape and bounds of a tensor spec as text."""
  text = f'{spec.dtype.name} {spec.shape.as_list()}'
  if bounds is not None:
    text += f' of {_text(bounds[0])} to {_text(bounds[1])}'
  return text


def differences(
    found: types.NestedSpec, expected: types.NestedSpec, name: str
) -> list[str]:
  """Compares names, types, shapes and bounds of specs.

  Bounds are compared for actions and for integers of a small range: those of
  other observations may have been infinite. The order of keys does not matter.

  Args:
    found: Nest of specs.
    expected: Nest of specs.
    name: Name of the specs; 'action' for actions.

  Returns:
    A list with a text, such as 'action is int64 [] of 0 to 3 and must be int64
    [] of 0 to 4', for each leaf that differs.
  """
  faults = []
  both = [
      dict(leaves(tensor_spec.from_spec(nest), name))
      for nest in (found, expected)
  ]
  for path in dict.fromkeys([*both[1], *both[0]]):
    specs = [specs.get(path) for specs in both]
    bounds: list[Any] = [_bounds(spec, name == 'action') for spec in specs]
    texts = [
        'nothing' if spec is None else described(spec, limits)
        for spec, limits in zip(specs, bounds)
    ]
    if texts[0] != texts[1]:
      faults.append(f'{path} is {texts[0]} and must be {texts[1]}')
    elif all(bounds) and not np.array_equal(*bounds):  # Within a long list.
      faults.append(f'{path} has other bounds than it must have')
  return faults


def _bounds(spec: tf.TensorSpec, is_action: bool) -> Bounds | None:
  """Returns arrays (minimum, maximum); None if the bounds may differ."""
  if not hasattr(spec, 'minimum'):
    return None
  low = np.broadcast_to(spec.minimum, spec.shape)
  high = np.broadcast_to(spec.maximum, spec.shape)
  if not is_action:
    # Python's integers: the range of an int32 may exceed an int32.
    if not spec.dtype.is_integer:
      return None
    if int(high.max()) - int(low.min()) >= _MAX_RANGE:
      return None
  return low, high


def _text(bound: np.ndarray) -> str:
  """Returns a bound as text: one number if all are equal."""
  if np.all(bound == bound.flat[0]):
    return str(bound.flat[0])
  return np.array2string(bound, separator=', ', threshold=8)
