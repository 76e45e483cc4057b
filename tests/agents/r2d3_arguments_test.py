# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What R2D3Agent refuses, and what it takes though it looks odd."""

import re

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import q_rnn_network
from tf_agents.networks import sequential
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import networks
from rnd_agents.agents import r2d3_agent
from rnd_agents.curiosity import random_network_distillation
from tests.agents import slow_r2d3

NAN, INF = float('nan'), float('inf')
# Values out of the range of each argument.
RANGES = {
    'burn_in_length': (-1, 1.5, NAN, INF, -INF),
    'n_step': (0, -1, 1.5, NAN, INF, -INF),
    'target_update_period_train_steps': (0, -1, 1.5, NAN, INF, -INF),
    'discount_factor': (-0.1, 1.01, NAN),
    'priority_max_weight': (-0.1, 1.01, NAN),
    'eval_epsilon': (-0.1, 1.01, NAN),
    'value_rescaling_epsilon': (-1e-3, NAN),
    'n_step_weight': (-1, NAN),
    'one_step_weight': (-1, NAN),
    'margin_weight': (-1, NAN),
    'margin': (-0.1, NAN),
    'margin_anneal_train_steps': (0, 1.5, NAN),
    'bonus_weight': (-0.1, NAN),
    'squared_error_scale': (0, -0.5, NAN),
    'gradient_clipping': (0, -1, NAN),
    'target_update_tau': (0, 1.01, NAN),
}
OPTIONAL = (
    'value_rescaling_epsilon', 'gradient_clipping', 'margin_anneal_train_steps'
)


@pytest.fixture(name='nets', scope='module')
def _nets():
  return slow_r2d3.build_networks('none')


def _refused(nets, error, words, **settings):
  with pytest.raises(error, match=words):
    slow_r2d3.build_agent(nets, **settings)


@pytest.mark.parametrize('name', RANGES)
def test_numbers_out_of_range(nets, name):
  for value in RANGES[name]:
    words = f'R2D3Agent.{name} .*got {re.escape(str(value))}'
    _refused(nets, ValueError, words, **{name: value})
  for value in ('1', True, [1.0], *([] if name in OPTIONAL else [None])):
    words = f'R2D3Agent.{name} .*got {re.escape(repr(value))}'
    _refused(nets, TypeError, words, **{name: value})


def test_a_vector_of_rewards(nets):
  time_step_spec = ts.time_step_spec(
      nets.q_network.input_tensor_spec, tf.TensorSpec([2])
  )
  with pytest.raises(ValueError, match='R2D3Agent .*one reward a step, .*2'):
    r2d3_agent.R2D3Agent(time_step_spec, slow_r2d3.ACTION, **nets._asdict())


@pytest.mark.parametrize(
    ('name', 'choices'),
    [
        ('recurrent_state_init', "'stored', 'zero'"),
        ('priorities_from', "'n_step_errors', 'both_errors', 'losses'"),
    ],
)
def test_words_that_mean_nothing(nets, name, choices):
  for value in ('random', None):
    words = f'R2D3Agent.{name} .*{choices}.*got {value!r}'
    _refused(nets, ValueError, words, **{name: value})


@pytest.mark.parametrize(
    'epsilon',
    [1.5, [1.5, 0.2], np.array([0.1, -0.1]), [float('nan')], '0.1', None],
)
def test_epsilons_that_are_no_probabilities(nets, epsilon):
  _refused(nets, ValueError, 'epsilon .*0 and 1', collect_epsilon=epsilon)


def test_an_epsilon_for_each_environment_may_be_an_array(nets):
  for epsilon in ([0.0, 1.0], np.float32([0.5, 0.2]), tf.Variable([0.1, 0.1])):
    agent = slow_r2d3.build_agent(nets, collect_epsilon=epsilon)
    time_step = ts.restart(tf.ones([2, 3]), 2)
    chosen = agent.collect_policy.distribution(time_step).action
    np.testing.assert_allclose(
        tf.reduce_min(chosen.probs_parameter(), -1),
        np.float32(epsilon) / 3,
        rtol=1e-6,
    )


def test_bounds_and_whole_floats_are_taken():
  # As a gin file may write them; NumPy's numbers are numbers.
  settings = dict(
      burn_in_length=2.0,
      n_step=np.int64(3),
      target_update_period_train_steps=2e0,
      discount_factor=1,
      priority_max_weight=np.float32(0.5),
      target_update_tau=1,
      margin=0,
  )
  losses = []
  for n_step in (3.0, np.int64(3), 3):
    agent = slow_r2d3.build_agent(core='none', **dict(settings, n_step=n_step))
    for _ in range(2):
      losses.append(float(agent.train(slow_r2d3.sequences()).loss))
    assert agent.burn_in_length == 2
    for x, y in zip(
        agent._q_network.variables, agent._target_q_network.variables
    ):
      np.testing.assert_array_equal(x, y)
  assert losses[0] > losses[1] > 0
  assert losses == losses[:2] * 3


