# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of recording episodes."""

import re

import gin
import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import random_tf_policy
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import demonstration_recorder
from rnd_agents.evaluation import evaluator
from tests import environments_for_tests


class Countdown(environments_for_tests.Steps):
  """Shows how many steps are left, of 3 to 6 as the seed says.

  The reward is 10 times the number of the step if the action, of 5, 6, 7, is
  the expert's: 5 + the number left modulo 3.
  """

  action_space = spaces.Discrete(3, start=5)

  def begin(self):
    self.count = int(self.np_random.integers(3, 7))

  def __init__(self):
    super().__init__(length=lambda env: env.count)

  @property
  def left(self):
    return self.count - self.num_steps

  def observation(self):
    return np.array([self.left], np.float32)

  def reward(self):
    is_right = self.action == 5 + (self.left + 1) % 3
    return (10.0 if is_right else -1000.0) * self.num_steps

  def expert_action(self):
    return 5 + self.left % 3


def _expected_length(seed):
  env = Countdown()
  env.reset(seed=seed)
  return env.left


# Seeds of the shortest episodes and of the longest.
_SHORT, _LONG = (
    next(s for s in range(99) if _expected_length(s) == n) for n in (3, 6)
)


def _countdowns(size, **kwargs):
  return loaders.load_environment(Countdown, size, **kwargs)


def _check_countdown(demo, reward_scale=1.0):
  length = _expected_length(demo.seed)
  steps = np.arange(length + 1)
  frames = demo.trajectory
  assert demo.length_env_steps == length
  assert demo.return_ == 10.0 * sum(range(length + 1))
  np.testing.assert_array_equal(frames.observation[:, 0], length - steps)
  action = (length - steps) % 3
  action[-1] = 0  # Of the boundary.
  np.testing.assert_array_equal(frames.action, action)
  reward = reward_scale * 10.0 * (steps + 1)
  reward[-1] = 0.0
  np.testing.assert_array_equal(frames.reward, reward)
  discount = np.ones(length + 1)
  discount[-2] = 0.0
  np.testing.assert_array_equal(frames.discount, discount)
  step_type = [0] + (length - 1) * [1] + [2]
  np.testing.assert_array_equal(frames.step_type, step_type)
  np.testing.assert_array_equal(frames.next_step_type, step_type[1:] + [0])
  dtypes = dict(next_step_type='i', reward='f', discount='f')
  for name, dtype in dtypes.items():
    assert getattr(frames, name).dtype == np.dtype(dtype)
  assert frames.policy_info == ()


@pytest.mark.parametrize(
    ('size', 'vectorization'), [(1, 'sync'), (4, 'sync'), (4, 'async')]
)
def test_expert_of_the_environment(size, vectorization):
  seeds = [5, 0, 1, 9, 3, 2]  # More than one round of 4, the last not full.
  assert len({_expected_length(seed) for seed in seeds}) > 2
  env = _countdowns(size, vectorization=vectorization)
  try:
    actor = actors.ExpertActor(env)
    demos = list(demonstration_recorder.record(env, actor, seeds))
  finally:
    env.close()
  assert [demo.seed for demo in demos] == seeds
  for demo in demos:
    _check_countdown(demo)


def test_episodes_of_before_do_not_count():
  env = _countdowns(1)
  env.reset_with_seeds([_SHORT])
  for _ in range(3):
    env.step(np.array(env.gymnasium_vector_env.call('expert_action')) - 5)
  (demo,) = demonstration_recorder.record(env, actors.ExpertActor(env), [_LONG])
  _check_countdown(demo)


def test_rewards_are_those_of_training_and_returns_are_not():
  env = _countdowns(2, reward_fn=lambda reward: reward / 8)
  for demo in demonstration_recorder.record(
      env, actors.ExpertActor(env), range(2)
  ):
    _check_countdown(demo, 1 / 8)
  env = _countdowns(1, reward_fn=wrappers.sign_of_reward)
  (demo,) = demonstration_recorder.record(env, actors.ExpertActor(env), [0])
  assert set(demo.trajectory.reward[:-1]) == {1.0}


def test_a_function_plays_and_may_write_into_what_it_sees():
  def play(observation):
    actions = [int(left) % 3 for left in observation[:, 0]]
    observation[:] = -1
    return actions

  env = _countdowns(3)
  actor = actors.FunctionActor(play, env)
  for demo in demonstration_recorder.record(env, actor, range(3)):
    _check_countdown(demo)


