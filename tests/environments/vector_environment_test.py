# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for vector_environment, on environments whose every number is known."""

import functools

import gin
from gymnasium import spaces
from gymnasium import vector
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.policies import random_tf_policy
from tf_agents.replay_buffers import tf_uniform_replay_buffer

from rnd_agents import errors
from rnd_agents.environments import episode_log
from rnd_agents.environments import failures
from rnd_agents.environments import infos
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.environments import wrappers
from tests import environments_for_tests
from tests.environments import known

FIRST, MID, LAST = known.FIRST, known.MID, known.LAST


def _popped(env):
  """Finished episodes, without what the environment's info adds."""
  return [episode[:6] for episode in env.pop_episodes()]


def assert_time_step(time_step, rows):
  columns = list(zip(*rows))
  np.testing.assert_array_equal(time_step.step_type, columns[0])
  np.testing.assert_array_equal(time_step.reward, columns[1])
  np.testing.assert_array_equal(time_step.discount, columns[2])
  np.testing.assert_array_equal(
      time_step.observation, np.stack(columns[3:], axis=1)
  )
  assert time_step.step_type.dtype == np.int32
  assert time_step.reward.dtype == np.float32
  assert time_step.discount.dtype == np.float32
  assert time_step.observation.dtype == np.float32


def test_every_number_of_a_scripted_run():
  env = known.scripted()
  assert env.batched and env.batch_size == 2
  assert env.observation_spec().dtype == np.float32  # The space is float64.
  assert_time_step(env.reset(), known.SCRIPT[0])
  for rows in known.SCRIPT[1:]:
    assert_time_step(env.step(np.array([0, 1])), rows)
    assert_time_step(env.current_time_step(), rows)
  assert _popped(env) == known.SCRIPT_EPISODES
  assert env.pop_episodes() == []


def test_time_steps_do_not_change_afterwards():
  # copy=False: the vector environment writes into the same buffer always.
  env = known.scripted(copy=False)
  time_steps = [env.reset()]
  time_steps += [env.step(np.array([0, 1])) for _ in known.SCRIPT[1:]]
  for time_step, rows in zip(time_steps, known.SCRIPT, strict=True):
    assert_time_step(time_step, rows)


def test_step_before_reset_and_reset_within_an_episode():
  env = known.scripted()
  assert_time_step(env.step(np.array([0, 0])), known.SCRIPT[0])
  for _ in range(2):
    env.step(np.array([0, 0]))
  assert len(env.pop_episodes()) == 1
  # Environment 0 has ended and 1 has not; both begin episode 1 now.
  assert_time_step(env.reset(), [(FIRST, 0, 1, 1, 0)] * 2)
  step = env.step(np.array([0, 0]))
  assert_time_step(step, [(MID, 11, 1, 1, 1), (LAST, 11, 0, 1, 1)])
  # The two steps before the reset are in no return.
  assert _popped(env) == [(1, 11.0, 1, True, False, None)]


def test_through_tf_environment_driver_and_replay_buffer():
  env = tf_py_environment.TFPyEnvironment(known.scripted())
  policy = random_tf_policy.RandomTFPolicy(
      env.time_step_spec(), env.action_spec()
  )
  replay_buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      policy.trajectory_spec, batch_size=2, max_length=20
  )
  # Counts steps that are not boundaries: 6 of environment 0, 7 of 1.
  dynamic_step_driver.DynamicStepDriver(
      env, policy, observers=[replay_buffer.add_batch], num_steps=13
  ).run()
  rows = replay_buffer.gather_all()  # [B, T, ...]
  script = np.array(known.SCRIPT)  # [T + 1, B, 5]
  assert rows.reward.shape == (2, len(known.SCRIPT) - 1)
  np.testing.assert_array_equal(rows.step_type, script[:-1, :, 0].T)
  np.testing.assert_array_equal(rows.next_step_type, script[1:, :, 0].T)
  np.testing.assert_array_equal(rows.reward, script[1:, :, 1].T)
  np.testing.assert_array_equal(rows.discount, script[1:, :, 2].T)
  np.testing.assert_array_equal(
      rows.observation, script[:-1, :, 3:].transpose([1, 0, 2])
  )
  assert _popped(env.pyenv) == known.SCRIPT_EPISODES


