# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the constructor takes and refuses, and every kind of optimizer."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import actor_distribution_network
from tf_agents.networks import value_network
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents.agents import rnd_ppo_agent
from tests.agents import agent_test_utils

FLAT, DISCRETE = agent_test_utils.FLAT, agent_test_utils.DISCRETE


@functools.cache
def _unused_networks():
  """For agents that are refused."""
  return agent_test_utils.small_networks(FLAT, DISCRETE)._asdict()


@pytest.fixture(autouse=True, scope='module')
def _made_outside_of_strategies():
  _unused_networks()


def _networks(**changed):
  return dict(_unused_networks(), **changed)


def _trained(agent, experience=None):
  """Variables of an agent after an update."""
  agent.train(experience or agent_test_utils.rollout(agent))
  return [v.numpy() for v in agent.variables]


def _assert_equal(first, *others):
  for other in others:
    for a, b in zip(first, other, strict=True):
      np.testing.assert_array_equal(a, b)


def _refused(error, match, nets=None, **settings):
  with pytest.raises(error, match=match):
    agent_test_utils.build_agent(nets=nets or _networks(), **settings)


@pytest.mark.parametrize(
    ('name', 'build', 'match'),
    [
        (
            'value_net',
            lambda: value_network.ValueNetwork(FLAT, fc_layer_params=(4,)),
            'value_net .*2 heads.*create_networks',
        ),
        *(
            (
                'value_net',
                functools.partial(agent_test_utils.Slice, FLAT, 0, width),
                'value_net .*2 heads',
            )
            for width in (1, 3)
        ),
        *(
            (name, lambda: None, f'{name} .*tf_agents Network')
            for name in (
                'actor_net', 'value_net', 'rnd_network', 'target_rnd_network'
            )
        ),
    ],
)
def test_network_is_refused(name, build, match):
  _refused((TypeError, ValueError), match, _networks(**{name: build()}))


_BY_LEARNER = {
    'compute_value_and_advantage_in_train': False,
    'update_normalizers_in_train': False,
}


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'use_gae': False, 'lambda_value': 0.9}, 'lambda_value has no effect'),
        ({'initial_adaptive_kl_beta': -1.0}, 'initial_adaptive_kl'),
        ({'adaptive_kl_target': 0.1}, 'adaptive_kl_target has no effect'),
        ({'kl_cutoff_coef': 9.0}, 'kl_cutoff_coef has no effect'),
        (
            {'kl_cutoff_factor': 2.0, 'adaptive_kl_tolerance': 0.1},
            'tolerance has no effect',
        ),
        ({'num_epochs': float('inf')}, 'num_epochs .*got inf'),
        ({'num_epochs': 0.5}, 'num_epochs .*got 0.5'),
        ({'num_minibatches': 0}, 'num_minibatches .*got 0'),
        ({'importance_ratio_clipping': 0}, 'clipping .*KL penalty'),
        ({'predictor_proportion': 0}, 'above 0.*intrinsic_adv'),
        ({'predictor_proportion': 1.5}, 'portion .*got 1.5'),
        (
            {'compute_value_and_advantage_in_train': False},
            'update_normalizers_in_train',
        ),
        ({'target_kl': 0.0}, 'target_kl .*above 0'),
        ({'dual_clip': 1.0}, 'dual_clip .*above 1'),
        ({'intrinsic_reward_clip': -1.0}, 'reward_clip .*above 0'),
        (
            {'intrinsic_termination_discount': 1.5},
            'termination_discount .*got 1.5',
        ),
        (
            {
                'intrinsic_termination_discount': 0.5,
                'episodic_intrinsic_stream': True,
            },
            'termination_discount has no effect',
        ),
        ({'least_reward_deviation': 1.0}, 'needs normalize_rewards=True'),
        ({'advantage_scale_decay': 0.9}, 'needs normalize_advantages=True'),
        (
            dict(
                _BY_LEARNER,
                advantage_scale_decay=0.9,
                normalize_advantages=True,
            ),
            'advantage_scale_decay .*in_train=True',
        ),
        (
            {'extrinsic_advantage_coefficient': float('nan')},
            'extrinsic_advantage_coefficient .*nan',
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else '',
)
def test_value_is_refused(settings, match):
  _refused(ValueError, match, **settings)


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'num_epoch': 3}, 'no argument num_epoch'),
        (
            {'intrinsic_advantage_coefficient': '1'},
            'intrinsic_advantage_coefficient .*number',
        ),
        # Python takes these texts for True.
        *(
            ({name: 'False'}, f"{name} must be True or False, got 'False'")
            for name in ('greedy_eval', 'use_gae', 'normalize_rewards')
        ),
        # What is 0, or None, decides which graph is built.
        *(
            ({name: tf.Variable(0.1)}, f'{name} .*number')
            for name in (
                'value_clipping',
                'gradient_clipping',
                'log_prob_clipping',
                'reward_norm_clipping',
            )
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else '',
)
def test_type_is_refused(settings, match):
  _refused(TypeError, match, **settings)


