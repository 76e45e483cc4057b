# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy that many threads ask for one action each."""

import itertools

import numpy as np
import tensorflow as tf
from tf_agents.policies import py_policy

from rnd_agents import errors
from rnd_agents import spec_differences

_COUNTER = itertools.count()

# More threads than that wait for the next batch.
_MAX_BATCH_SIZE = 1024


class BatchedPolicy(py_policy.PyPolicy):
  """Answers single time steps of any number of threads, in batches.

  What threads ask while the policy computes is its next batch; who asks alone
  waits for nobody. Each batch reads the policy's variables anew.

  TensorFlow keeps a thread for it, half a percent of a core, until the process
  ends: make one for a policy, and not one for each who asks.
  """

  def __init__(self, policy):
    """Builds the graph, the only one whatever the size of a batch.

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
        # Of one request each at worst; more of them than this fail.
        max_enqueued_batches=1_000_000,
        autograph=False,
    )
    def act(*flat):
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
    def answer(*flat):
      # TensorFlow joins the requests of all functions of one name in a
      # process, and answers them by one of these functions.
      with tf.name_scope(f'BatchedPolicy_{next(_COUNTER)}'):
        return act(*flat)

    self._answer = answer.get_concrete_function()

  def _get_initial_state(self, batch_size):
    # A time step is of one environment.
    return _only_rows(self._policy.get_initial_state(1))

  def _action(self, time_step, policy_state, seed=None):
    if seed is not None:
      raise errors.InvalidValue(
          'BatchedPolicy takes no seed: a batch has actions of others, too.'
      )
    return self.answer(
        as_arrays(time_step, self.time_step_spec, 'time_step'),
        as_arrays(policy_state, self.policy_state_spec, 'policy_state'),
    )

  def answer(self, time_step, policy_state):
    """Returns what `action` does; takes arrays of the specs, unchecked."""
    flat = tf.nest.flatten((time_step, policy_state))
    answers = self._answer(*(tf.constant(leaf[np.newaxis]) for leaf in flat))
    return tf.nest.pack_sequence_as(
        self._policy_step_spec, tf.nest.flatten(_only_rows(answers))
    )


def as_arrays(nest, spec, name):
  """Returns copies of what a caller gave, as arrays of a spec.

  Args:
    nest: A nest of what NumPy takes for arrays.
    spec: A nest of array specs.
    name: What it is, in messages.

  Raises:
    InvalidValue: If it does not fit the spec, or is not finite: in a batch it
      would be a failure of all.
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
          f' {np.dtype(leaf.dtype)} {list(leaf.shape)}, of one environment.'
      )
    with np.errstate(over='ignore'):  # 1e39 is infinite in float32.
      array = array.astype(leaf.dtype)
    if array.dtype.kind == 'f' and not np.all(np.isfinite(array)):
      raise errors.InvalidValue(f'{path} is not finite: {array}.')
    arrays.append(array)
  return tf.nest.pack_sequence_as(spec, arrays)


def _only_rows(nest):
  """[1, ...] -> NumPy [...] in every tensor of a nest."""
  return tf.nest.map_structure(lambda x: x.numpy()[0], nest)