class _Counting(tf_policy.TFPolicy):
  """Its state counts; plays the rest of the state's number by 2."""

  def __init__(self, time_step_spec, action_spec):
    super().__init__(
        time_step_spec,
        action_spec,
        policy_state_spec=[
            tf.TensorSpec([], tf.int32), tf.TensorSpec([2], tf.float32)],
    )

  def _variables(self):
    return []

  def _action(self, time_step, policy_state, seed):
    count, more = policy_state
    # As recurrent networks do where an episode begins.
    first = time_step.is_first()
    count = tf.where(first, 0, count)
    more = tf.where(first[:, tf.newaxis], 0.0, more)
    state = [count + 1, more + [1.0, 10.0]]
    return policy_step.PolicyStep(tf.cast(count % 2, tf.int64), state, ())


def test_states_before_each_frame():
  env = loaders.load_environment('CartPole-v1', 2)
  policy = _Counting(
      ts.time_step_spec(tensor_spec.from_spec(env.observation_spec())),
      tensor_spec.from_spec(env.action_spec()),
  )
  actor = actors.PolicyActor(policy)
  spec = actors.network_state_spec(actor)
  assert [(s.shape, s.dtype) for s in spec] == [
      ((), np.int32), ((2,), np.float32)]
  demos = list(demonstration_recorder.record(env, actor, range(5), True))
  assert len(demos) == 5 and len({d.length_env_steps for d in demos}) > 1
  for demo in demos:
    steps = np.arange(demo.length_env_steps + 1)
    count, more = demo.trajectory.policy_info['network_state']
    np.testing.assert_array_equal(count, steps)  # Also of the boundary.
    np.testing.assert_array_equal(more, np.outer(steps, [1, 10]))
    assert (count.dtype, more.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(demo.trajectory.action[:-1], steps[:-1] % 2)
  without = list(demonstration_recorder.record(env, actor, range(2)))
  assert without[1].trajectory.policy_info == ()


def test_no_state_to_keep():
  env = _countdowns(1)
  actor = actors.ExpertActor(env)
  with pytest.raises(ValueError, match='no memory'):
    next(
        demonstration_recorder.record(env, actor, [0], keep_network_state=True)
    )


def test_continuous_actions_are_recorded_within_their_bounds():
  env = loaders.load_environment('Pendulum-v1', 1, max_episode_steps=6)
  wide = tensor_spec.BoundedTensorSpec([1], tf.float32, -9.0, 9.0)
  policy = random_tf_policy.RandomTFPolicy(
      ts.time_step_spec(tensor_spec.from_spec(env.observation_spec())), wide
  )
  actor = actors.PolicyActor(policy)
  demos = list(demonstration_recorder.record(env, actor, range(3)))
  actions = np.concatenate([demo.trajectory.action[:-1] for demo in demos])
  assert actions.max() == 2.0 and actions.min() == -2.0
  for demo in demos:
    frames = demo.trajectory
    assert frames.discount[-2] == 1.0  # A time limit is no termination.
    assert frames.step_type[-1] == 2 and len(frames.step_type) == 7
    again = gymnasium.make('Pendulum-v1')
    observation, _ = again.reset(seed=demo.seed)
    for t in range(6):
      np.testing.assert_allclose(frames.observation[t], observation, rtol=1e-6)
      observation = again.step(frames.action[t])[0]
    np.testing.assert_allclose(frames.observation[6], observation, rtol=1e-6)


def test_stopping_keeps_what_is_complete():
  seeds = list(range(9))
  lengths = [_expected_length(seed) for seed in seeds]
  shortest = min(lengths[3:6])
  assert shortest < max(lengths[3:6])  # A round of unlike ones.
  env = _countdowns(3)
  calls = []

  def play(observation):
    calls.append(0)
    return observation[:, 0].astype(np.int64) % 3

  until = max(lengths[:3]) + shortest
  demos = list(demonstration_recorder.record(
      env, actors.FunctionActor(play, env), seeds,
      should_stop=lambda: len(calls) == until))
  assert [demo.seed for demo in demos] == [0, 1, 2] + [
      seed for seed in seeds[3:6] if lengths[seed] == shortest]
  assert len(calls) == until
  for demo in demos:
    _check_countdown(demo)


class _Keys(environments_for_tests.Steps):
  """Acts by a Dict, of which a part counts from elsewhere than from 0."""

  action_space = spaces.Dict(
      force=spaces.Box(-1, 1, (2,)),
      keys=spaces.Tuple([
          spaces.Discrete(3, start=5),
          spaces.MultiDiscrete([2, 4], start=[1, -2]),
      ]),
  )

  def begin(self):
    self.played = []

  def reward(self):
    self.played.append(self.action)
    return 0.0

  def expert_action(self):
    return {
        'force': np.float32([0.5, -1]), 'keys': (np.int64(6), np.array([1, -1]))
    }


def test_expert_of_nested_actions():
  env = loaders.load_environment(_Keys, 2, env_kwargs={'length': 2})
  (demo,) = demonstration_recorder.record(env, actors.ExpertActor(env), [0])
  # In the environment as its expert said, in the frames as the spec counts.
  for single in env.gymnasium_vector_env.envs:
    for action in single.unwrapped.played:
      expected = single.unwrapped.expert_action()
      tf.nest.map_structure(np.testing.assert_array_equal, action, expected)
  frames = demo.trajectory.action
  np.testing.assert_array_equal(frames['force'][:2], 2 * [[0.5, -1]])
  np.testing.assert_array_equal(frames['keys'][0][:2], [1, 1])
  np.testing.assert_array_equal(frames['keys'][1][:2], 2 * [[0, 1]])


class _Pairs(environments_for_tests.Steps):
  """Acts by two numbers, which its expert gives as a list."""

  action_space = spaces.MultiDiscrete([5, 5])

  def expert_action(self):
    return [self.seed, 4]


def test_a_list_is_the_action_of_one_environment():
  # Two environments of two numbers each: not one array for each number.
  env = loaders.load_environment(_Pairs, 2, env_kwargs={'length': 1})
  demos = demonstration_recorder.record(env, actors.ExpertActor(env), [0, 1])
  found = [demo.trajectory.action[0].tolist() for demo in demos]
  assert found == [[0, 4], [1, 4]]


def test_a_function_may_return_lists_in_a_nest():
  env = loaders.load_environment(_Keys, 2, env_kwargs={'length': 1})

  def play(observation):
    del observation
    return {
        'force': [[0.5, 0.0], [-0.5, 1.0]], 'keys': [[0, 2], [[1, 0], [0, 3]]]
    }

  actor = actors.FunctionActor(play, env)
  demos = list(demonstration_recorder.record(env, actor, [0, 1]))
  forces = [demo.trajectory.action['force'][0].tolist() for demo in demos]
  keys = [demo.trajectory.action['keys'] for demo in demos]
  assert forces == [[0.5, 0.0], [-0.5, 1.0]]
  assert [first[0] for first, _ in keys] == [0, 2]
  assert [second[0].tolist() for _, second in keys] == [[1, 0], [0, 3]]
  actor = actors.FunctionActor(lambda observation: {'force': 0}, env)
  with pytest.raises(errors.UserError, match='must return actions like'):
    list(demonstration_recorder.record(env, actor, [0]))


@pytest.mark.parametrize(
    ('actions', 'message'),
    [
        (np.zeros(3, int), r'shape \(2,\) .* but has \(3,\)'),
        (np.zeros(2), 'must be int64, not float64'),
        (np.array([0, 3]), 'Environment 1: .* is 3'),
        (np.array([-1, 1]), 'Environment 0: .* is -1'),
        ({'a': np.zeros(2, np.int64)}, r'but has \(\)'),
        (None, r'but has \(\)'),
    ],
)
def test_actions_that_do_not_fit(actions, message):
  env = _countdowns(2)

  def wrong(observation):
    del observation
    return actions

  actor = actors.FunctionActor(wrong, env)
  with pytest.raises(errors.UserError, match=message):
    list(demonstration_recorder.record(env, actor, [0]))


class _KnowsItsWay(Countdown):
  """Has an expert for the episodes of some seeds only."""

  def expert_action(self):
    if self.seed > 9:
      raise RuntimeError('no way to a goal')
    return super().expert_action()


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_experts_are_not_called_for_episodes_that_do_not_count(vectorization):
  # Those that follow, in places that are done, have large seeds.
  env = loaders.load_environment(
      _KnowsItsWay, 3, seed=0, vectorization=vectorization
  )
  seeds = list(range(5))
  assert len({_expected_length(seed) for seed in seeds[:3]}) > 1
  try:
    demos = list(
        demonstration_recorder.record(env, actors.ExpertActor(env), seeds)
    )
    assert [demo.seed for demo in demos] == seeds
    for demo in demos:
      _check_countdown(demo)
    # What is asked for does raise.
    with pytest.raises(RuntimeError, match='no way to a goal'):
      list(demonstration_recorder.record(env, actors.ExpertActor(env), [10]))
  finally:
    env.close()


@pytest.mark.parametrize(
    'vectorization', ['sync', 'async', 'vector_entry_point']
)
def test_no_expert(vectorization):
  env = loaders.load_environment('CartPole-v1', 2, vectorization=vectorization)
  with pytest.raises(ValueError, match=r'CartPole-v1 .*expert_action'):
    list(demonstration_recorder.record(env, actors.ExpertActor(env), [0]))


def test_an_episode_without_an_end(monkeypatch):
  monkeypatch.setattr(evaluator, '_MAX_EPISODE_STEPS', 4)
  env = _countdowns(2)
  actor = actors.ExpertActor(env)
  demos = list(demonstration_recorder.record(env, actor, [_SHORT, _SHORT]))
  assert len(demos) == 2
  demos = []
  with pytest.raises(
      evaluator.EndlessEpisode, match='4 steps .*1 of 2.*max_episode_steps'
  ):
    demos.extend(demonstration_recorder.record(env, actor, [_SHORT, _LONG]))
  assert [demo.seed for demo in demos] == [_SHORT]
  _check_countdown(demos[0])


def test_an_error_leaves_what_is_complete():
  env = _countdowns(2)
  calls = []

  def play(observation):
    calls.append(0)
    if len(calls) == 5:
      raise ZeroDivisionError('of the expert')
    return observation[:, 0].astype(np.int64) % 3

  demos = []
  with pytest.raises(actors.ExpertFailure) as error:
    demos.extend(demonstration_recorder.record(
        env, actors.FunctionActor(play, env), [_LONG, _SHORT, _SHORT]))
  assert isinstance(error.value.__cause__, ZeroDivisionError)
  words = f'play .*ZeroDivisionError: of the expert.* step 5 .*seeds {_LONG}'
  assert re.match(words, str(error.value))
  assert [demo.seed for demo in demos] == [_SHORT]
  _check_countdown(demos[0])


class _Planner:
  """Looks at the first frame of an episode and never again."""

  def __init__(self):
    self.plans = {}

  def __call__(self, observation, time_step):
    actions = []
    for i, is_first in enumerate(time_step.is_first()):
      if is_first:
        left = int(observation[i, 0])
        self.plans[i] = [number % 3 for number in range(left, 0, -1)]
      actions.append(0 if time_step.is_last()[i] else self.plans[i].pop(0))
    observation[:] = time_step.observation[:] = -1
    return actions


@pytest.mark.parametrize('size', [1, 3])
def test_an_expert_that_plans_an_episode_at_its_start(size):
  seeds = list(range(7))
  assert len({_expected_length(seed) for seed in seeds}) > 2
  env = _countdowns(size)
  planner = actors.load_function(f'{__name__}:_Planner')
  demos = list(demonstration_recorder.record(
      env, actors.FunctionActor(planner, env), seeds))
  assert [demo.seed for demo in demos] == seeds
  for demo in demos:
    _check_countdown(demo)


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('module', "must be 'module:function'"),
        (':f', "must be 'module:function'"),
        ('no_such_thing:f', "No module named 'no_such_thing'"),
        ('os:no_such_thing', "os has no function 'no_such_thing'"),
        ('os:sep', "os has no function 'sep'"),
    ],
)
def test_functions_that_are_none(name, message):
  with pytest.raises(ValueError) as error:
    actors.load_function(name)
  assert message in str(error.value)


