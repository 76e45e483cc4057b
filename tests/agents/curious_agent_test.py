# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a CuriousAgent passes to the agent inside, by hand."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.categorical_dqn import categorical_dqn_agent
from tf_agents.agents.ddpg import actor_network
from tf_agents.agents.ddpg import critic_network
from tf_agents.agents.ddpg import ddpg_agent
from tf_agents.networks import categorical_q_network
from tf_agents.policies import random_tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import curiosity as curiosity_package
from rnd_agents import errors
from rnd_agents import networks
from rnd_agents import random_numbers
from rnd_agents.curiosity import curiosity as curiosity_lib

FIRST, MID, LAST = 0, 1, 2
ACTION = tensor_spec.BoundedTensorSpec([1], tf.float32, -2.0, 1.0)
CHOICE = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
VECTOR = tensor_spec.BoundedTensorSpec([2], tf.float32, -9.0, 9.0)
_OBSERVATIONS = dict(
    vector=VECTOR,
    dict=dict(position=VECTOR, key=tensor_spec.BoundedTensorSpec(
        [], tf.int64, 0, 3
    )),
    image=tensor_spec.BoundedTensorSpec([12, 12, 3], tf.uint8, 0, 255),
    # Networks that whiten integers declare them as floats.
    memory=tensor_spec.BoundedTensorSpec([5], tf.uint8, 0, 255),
)


class _Extra(NamedTuple):
  td_error: Any


class Recorder(tf_agent.TFAgent):
  """Keeps what `train` gets; its TD error is the reward."""

  def __init__(self, observation_spec=VECTOR, gamma=0.9):
    time_step_spec = ts.time_step_spec(observation_spec)
    policy = random_tf_policy.RandomTFPolicy(time_step_spec, ACTION)
    super().__init__(
        time_step_spec,
        ACTION,
        policy,
        policy,
        train_sequence_length=2,
        train_step_counter=tf.Variable(0, dtype=tf.int64),
    )
    self._gamma = gamma

  def _train(self, experience, weights):
    self.got, self.weights = experience, weights.numpy()
    self.train_step_counter.assign_add(1)
    return tf_agent.LossInfo(tf.constant(0.0), _Extra(experience.reward[:, 0]))


class Marks(curiosity_lib.Curiosity):
  """Pays the first number of the next observation."""

  def bonus(self, transitions, constants=None):
    return transitions.next_observation[..., 0]

  def normalize_bonus(self, bonus):
    return bonus


def rows_of(step_types, observation, reward, discount, action=None):
  """A `Trajectory` [B, T+1] of lists."""
  step_types = np.array(step_types, np.int32)
  following = np.roll(step_types, -1, axis=1)
  following[:, -1] = MID
  following[step_types == LAST] = FIRST
  if action is None:
    action = np.zeros((*step_types.shape, 1), np.float32)
  return tf.nest.map_structure(
      tf.constant,
      trajectory.Trajectory(
          step_types,
          observation,
          action,
          (),
          following,
          np.array(reward, np.float32),
          np.array(discount, np.float32),
      ),
  )


# Sequences of one row each: three steps and a termination; a time limit after
# two, then padding; the end of an episode and the beginning of the next.
_STEP_TYPES = [
    [FIRST, MID, MID, LAST], [MID, MID, LAST, LAST], [MID, LAST, FIRST, MID]
]
_REWARDS = [[1, 2, 4, 0], [8, 16, 0, 0], [32, 0, 64, 128]]
_DISCOUNTS = [[1, 1, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1]]
_BONUSES = np.array(
    [[9, 0.1, 0.2, 0.3], [9, 0.4, 0.5, 9], [9, 0.6, 9, 0.7]], np.float32
)
# Of each step: n, and (row, frame to bootstrap from, rewards with half of the
# bonus, discount but for one gamma of 0.9). Other steps have weight 0.
_STEPS = {
    1: {
        (0, 0): (1, 1.05, 1.0),
        (0, 1): (2, 2.1, 1.0),
        (0, 2): (3, 4.15, 0.0),
        (1, 0): (1, 8.2, 1.0),
        (1, 1): (2, 16.25, 1.0),
        (2, 0): (1, 32.3, 0.0),
        (2, 2): (3, 64.35, 1.0),
    },
    3: {
        (0, 0): (3, 1.05 + 0.9 * 2.1 + 0.81 * 4.15, 0.0),
        (0, 1): (3, 2.1 + 0.9 * 4.15, 0.0),
        (0, 2): (3, 4.15, 0.0),
        (1, 0): (2, 8.2 + 0.9 * 16.25, 0.9),
        (1, 1): (2, 16.25, 1.0),
        (2, 0): (1, 32.3, 0.0),
        (2, 2): (3, 64.35, 1.0),
    },
}