@pytest.mark.parametrize('in_train', [True, False])
def test_a_sequence_of_one_row_is_refused(in_train):
  agent = agent_test_utils.build_agent(
      compute_value_and_advantage_in_train=in_train,
      update_normalizers_in_train=in_train,
  )
  take = agent.train if in_train else agent.preprocess_sequence
  with pytest.raises(ValueError, match='at least 2 rows'):
    take(agent_test_utils.rollout(agent, ['F', 'M']))


def test_one_object_as_both_optimizers_is_refused():
  optimizer = agent_test_utils.adam()
  _refused(
      ValueError,
      'leave rnd_optimizer at None',
      optimizer=optimizer,
      rnd_optimizer=optimizer,
  )


def test_strategies_of_one_device_change_nothing():
  results = []
  for strategy in (
      tf.distribute.get_strategy(),
      tf.distribute.OneDeviceStrategy('/cpu:0'),
      tf.distribute.MirroredStrategy(['/cpu:0']),
  ):
    with strategy.scope():
      agent = agent_test_utils.build_agent(num_epochs=1, num_minibatches=1)
    results.append(_trained(agent))
  _assert_equal(*results)


def test_whole_floats_count_as_integers_do(monkeypatch):
  # As a gin file may write them.
  agent_test_utils.fix_shuffles(monkeypatch, 1)
  results = []
  for kind in (int, float):
    agent = agent_test_utils.build_agent(
        num_epochs=kind(1), num_minibatches=kind(3)
    )
    results.append(_trained(agent))
  _assert_equal(*results)


def test_coefficients_may_be_schedules(monkeypatch):
  """A variable does what its value does, in a graph too, and may change."""
  agent_test_utils.fix_shuffles(monkeypatch, 2)
  variable = tf.Variable(0.0)
  rewards = []
  for coefficient in (3.0, variable):
    agent = agent_test_utils.build_agent(
        intrinsic_advantage_coefficient=coefficient, num_minibatches=1
    )
    variable.assign(3.0)
    experience = agent_test_utils.rollout(agent)
    agent.train(experience)  # Eagerly, for statistics to scale by.
    train = agent.train
    if coefficient is variable:
      train = common.function(train)
    rewards.append(train(experience).extra.policy_gradient_loss.numpy())
  np.testing.assert_allclose(*rewards, rtol=1e-5)
  variable.assign(-3.0)
  assert abs(train(experience).extra.policy_gradient_loss - rewards[0]) > 1e-2


def test_rewards_of_double_precision(monkeypatch):
  agent_test_utils.fix_shuffles(monkeypatch, 2)
  results = []
  for dtype in (tf.float32, tf.float64):
    tf.random.set_seed(0)
    spec = ts.time_step_spec(FLAT)._replace(reward=tf.TensorSpec([], dtype))
    agent = rnd_ppo_agent.RNDPPOAgent(
        spec,
        DISCRETE,
        agent_test_utils.adam(),
        **agent_test_utils.small_networks(FLAT, DISCRETE)._asdict(),
        normalize_rewards=True,
        train_step_counter=tf.Variable(0, dtype=tf.int64),
    )
    experience = agent_test_utils.rollout(agent)
    reward = tf.cast(experience.reward, dtype)
    results.append(_trained(agent, experience.replace(reward=reward)))
  _assert_equal(*results)


def test_training_without_an_optimizer_is_refused():
  agent = agent_test_utils.build_agent(optimizer=None)
  with pytest.raises(ValueError, match='needs an optimizer'):
    agent.train(agent_test_utils.rollout(agent))


def test_takes_what_upstream_examples_pass(monkeypatch):
  """The arguments of TF-Agents' PPO example, and they change nothing."""
  agent_test_utils.fix_shuffles(monkeypatch, 2)
  upstream = {
      'greedy_eval': False,
      'use_gae': True,
      'use_td_lambda_return': True,
      'log_prob_clipping': 0.0,
      'kl_cutoff_factor': 0.0,
      'kl_cutoff_coef': 0.0,
      'initial_adaptive_kl_beta': 0.0,
      'adaptive_kl_target': 0.01,
      'adaptive_kl_tolerance': 0.3,
      'reward_norm_clipping': 10.0,
      'aggregate_losses_across_replicas': False,
      'gradient_clipping': None,
      'value_clipping': None,
      'check_numerics': True,
      'debug_summaries': True,
      'summarize_grads_and_vars': True,
  }
  results = []
  for settings in ({}, upstream):
    agent = agent_test_utils.build_agent(**settings)
    agent.initialize()
    results.append(_trained(agent))
  _assert_equal(*results)


