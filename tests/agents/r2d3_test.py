# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""R2D3's update against a slow one, worked numbers, and what may not matter."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import networks
from rnd_agents.curiosity import random_network_distillation
from tests.agents import agent_test_utils
from tests.agents import slow_r2d3
from tests.ops import q_sequences

WEIGHTS = np.float32([0.3, 1.0, 0.7, 0.5, 0.9])
DEMONSTRATIONS = np.array([True, False, True, False, True])
SGD = (lambda: tf.keras.optimizers.SGD(0.1), lambda: slow_r2d3.Sgd(0.1))
# R2D2's epsilon, which keeps the noise of float32 from being scaled up.
ADAM = (
    lambda: tf.keras.optimizers.Adam(1e-2, epsilon=1e-3),
    lambda: slow_r2d3.Adam(1e-2, 1e-3),
)
# What nobody can tell from the other settings of a test is left as it is.
CASES = {
    'r2d2': ('lstm', SGD, {}),
    'di-engine': (
        'gru',
        ADAM,
        {
            'value_rescaling_epsilon': 1e-2,
            'one_step_weight': 0.7,
            'margin_weight': 1.3,
            'squared_error_scale': 1.0,
            'mean_over_time': True,
            'priorities_from': 'losses',
            'target_update_tau': 0.2,
            'target_update_period_train_steps': 1,
        },
    ),
    'gru-plain': (
        'gru',
        SGD,
        {
            'value_rescaling_epsilon': None,
            'double_q': False,
            'n_step': 1,
            'burn_in_length': 0,
            'recurrent_state_init': 'zero',
            'gradient_clipping': 1e3,
        },
    ),
    'dqfd': (
        'none',
        ADAM,
        {
            'n_step_weight': 0.6,
            'one_step_weight': 0.4,
            'margin_weight': 2.0,
            'priorities_from': 'both_errors',
            'priority_max_weight': 0.4,
            'gradient_clipping': 0.3,
        },
    ),
    'dqn': (
        'none',
        SGD,
        {
            'burn_in_length': 0,
            'n_step': 1,
            'double_q': False,
            'value_rescaling_epsilon': None,
            'priorities_from': 'both_errors',
            'one_step_weight': 0.5,
            'target_update_tau': 0.5,
        },
    ),
    'lstm-demonstrations': (
        'lstm',
        ADAM,
        {
            'n_step': 1,
            'gradient_clipping': 0.2,
            'margin_weight': 0.5,
            'mean_over_time': True,
            'priorities_from': 'losses',
            'recurrent_state_init': 'zero',
        },
    ),
}


def _copy(nets, others):
  for net, other in zip(nets, others, strict=True):
    for x, y in zip(net.variables, other.variables, strict=True):
      y.assign(x)


def _assert_networks_equal(agent, nets, tolerance=1e-5):
  for net, other in zip(
      (agent._q_network, agent._target_q_network), nets, strict=True
  ):
    for x, y in zip(net.variables, other.variables, strict=True):
      np.testing.assert_allclose(x, y, rtol=0, atol=tolerance, err_msg=x.name)


def _train(agent, experience, states, weights=WEIGHTS, train=None):
  return (train or agent.train)(
      experience,
      weights=tf.constant(weights),
      network_state=tuple(map(tf.constant, states)),
      is_demonstration=tf.constant(DEMONSTRATIONS),
  )


# ------------------------------------------------- against a slow, plain update
# Under a `tf.function`: of each core one, which takes time to trace.
GRAPHS = {'r2d2': [False, True], 'di-engine': [True], 'dqn': [True]}


