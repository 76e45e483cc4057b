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


class Echo(gymnasium.Env):
  """Observes a dictionary."""

  observation_space = gymnasium.spaces.Dict(
      a=gymnasium.spaces.Box(0, 9, (2,), np.float32),
      b=gymnasium.spaces.Discrete(4),
  )
  action_space = gymnasium.spaces.Discrete(4)

  def __init__(self, num_actions=4, size=2):
    self.action_space = gymnasium.spaces.Discrete(num_actions)
    self.observation_space = gymnasium.spaces.Dict(
        a=gymnasium.spaces.Box(0, 9, (size,), np.float32),
        b=gymnasium.spaces.Discrete(4),
    )


class Copy(random_tf_policy.RandomTFPolicy):
  """Does what it observes in b."""

  def _action(self, time_step, policy_state, seed):
    step = super()._action(time_step, policy_state, seed)
    return step._replace(action=tf.cast(time_step.observation['b'], tf.int64))


def _environment(**env_kwargs):
  return loaders.load_environment(Echo, 1, env_kwargs=env_kwargs)


@pytest.fixture(name='directory', scope='module')
def _directory(tmp_path_factory):
  directory = str(tmp_path_factory.mktemp('run') / 'policies' / 'policy')
  tf_env = tf_py_environment.TFPyEnvironment(_environment())
  policy = Copy(tf_env.time_step_spec(), tf_env.action_spec())
  policy_saver.PolicySaver(policy, batch_size=None).save(directory)
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


@pytest.mark.parametrize(
    ('env_kwargs', 'message'),
    [
        (
            {'size': 3},
            'The policy does not fit Echo: its observation/a is float32 [2]'
            ' and must be float32 [3].',
        ),
        (
            {'num_actions': 5},
            'its action is int64 [] of 0 to 3 and must be int64 [] of 0 to 4.',
        ),
    ],
)
def test_another_environment_is_named(directory, env_kwargs, message):
  policy = saved_policy.SavedPolicy(directory)
  with pytest.raises(saved_policy.SavedPolicyError) as error:
    policy.check_fits(_environment(**env_kwargs))
  assert message in str(error.value)


@pytest.mark.parametrize(
    ('mine', 'other', 'message'),
    [
        (
            gymnasium.spaces.MultiDiscrete([3, 2]),
            gymnasium.spaces.MultiDiscrete([2, 3]),
            'int64 [2] of 0 to [2, 1] and must be int64 [2] of 0 to [1, 2].',
        ),
        (
            gymnasium.spaces.Box(-0.1, 1, (2,), np.float32),
            gymnasium.spaces.Box(-2, 1, (2,), np.float32),
            'float32 [2] of -0.1 to 1.0 and must be float32 [2] of -2.0 to'
            ' 1.0.',
        ),
    ],
)
def test_actions_of_other_bounds(tmp_path, monkeypatch, mine, other, message):
  monkeypatch.setattr(Echo, '__init__', lambda self: None)
  monkeypatch.setattr(Echo, 'action_space', mine)
  environment = _environment()
  tf_env = tf_py_environment.TFPyEnvironment(environment)
  policy_saver.PolicySaver(
      random_tf_policy.RandomTFPolicy(
          tf_env.time_step_spec(), tf_env.action_spec()
      )
  ).save(str(tmp_path))
  policy = saved_policy.SavedPolicy(str(tmp_path))
  policy.check_fits(environment)
  monkeypatch.setattr(Echo, 'action_space', other)
  with pytest.raises(saved_policy.SavedPolicyError) as error:
    policy.check_fits(_environment())
  assert message in str(error.value)


def test_folders_without_a_policy(directory, tmp_path):
  parent = directory.removesuffix('/policy')
  for folder, message in (
      (str(tmp_path / 'no'), 'is not a directory'),
      (str(tmp_path), 'has no policy (no saved_model.pb). The policy of'),
      (parent, f'Did you mean {directory}?'),
      (parent.removesuffix('/policies'), f'Did you mean {directory}?'),
  ):
    with pytest.raises(saved_policy.SavedPolicyError) as error:
      saved_policy.SavedPolicy(folder)
    assert message in str(error.value)
  (tmp_path / 'saved_model.pb').write_bytes(b'cut short')
  with pytest.raises(saved_policy.SavedPolicyError, match='cannot be loaded'):
    saved_policy.SavedPolicy(str(tmp_path))
