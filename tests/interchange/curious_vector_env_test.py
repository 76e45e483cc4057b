# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The wrapper pays what a slow computation in plain numbers pays."""

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents.interchange import curious_vector_env

_LENGTH = 3
_DISCOUNT = 0.9
_RATE = 0.05


class _Counter(gymnasium.Env):
  """Observes 10 x episode + step; ends after three steps, in turns by time."""

  observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
  action_space = spaces.Discrete(2, start=1)

  def __init__(self):
    self._episode = -1

  def _observation(self):
    return np.array([10 * self._episode + self._step], np.float32)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._episode, self._step = self._episode + 1, 0
    return self._observation(), {}

  def step(self, action):
    self._step += 1
    ends = self._step == _LENGTH
    is_cut = self._episode % 2 == 1
    return (
        self._observation(), float(self._step), ends and not is_cut,
        ends and is_cut, {},
    )


class _Distance(curiosity.Curiosity):
  """Pays the squared distance of the next observation to what it has learnt."""

  def __init__(self, time_step_spec, action_spec):
    super().__init__(_DISCOUNT)
    del time_step_spec
    assert (action_spec.minimum, action_spec.maximum) == (0, 1)
    self._learnt = tf.Variable(0.0)

  def _distance(self, transitions):
    return tf.square(transitions.next_observation[..., 0] - self._learnt)

  def bonus(self, transitions, constants=None):
    tf.debugging.assert_less(transitions.action, tf.constant(2, tf.int64))
    return tf.stop_gradient(self._distance(transitions))

  def loss(self, transitions, weights=None, constants=None):
    valid = tf.cast(transitions.valid, tf.float32)
    total = tf.reduce_sum(valid * self._distance(transitions))
    return total / tf.reduce_sum(valid)


def _environment(mode, num=2, **more):
  env = vector.SyncVectorEnv([_Counter] * num, autoreset_mode=mode)
  return curious_vector_env.CuriousVectorEnv(
      env,
      bonus_coefficient=0.5,
      curiosity_fn=_Distance,
      optimizer=tf.keras.optimizers.SGD(_RATE),
      update_interval=4,
      num_epochs=2,
      num_minibatches=1,
      **more,
  )


def _slow(mode, num_steps, num=2):
  """(reward, bonus) of each step, of environments that are all equal."""
  learnt, return_, returns, seen, rows = 0.0, 0.0, [], [], []
  episode, step = 0, 0
  for number in range(num_steps):
    if step == _LENGTH and mode == vector.AutoresetMode.NEXT_STEP:
      episode, step = episode + 1, 0
      rows.append((0.0, 0.0))
    else:
      if step == _LENGTH:
        episode, step = episode + 1, 0
      step += 1
      bonus = (10 * episode + step - learnt) ** 2
      return_ = _DISCOUNT * return_ + bonus
      returns += num * [return_]
      # A mean of 0 and a variance of 1 of little weight come first.
      weights = [1e-4] + [1.0] * len(returns)
      mean = np.average([0.0] + returns, weights=weights)
      squares = np.average([1.0] + np.square(returns).tolist(), weights=weights)
      rows.append((float(step), bonus / np.sqrt(squares - mean**2)))
      seen.append(10 * episode + step)
    if number % 4 == 3:
      for _ in range(2):
        learnt += 2 * _RATE * (np.mean(seen) - learnt)
      seen = []
  return np.array(rows)


@pytest.mark.parametrize(
    'mode', [vector.AutoresetMode.NEXT_STEP, vector.AutoresetMode.SAME_STEP]
)
def test_rewards_are_those_of_a_slow_computation(mode):
  env = _environment(mode)
  env.reset(seed=0)
  rows = []
  for _ in range(15):
    _, reward, _, _, infos = env.step(np.array([1, 2]))
    np.testing.assert_allclose(reward, infos['reward'] + 0.5 * infos['bonus'])
    assert infos['bonus'][0] == infos['bonus'][1]
    rows.append((infos['reward'][0], infos['bonus'][0]))
  # The first return of all has no deviation to speak of.
  np.testing.assert_allclose(rows[1:], _slow(mode, 15)[1:], rtol=1e-4)


class _FromZero(_Counter):
  action_space = spaces.Discrete(2)