@pytest.mark.parametrize('name', CASES)
def test_train_is_the_slow_update(name):
  core, optimizers, settings = CASES[name]
  nets = slow_r2d3.build_networks(core)
  slow = slow_r2d3.SlowAgent(
      nets, optimizers[1](), slow_r2d3.Settings()._replace(**settings)
  )
  agents, trains = [], []
  for graph in GRAPHS.get(name, [False]):
    agent = slow_r2d3.build_agent(
        core=core, optimizer=optimizers[0](), **settings
    )
    _copy(nets, (agent._q_network, agent._target_q_network))
    agents.append(agent)
    trains.append(common.function(agent.train) if graph else agent.train)
  for step in range(2):
    experience = slow_r2d3.sequences(seed=step)
    states = slow_r2d3.random_states(nets.q_network, 5, seed=step)
    before = [v.numpy() for v in nets.q_network.variables]
    loss, info = slow.train(experience, WEIGHTS, states, DEMONSTRATIONS)
    moved = [np.abs(x - y).max() for x, y in zip(
        before, nets.q_network.variables, strict=True
    )]
    assert min(moved) > 1e-4
    for agent, train in zip(agents, trains, strict=True):
      result = _train(agent, experience, states, train=train)
      np.testing.assert_allclose(result.loss, loss, rtol=2e-5)
      assert set(info) == set(result.extra._fields)
      for key, value in info.items():
        np.testing.assert_allclose(
            getattr(result.extra, key), value, rtol=5e-5, atol=2e-6,
            err_msg=key,
        )
      _assert_networks_equal(agent, nets)
      assert agent.train_step_counter.numpy() == step + 1
  assert info['priorities'][4] == 0 and min(info['priorities'][:4]) > 0.01


# ------------------------------------------------------------- worked numbers
class _Table(network.Network):
  """Q values that are weights: those of a state's number."""

  def __init__(self, values, name='Table'):
    values = np.float32(values)
    super().__init__(
        tensor_spec.BoundedTensorSpec([], tf.int32, 0, len(values) - 1),
        state_spec=(),
        name=name,
    )
    self._table = tf.Variable(values, name='table')

  def call(
      self, observation, step_type=None, network_state=(), training=False
  ):
    return tf.gather(self._table, observation), network_state


def _table_agent(online=None, target=None, **settings):
  """An agent whose networks are the worked sequence's, or other tables."""
  online = q_sequences.ONLINE[0] if online is None else online
  target = q_sequences.TARGET[0] if target is None else target
  settings = {
      'burn_in_length': 0,
      'optimizer': tf.keras.optimizers.SGD(1.0),
      'target_update_period_train_steps': 100,
      **settings,
  }
  nets = networks.QNetworks(_Table(online), _Table(target))
  return slow_r2d3.build_agent(nets, **settings)


def _worked_sequence(discounts=q_sequences.DEATH):
  """The worked sequence, whose states are numbered by their frames."""

  def pad(x, last):
    return np.concatenate([x, [[last]]], axis=1)

  step_types = np.int32([[1, 1, 1, 1, 2, 0]])
  return trajectory.Trajectory(
      step_type=tf.constant(step_types),
      observation=tf.range(6)[tf.newaxis],
      action=tf.constant(pad(q_sequences.ACTIONS, 1), tf.int64),
      policy_info=(),
      next_step_type=tf.constant(np.roll(step_types, -1, axis=1)),
      reward=tf.constant(pad(q_sequences.REWARDS, 9.0), tf.float32),
      discount=tf.constant(pad(discounts, 1.0), tf.float32),
  )


@pytest.mark.parametrize(
    ('n_step', 'errors', 'loss', 'priority'),
    [
        (1, [0.165262, 0.048991, 0.011444, 0.034051], 0.015501, 0.155229),
        (2, [0.303103, 0.202021, 0.275120, 0.034051], 0.104767, 0.293150),
        (3, [0.445295, 0.405250, 0.275120, 0.034051], 0.219683, 0.429758),
    ],
)
def test_worked_sequence(n_step, errors, loss, priority):
  agent = _table_agent(n_step=n_step)
  result = agent.train(_worked_sequence())
  np.testing.assert_allclose(result.loss, loss, atol=1e-6)
  np.testing.assert_allclose(result.extra.priorities, [priority], atol=1e-6)
  # Of 1/2 error^2 the gradient is the error; the rate is 1.
  moved = q_sequences.ONLINE[0].copy()
  for t, error in enumerate(errors):
    moved[t, q_sequences.ACTIONS[0, t]] += error
  np.testing.assert_allclose(agent._q_network.variables[0], moved, atol=2e-6)
  np.testing.assert_array_equal(
      agent._target_q_network.variables[0], np.float32(q_sequences.TARGET[0])
  )