def test_greedy_eval_decides_how_the_policy_acts():
  time_step = ts.restart(tf.zeros([200, 3]), 200)
  for greedy, counts in ((True, [1]), (False, [2, 3])):
    agent = agent_test_utils.build_agent(greedy_eval=greedy)
    assert len(set(agent.policy.action(time_step).action.numpy())) in counts
    assert len(set(agent.collect_policy.action(time_step).action.numpy())) > 1


def test_check_numerics_stops_before_a_bad_step():
  agent = agent_test_utils.build_agent(check_numerics=True)
  experience = agent_test_utils.rollout(agent)
  before = [v.numpy() for v in agent._ppo_variables]
  with pytest.raises(tf.errors.InvalidArgumentError, match='total loss'):
    agent.train(experience, weights=tf.constant(3e38))
  for a, b in zip(agent._ppo_variables, before, strict=True):
    np.testing.assert_array_equal(a, b)


def test_networks_of_tf_agents_serve():
  agent = agent_test_utils.build_agent(
      nets=dict(
          agent_test_utils.small_networks(FLAT, DISCRETE)._asdict(),
          actor_net=actor_distribution_network.ActorDistributionNetwork(
              FLAT, DISCRETE, fc_layer_params=(8,)
          ),
      ),
      num_epochs=10,
      optimizer=tf.keras.optimizers.Adam(0.01),
      extrinsic_advantage_coefficient=1.0,
      intrinsic_advantage_coefficient=1e-6,
      lambda_value=0.0,
      discount_factor=0.0,
  )
  experience = agent_test_utils.rollout(agent, drift=0.0)
  # Action 2 pays, whatever is observed.
  reward = tf.cast(tf.equal(experience.action, 2), tf.float32)
  experience = experience.replace(reward=reward)
  time_step = ts.restart(experience.observation[:, 0], 4)

  def probability():
    distribution = agent.collect_policy.distribution(time_step).action
    return distribution.probs_parameter().numpy()[..., 2]

  before = probability()
  agent.train(experience)
  assert np.all(probability() > before + 0.02)


OPTIMIZERS = {
    'keras': lambda: tf.keras.optimizers.Adam(1e-2, epsilon=1e-5),
    'legacy': lambda: tf.keras.optimizers.legacy.Adam(1e-2, epsilon=1e-5),
    'v1': lambda: tf.compat.v1.train.AdamOptimizer(1e-2, epsilon=1e-5),
}


def _adam_by_hand(before, gradient_moments):
  """Where Adam's first step leads, from its moments after that step."""
  momentum, velocity = gradient_moments
  rate = 1e-2 * np.sqrt(1 - 0.999) / (1 - 0.9)
  return before - rate * momentum / (np.sqrt(velocity) + 1e-5)


def test_every_generation_of_adam_makes_the_same_step(monkeypatch):
  results = {}
  for name, build in OPTIMIZERS.items():
    # Two of a kind, each with its share of the variables, do the work of one.
    settings = {} if name == 'keras' else {'rnd_optimizer': build()}
    agent = agent_test_utils.build_agent(
        optimizer=build(), num_epochs=1, num_minibatches=1, **settings
    )
    agent_test_utils.fix_shuffles(monkeypatch, 1)
    variables = agent._ppo_variables + agent._predictor_variables
    before = [v.numpy() for v in variables]
    experience = agent_test_utils.rollout(agent)
    # Other tests trace Keras's of today.
    train = agent.train if name == 'keras' else common.function(agent.train)
    train(experience)
    assert agent.train_step_counter.numpy() == 1
    after = [v.numpy() for v in variables]
    optimizers = [agent._optimizer] * len(agent._ppo_variables)
    rnd_optimizer = agent._rnd_optimizer or agent._optimizer
    optimizers += [rnd_optimizer] * len(agent._predictor_variables)
    for optimizer, v, a, b in zip(
        optimizers, variables, before, after, strict=True
    ):
      moments = agent_test_utils.adam_slots(optimizer, v)
      np.testing.assert_allclose(
          _adam_by_hand(a, moments), b, rtol=0, atol=1e-6
      )
    # Once more through the same trace.
    train(experience)
    assert agent.train_step_counter.numpy() == 2
    results[name] = after, [v.numpy() for v in variables]
  for name in ('legacy', 'v1'):
    for first, second in zip(results[name], results['keras'], strict=True):
      for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.parametrize('name', OPTIMIZERS)
def test_optimizer_variables_exist_before_the_first_step(name):
  """So that a checkpoint taken now, or read now, knows them."""
  agent = agent_test_utils.build_agent(optimizer=OPTIMIZERS[name]())
  variables = agent._ppo_variables + agent._predictor_variables
  for variable in variables:
    for slot in agent_test_utils.adam_slots(agent._optimizer, variable):
      np.testing.assert_array_equal(slot, np.zeros(variable.shape))