@pytest.mark.parametrize('n_step', _STEPS)
def test_each_step_gets_the_bonuses_of_its_own_steps(n_step):
  observation = np.stack([_BONUSES, np.arange(12.0).reshape(3, 4)], axis=-1)
  rows = rows_of(
      _STEP_TYPES, observation.astype(np.float32), _REWARDS, _DISCOUNTS
  )
  inside = Recorder()
  agent = agents.CuriousAgent(
      inside,
      Marks(),
      bonus_weight=lambda step: 0.5 / (1.0 + tf.cast(step, tf.float32)),
      n_step=n_step,
  )
  weights = np.array([1.0, 0.5, 0.25], np.float32)
  info = agent.train(rows, tf.constant(weights)).extra
  got = tf.nest.map_structure(
      lambda x: x.numpy().reshape(3, 3, 2, *x.shape[2:]), inside.got
  )
  step_weights = inside.weights.reshape(3, 3)
  expected = np.zeros([3, 3])
  for (b, t), (end, reward, discount) in _STEPS[n_step].items():
    expected[b, t] = weights[b]
    np.testing.assert_array_equal(got.observation[b, t, 0], observation[b, t])
    np.testing.assert_array_equal(got.observation[b, t, 1], observation[b, end])
    assert got.next_step_type[b, t, 0] == _STEP_TYPES[b][end]
    np.testing.assert_allclose(got.reward[b, t, 0], reward, rtol=1e-6)
    np.testing.assert_allclose(got.discount[b, t, 0], discount, rtol=1e-6)
  np.testing.assert_array_equal(step_weights, expected)
  paid = [b * 0.5 for b in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)]
  np.testing.assert_allclose(info.bonus_mean, np.mean(paid), rtol=1e-4)
  # By its TD error, the reward here, over the steps with a weight.
  own = [reward for (b, _), (_, reward, _) in _STEPS[n_step].items() if not b]
  np.testing.assert_allclose(
      info.priorities[0], 0.9 * max(own) + 0.1 * np.mean(own), rtol=1e-5
  )
  # The schedule counts updates.
  info = agent.train(rows).extra
  np.testing.assert_allclose(info.bonus_mean, np.mean(paid) / 2, rtol=1e-4)