class _OfActions(curiosity.Curiosity):
  """Pays the mean of the actions that it learnt from last."""

  def __init__(self, time_step_spec, action_spec):
    super().__init__()
    del time_step_spec, action_spec
    self._mean = tf.Variable(1.0)

  def bonus(self, transitions, constants=None):
    return self._mean * tf.ones(tf.shape(transitions.valid))

  def loss(self, transitions, weights=None, constants=None):
    actions = tf.cast(transitions.action, tf.float32)
    return 0.5 * tf.square(tf.reduce_mean(actions) - self._mean)


def test_a_trainer_may_write_its_next_actions_over_the_last_ones():
  env = curious_vector_env.CuriousVectorEnv(
      vector.SyncVectorEnv([_FromZero] * 2),
      curiosity_fn=_OfActions,
      optimizer=tf.keras.optimizers.SGD(1.0),
      update_interval=4,
      num_epochs=1,
      num_minibatches=1,
  )
  env.reset(seed=0)
  actions = np.zeros([2], np.int64)
  for each in [(0, 0), (1, 0), (0, 1), (1, 1)]:
    actions[:] = each
    env.step(actions)
  np.testing.assert_allclose(env.curiosity.trainable_variables, [0.5])


@pytest.mark.parametrize(
    ('mode', 'of_another'),
    [('NEXT_STEP', 'SAME_STEP'), ('SAME_STEP', 'NEXT_STEP')],
)
def test_an_environment_of_another_mode_changes_nothing(mode, of_another):
  mode = vector.AutoresetMode[mode]
  env = vector.SyncVectorEnv([_Counter], autoreset_mode=mode)
  # As another vector environment of the class does in Gymnasium 1.1.
  env.metadata['autoreset_mode'] = vector.AutoresetMode[of_another]
  env = curious_vector_env.CuriousVectorEnv(env, curiosity_fn=_Distance)
  env.reset(seed=0)
  paid = [env.step(np.array([1]))[4]['bonus'][0] > 0 for _ in range(5)]
  # The step after the end of an episode begins one, or belongs to it already.
  is_next_step = mode == vector.AutoresetMode.NEXT_STEP
  assert paid == [True, True, True, not is_next_step, True]


@pytest.fixture(name='_eager')
def _run_eagerly():
  """Takes less time than to trace a few calls."""
  tf.config.run_functions_eagerly(True)
  yield
  tf.config.run_functions_eagerly(False)


def test_curiosities_of_the_package_learn(_eager):
  env = vector.SyncVectorEnv([_Counter] * 2)
  for create in (curiosity.create_rnd, curiosity.create_novel_d):
    curious = curious_vector_env.CuriousVectorEnv(
        env, curiosity_fn=create, update_interval=8, num_minibatches=2
    )
    curious.reset(seed=0)
    before = [v.numpy() for v in curious.curiosity.trainable_variables]
    bonuses = [curious.step(np.array([1, 2]))[4]['bonus'] for _ in range(8)]
    assert np.all(np.isfinite(bonuses)) and np.any(bonuses)
    after = curious.curiosity.trainable_variables
    assert any(np.any(a != b.numpy()) for a, b in zip(before, after))


