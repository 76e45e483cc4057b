# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of policies from a SavedModel."""

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.policies import policy_saver
from tf_agents.policies import random_tf_policy
from tf_agents.trajectories import time_step as ts

from rnd_agents.environments import loaders
from rnd_agents.evaluation import saved_policy
from tests import environments_for_tests


class Copy(random_tf_policy.RandomTFPolicy):
  """Does what it observes in b."""

  def _action(self, time_step, policy_state, seed):
    step = super()._action(time_step, policy_state, seed)
    return step._replace(action=tf.cast(time_step.observation['b'], tf.int64))


_CHOICE = gymnasium.spaces.Discrete(4)


def _environment(size=2, action_space=_CHOICE):
  return loaders.load_environment(
      environments_for_tests.Steps,
      env_kwargs=dict(
          observation_space=gymnasium.spaces.Dict(
              a=gymnasium.spaces.Box(0, 9, (size,), np.float32), b=_CHOICE
          ),
          action_space=action_space,
      ),
  )


def _save(policy, environment, directory):
  tf_env = tf_py_environment.TFPyEnvironment(environment)
  policy_saver.PolicySaver(
      policy(tf_env.time_step_spec(), tf_env.action_spec()), batch_size=None
  ).save(directory)


@pytest.fixture(name='directory', scope='module')
def _directory(tmp_path_factory):
  directory = str(tmp_path_factory.mktemp('run') / 'policies' / 'policy')
  _save(Copy, _environment(), directory)
  return directory


def test_acts_as_before_on_any_batch(directory):
  policy = saved_policy.SavedPolicy(directory)
  policy.check_fits(_environment())
  for batch_size in (1, 3):
    b = np.arange(batch_size)[::-1].astype(np.int64)
    time_step = ts.restart(
        {'a': tf.zeros([batch_size, 2]), 'b': tf.constant(b)}, batch_size
    )
    step = policy.action(time_step, policy.get_initial_state(batch_size))
    np.testing.assert_array_equal(step.action, b)


def _refused(policy, environment, words):
  with pytest.raises(saved_policy.SavedPolicyError, match=words):
    policy.check_fits(environment)


def test_another_environment_is_named(directory):
  policy = saved_policy.SavedPolicy(directory)
  _refused(policy, _environment(size=3), r'Steps: .*observation/a .*\[3\]')
  more = gymnasium.spaces.Discrete(5)
  _refused(policy, _environment(action_space=more), 'action is .* 0 to 4')


@pytest.mark.parametrize(
    ('mine', 'other', 'words'),
    [
        (
            gymnasium.spaces.MultiDiscrete([3, 2]),
            gymnasium.spaces.MultiDiscrete([2, 3]),
            r'\[2, 1\] and must be .*\[1, 2\]',
        ),
        (
            gymnasium.spaces.Box(-0.1, 1, (2,), np.float32),
            gymnasium.spaces.Box(-2, 1, (2,), np.float32),
            '-0.1 to 1.0 and must be .*-2.0 to 1.0',
        ),
    ],
)
def test_actions_of_other_bounds(tmp_path, mine, other, words):
  environment = _environment(action_space=mine)
  _save(random_tf_policy.RandomTFPolicy, environment, str(tmp_path))
  policy = saved_policy.SavedPolicy(str(tmp_path))
  policy.check_fits(environment)
  _refused(policy, _environment(action_space=other), words)


def test_folders_without_a_policy(directory, tmp_path):
  parent = directory.removesuffix('/policy')
  for folder, message in (
      (str(tmp_path / 'no'), 'is not a directory'),
      (str(tmp_path), 'no saved_model.pb'),
      (parent, f'Did you mean {directory}?'),
      (parent.removesuffix('/policies'), f'Did you mean {directory}?'),
  ):
    with pytest.raises(saved_policy.SavedPolicyError) as error:
      saved_policy.SavedPolicy(folder)
    assert message in str(error.value)
  (tmp_path / 'saved_model.pb').write_bytes(b'cut short')
  with pytest.raises(saved_policy.SavedPolicyError, match='loaded'):
    saved_policy.SavedPolicy(str(tmp_path))
