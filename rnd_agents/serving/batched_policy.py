# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy that many threads ask for one action each."""

import itertools

import numpy as np
import tensorflow as tf
from tf_agents.policies import py_policy
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import spec_differences

_COUNTER = itertools.count()

# Further threads wait for the next batch.
_MAX_BATCH_SIZE = 1024


class BatchedPolicy(py_policy.PyPolicy):
  """Answers single time steps of any number of threads, in batches.

  Time steps that arrive while the policy computes make its next batch; a single
  one does not wait for others. Each batch reads the policy's variables again.

  TensorFlow keeps a thread for it, half a percent of a core, until the process
  ends: make one for each policy, and not one for each thread.
  """

  def __init__(self, policy: tf_policy.TFPolicy):
    """Builds the graph, one for all sizes of batches.

    Args:
      policy: A `TFPolicy` that takes batches of any size.
    """
    super().__init__(
        policy.time_step_spec,
        policy.action_spec,
        policy.policy_state_spec,
        policy.info_spec,
    )
    self._policy = policy
    inputs = (policy.time_step_spec, policy.policy_state_spec)

    @tf.nondifferentiable_batch_function(
        num_batch_threads=1,
        max_batch_size=_MAX_BATCH_SIZE,
        batch_timeout_micros=0,
        # A batch may have one request; more waiting batches than this fail.
        max_enqueued_batches=1_000_000,
        autograph=False,
    )
    def act(*flat: tf.Tensor) -> list[tf.Tensor]:
      return tf.nest.flatten(
          policy.action(*tf.nest.pack_sequence_as(inputs, flat))
      )

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, *spec.shape], spec.dtype)
            for spec in tf.nest.flatten(inputs)
        ],
        autograph=False,
    )
    def answer(*flat: tf.Tensor) -> list[tf.Tensor]:
      # TensorFlow joins the requests of all functions of one name in a
      # process, and answers them by one of these functions.
      with tf.name_scope(f'BatchedPolicy_{next(_COUNTER)}'):
        return act(*flat)

    self._answer = answer.get_concrete_function()

  def _get_initial_state(self, batch_size: int | None) -> types.NestedArray:
    # A time step belongs to one environment.
    return _first_rows(self._policy.get_initial_state(1))

  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedArray,
      seed: types.Seed | None = None,
  ) -> policy_step.PolicyStep:
    if seed is not None:
      raise errors.InvalidValue(
          'BatchedPolicy takes no seed: a batch has actions of other threads,'
          ' too.'
      )
    return self.answer(
        as_arrays(time_step, self.time_step_spec, 'time_step'),
        as_arrays(policy_state, self.policy_state_spec, 'policy_state'),
    )

  def answer(
      self, time_step: ts.TimeStep, policy_state: types.NestedArray
  ) -> policy_step.PolicyStep:
    """Returns the policy step of arrays that fit the specs; see `action`."""
    flat = tf.nest.flatten((time_step, policy_state))
    answers = self._answer(*(tf.constant(leaf[np.newaxis]) for leaf in flat))
    return tf.nest.pack_sequence_as(
        self._policy_step_spec, tf.nest.flatten(_first_rows(answers))
    )


def as_arrays(
    nest: types.NestedArray, spec: types.NestedArraySpec, name: str
) -> types.NestedArray:
  """Returns copies of a caller's arrays, with the types of a spec.

  Args:
    nest: A nest of arrays, or of values that NumPy converts to arrays.
    spec: A nest of array specs.
    name: Name of the argument, for messages.

  Raises:
    InvalidValue: If it does not fit the spec or is not finite, which would let
      its whole batch fail.
  """
  given, expected = (
      dict(spec_differences.leaves(each, name)) for each in (nest, spec)
  )
  if given.keys() != expected.keys():
    raise errors.InvalidValue(
        f'{name} has {sorted(given)} and must have {sorted(expected)}.'
    )
  arrays = []
  for path, leaf in expected.items():
    array = np.asarray(given[path])
    if array.shape != leaf.shape or not np.can_cast(
        array.dtype, leaf.dtype, 'same_kind'
    ):
      raise errors.InvalidValue(
          f'{path} is {array.dtype} {list(array.shape)} and must be'
          f' {np.dtype(leaf.dtype)} {list(leaf.shape)}: the time step of one'
          ' environment, without a batch dimension.'
      )
    with np.errstate(over='ignore'):  # 1e39 is infinite in float32.
      converted = array.astype(leaf.dtype)
    if converted.dtype.kind == 'f' and not np.all(np.isfinite(converted)):
      raise errors.InvalidValue(f'{path} is not finite: {converted}.')
    if converted.dtype.kind in 'iu' and not np.array_equal(converted, array):
      raise errors.InvalidValue(
          f'{path} is beyond the numbers of {np.dtype(leaf.dtype)}: {array}.'
      )
    arrays.append(converted)
  return tf.nest.pack_sequence_as(spec, arrays)


def _first_rows(nest: types.NestedTensor) -> types.NestedArray:
  """[1, ...] -> NumPy [...] in every tensor of a nest."""
  return tf.nest.map_structure(lambda x: x.numpy()[0], nest)