def test_rewards_are_those_of_the_present_predictor_and_statistics():
  tf.random.set_seed(1)
  rnd = curiosity_package.RandomNetworkDistillation(
      VECTOR,
      networks.RNDNetwork(VECTOR, (8,), 4),
      networks.RNDNetwork(VECTOR, (8,), 4, trainable=False),
      discount_factor=0.5,
      observation_clip_value=None,
  )
  inside = Recorder()
  agent = agents.CuriousAgent(
      inside,
      rnd,
      tf.keras.optimizers.SGD(0.1),
      bonus_weight=2.0,
      extrinsic_coefficient=0.25,
  )
  generator = np.random.default_rng(0)
  arrivals, returns = [], []
  sums = np.zeros(2)

  def bonus(observations):
    """By the present predictor and the statistics of `arrivals`."""
    seen, prior = np.array(arrivals, np.float64), 1e-4
    count = len(seen) + prior
    mean = seen.sum(axis=0) / count
    variance = ((seen**2).sum(axis=0) + prior) / count - mean**2
    inputs = ((observations - mean) / variance**0.5).astype(np.float32)
    difference = (
        rnd.rnd_network(inputs)[0] - rnd.target_rnd_network(inputs)[0]
    )
    return np.mean(difference.numpy() ** 2, axis=-1)

  bonuses = []
  for update in range(3):
    # Two environments: a termination, a boundary, then a time limit.
    steps = [[MID, LAST], [LAST, FIRST], [FIRST, MID], [MID, LAST]]
    if not update:
      steps[0] = [FIRST, FIRST]
      steps[1] = [LAST, MID]
    observations = generator.normal(3.0, 2.0, [4, 2, 2]).astype(np.float32)
    observations[:, :, 1] *= 10.0
    for step_type, observation in zip(steps, observations, strict=True):
      row = rows_of(
          [step_type], observation[np.newaxis], [[1, 1]], [[1, 1]]
      )
      agent.update_statistics(tf.nest.map_structure(lambda x: x[0], row))
      valid = np.array(step_type) != FIRST
      arrivals.extend(observation[valid])
      if valid.any():
        found = bonus(observation)
        sums = np.where(valid, 0.5 * sums + found, sums)
        returns.extend(sums[valid])
    batch = generator.normal(3.0, 2.0, [3, 2, 2]).astype(np.float32)
    rewards = generator.normal(size=[3, 2]).astype(np.float32)
    # A step, one to a time limit, and one to the next episode.
    rows = rows_of(
        [[FIRST, MID], [MID, LAST], [LAST, FIRST]], batch, rewards,
        np.ones([3, 2]),
    )
    # As for `_spread`: with the first sample of weight 1e-4 and variance 1.
    count = len(returns) + 1e-4
    mean = np.sum(returns) / count
    deviation = ((np.sum(np.square(returns)) + 1e-4) / count - mean**2) ** 0.5
    expected = 0.25 * rewards[:, 0] + 2.0 * bonus(batch[:, 1]) / deviation
    bonuses.append(bonus(batch[:2, 1]))
    agent.train(rows)
    np.testing.assert_allclose(
        inside.got.reward[:2, 0], expected[:2], rtol=2e-4
    )
    np.testing.assert_array_equal(inside.weights, [1, 1, 0])
    # The predictor has learned from these transitions.
    assert np.mean(bonus(batch[:2, 1])) < np.mean(bonuses[-1])


def test_a_predictor_of_collected_rows_learns_from_each_visit_once():
  tf.random.set_seed(1)
  rnd = curiosity_package.create_rnd(ts.time_step_spec(VECTOR), ACTION)
  twin = curiosity_package.create_rnd(ts.time_step_spec(VECTOR), ACTION)
  for ours, theirs in zip(twin.variables, rnd.variables, strict=True):
    ours.assign(theirs)
  agent = agents.CuriousAgent(
      Recorder(),
      rnd,
      tf.keras.optimizers.legacy.Adam(0.1),
      predictor_learns_from='collected',
  )
  optimizer = tf.keras.optimizers.legacy.Adam(0.1)
  generator = np.random.default_rng(0)
  observations = generator.normal(size=[4, 2, 2]).astype(np.float32)
  # The reset, a step of each, a LAST frame, and a step of one to a reset.
  steps = [[FIRST, FIRST], [MID, LAST], [LAST, FIRST], [FIRST, FIRST]]
  update = tf.function(agent.update_statistics, autograph=False)
  for t, (step_type, observation) in enumerate(
      zip(steps, observations, strict=True)
  ):
    rows = rows_of([step_type], observation[np.newaxis], [[0, 0]], [[1, 1]])
    row = tf.nest.map_structure(lambda x: x[0], rows)
    update(row)
    valid = tf.constant([x != FIRST for x in step_type])
    transitions = curiosity_lib.Transitions(
        tf.constant(observation), valid, tf.constant(observations[t - 1]),
        row.action, tf.constant([False, False]), (), ~valid,
    )
    twin.update_statistics(transitions)
    if tf.reduce_any(valid):
      with tf.GradientTape() as tape:
        loss = twin.loss(transitions)
      variables = twin.trainable_variables
      optimizer.apply_gradients(
          zip(tape.gradient(loss, variables), variables, strict=True)
      )
    learned = [x.numpy() for x in rnd.trainable_variables]
    for ours, theirs in zip(learned, twin.trainable_variables, strict=True):
      np.testing.assert_allclose(ours, theirs, atol=1e-5)
  batch = rows_of([[FIRST, MID]], observations[:1], [[0, 0]], [[1, 1]])
  assert agent.train(batch).extra.rnd_loss > 0
  for ours, theirs in zip(learned, rnd.trainable_variables, strict=True):
    np.testing.assert_array_equal(ours, theirs)