@pytest.mark.parametrize('action', [
    np.array([0, 1], np.int64),
    np.array([0, 1], np.int32),
    tf.constant([0, 1], tf.int64),
    [0, 1],
])
def test_actions_reach_the_environments(action):
  env = known.scripted()
  assert env.action_spec().dtype == np.int64
  env.reset()
  env.step(action)
  received = [e.unwrapped.actions for e in env.gymnasium_vector_env.envs]
  assert received == [[0], [1]]
  assert all(a[0].dtype == np.int64 for a in received)


def test_bad_actions_are_refused():
  env = known.scripted()
  env.reset()
  with pytest.raises(ValueError, match=r"'action' must have shape \(2,\)"):
    env.step(np.array([0, 1, 1]))
  with pytest.raises(TypeError, match="'action' must be int64, not float32"):
    env.step(np.array([0.0, 0.7], np.float32))


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_observations_are_not_cut_to_the_type_of_their_space(vectorization):
  fractions = functools.partial(
      environments_for_tests.Steps,
      observation=lambda env: (
          np.full(2, 0.5) if env.num_steps else np.zeros(2, np.uint8)
      ),
      observation_space=spaces.Box(0, 255, (2,), np.uint8),
  )
  env = loaders.load_environment(fractions, 2, vectorization=vectorization)
  with pytest.raises(failures.EnvironmentFailure, match='not in its space Box'):
    for _ in range(2):
      env.step(np.zeros(2, int))
  env.close()


def test_raw_returns_are_summed_in_float64():
  # In float32, 1e8 + 1 is 1e8.
  steps = [
      (np.zeros([2, 1]), np.array([1e8, 1]), [0, 0], [0, 0], {}),
      (np.zeros([2, 1]), np.array([1.0, 2]), [1, 0], [0, 0], {}),
  ]
  env = known.playback(spaces.Box(-1, 1, (1,)), np.zeros([2, 1]), steps)
  env.reset()
  env.step(np.zeros(2, int))
  env.step(np.zeros(2, int))
  assert env.pop_episodes()[0].return_ == 100_000_001.0


def test_success_is_read_only_where_the_info_is_known():
  zeros = np.zeros([2, 1], np.float32)
  ended, going = np.array([True, True]), np.array([False, False])
  infos = [
      {'is_success': np.array([True, False]),
       '_is_success': np.array([True, False])},
      {},  # The autoreset.
      {'is_success': np.array([False, True])},  # No mask: known of all.
      {},
      {'is_success': np.array([np.True_, None], object),
       '_is_success': np.array([True, False])},
  ]
  steps = [
      (zeros, np.ones(2), going if i % 2 else ended, going, info)
      for i, info in enumerate(infos)
  ]
  env = known.playback(spaces.Box(-1, 1, (1,)), zeros, steps)
  env.reset()
  for info in infos:
    env.step(np.zeros(2, int))
    assert env.get_info() is info
  successes = [episode.success for episode in env.pop_episodes()]
  assert successes == [True, None, False, True, True, None]
  assert all(s is None or type(s) is bool for s in successes)


# Functions of the place of the environment and of the step that give its info.
@pytest.mark.parametrize('info', [
    lambda i, t: {'x': np.arange(t + i)},  # Of changing length.
    lambda i, t: {'x': list(range(i))},
    lambda i, t: {'x': [0, 0.5][i]},
    lambda i, t: {'x': [False, 3][i]},
    lambda i, t: {'x': [1, np.ones(2)][i]},
    lambda i, t: {'x': [{'a': 1}, 3][i]},
    lambda i, t: {'x': [3, {'a': 1}][i]},
    lambda i, t: {'x': [1, 2**70][i]},
    lambda i, t: {'x': [2**70, 1][i]},
    lambda i, t: {'x': [None, 0.5][i]},
    lambda i, t: {'x': ['a', 'bcd'][i]},
    lambda i, t: {'x': np.array(['a', 'bcd'][i])},
    lambda i, t: {0: 1.0, (1, 2): 3},
    lambda i, t: {'x': {'y': {'z': np.arange(i)}}},
    lambda i, t: {'x': 2.5} if i else {},
])
def test_infos_are_joined_whatever_they_hold(info):
  places = iter(range(2))
  def make():
    place = next(places)
    return environments_for_tests.Steps(
        info=lambda env: info(place, env.num_steps)
    )

  env = loaders.load_environment(make, 2)
  env.reset()
  for _ in range(3):
    env.step(np.zeros(2, int))
  for i in range(2):
    np.testing.assert_equal(infos.of_one(env.get_info(), i), info(i, 3))


