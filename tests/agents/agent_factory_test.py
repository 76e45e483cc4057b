# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the functions that build agents from gin."""

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import actor_distribution_network
from tf_agents.networks import q_rnn_network
from tf_agents.networks import value_network
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import curiosity
from rnd_agents import networks
from rnd_agents.agents import agent_factory
from rnd_agents.agents import optimizers
from tests.agents import agent_test_utils

TIME_STEP_SPEC = ts.time_step_spec(agent_test_utils.FLAT)
ACTION_SPEC = agent_test_utils.DISCRETE


def _rnd_ppo(**settings):
  return agents.create_rnd_ppo_agent(TIME_STEP_SPEC, ACTION_SPEC, **settings)


def _r2d3(**settings):
  return agents.create_r2d3_agent(TIME_STEP_SPEC, ACTION_SPEC, **settings)


def test_rnd_ppo_is_built_as_by_hand():
  tf.random.set_seed(3)
  nets = networks.create_networks(agent_test_utils.FLAT, ACTION_SPEC)
  by_hand = agents.RNDPPOAgent(
      TIME_STEP_SPEC,
      ACTION_SPEC,
      optimizer=tf.keras.optimizers.Adam(1e-3, epsilon=1e-8),
      **nets._asdict(),
  )
  tf.random.set_seed(3)
  agent = _rnd_ppo(learning_rate=1e-3)
  assert len(agent.variables) == len(by_hand.variables)
  for ours, theirs in zip(
      agent.collect_policy.variables(),
      by_hand.collect_policy.variables(),
      strict=True,
  ):
    np.testing.assert_array_equal(ours, theirs)
  np.testing.assert_array_equal(
      agent._shuffling.state, by_hand._shuffling.state
  )
  (optimizer,) = agent.optimizers
  assert optimizer.learning_rate == np.float32(1e-3)
  assert optimizer.epsilon == 1e-8
  assert agent.train_step_counter.dtype == tf.int64


def test_an_optimizer_of_its_own_for_the_curiosity():
  agent = _rnd_ppo(learning_rate=1e-3, rnd_learning_rate=1e-4)
  rates = [float(o.learning_rate) for o in agent.optimizers]
  np.testing.assert_allclose(rates, [1e-3, 1e-4], rtol=1e-6)


@pytest.mark.parametrize(
    ('build', 'network'), [(_rnd_ppo, 'actor_net'), (_r2d3, '_q_network')]
)
def test_a_learning_rate_that_falls_by_a_schedule_of_keras(build, network):
  gin.parse_config("""
      create_rnd_ppo_agent.learning_rate = @PiecewiseConstantDecay()
      create_r2d3_agent.learning_rate = @PiecewiseConstantDecay()
      PiecewiseConstantDecay.boundaries = [1]
      PiecewiseConstantDecay.values = [0.1, 0.01]
  """)
  agent = build()
  variables = getattr(agent, network).trainable_variables
  before = [v.numpy() for v in variables]

  @tf.function
  def step():
    gradients = [tf.fill(v.shape, 1e3) for v in variables]
    optimizers.apply(agent.optimizers[0], gradients, variables)

  for _ in range(3):
    step()
  # Of equal gradients each of Adam's steps is the learning rate; that of the
  # third one, after two, is beyond the boundary.
  for variable, start in zip(variables, before, strict=True):
    np.testing.assert_allclose(start - variable, 0.21, rtol=2e-3)


def test_r2d3_with_and_without_a_curiosity():
  agent = _r2d3(burn_in_length=2, weight_decay=0.1)
  assert agent.curiosity is None
  assert agent.burn_in_length == 2
  (optimizer,) = agent.optimizers
  assert optimizer.weight_decay == 0.1
  curious = _r2d3(curiosity_fn=curiosity.create_rnd, rnd_learning_rate=1e-2)
  assert isinstance(curious.curiosity, curiosity.RandomNetworkDistillation)
  optimizer, rnd_optimizer = curious.optimizers
  assert optimizer.epsilon == 1e-3
  assert rnd_optimizer.epsilon == 1e-8
  assert rnd_optimizer.learning_rate == np.float32(1e-2)


