# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the seam of curiosities: transitions, and one written here."""

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import environments
from rnd_agents import errors
from rnd_agents import networks
from rnd_agents import tasks
from tests.curiosity import random_rollouts

SIZE = 10
NUM_ENVS = 16


class Counts(curiosity.Curiosity):
  """Pays 1 / sqrt(n) for the n-th time of an action in a cell of Deep Sea."""

  def __init__(self):
    super().__init__(discount_factor=0.99)
    self._counts = tf.Variable(tf.zeros([2 * SIZE * SIZE]), trainable=False)

  def _places(self, transitions):
    cells = tf.reshape(transitions.observation, [-1, SIZE * SIZE])
    actions = tf.reshape(transitions.action, [-1])
    return 2 * tf.argmax(cells, axis=-1) + tf.cast(actions, tf.int64)

  def bonus(self, transitions, constants=None):
    counts = tf.gather(self._counts, self._places(transitions))
    bonus = tf.math.rsqrt(1.0 + counts)
    return tf.reshape(bonus, tf.shape(transitions.action))

  def update_statistics(self, transitions):
    once = tf.reshape(tf.cast(transitions.valid, tf.float32), [-1])
    self._counts.scatter_add(tf.IndexedSlices(once, self._places(transitions)))


@pytest.mark.parametrize(
    'setting, create',
    [
        ('create_rnd.observation_fn', 'create_rnd'),
        ('CountBonus.key_fn', 'create_counts'),
        ('NovelD.key_fn', 'create_novel_d'),
    ],
)
@pytest.mark.parametrize(
    'function, fault',
    [
        (lambda x: x['agent'], "fails on observations of shapes [^']*'agent'"),
        (tf.reduce_sum, r'got shape \(\)'),
        (curiosity.key_observation_fn, 'Write brackets behind its name'),
        (lambda x: {'x': x, 'y': 1.0}, 'got 1.0'),
    ],
)
def test_refuses_a_function_that_does_not_fit(setting, create, function, fault):
  gin.bind_parameter(setting, function)
  name = setting.replace('create_rnd.', '')
  with pytest.raises(errors.InvalidValue, match=f'^{name} .*{fault}'):
    getattr(curiosity, create)(*random_rollouts.SPECS)


@pytest.mark.parametrize(
    ('of_bonus', 'got'),
    [
        (lambda x: x[..., tf.newaxis], r'float32 \(2, 3, 1\)'),
        (lambda x: tf.reduce_mean(x, 1), r'float32 \(2,\)'),
        (lambda x: tf.cast(x, tf.float64), r'float64 \(2, 3\)'),
    ],
)
def test_a_bonus_of_a_wrong_shape_or_type_is_refused(of_bonus, got):
  update = common.function(Counts().update_return_statistics)
  message = rf'Counts.bonus .*float32 .*\(2, 3\).* not {got}'
  with pytest.raises(errors.InvalidValue, match=message):
    update(of_bonus(tf.ones([2, 3])), tf.ones([2, 3], tf.bool))


def _deep_sea():
  return tf_py_environment.TFPyEnvironment(
      environments.loaders.load_environment(
          tasks.deep_sea.DeepSeaEnv, NUM_ENVS, env_kwargs={'size': SIZE}
      )
  )


def _collector(env, agent, max_length, *observers):
  """(replay buffer, function that takes a number of steps)."""
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec, batch_size=NUM_ENVS, max_length=max_length
  )
  driver = dynamic_step_driver.DynamicStepDriver(
      env,
      agent.collect_policy,
      [buffer.add_batch, *observers],
      num_steps=1_000_000,
  )
  run = common.function(driver.run)
  return buffer, lambda steps: run(maximum_iterations=tf.constant(steps))


def _is_solved_within(num_iterations, agent, iterate):
  """Whether the greedy policy finds the treasure after some iteration."""
  env = _deep_sea()
  act = common.function(agent.policy.action)
  for _ in range(num_iterations):
    iterate()
    time_step, total = env.reset(), 0.0
    for _ in range(SIZE):
      time_step = env.step(act(time_step).action)
      total += time_step.reward.numpy()[0]
    if total > 0.9:
      return True
  return False


