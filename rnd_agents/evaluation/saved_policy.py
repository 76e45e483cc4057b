# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads a policy from the SavedModel of a run and checks what it can play."""

import os

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec

from rnd_agents import spec_differences

# Importing it is what registers the types of the saved distributions.
del tfp


class SavedPolicyError(ValueError):
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
    # TensorFlow and protobuf raise many kinds for a file that is cut short.
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
    mine = _leaves(self.time_step_spec.observation, self.action_spec)
    theirs = _leaves(environment.observation_spec(), environment.action_spec())
    faults = [
        f'its {name} is {one}, that of the environment {other}'
        if one != other
        else f'its {name} has other bounds than that of the environment'
        for name, one, other in spec_differences.differences(mine, theirs)
    ]
    if faults:
      raise SavedPolicyError(
          f'The policy is not one for {environment.name}: {"; ".join(faults)}.'
      )


def _leaves(observation_spec, action_spec):
  """Returns specs of one environment by name."""
  return {
      **spec_differences.leaves(
          tensor_spec.from_spec(observation_spec), 'observation'
      ),
      **spec_differences.leaves(tensor_spec.from_spec(action_spec), 'action'),
  }


def _no_policy(directory):
  """Returns a message about a folder without a SavedModel."""
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
