# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Describes, part by part, how nests of tensor specs differ.

Names, types and shapes of two tasks have to agree; bounds as well, of actions
and of integers that are observed. Wider bounds and those of floats that are
observed are no contract: they may have been infinite.
"""

import numpy as np
from tf_agents.utils import nest_utils

# Wider bounds, as those of counters, are no contract.
_MAX_RANGE = 1_000


def leaves(nest, prefix=''):
  """Returns the leaves of a nest by name, such as 'observation/a'."""
  return {
      '/'.join(part for part in (prefix, path) if part): leaf
      for path, leaf in nest_utils.flatten_with_joined_paths(nest)
  }


def described(spec, bounds=None):
  """Returns type, shape and bounds of a tensor spec, as text."""
  text = f'{spec.dtype.name} {spec.shape.as_list()}'
  if bounds is not None:
    text += f' of {np.min(bounds[0])!s} to {np.max(bounds[1])!s}'
  return text


def differences(ones, others):
  """Compares tensor specs by name.

  Args:
    ones: Of `leaves`. Names of actions begin with 'action'.
    others: Of `leaves`.

  Returns:
    A list of (name, text of one, text of the other), a triple for each name
    whose specs differ. The texts are the same where only bounds between the
    extremes do.
  """
  found = []
  for name in list(others) + [name for name in ones if name not in others]:
    texts, bounds = [], []
    for specs in (ones, others):
      spec = specs.get(name)
      bounds.append(None if spec is None else _bounds(name, spec))
      texts.append('nothing' if spec is None else described(spec, bounds[-1]))
    if texts[0] != texts[1] or not _same(*bounds):
      found.append((name, *texts))
  return found


def _bounds(name, spec):
  """Returns (minimum, maximum) as far as they count, else None."""
  if not hasattr(spec, 'minimum'):
    return None
  low = np.broadcast_to(spec.minimum, spec.shape)
  high = np.broadcast_to(spec.maximum, spec.shape)
  if name.startswith('action'):
    return low, high
  if not spec.dtype.is_integer:
    return None
  # Python's integers, since the range of an int32 is none.
  narrow = int(high.max()) - int(low.min()) < _MAX_RANGE
  return (low, high) if narrow else None


def _same(bounds, others):
  if bounds is None or others is None:
    return bounds is others
  return all(np.array_equal(a, b) for a, b in zip(bounds, others))