def test_counts_solve_deep_sea_in_rnd_ppo():
  tf.keras.utils.set_random_seed(0)
  env = _deep_sea()
  nets = networks.create_networks(
      env.observation_spec(),
      env.action_spec(),
      rnd_networks_fn=None,
      value_fc_layer_params=(64, 64),
  )
  counts = Counts()
  agent = agents.RNDPPOAgent(
      env.time_step_spec(),
      env.action_spec(),
      tf.keras.optimizers.Adam(1e-3),
      nets.actor_net,
      nets.value_net,
      curiosity=counts,
      importance_ratio_clipping=0.2,
      entropy_regularization=0.01,
      normalize_advantages=True,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  buffer, collect = _collector(env, agent, 65)
  train = common.function(agent.train)

  def iterate():
    buffer.clear()
    collect(65)
    train(buffer.gather_all())

  assert agent.curiosity is counts
  assert agent.optimizers == [agent._optimizer]
  assert _is_solved_within(60, agent, iterate)
  assert counts.variables[0].numpy().sum() > 500


def test_counts_pay_for_what_r2d3_replays():
  env = _deep_sea()
  counts = Counts()
  agent = agents.R2D3Agent(
      env.time_step_spec(),
      env.action_spec(),
      **networks.create_q_networks(
          env.observation_spec(), env.action_spec()
      )._asdict(),
      optimizer=tf.keras.optimizers.Adam(1e-3),
      curiosity=counts,
      discount_factor=0.99,
      collect_epsilon=1.0,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  agent.initialize()
  assert agent.optimizers == [agent._optimizer]
  length = 2 * SIZE + 2
  buffer, collect = _collector(env, agent, length, agent.update_statistics)
  collect(length)
  experience = buffer.gather_all()
  info = agent.train(experience).extra
  assert info.rnd_loss == 0
  steps = ~experience.is_boundary().numpy()[:, :-1]
  cells = experience.observation.numpy().reshape([NUM_ENVS, length, -1])
  places = 2 * cells.argmax(-1) + experience.action.numpy()
  visits = np.bincount(places[:, :-1][steps], minlength=2 * SIZE * SIZE)
  bonus = 1 / np.sqrt(1 + visits[places[:, :-1]])
  deviation = 1 / counts.normalize_bonus(tf.constant(1.0))
  np.testing.assert_allclose(
      info.bonus_mean, bonus[steps].mean() / deviation, rtol=1e-5
  )
  assert deviation > 1


def _rows(step_types, observations):
  """A `Trajectory` [B] or [B, T] of numbers; actions are their doubles."""
  shape = np.shape(step_types)
  return trajectory.Trajectory(
      step_type=tf.constant(step_types, tf.int32),
      observation=tf.constant(observations, tf.float32),
      action=tf.constant(2 * np.asarray(observations), tf.int64),
      policy_info=(),
      next_step_type=tf.zeros(shape, tf.int32),
      reward=tf.zeros(shape),
      discount=tf.ones(shape),
  )


_STEP_TYPES = np.array([[0, 1, 2, 0, 1], [1, 2, 0, 1, 1]])
_OBSERVATIONS = np.arange(10).reshape([2, 5])


def _check(transitions, t):
  """Column t of the transitions between the columns of those rows."""
  np.testing.assert_array_equal(transitions.observation, _OBSERVATIONS[:, t])
  np.testing.assert_array_equal(transitions.action, 2 * _OBSERVATIONS[:, t])
  np.testing.assert_array_equal(
      transitions.next_observation, _OBSERVATIONS[:, t + 1]
  )
  np.testing.assert_array_equal(transitions.valid, _STEP_TYPES[:, t] != 2)
  np.testing.assert_array_equal(transitions.is_first, _STEP_TYPES[:, t] == 0)


def test_transitions_of_a_trajectory():
  transitions = curiosity.Transitions.of_trajectory(
      _rows(_STEP_TYPES, _OBSERVATIONS)
  )
  _check(transitions, np.arange(4))
  flat = transitions.flatten()
  assert flat.valid.shape == [8]
  np.testing.assert_array_equal(flat.observation, [0, 1, 2, 3, 5, 6, 7, 8])
  assert curiosity.Transitions(tf.zeros([2, 3])).flatten().valid is None


def test_rows_are_joined_to_transitions():
  spec = tf.nest.map_structure(
      tf.TensorSpec.from_tensor, _rows(_STEP_TYPES[0, 0], 0.0)
  )
  for wrap in (lambda fn: fn, common.function):
    previous = curiosity.PreviousRow(spec)
    join = wrap(previous.join)
    first = join(_rows(_STEP_TYPES[:, 0], _OBSERVATIONS[:, 0]))
    assert not np.any(first.valid)
    for t in range(4):
      row = _rows(_STEP_TYPES[:, t + 1], _OBSERVATIONS[:, t + 1])
      _check(join(row), t)
    # Another number of environments: whose rows these follow is not known.
    assert not np.any(join(_rows([1, 1, 1], [0.0, 1.0, 2.0])).valid)


def test_rows_are_joined_where_an_environment_has_none():
  """As for each environment alone, with the rows that it has."""
  random = np.random.default_rng(3)
  step_types = np.array([[0, 1, 1, 2, 0, 1], [0, 2, 0, 1, 1, 2]])
  observations = random.normal(size=[2, 6]).astype(np.float32)
  spec = tf.nest.map_structure(
      tf.TensorSpec.from_tensor, _rows(step_types[0, 0], 0.0)
  )
  together = curiosity.PreviousRow(spec)
  alone = [curiosity.PreviousRow(spec) for _ in range(2)]
  taken = [0, 0]
  while min(taken) < 6:
    mask = (random.random(2) < 0.6) & (np.array(taken) < 6)
    places = np.minimum(taken, 5)
    found = together.join(
        _rows(step_types[[0, 1], places], observations[[0, 1], places]),
        tf.constant(mask),
    )
    for b in range(2):
      if not mask[b]:
        assert not found.valid[b]
        continue
      t = slice(taken[b], taken[b] + 1)
      expected = alone[b].join(_rows(step_types[b, t], observations[b, t]))
      assert found.valid[b] == expected.valid[0]
      if expected.valid[0]:
        np.testing.assert_array_equal(
            found.observation[b], expected.observation[0]
        )
        assert found.is_first[b] == expected.is_first[0]
        assert found.action[b] == expected.action[0]
      taken[b] += 1
