# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ranges of actions: of continuous ones without bounds, of discrete ones."""

import numpy as np
from tf_agents.typing import types

from rnd_agents import errors

_MAX_VALUES = 2**16
# A bound beyond it is none: TF-Agents' specs hold the largest float32 in place
# of an infinite bound, and its random policies draw up to here.
_LARGEST = float(np.finfo(np.float32).max) / 8


def finite_range(spec: types.Spec) -> tuple[np.ndarray, np.ndarray]:
  """Returns the range in which warm-up and policy draw continuous actions.

  It is that of the spec. [-1, 1] stands in for two infinite bounds; from a
  single finite bound b the range extends over max(2, 2 |b|).

  Args:
    spec: A floating spec, bounded or not.

  Returns:
    A tuple (low, high) of float64 arrays like the spec.
  """
  low, high = (
      np.array(np.broadcast_to(bound, tuple(spec.shape)), np.float64)
      for bound in (
          getattr(spec, 'minimum', -np.inf), getattr(spec, 'maximum', np.inf)
      )
  )
  has_low, has_high = low > -_LARGEST, high < _LARGEST
  with np.errstate(invalid='ignore', over='ignore'):
    above = low + 2 * np.maximum(np.abs(low), 1)
    below = high - 2 * np.maximum(np.abs(high), 1)
  return (
      np.where(has_low, low, np.where(has_high, below, -1.0)),
      np.where(has_high, high, np.where(has_low, above, 1.0)),
  )


def has_bounds(spec: types.Spec) -> bool:
  """Returns whether a floating spec has two finite bounds everywhere."""
  low = getattr(spec, 'minimum', -np.inf)
  high = getattr(spec, 'maximum', np.inf)
  return bool(np.all(low > -_LARGEST) and np.all(high < _LARGEST))


def check_num_values(name: str, num_values: int) -> None:
  """Raises InvalidValue for a discrete action of too many values.

  Args:
    name: Name of the action.
    num_values: Number of its values, each of which is an output of a network.
  """
  if num_values > _MAX_VALUES:
    raise errors.InvalidValue(
        f'{name!r} has {num_values:,} discrete values, and may have'
        f' {_MAX_VALUES:,}, since each is an output of a network. Make it'
        ' continuous and round it: gymnasium.wrappers.TransformAction(env,'
        ' lambda x: numpy.rint(x).astype(env.action_space.dtype),'
        ' gymnasium.spaces.Box(low, high, shape)).'
    )