def test_the_name_of_a_mask_stays_a_mask():
  told = {}
  for info in ({'x': 1.0, '_x': ''}, {'_x': '', 'x': 2.0}):
    infos.add_info(told, info, int(bool(told)), 2)
  np.testing.assert_equal(told, {'x': [1.0, 2.0], '_x': [True, True]})


# Keys that the adapter reads, as other environments use them; and what is read.
@pytest.mark.parametrize('info, expected', [
    ({'is_success': True}, dict(success=True)),
    ({'is_success': 0.0}, dict(success=False)),
    ({'is_success': np.array([1])}, dict(success=True)),
    ({'is_success': 'no'}, {}),
    ({'is_success': 0.7}, {}),
    ({'is_success': np.nan}, {}),
    ({'is_success': np.array([True, False])}, {}),
    ({'is_success': [True, False]}, {}),
    ({'is_success': {'left': True}}, {}),
    ({'is_success': None}, {}),
    ({'episode': 7}, {}),
    ({'episode': {'r': 3.5, 'l': 3}}, dict(return_=3.5)),
    ({'episode': {'r': np.array([1.0, 2.0])}}, {}),
    ({'episode': {'r': None}}, {}),
    ({'rooms_visited': 3}, dict(rooms_visited=3)),
    ({'rooms_visited': [1, 2, 3]}, {}),
    ({'rooms_visited': np.arange(3)}, {}),
    ({'rooms_visited': -1}, {}),
    ({'time_steps': np.int32(4)}, dict(length_time_steps=4)),
    ({'time_steps': 12.7}, {}),
    ({'time_steps': np.linspace(0, 1, 4)}, {}),
    ({'time_steps': '12:00'}, {}),
])
def test_infos_that_may_mean_something_else(caplog, info, expected):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      2,
      env_kwargs=dict(length=1, reward=lambda env: 2.0, info=lambda _: info),
  )
  env.reset()
  env.step(np.zeros(2, int))
  plain = dict(
      return_=2.0, success=None, rooms_visited=None, length_time_steps=None
  )
  for episode in env.pop_episodes():
    fields = episode._asdict()
    assert {name: fields[name] for name in plain} == {**plain, **expected}
  assert ('ignored' in caplog.text) == (not expected)


# B = 2 episodes of one step and of two steps: what the infos are at their ends.
@pytest.mark.parametrize('info, expected', [
    (lambda i, t: {'distance': 0.5 * t + i}, [{'distance': 0.5},
                                              {'distance': 2.0}]),
    (lambda i, t: {'done': {'wood': t, 'stone': bool(i)}, 'distance': i},
     [{'done_wood': 1, 'done_stone': 0, 'distance': 0},
      {'done_wood': 2, 'done_stone': 1, 'distance': 1}]),
    # Reported by one environment, under entries of its own, or at other times.
    (lambda i, t: {'done': {'wood': 3}} if i else {}, [None, {'done_wood': 3}]),
    (lambda i, t: {'done': {f'place_{i}': 3}},
     [{'done_place_0': 3}, {'done_place_1': 3}]),
    # Players by number.
    (lambda i, t: {'done': {0: t, (1, 2): i}},
     [{'done_0': 1, 'done_(1, 2)': 0}, {'done_0': 2, 'done_(1, 2)': 1}]),
    (lambda i, t: {'distance': 2} if t < 1 else {}, [None, None]),
    # No numbers.
    (lambda i, t: {'distance': 'far', 'done': {'wood': np.nan, 'ore': [1, 2]}},
     [None, None]),
    (lambda i, t: {'done': np.arange(3), 'distance': np.inf}, [None, None]),
])
@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_numbers_of_infos_are_recorded(info, expected, vectorization):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      2,
      env_kwargs=lambda place: dict(
          length=place + 1, info=lambda env: info(place, env.num_steps)
      ),
      info_keys=('done', 'distance'),
      vectorization=vectorization,
  )
  env.reset()
  for _ in range(2):
    env.step(np.zeros(2, int))
  episodes = {e.environment_index: e.info for e in env.pop_episodes()}
  assert [episodes[0], episodes[1]] == expected
  env.close()


