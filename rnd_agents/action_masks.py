# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Action masks, which say in each state what actions are allowed.

An environment with `load_environment.action_mask_key` observes
`ObservationWithMask`. Networks split it, as TF-Agents' `MaskSplitterNetwork`
does: the mask is no feature, and actions that it forbids get no probability.
"""

from typing import Any, NamedTuple

from tf_agents.typing import types


class ObservationWithMask(NamedTuple):
  """An observation and its action mask; a nest of arrays, tensors or specs.

  Attributes:
    observation: nest of what the environment observes besides the mask.
    action_mask: uint8 [..., *shape of the action, number of values]: 1 for the
      allowed values of each entry of a discrete action, 0 for others.
  """

  observation: types.NestedTensor
  action_mask: types.Tensor


def split_mask(observation: Any) -> tuple[Any, Any]:
  """Returns (observation without mask, mask or None)."""
  # A file of demonstrations or a SavedModel brings back the fields alone.
  if getattr(observation, '_fields', None) == ObservationWithMask._fields:
    return tuple(observation)
  return observation, None


def without_mask(observation: Any) -> Any:
  """Returns the observation without its mask."""
  return split_mask(observation)[0]