@pytest.mark.parametrize(
    ('settings', 'discounts', 'errors'),
    [
        # Sums stop at a time limit and bootstrap there.
        (
            {'n_step': 3},
            q_sequences.TIME_LIMIT,
            [0.445295, 0.738528, 0.683161, 0.470545],
        ),
        # y without rescaling: 1.062, 1.3645, 1.8, 2.
        (
            {'value_rescaling_epsilon': None},
            q_sequences.DEATH,
            [0.862, 0.8645, 1.4, 1.3],
        ),
        # y of the target's own choice: 0.707627, 0.954191, 0.67512, 0.734051.
        (
            {'double_q': False},
            q_sequences.DEATH,
            [0.507627, 0.454191, 0.275120, 0.034051],
        ),
        # y with another epsilon: 0.511834, 0.712181, 0.69132, 0.752051.
        (
            {'value_rescaling_epsilon': 1e-2},
            q_sequences.DEATH,
            [0.311834, 0.212181, 0.291320, 0.052051],
        ),
        # The first frame only warms: its step is not learned from.
        (
            {'burn_in_length': 1},
            q_sequences.DEATH,
            [0.202021, 0.275120, 0.034051],
        ),
    ],
    ids=['time limit', 'no rescaling', 'no double', 'epsilon', 'burn-in'],
)
def test_worked_sequence_with_other_settings(settings, discounts, errors):
  agent = _table_agent(**{'n_step': 2, **settings})
  result = agent.loss(_worked_sequence(discounts))
  loss = 0.5 * sum(x**2 for x in errors)
  np.testing.assert_allclose(result.loss, loss, rtol=1e-5)
  np.testing.assert_allclose(
      result.extra.priorities,
      [0.9 * max(errors) + 0.1 * np.mean(errors)],
      rtol=1e-5,
  )


@pytest.mark.parametrize(
    ('settings', 'loss', 'priority'),
    [
        ({}, 2.720268, 0.293150),
        ({'mean_over_time': True}, 0.680067, 0.293150),
        ({'priorities_from': 'both_errors'}, 2.720268, 0.448380),
        (
            {'squared_error_scale': 1, 'priorities_from': 'losses'},
            2.840537,
            0.808278,
        ),
        (
            {'squared_error_scale': 1, 'mean_over_time': True},
            0.710134,
            0.293150,
        ),
        # Whoever asks for both errors gets them, weighed or not.
        (
            {
                'priorities_from': 'both_errors',
                'one_step_weight': 0,
                'margin_weight': 0,
            },
            0.104767,
            0.448380,
        ),
    ],
)
def test_worked_sequence_as_a_demonstration(settings, loss, priority):
  agent = _table_agent(
      n_step=2, margin=0.8, **{'one_step_weight': 1, 'margin_weight': 1,
                               **settings}
  )
  result = agent.loss(
      _worked_sequence(), is_demonstration=tf.constant([True])
  )
  np.testing.assert_allclose(result.loss, loss, atol=3e-6)
  np.testing.assert_allclose(result.extra.priorities, [priority], atol=2e-6)
  if agent._margin_weight:
    np.testing.assert_allclose(result.extra.margin_loss, 0.65, atol=1e-6)
  # One's own experience has no margin.
  own = agent.loss(_worked_sequence()).loss
  margins = 2.6 * (0.25 if agent._mean_over_time else 1) * bool(
      agent._margin_weight
  )
  np.testing.assert_allclose(own, loss - margins, atol=3e-6)
  assert result.extra.demonstration_rate == 1
  # a* = 1, 0, 1, 2 is what was done.
  assert result.extra.demonstration_agreement == 1


def test_summaries_of_every_metric(tmp_path):
  agent = _table_agent(debug_summaries=True)
  writer = tf.summary.create_file_writer(str(tmp_path))
  with writer.as_default(), tf.summary.record_if(True):
    agent._train_step_counter.assign(6)
    extra = agent.train(_worked_sequence()).extra
  writer.close()
  (path,) = tmp_path.iterdir()
  found = {}
  for record in tf.data.TFRecordDataset(str(path)):
    event = tf.compat.v1.Event.FromString(record.numpy())
    for value in event.summary.value:
      assert event.step == 7
      found[value.tag] = float(tf.make_ndarray(value.tensor))
  expected = {f'R2D3/{k}': float(v) for k, v in extra._asdict().items()
              if k != 'priorities'}
  assert found == expected and len(found) == 11