def _create(kind, observation_spec, **kwargs):
  """An agent of a factory."""
  create, action = {
      'sac': (agents.create_sac_agent, ACTION),
      'td3': (agents.create_td3_agent, ACTION),
      'dqn': (agents.create_dqn_agent, CHOICE),
  }[kind]
  if kind != 'dqn':
    kwargs['fc_layer_params'] = (4,)
  agent = create(ts.time_step_spec(observation_spec), action, 0.1, **kwargs)
  agent.initialize()
  return agent


@pytest.mark.parametrize(
    ('kind', 'observation'),
    [('sac', 'dict'), ('dqn', 'image'), ('td3', 'memory')],
)
def test_without_a_weight_the_agent_is_the_agent_alone(kind, observation):
  spec = _OBSERVATIONS[observation]
  inside, alone = _create(kind, spec), _create(kind, spec)
  agent = agents.CuriousAgent(
      inside,
      curiosity_package.create_rnd(inside.time_step_spec, inside.action_spec),
      tf.keras.optimizers.Adam(1e-3),
      bonus_weight=0.0,
  )
  for variable, value in zip(alone.variables, inside.variables, strict=True):
    variable.assign(value)
  generator = tf.random.Generator.from_state(
      agent._generator.state.numpy(), agent._generator.algorithm
  )

  def train_alone(rows, weights):
    with random_numbers.seeded(generator):
      return alone.train(rows, weights)

  functions = common.function(agent.train), common.function(train_alone)
  before = [variable.numpy() for variable in inside.variables]
  for update in range(3):
    tf.random.set_seed(update)
    rows = tensor_spec.sample_spec_nest(
        agent.collect_data_spec, seed=update, outer_dims=[4, 2]
    ).replace(
        step_type=tf.constant(
            [[FIRST, MID], [MID, MID], [MID, LAST], [LAST, FIRST]]
        ),
        next_step_type=tf.constant(
            [[MID, MID], [MID, MID], [LAST, FIRST], [FIRST, MID]]
        ),
        reward=tf.random.normal([4, 2]),
        discount=tf.constant([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]),
    )
    if kind != 'dqn':
      rows = rows.replace(action=tf.random.uniform([4, 2, 1], -2.0, 1.0))
    agent.update_statistics(tf.nest.map_structure(lambda x: x[:, 0], rows))
    loss = functions[0](rows, tf.constant([1.0, 0.5, 2.0, 1.0])).loss
    expected = functions[1](rows, tf.constant([1.0, 0.5, 2.0, 0.0])).loss
    np.testing.assert_array_equal(loss, expected)
  assert np.any(agent._generator.state.numpy()[:2])  # Drawn from.
  for variable, twin in zip(inside.variables, alone.variables, strict=True):
    np.testing.assert_array_equal(variable, twin, err_msg=variable.name)
  assert any(
      np.any(value != variable.numpy())
      for value, variable in zip(before, inside.variables, strict=True)
  )
  assert agent.train_step_counter.numpy() == 3


_TWO_ACTIONS = tensor_spec.BoundedTensorSpec([2], tf.float32, -1.0, 1.0)


def _categorical_dqn(train_step_counter):
  return categorical_dqn_agent.CategoricalDqnAgent(
      ts.time_step_spec(VECTOR),
      CHOICE,
      categorical_q_network.CategoricalQNetwork(
          VECTOR, CHOICE, num_atoms=5, fc_layer_params=(4,)
      ),
      tf.keras.optimizers.legacy.Adam(1e-2),
      min_q_value=-99.0,
      max_q_value=99.0,
      gamma=0.9,
      train_step_counter=train_step_counter,
  )


def test_noise_that_no_checkpoint_holds_is_warned_of(caplog):
  with caplog.at_level('WARNING', logger='absl'):
    agents.CuriousAgent(_categorical_dqn(tf.Variable(0, dtype=tf.int64)), None)
    assert not caplog.messages
    agents.CuriousAgent(_ddpg(tf.Variable(0, dtype=tf.int64)), None)
  assert caplog.messages == [
      'DdpgAgent explores by an OUNoisePolicy, whose noise is the same in all'
      ' environments and in no checkpoint: a run that resumes draws other'
      ' actions. Take create_td3_agent where that matters.'
  ]