@pytest.mark.parametrize(
    'mode', [vector.AutoresetMode.NEXT_STEP, vector.AutoresetMode.SAME_STEP]
)
def test_etd_learns_from_pairs_some_steps_apart_of_one_episode(_eager, mode):
  pairs = []

  class Etd(curiosity.TemporalDistance):

    def loss(self, transitions, weights=None, constants=None):
      later = transitions.next_observation if constants is None else constants
      found = tf.concat([transitions.observation, later], axis=1)
      pairs.extend(found[transitions.valid].numpy().astype(int).tolist())
      return super().loss(transitions, weights, constants)

  env = curious_vector_env.CuriousVectorEnv(
      vector.SyncVectorEnv([_Counter] * 2, autoreset_mode=mode),
      curiosity_fn=lambda step, _: Etd(step.observation, 4, (4,)),
      update_interval=60,
      num_epochs=1,
      num_minibatches=2,
  )
  env.reset(seed=0)
  for _ in range(60):
    env.step(np.array([1, 2]))
  num_steps = 120 if mode == vector.AutoresetMode.SAME_STEP else 90
  assert len(pairs) == num_steps
  # Of three steps: from 0 to 1, 2 and 3, from 1 to 2 and 3, from 2 to 3.
  assert {b // 10 - a // 10 for a, b in pairs} == {0}
  assert {(a % 10, b % 10) for a, b in pairs} == {
      (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
  }


class _Nested(_Counter):
  """A counter whose actions are nested."""

  def __init__(self, action_space):
    super().__init__()
    self.action_space = action_space

  def step(self, action):
    assert self.action_space.contains(action)
    return super().step(action)


class _Actions(_Distance):
  """Pays the sum of all numbers of the actions, counted from 0."""

  def __init__(self, *specs):
    curiosity.Curiosity.__init__(self, _DISCOUNT)
    self._learnt = tf.Variable(0.0)

  def bonus(self, transitions, constants=None):
    return tf.add_n([
        tf.reduce_sum(
            tf.reshape(tf.cast(x, tf.float32), [*transitions.valid.shape, -1]),
            axis=-1,
        )
        for x in tf.nest.flatten(transitions.action)
    ])


@pytest.mark.parametrize(
    'mode', [vector.AutoresetMode.NEXT_STEP, vector.AutoresetMode.SAME_STEP]
)
@pytest.mark.parametrize('is_dict', [False, True])
def test_nested_actions(_eager, mode, is_dict):
  parts = spaces.Discrete(2, start=1), spaces.Box(0.0, 1.0, (2,), np.float32)
  space = spaces.Tuple(parts)
  if is_dict:
    space = spaces.Dict(dict(zip('ab', parts)))
  envs = vector.SyncVectorEnv(
      [lambda: _Nested(space)] * 2, autoreset_mode=mode
  )
  env = curious_vector_env.CuriousVectorEnv(
      envs, curiosity_fn=_Actions, optimizer=tf.keras.optimizers.SGD(0.0)
  )
  env.reset(seed=0)
  kinds, numbers = np.array([1, 2]), np.float32([[0.5, 0.0], [0.5, 1.0]])
  actions = dict(a=kinds, b=numbers) if is_dict else (kinds, numbers)
  for _ in range(2):
    *_, infos = env.step(actions)
    # 0 + 0.5 + 0.0 and 1 + 0.5 + 1.0.
    assert infos['bonus'][1] == pytest.approx(5 * infos['bonus'][0])


@pytest.mark.parametrize(
    ('mode', 'more', 'word'),
    [
        (vector.AutoresetMode.DISABLED, {}, 'autoreset'),
        (None, dict(num_minibatches=3), 'num_minibatches'),
        (None, dict(update_interval=0), 'update_interval'),
        (
            None,
            dict(
                update_interval=1,
                num_minibatches=1,
                curiosity_fn=curiosity.create_etd,
            ),
            'update_interval must be above 1',
        ),
        (None, dict(num_minibatches=2.5), 'num_minibatches must be an integer'),
        (None, dict(bonus_coefficient=np.inf), 'bonus_coefficient'),
    ],
)
def test_wrong_arguments_are_refused(mode, more, word):
  mode = mode or vector.AutoresetMode.NEXT_STEP
  env = vector.SyncVectorEnv([_Counter] * 2, autoreset_mode=mode)
  with pytest.raises(errors.InvalidValue, match=word):
    curious_vector_env.CuriousVectorEnv(env, **more)


@pytest.mark.parametrize(
    ('more', 'words'),
    [
        (dict(num_epochs=None), 'num_epochs'),
        (dict(curiosity_fn='create_rnd'), 'curiosity_fn must be a function'),
        (dict(curiosity_fn=curiosity.key_observation_fn), 'curiosity_fn'),
        (dict(curiosity_fn=lambda *specs: 3), 'curiosity_fn must return'),
    ],
)
def test_arguments_of_wrong_types_are_refused(more, words):
  env = vector.SyncVectorEnv([_Counter] * 2)
  with pytest.raises(errors.InvalidType, match=words):
    curious_vector_env.CuriousVectorEnv(env, **more)


def test_whole_numbers_may_be_floats():
  env = curious_vector_env.CuriousVectorEnv(
      vector.SyncVectorEnv([_Counter] * 2),
      curiosity_fn=_Distance,
      optimizer=tf.keras.optimizers.SGD(_RATE),
      update_interval=2.0,
      num_epochs=2.0,
      num_minibatches=2.0,
  )
  env.reset(seed=0)
  for _ in range(2):
    env.step(np.array([1, 2]))
  assert env.curiosity.trainable_variables[0] > 0
