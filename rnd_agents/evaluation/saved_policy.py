# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy from the SavedModel that a run left, and what it must be given."""

import os

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import spec_differences

# Importing it is what registers the types of the saved distributions.
del tfp


class SavedPolicyError(errors.InvalidValue):
  """A folder that holds no policy, or one of another environment."""


class SavedPolicy:
  """A policy loaded from a SavedModel.

  Serves `Evaluator` as a `TFPolicy` does.

  Attributes:
    time_step_spec: `TimeStep` of tensor specs, of one environment.
    action_spec: Nest of tensor specs.
  """

  def __init__(self, directory):
    """Loads the policy.

    Args:
      directory: Folder of the SavedModel, such as `runs/x/policies/policy`.

    Raises:
      SavedPolicyError: If there is none; the message says where there is one.
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
    # Whatever TensorFlow or protobuf say of a file that is cut short.
    except Exception as error:  # pylint: disable=broad-exception-caught
      raise SavedPolicyError(
          f'{directory} is no policy that can be loaded: {_one_line(error)}'
      ) from error
    self.time_step_spec = specs['time_step_spec']
    self.action_spec = specs['action_spec']

  def check_fits(self, environment):
    """Raises SavedPolicyError unless the policy can play in an environment.

    Args:
      environment: A `VectorPyEnvironment`.
    """
    expected = ts.time_step_spec(environment.observation_spec()).observation
    faults = spec_differences.differences(
        self.time_step_spec.observation, expected, 'observation'
    ) + spec_differences.differences(
        self.action_spec, environment.action_spec(), 'action'
    )
    if faults:
      raise SavedPolicyError(
          f'The policy is not one for {environment.name}: its'
          f' {"; its ".join(faults)}.'
      )


def _no_policy(directory):
  """What to do about a folder without a SavedModel."""
  if not os.path.isdir(directory):
    message = f'{directory} is no folder.'
  else:
    message = f'{directory} holds no policy (no saved_model.pb).'
  for below in ('policy', 'policies/policy'):
    if os.path.isfile(os.path.join(directory, below, 'saved_model.pb')):
      return f'{message} Did you mean {os.path.join(directory, below)}?'
  return f'{message} A run leaves its policy in ROOT_DIR/policies/policy.'


def _one_line(error):
  return ' '.join(str(error).split())[:300]