def test_a_function_by_its_name():
  assert actors.load_function('os.path:join')('a', 'b') == 'a/b'


def test_a_function_that_gin_configures(tmp_path, monkeypatch):
  (tmp_path / 'gin_experts.py').write_text("""
import gin

@gin.configurable
def add(first, second=3):
  return first + second
""")
  monkeypatch.syspath_prepend(str(tmp_path))
  gin.parse_config_files_and_bindings([], [])  # Locks, as a program does.
  assert actors.load_function('gin_experts:add')(4) == 7


def test_replay_of_a_whole_and_of_a_cut_episode():
  environment = loaders.load_environment(Countdown, num_environments=1)
  (played,) = demonstration_recorder.record(
      environment, actors.ExpertActor(environment), [11]
  )
  length = played.length_env_steps
  actions = played.trajectory.action[:-1]
  # Neither actions beyond the end count nor an episode that was not popped.
  longer = np.append(actions, [0, 0])
  steps = list(evaluator.replay_steps(environment, 11, longer))
  assert len(steps) == length + 1
  whole = demonstration_recorder.replay(environment, 11, longer)
  assert whole[:4] == played[:4]
  tf.nest.map_structure(
      np.testing.assert_array_equal, whole.trajectory, played.trajectory
  )
  cut = demonstration_recorder.replay(environment, 11, actions[:2])
  assert (cut.return_, cut.length_env_steps) == (10.0 + 20.0, 2)
  frames = cut.trajectory
  np.testing.assert_array_equal(frames.step_type, [0, 1, 2])
  np.testing.assert_array_equal(frames.discount, [1, 1, 1])  # No termination.
  np.testing.assert_array_equal(frames.reward, [10, 20, 0])
  np.testing.assert_array_equal(
      frames.observation[:, 0], [length, length - 1, length - 2]
  )
  environment.close()