def test_a_missing_key_of_infos_is_mentioned_once(caplog):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      2,
      env_kwargs=dict(length=1, info=lambda _: {'speed': 1}),
      info_keys=['distance'],
  )
  env.reset()
  for _ in range(4):
    env.step(np.zeros(2, int))
  assert caplog.text.count("No info['distance']") == 1
  assert "['speed']" in caplog.text


@pytest.mark.parametrize('keys', ['distance', (1,), 1, None])
def test_keys_of_infos_are_a_list_of_texts(keys):
  with pytest.raises(errors.InvalidType, match='info_keys must be'):
    loaders.load_environment(environments_for_tests.Steps, 1, info_keys=keys)


def test_an_info_that_is_ignored_is_mentioned_once(caplog):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      2,
      env_kwargs=dict(
          length=1,
          reward=lambda env: 2.0,
          info=lambda env: {'is_success': np.random.random()},
      ),
  )
  env.reset()
  for _ in range(4):
    env.step(np.zeros(2, int))
  assert len(env.pop_episodes()) == 4
  assert caplog.text.count('ignored') == 1


@pytest.mark.parametrize('value, expected', [
    (True, [True, True]), ([False, True], [False, True]), ('no', [None, None]),
    ([True], [True, None]),
])
def test_a_success_of_all_environments(value, expected):
  zeros, end = np.zeros([2, 1]), np.array([True, True])
  env = known.playback(
      spaces.Box(-1, 1, (1,)),
      zeros,
      [(zeros, np.ones(2), end, ~end, {'is_success': value})],
  )
  env.reset()
  env.step(np.zeros(2, int))
  assert [episode.success for episode in env.pop_episodes()] == expected


def test_infos_of_a_vector_environment_that_are_a_list():
  zeros, end = np.zeros([2, 1]), np.array([False, False])
  env = known.playback(
      spaces.Box(-1, 1, (1,)), zeros, [(zeros, end + 0.0, end, end, [{}, {}])]
  )
  env.reset()
  with pytest.raises(
      failures.EnvironmentFailure, match='infos must be a dict.* list'
  ):
    env.step(np.zeros(2, int))


@pytest.mark.parametrize('reward, terminated, message', [
    (np.array(['1', '2']), np.zeros(2, bool), 'reward must hold numbers'),
    (np.zeros(2), np.array([None, False]), 'terminated must hold booleans'),
    (np.zeros(2), np.array([np.nan, 0]), 'terminated must hold booleans'),
    (np.zeros(2), False, r'terminated must be one .*shape \[\]'),
])
def test_values_of_a_vector_environment(reward, terminated, message):
  zeros = np.zeros([2, 1])
  env = known.playback(
      spaces.Box(-1, 1, (1,)),
      zeros,
      [(zeros, reward, terminated, np.zeros(2, bool), {})],
  )
  env.reset()
  with pytest.raises(failures.EnvironmentFailure, match=message):
    env.step(np.zeros(2, int))


@pytest.mark.parametrize('lives', ['three', None, np.arange(3), [3, 2]])
def test_lives_that_are_no_numbers(lives):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      3,
      env_kwargs=dict(info=lambda env: {'hearts': lives}),
      lives_key='hearts',
  )
  with pytest.raises(failures.EnvironmentFailure, match='lives_key.*hearts'):
    env.reset()


