# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads a policy, with its specs, from a SavedModel of a run."""

import os

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import spec_differences
from rnd_agents.environments import vector_environment

# The import registers the types of the saved distributions.
del tfp


class SavedPolicyError(errors.InvalidValue):
  """A directory has no policy, or one for another environment."""


class SavedPolicy:
  """A policy loaded from a SavedModel.

  `Evaluator` takes it like a `TFPolicy`.

  Attributes:
    time_step_spec: `TimeStep` of tensor specs of one environment.
    action_spec: Nest of tensor specs.
  """

  def __init__(self, directory: str):
    """Loads the policy.

    Args:
      directory: Directory of the SavedModel, such as `runs/x/policies/policy`.

    Raises:
      SavedPolicyError: If there is no policy; the message suggests where to
        find it.
    """
    if not os.path.isfile(os.path.join(directory, 'saved_model.pb')):
      raise SavedPolicyError(_no_policy(directory))
    specs_path = os.path.join(directory, policy_saver.POLICY_SPECS_PBTXT)
    try:
      self._model = tf.saved_model.load(directory)
      specs = policy_saver.specs_from_collect_data_spec(
          tensor_spec.from_pbtxt_file(specs_path)
      )
      self.action = self._model.action
      self.get_initial_state = self._model.get_initial_state
    # TensorFlow and protobuf raise various errors for a truncated file.
    except Exception as error:  # pylint: disable=broad-exception-caught
      raise SavedPolicyError(
          f'The policy in {directory} cannot be loaded: {_one_line(error)}'
      ) from error
    self.time_step_spec = specs['time_step_spec']
    self.action_spec = specs['action_spec']

  def check_fits(
      self, environment: vector_environment.VectorPyEnvironment
  ) -> None:
    """Raises SavedPolicyError unless the policy can play in an environment."""
    expected = ts.time_step_spec(environment.observation_spec()).observation
    faults = spec_differences.differences(
        self.time_step_spec.observation, expected, 'observation'
    ) + spec_differences.differences(
        self.action_spec, environment.action_spec(), 'action'
    )
    if faults:
      raise SavedPolicyError(
          f'The policy does not fit {environment.name}: its'
          f' {"; its ".join(faults)}.'
      )


def _no_policy(directory: str) -> str:
  """Returns a message for a directory without a SavedModel."""
  if not os.path.isdir(directory):
    message = f'{directory} is not a directory.'
  else:
    message = f'{directory} has no policy (no saved_model.pb).'
  for below in ('policy', 'policies/policy'):
    if os.path.isfile(os.path.join(directory, below, 'saved_model.pb')):
      return f'{message} Did you mean {os.path.join(directory, below)}?'
  return f'{message} The policy of a run is in ROOT_DIR/policies/policy.'


def _one_line(error: BaseException) -> str:
  return ' '.join(str(error).split())[:300]
