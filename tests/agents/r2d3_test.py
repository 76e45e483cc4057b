# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""R2D3's update against a slow one, and worked numbers."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import networks
from tests.agents import slow_r2d3
from tests.ops import q_sequences

SGD = (lambda: tf.keras.optimizers.SGD(0.1), lambda: slow_r2d3.Sgd(0.1))
# R2D2's epsilon, which keeps the noise of float32 from being scaled up.
ADAM = (
    lambda: tf.keras.optimizers.Adam(1e-2, epsilon=1e-3),
    lambda: slow_r2d3.Adam(1e-2, 1e-3),
)
pytestmark = pytest.mark.usefixtures('optimized_graphs')
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
            'l2_weight': 0.02,
            'gradient_clipping': 0.3,
        },
    ),
    'a network of the user': ('own', SGD, {}),
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


# ------------------------------------------------- against a slow, plain update
# Under a `tf.function`: of each core one, which takes time to trace.
GRAPHS = {'r2d2': [True], 'di-engine': [True], 'dqn': [True]}


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
    slow_r2d3.copy_networks(nets, (agent._q_network, agent._target_q_network))
    agents.append(agent)
    trains.append(common.function(agent.train) if graph else agent.train)
  for step in range(2):
    experience = slow_r2d3.sequences(seed=step)
    states = slow_r2d3.random_states(nets.q_network, 5, seed=step)
    before = [v.numpy() for v in nets.q_network.variables]
    loss, info = slow.train(
        experience, slow_r2d3.WEIGHTS, states, slow_r2d3.DEMONSTRATIONS
    )
    moved = [np.abs(x - y).max() for x, y in zip(
        before, nets.q_network.variables, strict=True
    )]
    assert min(moved) > 1e-4
    for agent, train in zip(agents, trains, strict=True):
      result = slow_r2d3.train(agent, experience, states, function=train)
      np.testing.assert_allclose(result.loss, loss, rtol=2e-5)
      assert set(info) == set(result.extra._fields)
      for key, value in info.items():
        np.testing.assert_allclose(
            getattr(result.extra, key), value, rtol=5e-5, atol=2e-6, err_msg=key
        )
      slow_r2d3.assert_networks_equal(agent, nets)
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

  def call(self, observation, step_type=None, network_state=(), training=False):
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


def test_worked_sequence_as_a_demonstration():
  for weight, loss in ((1, 2.720268), (0, 0.104767)):
    agent = _table_agent(
        n_step=2,
        margin=0.8,
        one_step_weight=weight,
        margin_weight=weight,
        # Whoever asks for both errors gets them, weighed or not.
        priorities_from='both_errors',
    )
    result = agent.loss(
        _worked_sequence(), is_demonstration=tf.constant([True])
    )
    np.testing.assert_allclose(result.loss, loss, atol=3e-6)
    np.testing.assert_allclose(result.extra.priorities, [0.448380], atol=2e-6)
    np.testing.assert_allclose(
        result.extra.margin_loss, 0.65 * weight, atol=1e-6
    )
    # One's own experience has no margin.
    own = agent.loss(_worked_sequence()).loss
    np.testing.assert_allclose(own, loss - 2.6 * weight, atol=3e-6)
    assert result.extra.demonstration_rate == 1
    # a* = 1, 0, 1, 2 is what was done.
    assert result.extra.demonstration_agreement == 1


@pytest.mark.parametrize('in_graph', [False, True])
def test_the_margin_loss_is_annealed(in_graph):
  agent = _table_agent(
      n_step=2, margin=0.8, margin_weight=0.5, margin_anneal_train_steps=8
  )
  loss = common.function(agent.loss) if in_graph else agent.loss
  # Four steps of 0.65 by 0.5 at first, three quarters of it after two updates.
  for train_step, margin_loss in (
      (0, 1.3), (2, 0.975), (7, 0.1625), (8, 0.0), (99, 0.0)
  ):
    agent.train_step_counter.assign(train_step)
    result = loss(_worked_sequence(), is_demonstration=tf.constant([True]))
    np.testing.assert_allclose(result.loss, 0.104767 + margin_loss, atol=3e-6)
    np.testing.assert_allclose(result.extra.margin_loss, 0.65, atol=1e-6)


def test_l2_is_a_term_of_the_loss():
  worked = _table_agent(n_step=2).loss(_worked_sequence())
  agent = _table_agent(n_step=2, l2_weight=0.05)
  result = agent.train(_worked_sequence())

  # Squares of the rows: 0.06 + 0.34 + 0.20 + 0.86 + 1.54 + 0.21.
  np.testing.assert_allclose(result.extra.l2_loss, 3.21, rtol=1e-6)
  np.testing.assert_allclose(result.loss, 0.104767 + 0.05 * 3.21, atol=1e-6)
  np.testing.assert_array_equal(
      result.extra.priorities, worked.extra.priorities
  )
  assert worked.extra.l2_loss == 0
  # Of 0.05 w^2 the gradient is w / 10, of all weights; the rate is 1.
  moved = q_sequences.ONLINE[0] * 0.9
  for t, error in enumerate(q_sequences.TWO_STEP_ERRORS[0, :4]):
    moved[t, q_sequences.ACTIONS[0, t]] += error
  np.testing.assert_allclose(agent._q_network.variables[0], moved, atol=2e-6)


def test_soft_updates():
  online = np.tile(np.float32([1, 2, 1]), [6, 1])
  target = np.tile(np.float32([0, -1, 0]), [6, 1])
  agent = _table_agent(
      online,
      target,
      optimizer=tf.keras.optimizers.SGD(0.0),
      target_update_tau=0.001,
      target_update_period_train_steps=1,
  )
  for _ in range(3):
    agent.train(_worked_sequence())
  np.testing.assert_allclose(
      agent._target_q_network.variables[0][:, :2],
      np.tile([0.002997, -0.991009], [6, 1]),
      atol=1e-6,
  )
  # At the start it is a copy, whatever tau.
  agent.initialize()
  np.testing.assert_array_equal(agent._target_q_network.variables[0], online)