# ----------------------------------------------- what matters and what does not
def _loss_of(agent, experience, states=None, **kwargs):
  return float(agent.loss(experience, network_state=states, **kwargs).loss)


@pytest.mark.parametrize('core', ['lstm', 'gru'])
def test_states_before_the_first_frames(core):
  agent = slow_r2d3.build_agent(core=core)
  spec = agent._q_network.state_spec
  experience = slow_r2d3.sequences()
  flat = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  stored = _loss_of(agent, experience, tf.nest.pack_sequence_as(spec, flat))
  for same in (tuple(flat), flat):
    assert _loss_of(agent, experience, same) == stored
  zeros = _loss_of(agent, experience, tuple(map(tf.zeros_like, flat)))
  assert abs(zeros - stored) > 1e-3
  assert _loss_of(agent, experience) == zeros
  twin = slow_r2d3.build_agent(core=core, recurrent_state_init='zero')
  _copy(
      (agent._q_network, agent._target_q_network),
      (twin._q_network, twin._target_q_network),
  )
  assert _loss_of(twin, experience, tuple(flat)) == zeros
  # Where an episode begins, nothing was before.
  fresh = slow_r2d3.sequences(['FMMMMMMM'] * 5)
  assert _loss_of(agent, fresh, flat) == _loss_of(agent, fresh)
  if core == 'lstm':
    # Output and cell are not each other.
    assert abs(_loss_of(agent, experience, flat[::-1]) - stored) > 1e-3


@pytest.mark.parametrize('core', ['lstm', 'gru', 'none'])
def test_no_gradient_passes_the_burn_in(core):
  settings = {'one_step_weight': 1.0, 'margin_weight': 1.0}
  agent = slow_r2d3.build_agent(core=core, **settings)
  experience = slow_r2d3.sequences(['MMMMMMMM'] * 5)
  states = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  target = agent._target_q_network.variables
  with tf.GradientTape() as tape:
    tape.watch([experience.observation, *states])
    loss = agent.loss(
        experience,
        network_state=states,
        is_demonstration=tf.constant(DEMONSTRATIONS),
    ).loss
  gradient, to_states, to_target = tape.gradient(
      loss, [experience.observation, states, target]
  )
  sizes = np.abs(tf.convert_to_tensor(gradient)).sum(-1)
  assert np.all(sizes[:, :2] == 0)
  # The last frame only serves to bootstrap.
  assert np.all(sizes[:, 7] == 0) and np.all(sizes[:, 2:7].max(0) > 1e-3)
  assert all(x is None or np.all(x == 0) for x in to_states)
  assert all(x is None for x in to_target)
  # And yet a recurrent network remembers the burn-in.
  moved = experience.replace(
      observation=experience.observation
      + tf.one_hot(0, 8)[tf.newaxis, :, tf.newaxis]
  )
  change = abs(_loss_of(agent, moved, states) - _loss_of(
      agent, experience, states
  ))
  assert change == 0 if core == 'none' else change > 1e-4
  # Without one the gradient reaches every frame but the last.
  agent = slow_r2d3.build_agent(core=core, burn_in_length=0)
  with tf.GradientTape() as tape:
    tape.watch(experience.observation)
    loss = agent.loss(experience, network_state=states).loss
  gradient = tape.gradient(loss, experience.observation)
  sizes = np.abs(tf.convert_to_tensor(gradient)).sum(-1)
  assert np.all(sizes[:, :7].max(0) > 1e-3) and np.all(sizes[:, 7] == 0)


def _garbage(experience, mask, observation):
  """Frames [B, L] where the mask is True hold nothing that makes sense."""
  mask = tf.constant(mask)

  def spoil(x, value):
    value = tf.cast(value, x.dtype)
    return tf.where(
        tf.reshape(mask, mask.shape + [1] * (x.shape.rank - 2)), value, x
    )

  return experience.replace(
      action=spoil(experience.action, 2),
      reward=spoil(experience.reward, np.nan),
      discount=spoil(experience.discount, np.nan),
      observation=spoil(experience.observation, observation),
  )


def _loss_and_gradients(agent, experience, states):
  with tf.GradientTape() as tape:
    loss, info = agent.loss(
        experience,
        weights=tf.constant(WEIGHTS),
        network_state=states,
        is_demonstration=tf.constant(DEMONSTRATIONS),
    )
  gradients = tape.gradient(loss, agent._q_network.trainable_variables)
  return [loss, *info, *map(tf.convert_to_tensor, gradients)]