@gin.configurable(module='agent_factory_test')
def own_ppo_networks(observation_spec, action_spec, units=2):
  actor_net = actor_distribution_network.ActorDistributionNetwork(
      observation_spec, action_spec, fc_layer_params=(units,)
  )
  values = [
      value_network.ValueNetwork(observation_spec, fc_layer_params=(units,))
      for _ in range(2)
  ]
  return networks.Networks(actor_net, tuple(values), None, None)


def test_rnd_ppo_on_networks_of_ones_own():
  gin.parse_config("""
      create_rnd_ppo_agent.networks_fn = @own_ppo_networks
      own_ppo_networks.units = 5
  """)
  tf.random.set_seed(0)
  agent = _rnd_ppo()
  shapes = [v.shape.as_list() for v in agent.collect_policy.variables()]
  assert shapes.count([3, 5]) == 3  # The policy and two values.
  assert isinstance(agent.curiosity, curiosity.RandomNetworkDistillation)


@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda *specs: own_ppo_networks(*specs)[:2], r'return .*got \('),
        ('create_networks', 'without brackets'),
    ],
)
def test_what_makes_no_networks_is_refused(function, words):
  with pytest.raises(TypeError, match=f'networks_fn .*{words}'):
    _rnd_ppo(networks_fn=function)


@gin.configurable(module='agent_factory_test')
def own_q_networks(observation_spec, action_spec, units=2):
  return networks.QNetworks(*(
      q_rnn_network.QRnnNetwork(
          observation_spec, action_spec, lstm_size=(units,)
      )
      for _ in range(2)
  ))


def test_r2d3_on_a_q_network_of_ones_own():
  gin.parse_config("""
      create_r2d3_agent.q_networks_fn = @own_q_networks
      own_q_networks.units = 5
  """)
  agent = _r2d3()
  for network in (agent._q_network, agent._target_q_network):
    shapes = [v.shape.as_list() for v in network.variables]
    assert [40, 20] in shapes and [5, 20] in shapes  # An LSTM of 5 units.
  spec = agent.collect_policy.policy_state_spec
  assert [x.shape for x in tf.nest.flatten(spec)] == [[5], [5]]


@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda *specs: own_q_networks(*specs).q_network, 'got <.*QRnnNetwork'),
        (lambda *specs: tuple(own_q_networks(*specs)), r'got \(<'),
        (lambda *specs: None, 'got None'),
    ],
)
def test_what_is_no_pair_of_q_networks_is_refused(function, words):
  with pytest.raises(TypeError, match=f'q_networks_fn .*QNetworks.*{words}'):
    _r2d3(q_networks_fn=function)
  with pytest.raises(TypeError, match='@create_q_networks .without'):
    _r2d3(q_networks_fn='create_q_networks')


@pytest.mark.parametrize(('weight_decay', 'kept'), [(0.2, 0.98), (None, 1.0)])
@pytest.mark.parametrize('gradient', [0.0, 0.3])
def test_weight_decay_is_decoupled_from_the_gradient(
    gradient, weight_decay, kept
):
  optimizer = agent_factory._adam(0.1, 1e-8, weight_decay)
  variable = tf.Variable([3.0, -1.0])
  optimizer.apply_gradients([(tf.constant([gradient, -gradient]), variable)])
  # Loshchilov and Hutter, 2019, algorithm 2: Adam's first step is the sign.
  sign = np.sign(gradient)
  np.testing.assert_allclose(
      variable, [3.0 * kept - 0.1 * sign, -kept + 0.1 * sign], rtol=1e-5
  )


