# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for single_environment."""

import pickle

import gym
import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.environments import utils

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import single_environment
from tests import environments_for_tests
from tests.environments import known


def scripted():
  return gymnasium.wrappers.TimeLimit(known.ScriptedEnv([2, 9, 1, 9]), 3)


def test_every_number_of_a_scripted_run():
  gym_env = scripted()
  env = single_environment.from_gymnasium(gym_env)
  assert env.gym is gym_env and not env.batched and env.name == 'ScriptedEnv'
  steps = [env.reset()]
  for t in range(9):
    # As TF-Agents gives them: NumPy's numbers and TensorFlow's.
    steps.append(env.step(np.int64(1) if t % 2 else tf.constant(0, tf.int64)))
    assert isinstance(env.get_info().get('is_success', True), (bool, np.bool_))
  for step, rows in zip(steps, known.SCRIPT, strict=True):
    expected = rows[0]  # Of environment 0.
    assert (step.step_type, step.reward, step.discount) == expected[:3]
    np.testing.assert_array_equal(step.observation, expected[3:])
    assert step.observation.dtype == np.float32
  episodes = [e[:5] for e in env.pop_episodes()]
  assert episodes == [e[:5] for e in known.SCRIPT_EPISODES if e[0] == 0]
  assert gym_env.unwrapped.actions[:2] == [0, 1]


def test_validation_and_tensorflow():
  for env_id in ('CartPole-v1', 'Pendulum-v1', 'FrozenLake-v1'):
    env = single_environment.from_gymnasium(gymnasium.make(env_id), seed=0)
    utils.validate_py_environment(env, episodes=3)
    assert env.name == env_id
  tf_env = tf_py_environment.TFPyEnvironment(env)
  assert tf_env.reset().observation.shape == (1,)


def test_seeds_and_state():
  def make(**kwargs):
    return single_environment.from_gymnasium(
        gymnasium.make('CartPole-v1'), **kwargs
    )

  one, same, other = make(seed=1), make(seed=1), make(seed=2)
  start = one.reset().observation
  np.testing.assert_array_equal(start, same.reset().observation)
  assert (start != other.reset().observation).all()
  cycled = make(seeding=episode_seeds.cycle([3, 4]))
  starts = [cycled.reset().observation for _ in range(3)]
  np.testing.assert_array_equal(starts[0], starts[2])
  assert (starts[0] != starts[1]).all()
  for _ in range(3):
    one.step(np.array(1))
  resumed = make()
  resumed.set_state(pickle.loads(pickle.dumps(one.get_state())))
  for _ in range(30):
    for a, b in zip(one.step(np.array(0)), resumed.step(np.array(0))):
      np.testing.assert_array_equal(a, b)


def test_info_render_and_close():
  env = single_environment.from_gymnasium(
      gymnasium.make('FrozenLake-v1', render_mode='rgb_array')
  )
  env.reset()
  assert env.get_info() == {'prob': 1}
  np.testing.assert_array_equal(env.render(), env.gym.render())
  env.close()


def test_others_are_refused():
  with pytest.raises(
      failures.EnvironmentSetupError, match='not CartPoleEnv.*from_old_gym'
  ):
    single_environment.from_gymnasium(gym.make('CartPole-v1').unwrapped)
  with pytest.raises(failures.EnvironmentSetupError, match='not str'):
    single_environment.from_gymnasium('CartPole-v1')
  with pytest.raises(
      failures.EnvironmentSetupError, match='CartPole.* use from_gymnasium'
  ):
    single_environment.from_old_gym(gymnasium.make('CartPole-v1'))


def test_old_gym_time_limits_are_truncations():
  env = single_environment.from_old_gym('MountainCar-v0', discount=0.9)
  step = env.reset()
  for _ in range(200):
    assert step.discount == (1.0 if step.is_first() else np.float32(0.9))
    step = env.step(np.array(0))
  assert step.is_last() and step.reward == -1
  assert step.discount == np.float32(0.9)
  assert env.step(np.array(0)).is_first()


class OldSuccess(gym.Env):
  """Ends by itself with the very step that a time limit would cut."""

  observation_space = gym.spaces.Box(0, 9, (1,), np.float32)
  action_space = gym.spaces.Discrete(2)

  def reset(self):
    self.steps = 0
    return np.float32([0])

  def step(self, action):
    self.steps += 1
    return np.float32([self.steps]), 1.0, self.steps == 3, {}


@pytest.mark.parametrize('limit, discounts', [
    (3, [1, 1, 0]), (5, [1, 1, 0]), (2, [1, 1, 1])
])
def test_old_gym_ends_are_ends(limit, discounts):
  env = single_environment.from_old_gym(
      gym.wrappers.TimeLimit(OldSuccess(), limit)
  )
  env.reset()
  steps = [env.step(np.array(0)) for _ in range(3)]
  assert [s.discount for s in steps] == discounts
  assert [int(s.step_type) for s in steps] == (
      [1, 1, 2] if limit > 2 else [1, 2, 0]
  )
  utils.validate_py_environment(env, episodes=2)


@pytest.mark.parametrize('space, right, wrong, words', [
    (gym.spaces.Discrete(3), 2, 3, 'from 0 to 2'),
    (gym.spaces.MultiBinary(2), [0, 1], [0, 2], r'2 at index \[1\]'),
    # Cast to bytes, it would be 44.
    (gym.spaces.Box(0, 255, (1,), np.uint8), [255], np.array([300]), '300'),
    (gym.spaces.Box(0, 1, (2,), np.float32), [0.5, 0], [500, 0], '500'),
    (gym.spaces.Box(0, 1, (1,), np.float32), [1.0], [np.nan], 'nan'),
    (
        gym.spaces.Dict(b=gym.spaces.Discrete(2), a=gym.spaces.Discrete(9)),
        dict(b=1, a=8), dict(b=2, a=0), "observation/b' is 2",
    ),
])
@pytest.mark.parametrize('doing', ['reset', 'step'])
def test_old_gym_observations_outside_of_their_space(
    doing, space, right, wrong, words
):
  class Shows(OldSuccess):
    observation_space = space
    shown = right

    def reset(self):
      super().reset()
      return self.shown

    def step(self, action):
      return self.shown, *super().step(action)[1:]

  env = single_environment.from_old_gym(Shows())
  np.testing.assert_equal(dict(o=env.reset().observation), dict(o=right))
  utils.validate_py_environment(env, episodes=1)
  env.reset()
  env.gym.shown = wrong
  with pytest.raises(failures.EnvironmentFailure, match=words) as caught:
    env.reset() if doing == 'reset' else env.step(np.array(0))
  assert str(caught.value).startswith(f'Shows: {doing} raised ')


def test_a_dict_action_without_a_batch():
  gym_env = environments_for_tests.Steps(
      reward=lambda env: float(env.action['kind']),
      action_space=spaces.Dict(
          kind=spaces.Discrete(2, start=5), where=spaces.Box(-1, 1, (2,))
      ),
  )
  env = single_environment.from_gymnasium(gym_env)
  env.reset()
  step = env.step({'kind': np.array(1), 'where': np.float32([0.5, -0.5])})
  assert step.reward == 6.0  # The spec counts from 0.
  np.testing.assert_array_equal(gym_env.action['where'], [0.5, -0.5])
