# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Action masks, which say in each state what actions are allowed.

An environment with `load_environment.action_mask_key` observes
`ObservationWithMask`. Networks split it, as TF-Agents' `MaskSplitterNetwork`
does: the mask is not a feature, and what it forbids has the probability 0.
"""

from typing import Any, NamedTuple

import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors

# Logit of an action that does not exist or is forbidden: probability exactly 0
# in float32, and unlike minus infinity it leaves the entropy finite.
IMPOSSIBLE_LOGIT = -1e9


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


def check_network(
    label: str, net: network.Network, observation_spec: types.NestedTensorSpec
) -> None:
  """Raises InvalidValue for a network that ignores the action mask.

  Args:
    label: Name of the network, for the message.
    net: Returns an action distribution, or values [..., number of actions].
    observation_spec: A nest of tensor specs; without a mask all is well.
  """
  _, mask_spec = split_mask(observation_spec)
  if mask_spec is None or mask_spec.shape[-1] < 2:
    return
  with tf.init_scope():
    observation = tf.nest.map_structure(
        lambda spec: tf.zeros([1, *spec.shape], spec.dtype), observation_spec
    )
    first = tf.one_hot(
        tf.zeros([1, *mask_spec.shape[:-1]], tf.int32),
        mask_spec.shape[-1],
        dtype=mask_spec.dtype,
    )
    output, _ = net(
        ObservationWithMask(split_mask(observation)[0], first),
        tf.fill([1], ts.StepType.FIRST),
        network_state=net.get_initial_state(1),
    )
    if tf.is_tensor(output):
      ignored = tf.reduce_any(output[..., 1:] > output.dtype.min)
    else:
      (distribution,) = tf.nest.flatten(output)
      second = tf.ones([1, *mask_spec.shape[:-1]], distribution.dtype)
      ignored = tf.reduce_any(tf.exp(distribution.log_prob(second)) > 0)
  if ignored:
    raise errors.InvalidValue(
        f'{label} ignores the action mask: split its observation by'
        ' action_masks.split_mask, and give forbidden actions the probability 0'
        ' (of Q values: `q_values.dtype.min`), as create_networks and'
        ' create_q_networks do; or leave out load_environment.action_mask_key.'
    )