def _ddpg(train_step_counter):
  return ddpg_agent.DdpgAgent(
      ts.time_step_spec(VECTOR),
      _TWO_ACTIONS,
      actor_network.ActorNetwork(VECTOR, _TWO_ACTIONS, fc_layer_params=(4,)),
      critic_network.CriticNetwork(
          (VECTOR, _TWO_ACTIONS), joint_fc_layer_params=(4,)
      ),
      tf.keras.optimizers.legacy.Adam(1e-2),
      tf.keras.optimizers.legacy.Adam(1e-2),
      gamma=0.9,
      train_step_counter=train_step_counter,
  )


@pytest.mark.parametrize('is_filled', [False, True])
@pytest.mark.parametrize('create', [_categorical_dqn, _ddpg])
def test_an_agent_that_cannot_weigh_steps_gets_the_valid_ones(
    create, is_filled
):
  rng = np.random.default_rng(0)
  if create is _ddpg:
    action = rng.uniform(-1, 1, [3, 4, 2]).astype(np.float32)
  else:
    action = rng.integers(0, 3, [3, 4])
  rows = rows_of(
      _STEP_TYPES,
      rng.normal(size=[3, 4, 2]).astype(np.float32),
      _REWARDS,
      _DISCOUNTS,
      action,
  )
  # The last sequence has importance weight 0.
  steps = [(b, t) for b, t in _STEPS[1] if b < 2]
  if is_filled:  # The last frame of the second one repeats its last step.
    following = rows.next_step_type.numpy()
    following[1, 3] = LAST
    rows = rows.replace(next_step_type=tf.constant(following))
    steps.append((1, 1))
  inside, alone = (create(tf.Variable(0, dtype=tf.int64)) for _ in range(2))
  inside.initialize()
  alone.initialize()
  for variable, value in zip(alone.variables, inside.variables, strict=True):
    variable.assign(value)
  agent = agents.CuriousAgent(inside)
  before = [variable.numpy() for variable in inside.variables]
  pairs = tf.nest.map_structure(
      lambda x: tf.stack([x[b, t : t + 2] for b, t in steps]), rows
  )
  for _ in range(3):
    loss = agent.train(rows, tf.constant([1.0, 1.0, 0.0])).loss
    np.testing.assert_allclose(loss, alone.train(pairs).loss, rtol=1e-5)
  for variable, twin in zip(inside.variables, alone.variables, strict=True):
    np.testing.assert_allclose(variable, twin, rtol=1e-5, atol=1e-7)
  assert any(
      np.any(value != variable.numpy())
      for value, variable in zip(before, inside.variables, strict=True)
  )


@pytest.mark.parametrize('field', ['observation', 'reward', 'predictor'])
def test_what_is_not_finite_moves_nothing(field):
  inside = _create('sac', VECTOR)
  rnd = curiosity_package.create_rnd(
      inside.time_step_spec, inside.action_spec
  )
  agent = agents.CuriousAgent(inside, rnd, tf.keras.optimizers.Adam(1e-3))
  rows = rows_of([[FIRST, MID]] * 2, np.ones([2, 2, 2], np.float32),
               np.ones([2, 2]), np.ones([2, 2]))
  if field == 'predictor':
    rnd.rnd_network.variables[0].assign_add([[np.inf] * 128] * 2)
  else:
    value = getattr(rows, field).numpy()
    value.flat[0] = np.nan
    rows = rows.replace(**{field: tf.constant(value)})
  before = [variable.numpy() for variable in agent.variables]
  with pytest.raises(errors.InvalidValue, match=f'{field}|bonus'):
    agent.train(rows)
  if field == 'observation':
    with pytest.raises(errors.InvalidValue, match=field):
      agent.update_statistics(tf.nest.map_structure(lambda x: x[:, 0], rows))
  for variable, value in zip(agent.variables, before, strict=True):
    np.testing.assert_array_equal(variable, value)


def test_any_batch_acts_with_the_mean_epsilon():
  inside = agents.create_dqn_agent(
      ts.time_step_spec(VECTOR), CHOICE, tf.Variable([0.0, 1.0])
  )
  agent = agents.CuriousAgent(inside)
  steps = ts.restart(tf.zeros([3, 2]), 3)
  drawn = agent.sampled_policy.distribution(steps).action.probs_parameter()
  np.testing.assert_allclose(np.max(drawn, axis=-1), 0.5 + 0.5 / 3, rtol=1e-5)


