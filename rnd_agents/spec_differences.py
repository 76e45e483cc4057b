# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where two nests of specs differ, in words."""

import numpy as np
from tf_agents.specs import tensor_spec
from tf_agents.utils import nest_utils

# Wider bounds, as those of counters, are no contract.
_MAX_RANGE = 1_000


def leaves(nest, prefix=''):
  """Returns pairs of name, such as 'observation/a', and leaf."""
  return [
      ('/'.join(part for part in (prefix, path) if part), leaf)
      for path, leaf in nest_utils.flatten_with_joined_paths(nest)
  ]


def described(spec, bounds=None):
  """Returns type, shape and bounds of a tensor spec as text."""
  text = f'{spec.dtype.name} {spec.shape.as_list()}'
  if bounds is not None:
    text += f' of {_text(bounds[0])} to {_text(bounds[1])}'
  return text


def differences(found, expected, name):
  """Compares names, types, shapes and bounds of specs.

  Bounds count of actions and of integers of a small range: those of other
  observations may have been infinite. The order of keys does not count.

  Args:
    found: Nest of specs.
    expected: Nest of specs.
    name: What the specs are of; 'action' for actions.

  Returns:
    A list with a sentence, such as 'action is int64 [] of 0 to 3 and must be
    int64 [] of 0 to 4', for each leaf that is not the same in both.
  """
  faults = []
  both = [
      dict(leaves(tensor_spec.from_spec(nest), name))
      for nest in (found, expected)
  ]
  for path in dict.fromkeys([*both[1], *both[0]]):
    specs = [specs.get(path) for specs in both]
    bounds = [_bounds(spec, name == 'action') for spec in specs]
    texts = [
        'nothing' if spec is None else described(spec, limits)
        for spec, limits in zip(specs, bounds)
    ]
    if texts[0] != texts[1]:
      faults.append(f'{path} is {texts[0]} and must be {texts[1]}')
    elif not np.array_equal(*bounds):  # Somewhere within a long list.
      faults.append(f'{path} has other bounds than it must have')
  return faults


def _bounds(spec, is_action):
  """Returns arrays (minimum, maximum) as far as they count, else None."""
  if not hasattr(spec, 'minimum'):
    return None
  low = np.broadcast_to(spec.minimum, spec.shape)
  high = np.broadcast_to(spec.maximum, spec.shape)
  if not is_action:
    # Python's integers, since the range of an int32 is none.
    if not spec.dtype.is_integer:
      return None
    if int(high.max()) - int(low.min()) >= _MAX_RANGE:
      return None
  return low, high


def _text(bound):
  """Returns one number where all are the same, else the first and last few."""
  if np.all(bound == bound.flat[0]):
    return str(bound.flat[0])
  return np.array2string(bound, separator=', ', threshold=8)