def test_what_an_autoreset_step_claims_is_ignored():
  zeros = np.zeros([2, 1], np.float32)
  none, both = np.array([False, False]), np.array([True, True])
  only_0 = np.array([True, False])
  rewards = np.array([7.0, 3.0])
  # A careless vector environment: at the second step, environment 0 begins
  # anew and its reward and its end are still those of the step before.
  steps = [
      (zeros, rewards, only_0, none, {}),
      (zeros, rewards, both, none, {}),
      (zeros, rewards, none, both, {}),
  ]
  env = known.playback(spaces.Box(-1, 1, (1,)), zeros, steps)
  env.reset()
  time_steps = [env.step(np.zeros(2, int)) for _ in steps]
  np.testing.assert_array_equal(time_steps[1].step_type, [FIRST, LAST])
  np.testing.assert_array_equal(time_steps[1].reward, [0, 3])
  np.testing.assert_array_equal(time_steps[1].discount, [1, 0])
  np.testing.assert_array_equal(time_steps[2].step_type, [LAST, FIRST])
  np.testing.assert_array_equal(time_steps[2].reward, [7, 0])
  np.testing.assert_array_equal(time_steps[2].discount, [1, 1])
  assert _popped(env) == [
      (0, 7.0, 1, True, None, None),
      (1, 6.0, 2, True, None, None),
      (0, 7.0, 1, False, None, None),
  ]
  np.testing.assert_array_equal(rewards, [7.0, 3.0])  # Not written to.


@pytest.mark.parametrize('settings, left', [
    ({}, 0.0), (dict(life_discount=0.75), 0.75)
])
def test_a_lost_life_lowers_the_discount_and_ends_no_episode(settings, left):
  zeros = np.zeros([2, 1], np.float32)
  none, only_0 = np.array([False, False]), np.array([True, False])
  only_1, mark = np.array([False, True]), np.array([False, True])
  steps = [  # (terminated, truncated, infos), discounts worked out by hand.
      ((none, none, dict(hearts=[3, 2])), [1, 1]),
      ((none, none, dict(hearts=[2, 2])), [left, 1]),
      # Environment 0 does not say; what stands there for it is nothing.
      ((none, none, dict(hearts=[0, 9], _hearts=mark)), [1, 1]),
      # The last life, and one that is lost where a time limit ends the episode.
      ((only_0, only_1, dict(hearts=[0, 8])), [0, left]),
      ((none, none, {}), [1, 1]),  # Both begin.
      ((none, none, dict(hearts=[1, 1])), [1, left]),
      ((none, only_0, dict(hearts=[1, 1])), [1, 1]),
      # A new episode with fewer lives has lost none.
      ((none, none, dict(hearts=[0, 1])), [1, 1]),
  ]
  env = known.playback(
      spaces.Box(-1, 1, (1,)),
      zeros,
      [(zeros, np.ones(2), *step) for step, _ in steps]
      + [(zeros, np.ones(2), none, none, dict(feet=1, _feet=none))],
      lives_key='hearts',
      **settings,
  )
  np.testing.assert_array_equal(env.reset().discount, [1, 1])
  step_types = []
  for _, discounts in steps:
    time_step = env.step(np.zeros(2, int))
    np.testing.assert_array_equal(time_step.discount, discounts)
    step_types.append(time_step.step_type.tolist())
  assert step_types == [
      [MID, MID], [MID, MID], [MID, MID], [LAST, LAST], [FIRST, FIRST],
      [MID, MID], [LAST, MID], [FIRST, MID],
  ]
  assert [episode[1:4] for episode in env.pop_episodes()] == [
      (4.0, 4, True), (4.0, 4, False), (2.0, 2, False)
  ]
  with pytest.raises(
      failures.EnvironmentFailure, match=r"lives_key .*'hearts'.* \['feet'\]"
  ):
    env.step(np.zeros(2, int))