def _whitened(values, rows, first_weight):
  """[..., n] by the moments of rows and of a first one with mean 0, variance 1.

  At most five deviations.
  """
  total = len(rows) + first_weight
  mean = np.sum(rows, axis=0) / total
  squares = np.sum((rows - mean) ** 2, axis=0)
  variance = (squares + first_weight * (1.0 + mean**2)) / total
  return np.clip((values - mean) / np.sqrt(variance), -5.0, 5.0)


_CLOCK = tensor_spec.BoundedTensorSpec([1], tf.int64, 0, 10**12, 'clock')
_POSITION = tensor_spec.TensorSpec([2], tf.float32, 'position')


@pytest.mark.parametrize('kind', ['sac', 'td3', 'dqn'])
@pytest.mark.parametrize('whitens_all', [False, True])
def test_the_agent_inside_sees_what_is_whitened_by_collected_rows(
    kind, whitens_all
):
  spec = dict(clock=_CLOCK, position=_POSITION)
  seen = dict(clock=tf.TensorSpec([1], tf.float32, 'clock'), position=_POSITION)
  agent = agents.create_curious_agent(
      ts.time_step_spec(spec),
      CHOICE if kind == 'dqn' else ACTION,
      agent_fn=lambda *args: _create(kind, args[0].observation),
      normalize_observations=whitens_all,
  )
  assert agent.time_step_spec.observation == spec
  assert agent.agent.time_step_spec.observation == seen
  assert agent.acts_by_statistics
  alone = agents.CuriousAgent(_create(kind, seen))
  for variable, value in zip(
      alone.agent.variables, agent.agent.variables, strict=True
  ):
    variable.assign(value)
  alone._generator.reset(agent._generator.state)
  generator = np.random.default_rng(1)
  clock = 1_000_000_000 + generator.integers(0, 1_000, [40, 1])
  position = generator.normal([50.0, -3.0], [7.0, 0.1], [40, 2])
  action = np.zeros([2, 2, 1], np.float32)
  if kind == 'dqn':
    action = np.zeros([2, 2], np.int64)

  def rows(clock, position):
    return rows_of(
        [[FIRST, MID], [MID, LAST]],
        dict(clock=clock, position=position.astype(np.float32)),
        [[1, 2], [3, 4]],
        [[1, 1], [0, 1]],
        action=action,
    )

  for i in range(40):
    row = rows(
        np.broadcast_to(clock[i], [2, 2, 1]),
        np.broadcast_to(position[i], [2, 2, 2]),
    )
    agent.update_statistics(tf.nest.map_structure(lambda x: x[:1, 0], row))
  shown = clock[:4].reshape([2, 2, 1]), position[:4].reshape([2, 2, 2])
  by_hand = [_whitened(shown[0], clock, 0.0).astype(np.float32), shown[1]]
  if whitens_all:
    by_hand[1] = _whitened(shown[1], position, 1e-4)
  whitened = rows(*by_hand)
  normalized = agent.observation_normalizer.normalize(rows(*shown).observation)
  tf.nest.map_structure(
      lambda found, wanted: np.testing.assert_allclose(
          found, wanted, rtol=1e-4, atol=1e-5
      ),
      normalized,
      whitened.observation,
  )
  whitened = whitened.replace(observation=normalized)
  first = tf.nest.map_structure(lambda x: x[:, 0], rows(*shown).observation)
  seen_first = tf.nest.map_structure(lambda x: x[:, 0], normalized)
  for policy, twin in (
      (agent.policy, alone.policy),
      (agent.sampled_policy, alone.sampled_policy),
  ):
    tf.random.set_seed(3)
    acted = policy.action(ts.restart(first, 2)).action
    tf.random.set_seed(3)
    wanted = twin.action(ts.restart(seen_first, 2)).action
    np.testing.assert_array_equal(acted, wanted)
  assert agent.collect_epsilon == alone.collect_epsilon

  before = [variable.numpy() for variable in agent.agent.variables]
  agent.train(rows(*shown))
  alone.train(whitened)
  changed = False
  for variable, twin, old in zip(
      agent.agent.variables, alone.agent.variables, before, strict=True
  ):
    np.testing.assert_array_equal(variable, twin, err_msg=variable.name)
    changed |= np.any(variable.numpy() != old)
  assert changed