def test_networks_that_cannot_serve(nets):
  words = 'target_q_network .*Network, got NoneType.*create_q_networks'
  _refused(nets._replace(target_q_network=None), TypeError, words)
  _refused(
      nets,
      TypeError,
      'q_network .*Network, got Dense',
      q_network=tf.keras.layers.Dense(3),
  )
  # Of other shapes; the same; on one trunk.
  other = slow_r2d3.build_networks('gru').target_q_network
  _refused(nets._replace(target_q_network=other), ValueError, 'same shapes')
  shared = nets._replace(target_q_network=nets.q_network)
  _refused(shared, ValueError, 'share weights')
  spec, action = slow_r2d3.OBSERVATION, slow_r2d3.ACTION
  trunk = nets.q_network._encoder
  half = networks.RecurrentQNetwork(spec, action, trunk, head_units=4)
  _refused(nets._replace(target_q_network=half), ValueError, 'share weights')


@pytest.mark.parametrize(
    ('shape', 'dtype', 'minimum', 'maximum'),
    [([], tf.int64, 1, 3), ([2], tf.int64, 0, 2), ([], tf.float32, 0, 2)],
)
def test_actions_must_be_one_choice_from_0(
    nets, shape, dtype, minimum, maximum
):
  # Networks of one's own know nothing of the action spec.
  _refused(
      nets,
      ValueError,
      'one discrete action from 0',
      action_spec=tensor_spec.BoundedTensorSpec(shape, dtype, minimum, maximum),
  )


@pytest.mark.parametrize('num_actions', [2, 5])
def test_networks_must_have_a_value_for_each_action(nets, num_actions):
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, num_actions - 1)
  _refused(
      nets,
      ValueError,
      rf'q_network .* {num_actions} actions.*got .*\(3,\)',
      action_spec=spec,
  )


def _keras_lstm():
  return sequential.Sequential(
      [
          tf.keras.layers.LSTM(4, return_state=True, return_sequences=True),
          tf.keras.layers.Dense(3),
      ],
      input_spec=slow_r2d3.OBSERVATION,
  )


def test_networks_must_forget_where_an_episode_begins(nets):
  _refused(
      nets._replace(q_network=_keras_lstm(), target_q_network=_keras_lstm()),
      ValueError,
      'q_network remembers',
  )
  for core in ('lstm', 'gru', 'own'):
    slow_r2d3.build_agent(core=core)
  own = [
      q_rnn_network.QRnnNetwork(
          slow_r2d3.OBSERVATION, slow_r2d3.ACTION, lstm_size=(4,)
      )
      for _ in range(2)
  ]
  slow_r2d3.build_agent(networks.QNetworks(*own))


def test_a_curiosity_needs_an_optimizer_and_a_type(nets):
  _refused(
      nets,
      TypeError,
      'R2D3Agent.curiosity .*Curiosity.*got str',
      curiosity='rnd',
      rnd_optimizer=tf.keras.optimizers.SGD(0.1),
  )
  spec = slow_r2d3.OBSERVATION
  rnd = random_network_distillation.RandomNetworkDistillation(
      spec,
      networks.RNDNetwork(spec, (4,), 2),
      networks.RNDNetwork(spec, (4,), 2, trainable=False),
  )
  _refused(
      nets, ValueError, 'R2D3Agent.rnd_optimizer is missing', curiosity=rnd
  )
  # It would count two steps an update.
  optimizer = tf.keras.optimizers.legacy.Adam(0.1)
  _refused(
      nets,
      ValueError,
      'optimizer and rnd_optimizer are one object',
      curiosity=rnd,
      optimizer=optimizer,
      rnd_optimizer=optimizer,
  )


def test_sequences_need_a_step_to_learn_from(nets):
  agent = slow_r2d3.build_agent(nets, burn_in_length=2)
  short = slow_r2d3.sequences(['FMM'])
  with pytest.raises(ValueError, match='4 frames: burn_in_length=2, .* got 3'):
    agent.train(short)
  # One step and the frame after it are enough.
  info = agent.loss(slow_r2d3.sequences(['FMMM'])).extra
  np.testing.assert_allclose(info.priorities, [info.td_error_mean], rtol=1e-6)
  assert info.td_error_mean > 0


def test_training_needs_an_optimizer():
  agent = slow_r2d3.build_agent(core='none', optimizer=None)
  with pytest.raises(ValueError, match='R2D3Agent needs an optimizer'):
    agent.train(slow_r2d3.sequences())
  # To act and to judge it needs none.
  assert agent.loss(slow_r2d3.sequences()).loss > 0