def test_not_finite_numbers_are_named():
  box = spaces.Box(-1, 1, (2,))
  good = np.zeros([2, 2])
  bad = np.array([[0, 0], [0, np.nan]])
  false = np.array([False, False])
  env = known.playback(box, bad)
  failure = failures.EnvironmentFailure
  with pytest.raises(failure, match=r"Environment 1: 'observation' is nan "
                     r'at index \(1,\)') as caught:
    env.reset()
  assert env.failure is caught.value and caught.value.environment_index == 1
  step = (good, np.array([-np.inf, 0]), false, false, {})
  env = known.playback(box, good, [step])
  env.reset()
  with pytest.raises(failure, match="Environment 0: 'reward' is -inf"):
    env.step(np.zeros(2, int))
  # Not in float64, but time steps are float32.
  step = (good, np.array([0, 1e300]), false, false, {})
  env = known.playback(box, good, [step])
  env.reset()
  with np.errstate(over='ignore'):
    with pytest.raises(failure, match="Environment 1: 'reward' is inf"):
      env.step(np.zeros(2, int))
  env = known.playback(spaces.Dict(a=box, b=box), {'a': good, 'b': bad})
  with pytest.raises(failure, match="Environment 1: 'observation/b' is nan"):
    env.reset()


@pytest.mark.parametrize('mode', ['SAME_STEP', 'DISABLED'])
def test_other_autoreset_modes_are_refused(mode):
  good = known.scripted_vector()
  bad = known.scripted_vector(autoreset_mode=vector.AutoresetMode[mode])
  with pytest.raises(ValueError, match='autoreset mode .*' + mode):
    vector_environment.VectorPyEnvironment(bad)
  # Both share the metadata of ScriptedEnv's class, now that of `bad`.
  vector_environment.VectorPyEnvironment(good)
  silent = known.PlaybackVectorEnv(spaces.Discrete(2), np.zeros(2, int))
  silent.metadata = {}
  with pytest.raises(ValueError, match='autoreset mode None'):
    vector_environment.VectorPyEnvironment(silent)


def _into_what_it_gets(reward):
  reward *= -2
  reward += 100
  return reward


@pytest.mark.parametrize(
    'reward_fn', [lambda reward: 100 - 2 * reward, _into_what_it_gets]
)
def test_a_function_of_rewards(reward_fn):
  # A constant, too: the first step of an episode has no reward.
  env = vector_environment.VectorPyEnvironment(
      known.scripted_vector(), reward_fn=reward_fn
  )
  rewards = [env.reset().reward]
  rewards += [env.step(np.array([0, 1])).reward for _ in known.SCRIPT[1:]]
  expected = [
      [0 if row[0] == FIRST else 100 - 2 * row[1] for row in rows]
      for rows in known.SCRIPT
  ]
  np.testing.assert_array_equal(rewards, expected)
  assert _popped(env) == known.SCRIPT_EPISODES


def test_a_function_that_gives_a_vector_of_rewards():
  env = vector_environment.VectorPyEnvironment(
      known.scripted_vector(),
      reward_fn=lambda reward: np.stack([reward, 7 - reward, 0 * reward], 1),
  )
  assert env.time_step_spec().reward.shape == (3,)
  steps = [env.reset()]
  steps += [env.step(np.array([0, 1])) for _ in known.SCRIPT[1:]]
  expected = [
      [[0, 0, 0] if row[0] == FIRST else [row[1], 7 - row[1], 0]
       for row in rows]
      for rows in known.SCRIPT
  ]
  np.testing.assert_array_equal([step.reward for step in steps], expected)
  assert _popped(env) == known.SCRIPT_EPISODES


def test_a_function_of_rewards_that_is_not_finite():
  with np.errstate(divide='ignore'):
    env = vector_environment.VectorPyEnvironment(
        known.scripted_vector(), reward_fn=lambda reward: np.log(0 * reward)
    )
    env.reset()
    with pytest.raises(failures.EnvironmentFailure, match="'reward' is -inf"):
      env.step(np.array([0, 1]))


