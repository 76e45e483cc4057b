# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The spec of demonstrations, and checks that episodes and tasks fit it."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents import spec_differences

# The types that TF-Agents encodes.
_DTYPES = (
    'float16', 'float32', 'float64', 'uint8', 'int8', 'uint16', 'int16',
    'int32', 'int64',
)


class DemonstrationError(errors.InvalidValue):
  """Demonstrations that are missing, damaged or of another task."""


def trajectory_spec(observation_spec, action_spec, network_state_spec=()):
  """Returns the spec of a frame of a demonstration.

  Args:
    observation_spec: Nest of specs, of one environment.
    action_spec: Nest of specs.
    network_state_spec: Nest of specs of the policy's state, if it is recorded.

  Returns:
    A `Trajectory` of tensor specs. Its policy info is () or a dict of one
    `network_state`: the parts of the state before each frame, as a flat tuple.
  """
  states = tuple(tf.nest.flatten(network_state_spec))
  # For the specs of step types, rewards and discounts that TF-Agents has.
  time_step = ts.time_step_spec(tensor_spec.from_spec(observation_spec))
  return tensor_spec.from_spec(
      trajectory.Trajectory(
          step_type=time_step.step_type,
          observation=time_step.observation,
          action=action_spec,
          policy_info={'network_state': states} if states else (),
          next_step_type=time_step.step_type,
          reward=time_step.reward,
          discount=time_step.discount,
      )
  )


def check_types(spec):
  """Raises DemonstrationError unless a file can hold what the spec describes.

  Args:
    spec: A `Trajectory` of tensor specs.
  """
  for name, leaf in spec_differences.leaves(spec):
    if leaf.dtype.name not in _DTYPES or 0 in leaf.shape.as_list():
      raise DemonstrationError(
          f'{name} is {spec_differences.described(leaf)}, which a file of'
          f' demonstrations cannot hold: it takes {", ".join(_DTYPES)}, and no'
          ' empty axis. Convert it in a wrapper of the environment.'
      )


def check(spec, expected_spec, source='The file of demonstrations'):
  """Raises DemonstrationError if demonstrations are of another task.

  Names, types and shapes must be the same, and bounds as far as
  `spec_differences` compares them. Policy info is compared only if
  `expected_spec` has any.

  Args:
    spec: What `read_spec` returns.
    expected_spec: A `Trajectory` of specs, such as `trajectory_spec` returns.
    source: What to call the demonstrations.

  Raises:
    DemonstrationError: If they do not fit; names each part that does not.
  """
  faults = []
  for field in ('observation', 'action', 'policy_info', 'reward', 'discount'):
    theirs = getattr(spec, field)
    ours = getattr(expected_spec, field)
    if field == 'policy_info' and not tf.nest.flatten(ours):
      continue
    faults += spec_differences.differences(theirs, ours, field)
  if not faults:
    return
  advice = 'Collect them in the very environment of the training, wrappers too.'
  if all(fault.startswith('policy_info') for fault in faults):
    advice = (
        'Collect with a policy of the same networks and --keep_network_state,'
        ' or begin with states of zeros.'
    )
  raise DemonstrationError(
      f'{source} does not fit: {"; ".join(faults)}. {advice}'
  )


def check_episode(episode, spec, what):
  """Raises DemonstrationError unless it is one whole episode of the spec."""
  arrays = dict(spec_differences.leaves(episode))
  specs = dict(spec_differences.leaves(spec))
  if arrays.keys() != specs.keys():
    raise DemonstrationError(
        f'{what} has {", ".join(arrays)}, and the spec {", ".join(specs)}.'
    )
  num_frames = len(np.atleast_1d(episode.step_type))
  for name, array in arrays.items():
    leaf = specs[name]
    shape = (num_frames, *leaf.shape.as_list())
    if array.dtype != leaf.dtype.as_numpy_dtype or array.shape != shape:
      raise DemonstrationError(
          f'{what}: {name} is {array.dtype} {list(array.shape)} and must be'
          f' {leaf.dtype.name} {list(shape)}, the frames first.'
      )
    if leaf.dtype.is_floating and not np.isfinite(array).all():
      raise DemonstrationError(f'{what}: {name} has a NaN or an infinity.')
    if name.startswith('action') and hasattr(leaf, 'minimum'):
      if np.any(array < leaf.minimum) or np.any(array > leaf.maximum):
        raise DemonstrationError(
            f'{what}: {name} goes from {array.min()} to {array.max()}, beyond'
            f' its bounds, {np.min(leaf.minimum)} to {np.max(leaf.maximum)}.'
        )
  expected = np.full(num_frames, ts.StepType.MID, np.int32)
  expected[:1], expected[-1:] = ts.StepType.FIRST, ts.StepType.LAST
  if num_frames < 2 or not np.array_equal(episode.step_type, expected):
    raise DemonstrationError(
        f'{what} has the step types {_abridged(episode.step_type)}, and must'
        ' have FIRST (0), any number of MID (1), LAST (2): one whole episode'
        ' with its boundary frame.'
    )
  if not np.array_equal(
      episode.next_step_type, np.append(expected[1:], ts.StepType.FIRST)
  ):
    raise DemonstrationError(
        f'{what} has the next step types {_abridged(episode.next_step_type)},'
        ' which are not the step types of the frames that follow, and FIRST.'
    )


def _abridged(array):
  return np.array2string(np.asarray(array), threshold=8)