@pytest.mark.parametrize('core', ['lstm', 'none'])
def test_nothing_after_the_end_matters(core):
  agent = slow_r2d3.build_agent(
      core=core,
      one_step_weight=1.0,
      margin_weight=1.0,
      priorities_from='losses',
  )
  states = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  experience = slow_r2d3.sequences([
      'FMMTLLLL', 'MMMMLLLL', 'MLLLLLLL', 'MMMMMMMT', 'FMMMMTLL',
  ])
  is_last = experience.step_type.numpy() == slow_r2d3.LAST
  padding = np.cumsum(is_last, 1) > 1
  expected = _loss_and_gradients(agent, experience, states)
  assert expected[0] > 0.1
  # Of the frame that ends an episode the observation matters, nothing else.
  spoiled = _garbage(experience, padding, 1e3)
  spoiled = spoiled.replace(
      reward=_garbage(experience, is_last, 0).reward,
      discount=_garbage(experience, is_last, 0).discount,
      action=_garbage(experience, is_last, 0).action,
      next_step_type=tf.ones_like(experience.next_step_type),
  )
  found = _loss_and_gradients(agent, spoiled, states)
  for x, y in zip(expected, found, strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
  at_the_end = _garbage(experience, is_last & ~padding, 0).observation
  moved = experience.replace(observation=at_the_end)
  assert abs(_loss_of(agent, moved, states) - _loss_of(
      agent, experience, states
  )) > 1e-4


def test_frames_of_the_last_row_only_bootstrap():
  agent = slow_r2d3.build_agent(core='gru')
  experience = slow_r2d3.sequences(['MMMMMMMM'] * 5)
  states = list(map(tf.constant, slow_r2d3.random_states(agent._q_network, 5)))
  last = np.tile(np.arange(8) == 7, [5, 1])
  spoiled = _garbage(experience, last, 0).replace(
      observation=experience.observation
  )
  expected = _loss_and_gradients(agent, experience, states)
  for x, y in zip(
      expected, _loss_and_gradients(agent, spoiled, states), strict=True
  ):
    np.testing.assert_allclose(x, y, rtol=1e-6)


def test_order_of_the_batch_is_that_of_the_priorities():
  agent = slow_r2d3.build_agent(
      core='lstm', one_step_weight=1.0, margin_weight=1.0
  )
  experience = slow_r2d3.sequences()
  states = slow_r2d3.random_states(agent._q_network, 5)
  order = [3, 0, 4, 2, 1]

  def run(order):
    return agent.loss(
        tf.nest.map_structure(lambda x: tf.gather(x, order), experience),
        weights=tf.constant(WEIGHTS[order]),
        network_state=[tf.constant(x[order]) for x in states],
        is_demonstration=tf.constant(DEMONSTRATIONS[order]),
    )

  first, second = run(list(range(5))), run(order)
  np.testing.assert_allclose(first.loss, second.loss, rtol=1e-6)
  priorities = first.extra.priorities.numpy()
  assert len(set(priorities.round(3))) == 5
  np.testing.assert_allclose(
      second.extra.priorities, priorities[order], rtol=1e-6
  )


# ------------------------------------------------------------------ the target
def test_hard_updates_at_the_period_only():
  agent = slow_r2d3.build_agent(
      core='none', target_update_period_train_steps=3
  )
  online, target = agent._q_network.variables, agent._target_q_network.variables
  assert not any(np.array_equal(x, y) for x, y in zip(online, target))
  agent.initialize()
  for x, y in zip(online, target, strict=True):
    np.testing.assert_array_equal(x, y)
  train = common.function(agent.train)
  experience = slow_r2d3.sequences()
  kept = [x.numpy() for x in online]
  for step in range(1, 8):
    before = [x.numpy() for x in online]
    train(experience)
    assert all(
        np.abs(x - y).max() > 0 for x, y in zip(before, online, strict=True)
    )
    if step % 3 == 0:
      kept = [x.numpy() for x in online]
    for x, y in zip(kept, target, strict=True):
      np.testing.assert_array_equal(x, y)
  assert agent.train_step_counter.numpy() == 7


@pytest.mark.parametrize('graph', [False, True])
def test_soft_updates(graph):
  online = np.tile(np.float32([1, 2, 1]), [6, 1])
  target = np.tile(np.float32([0, -1, 0]), [6, 1])
  agent = _table_agent(
      online,
      target,
      optimizer=tf.keras.optimizers.SGD(0.0),
      target_update_tau=0.001,
      target_update_period_train_steps=1,
  )
  train = common.function(agent.train) if graph else agent.train
  for _ in range(3):
    train(_worked_sequence())
  np.testing.assert_allclose(
      agent._target_q_network.variables[0][:, :2],
      np.tile([0.002997, -0.991009], [6, 1]),
      atol=1e-6,
  )
  # At the start it is a copy, whatever tau.
  agent.initialize()
  np.testing.assert_array_equal(agent._target_q_network.variables[0], online)


# ------------------------------------------------------------------- curiosity
def _curiosity():
  spec = slow_r2d3.OBSERVATION
  return random_network_distillation.RandomNetworkDistillation(
      spec,
      networks.RNDNetwork(spec, (8,), 4),
      networks.RNDNetwork(spec, (8,), 4, trainable=False),
      observation_clip_value=None,
  )


def _bonus(rnd, experience):
  """Of each transition by hand, [B, L - 1], and which there are."""
  arrivals = experience.observation[:, 1:]
  features = [
      net(arrivals)[0].numpy()
      for net in (rnd.rnd_network, rnd.target_rnd_network)
  ]
  acted = experience.step_type[:, :-1].numpy() != slow_r2d3.LAST
  # Without any statistics: whitening and scale are the identity.
  return np.mean((features[0] - features[1]) ** 2, -1), acted


def test_rewards_get_the_bonus_of_the_arrival():
  tf.random.set_seed(3)
  rnd = _curiosity()
  agent = slow_r2d3.build_agent(
      curiosity=rnd,
      rnd_optimizer=tf.keras.optimizers.SGD(0.5),
      bonus_weight=0.7,
  )
  plain = slow_r2d3.build_agent()
  _copy(
      (agent._q_network, agent._target_q_network),
      (plain._q_network, plain._target_q_network),
  )
  experience = slow_r2d3.sequences()
  states = slow_r2d3.random_states(agent._q_network, 5)
  bonus, acted = _bonus(rnd, experience)
  assert bonus.min() > 0.01
  paid = experience.reward.numpy()
  paid[:, :-1] += 0.7 * bonus * acted
  before = {
      'predictor': [v.numpy() for v in rnd.rnd_network.variables],
      'target': [v.numpy() for v in rnd.target_rnd_network.variables],
      'statistics': [
          v.numpy()
          for v in (*rnd._flat_moments[0].variables,
                    *rnd._return_scaler.variables)
      ],
  }
  result = _train(
      agent, experience, states, train=common.function(agent.train)
  )
  expected = _train(
      plain, experience.replace(reward=tf.constant(paid)), states
  )
  # All that Q-learning does is what it does with the other rewards.
  np.testing.assert_allclose(result.loss, expected.loss, rtol=1e-5)
  for key in ('td_loss', 'priorities', 'target_mean', 'gradient_norm'):
    np.testing.assert_allclose(
        getattr(result.extra, key), getattr(expected.extra, key), rtol=1e-5
    )
  _assert_networks_equal(
      agent, (plain._q_network, plain._target_q_network), 1e-6
  )
  np.testing.assert_allclose(
      result.extra.bonus_mean, np.mean(0.7 * bonus * acted), rtol=1e-4
  )
  assert expected.extra.bonus_mean == expected.extra.rnd_loss == 0
  # The predictor learns from the transitions that there are, nothing else does.
  np.testing.assert_allclose(
      result.extra.rnd_loss, bonus[acted].mean(), rtol=1e-5
  )
  assert _bonus(rnd, experience)[0][acted].mean() < 0.9 * bonus[acted].mean()
  assert all(
      np.abs(x - y).max() > 1e-5
      for x, y in zip(before['predictor'], rnd.rnd_network.variables)
  )
  after = (
      *rnd.target_rnd_network.variables,
      *rnd._flat_moments[0].variables,
      *rnd._return_scaler.variables,
  )
  for x, y in zip(
      before['target'] + before['statistics'], after, strict=True
  ):
    np.testing.assert_array_equal(x, y)


def test_a_predictor_learns_from_its_own_loss_alone():
  rnd = _curiosity()
  agent = slow_r2d3.build_agent(
      core='none',
      curiosity=rnd,
      rnd_optimizer=tf.keras.optimizers.SGD(0.5),
      optimizer=tf.keras.optimizers.SGD(0.1),
  )
  assert agent.curiosity is rnd
  assert slow_r2d3.build_agent(core='none').curiosity is None
  experience = slow_r2d3.sequences()
  bonus, acted = _bonus(rnd, experience)
  predictor = rnd.rnd_network
  with tf.GradientTape() as tape:
    arrivals = experience.observation[:, 1:][acted]
    errors = predictor(arrivals)[0] - rnd.target_rnd_network(arrivals)[0]
    loss = tf.reduce_mean(tf.square(errors))
  np.testing.assert_allclose(loss, bonus[acted].mean(), rtol=1e-5)
  gradients = tape.gradient(loss, predictor.trainable_variables)
  expected = [
      x - 0.5 * g
      for x, g in zip(predictor.trainable_variables, gradients, strict=True)
  ]
  agent.train(experience, weights=tf.constant(WEIGHTS))
  for x, y in zip(expected, predictor.trainable_variables, strict=True):
    np.testing.assert_allclose(x, y, atol=1e-6)


# ----------------------------------------------------------------- checkpoints
def _everything(agent):
  """All that training changes, as arrays."""
  result = [
      v.numpy()
      for net in (agent._q_network, agent._target_q_network)
      for v in net.variables
  ]
  for variable in agent._q_network.trainable_variables:
    result += agent_test_utils.adam_slots(agent._optimizer, variable)
  if agent.curiosity is not None:
    rnd = agent.curiosity
    result += [
        v.numpy()
        for v in (
            *rnd.rnd_network.variables,
            *rnd.target_rnd_network.variables,
            *rnd._flat_moments[0].variables,
            *rnd._return_scaler.variables,
        )
    ]
    for variable in rnd.trainable_variables:
      result += agent_test_utils.adam_slots(agent._rnd_optimizer, variable)
  return result + [agent.train_step_counter.numpy()]


def _agent_with_everything(seed, first_layer_number):
  """An agent whose layers are named from dense_<first_layer_number> on."""
  tf.keras.backend.reset_uids()
  for _ in range(first_layer_number):
    tf.keras.layers.Dense(1)
  agent = slow_r2d3.build_agent(
      seed=seed,
      optimizer=agent_test_utils.adam(),
      curiosity=_curiosity(),
      rnd_optimizer=tf.keras.optimizers.Adam(1e-2),
      target_update_period_train_steps=3,
  )
  tf.keras.backend.reset_uids()
  return agent


def test_a_restored_agent_goes_on_bit_for_bit(tmp_path):
  # In another process the layers have other numbers.
  first, second = _agent_with_everything(1, 0), _agent_with_everything(2, 8)
  states = slow_r2d3.random_states(first._q_network, 5)
  for seed in range(2):
    _train(first, slow_r2d3.sequences(seed=seed), states)
  path = tf.train.Checkpoint(agent=first).save(str(tmp_path / 'agent'))
  saved = _everything(first)
  assert sum(
      not np.array_equal(x, y) for x, y in zip(saved, _everything(second))
  ) > 40
  status = tf.train.Checkpoint(agent=second).restore(path)
  status.assert_existing_objects_matched()
  status.assert_consumed()
  for x, y in zip(saved, _everything(second), strict=True):
    np.testing.assert_array_equal(x, y)
  # The very next train step is the third, at which the target follows.
  for seed in range(2, 4):
    infos = [
        _train(agent, slow_r2d3.sequences(seed=seed), states)
        for agent in (first, second)
    ]
    for x, y in zip(*map(tf.nest.flatten, infos), strict=True):
      np.testing.assert_array_equal(x, y)
    for x, y in zip(_everything(first), _everything(second), strict=True):
      np.testing.assert_array_equal(x, y)
    if seed == 2:
      for x, y in zip(
          second._q_network.variables, second._target_q_network.variables
      ):
        np.testing.assert_array_equal(x, y)