def test_rewards_of_another_shape_do_not_reach_the_function_of_rewards(
    monkeypatch,
):
  vector_env = known.scripted_vector()
  env = vector_environment.VectorPyEnvironment(vector_env, reward_fn=np.ravel)
  env.reset()
  step = vector_env.step

  def columns(action):
    observation, reward, *ends = step(action)
    return observation, reward[:, np.newaxis], *ends

  monkeypatch.setattr(vector_env, 'step', columns)
  with pytest.raises(
      failures.EnvironmentFailure, match=r'one number .*shape \[2, 1\]'
  ):
    env.step(np.array([0, 1]))


def test_a_single_environment_is_refused():
  with pytest.raises(failures.EnvironmentSetupError, match='not Scripted'):
    vector_environment.VectorPyEnvironment(known.ScriptedEnv([1]))


def test_old_episodes_are_dropped_if_they_are_not_popped(monkeypatch):
  monkeypatch.setattr(episode_log, 'MAX_KEPT_EPISODES', 4)
  env = known.scripted()
  env.reset()
  for _ in known.SCRIPT[1:]:
    env.step(np.array([0, 0]))
  assert _popped(env) == known.SCRIPT_EPISODES[2:]


def test_render_and_close():
  env = loaders.load_environment(
      'CartPole-v1', 2, seed=0, env_kwargs={'render_mode': 'rgb_array'}
  )
  env.reset()
  frames = env.render()
  envs = env.gymnasium_vector_env.envs
  np.testing.assert_array_equal(frames, [e.render() for e in envs])
  assert frames.dtype == np.uint8 and (frames[0] != frames[1]).any()
  with pytest.raises(ValueError, match="Cannot render as 'human'"):
    env.render('human')
  env.close()
  assert env.gymnasium_vector_env.closed


def _grown(env):
  return np.array([10, 266][env.num_steps > 1:][:1], np.int64)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_integers_that_the_type_of_the_space_would_cut(vectorization):
  env = loaders.load_environment(
      environments_for_tests.Steps,
      2,
      vectorization=vectorization,
      env_kwargs=dict(
          observation=_grown,
          observation_space=spaces.Box(0, 100, (1,), np.int8),
      ),
  )
  env.reset()
  env.step(np.zeros(2, int))
  with pytest.raises(failures.EnvironmentFailure, match='266.*cannot hold it'):
    env.step(np.zeros(2, int))
  env.close()


class _Ranged(known.ScriptedEnv):
  reward_range = (1, 5)

  def __init__(self):
    super().__init__([3])


@pytest.mark.parametrize(
    ('arguments', 'bounds'),
    [
        ({}, (0, 5)),
        ({'max_episode_steps': 2, 'vectorization': 'async'}, (0, 5)),
        ({'action_repeat': 2}, None),
        ({'reward_fn': lambda r: 2 * r}, None),
        ({'reward_fn': wrappers.sign_of_reward}, (-1, 1)),
    ],
)
def test_rewards_have_the_bounds_that_are_known(arguments, bounds):
  env = loaders.load_environment(_Ranged, **arguments)
  spec = env.reward_spec()
  found = (spec.minimum, spec.maximum) if hasattr(spec, 'minimum') else None
  assert found == bounds and env.reset().reward == 0
  env.close()


@pytest.mark.parametrize(
    ('told', 'bounds'),
    [
        (None, None),
        ((0, None), None),
        ((1, 0), None),
        ((np.zeros(2), np.ones(2)), None),
        ((-1e300, 1e300), None),
        ((-1e300, 2.0), (-float(np.finfo(np.float32).max), 2)),
    ],
)
def test_a_range_of_rewards_that_tells_nothing_is_no_error(told, bounds):
  env = loaders.load_environment(
      lambda: type('Told', (_Ranged,), dict(reward_range=told))()
  )
  spec = env.reward_spec()
  found = (spec.minimum, spec.maximum) if hasattr(spec, 'minimum') else None
  assert found == bounds and env.reset().reward == 0
  env.close()


def test_a_reward_function_of_a_gin_file_has_its_bounds():
  gin.parse_config('load_environment.reward_fn = @sign_of_reward')
  env = loaders.load_environment(_Ranged)
  assert env.reward_spec().minimum == -1