def test_acting_depends_on_the_variables_of_the_collect_policy_alone():
  """Copied into another agent's policy they make it act alike."""
  epsilon = tf.Variable([0.25, 0.75])
  first = _r2d3(collect_epsilon=epsilon)
  second = _r2d3(collect_epsilon=tf.Variable([1.0, 1.0]))
  ours = first.collect_policy.variables()
  assert any(variable is epsilon for variable in ours)
  for theirs, value in zip(
      second.collect_policy.variables(), [v.numpy() for v in ours], strict=True
  ):
    theirs.assign(value)
  step = ts.restart(tf.random.normal([2, 3]), 2)
  distributions = [
      agent.collect_policy.distribution(step).action.probs_parameter()
      for agent in (first, second)
  ]
  np.testing.assert_array_equal(*distributions)


@pytest.mark.parametrize(
    ('curiosity_fn', 'is_list'),
    [(curiosity.create_rnd, False), ([curiosity.create_rnd], True)],
)
def test_streams_are_made_of_one_curiosity_or_of_a_list(curiosity_fn, is_list):
  got = []

  class Agent(agents.RNDPPOAgent):

    def __init__(self, *args, **kwargs):
      got.append(kwargs['curiosity'])
      super().__init__(*args, **kwargs)

  agent = _rnd_ppo(curiosity_fn=curiosity_fn, agent_class=Agent)
  assert got == [[agent.curiosity] if is_list else agent.curiosity]


def _novel_d(*specs):
  return curiosity.create_novel_d(*specs, novelty_fn='RND')


@pytest.mark.parametrize(
    ('build', 'settings', 'words'),
    [
        (_rnd_ppo, {'learning_rate': 0.0}, 'learning_rate .*above 0'),
        (_rnd_ppo, {'rnd_learning_rate': -1}, 'learning_rate .*above 0'),
        (_rnd_ppo, {'learning_rate': None}, 'learning_rate .*number'),
        (_rnd_ppo, {'agent_class': 'PPO'}, 'agent_class .*RNDPPOAgent'),
        (_rnd_ppo, {'agent_class': dict}, 'agent_class .*RNDPPOAgent'),
        (_rnd_ppo, {'curiosity_fn': _novel_d}, 'novelty_fn .*function'),
        (_rnd_ppo, {'curiosity_fn': [3]}, 'curiosity_fn .*function'),
        (_r2d3, {'curiosity_fn': 'RND'}, 'curiosity_fn .*function'),
        (
            _rnd_ppo,
            {'curiosity_fn': lambda spec: spec},
            'curiosity_fn .*time_step_spec, action',
        ),
        (
            _rnd_ppo,
            {'curiosity_fn': lambda spec, action_spec, more: spec},
            'curiosity_fn .*time_step_spec, action',
        ),
        (
            _r2d3,
            {'curiosity_fn': lambda *specs: specs},
            'curiosity_fn .*Curiosity, got tuple',
        ),
        (_r2d3, {'learning_rate': -1.0}, 'learning_rate .*above 0'),
        (_r2d3, {'adam_epsilon': 0}, 'adam_epsilon .*above 0'),
        (_r2d3, {'weight_decay': -0.1}, 'weight_decay .*at least 0'),
        (
            _r2d3,
            {'curiosity_fn': curiosity.create_rnd, 'rnd_learning_rate': 0},
            'rnd_learning_rate .*above 0',
        ),
    ],
)
def test_refuses(build, settings, words):
  with pytest.raises((TypeError, ValueError), match=words):
    build(**settings)


@pytest.mark.parametrize(
    ('num_environments', 'rollout_length', 'words'),
    [
        (1, 2, '1 environments . 2 .*too few'),
        (1, 3, '3 transitions, too few'),
        (2, 4, None),
    ],
)
def test_check_rollout(num_environments, rollout_length, words):
  agent = _rnd_ppo()
  if words is None:
    agent.check_rollout(num_environments, rollout_length)
  else:
    with pytest.raises(ValueError, match=words):
      agent.check_rollout(num_environments, rollout_length)
