# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Streams other than the default two, and methods that nothing calls."""

import functools

import gin
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.ppo import ppo_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.environments import loaders
from tests import environments_for_tests
from tests.agents import agent_test_utils

Stream = return_streams.ReturnStream
VECTOR = tf.TensorSpec([2], tf.float32)


def test_an_environment_with_a_vector_of_rewards():
  tf.keras.utils.set_random_seed(0)
  # Action 0 pays the first entry of the reward, action 1 the second.
  steps = functools.partial(
      environments_for_tests.Steps,
      length=5,
      reward=lambda env: float(env.action),
      observation=lambda env: np.ones(3, np.float32),
      observation_space=spaces.Box(0, 1, (3,)),
      action_space=spaces.Discrete(2),
  )
  env = tf_py_environment.TFPyEnvironment(
      loaders.load_environment(
          steps, reward_fn=lambda x: np.stack([1 - x, x], axis=1)
      )
  )
  nets = networks.create_networks(
      env.observation_spec(), env.action_spec(), rnd_networks_fn=None
  )
  agent = rnd_ppo_agent.RNDPPOAgent(
      env.time_step_spec(),
      env.action_spec(),
      tf.keras.optimizers.Adam(1e-2),
      nets.actor_net,
      nets.value_net,
      streams=[
          Stream(f'entry_{i}', 0.9, coefficient, reward=i)
          for i, coefficient in enumerate((0.1, 1.0))
      ],
      normalize_rewards=True,
      train_step_counter=tf.Variable(0, dtype=tf.int64),
  )
  assert agent.curiosity is None
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec, batch_size=1, max_length=65
  )
  collect = common.function(
      dynamic_step_driver.DynamicStepDriver(
          env, agent.collect_policy, [buffer.add_batch], num_steps=1_000
      ).run
  )
  train = common.function(agent.train)
  for _ in range(10):
    buffer.clear()
    collect(maximum_iterations=tf.constant(65))
    info = train(buffer.gather_all()).extra
  assert 'num_ended_episodes' not in info._fields
  assert info.rnd_loss == 0
  step = ts.restart(tf.ones([1, 3]), 1, reward_spec=VECTOR)
  # Half at first.
  distribution = agent.collect_policy.distribution(step).action
  assert distribution.probs_parameter()[0, 1] > 0.8


def test_one_value_head_without_a_bonus_is_refused():
  with pytest.raises(errors.InvalidValue, match='no curiosity'):
    return_streams.one_value_head(None)


def test_one_value_head_for_the_sum_of_reward_and_bonus():
  """As the same sum made by hand, of a reward and of a bonus."""

  def streams(curiosity):
    reward = [(2.0, None), (0.5, curiosity)]
    return [Stream('both', 0.9, 1.5, reward=reward)]

  agent = agent_test_utils.build_agent(
      sizes={'num_values': 1},
      streams=streams,
      update_normalizers_in_train=False,
  )
  experience = agent_test_utils.rollout(agent)
  rows, statistics = agent_test_utils.rows_of(agent, experience)
  bonus = agent.curiosity.errors(experience.observation[:, 1:])
  bonus = np.where(experience.step_type[:, :-1] == 2, 0, bonus)
  paid = np.append(0.5 * bonus, np.zeros([4, 1]), axis=1)
  plain = agent_test_utils.build_agent(
      sizes={'num_values': 1},
      streams=[Stream('both', 0.9, 1.5)],
      update_normalizers_in_train=False,
      rnd_network=None,
      target_rnd_network=None,
  )
  for ours, theirs in zip(
      plain._ppo_variables, agent._ppo_variables, strict=True
  ):
    ours.assign(theirs)
  expected, _ = agent_test_utils.rows_of(
      plain, experience.replace(reward=2.0 * experience.reward + paid)
  )
  for ours, theirs in (
      (rows.advantage, expected.advantage), (rows.returns, expected.returns)
  ):
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
  assert statistics['both_reward_mean'] != 0


def test_streams_are_named_where_two_are_of_curiosities():
  names = return_streams.statistics_names(('a', 'b', 'c'), ('b', 'c'))
  assert names[:3] == ('b_bonus_mean', 'b_bonus_std', 'b_bonus_max')
  assert names[-3:] == tuple(f'{x}_explained_variance' for x in 'abc')
  assert len(set(names)) == len(names) == 2 * 6 + 1 + 9
  assert rnd_ppo_agent.RNDPPOLossInfo._fields[-13:] == (
      'bonus_mean',
      'bonus_std',
      'bonus_max',
      'intrinsic_reward_max',
      'intrinsic_reward_clipped',
      'intrinsic_episode_return_mean',
      'num_ended_episodes',
      'extrinsic_reward_mean',
      'intrinsic_reward_mean',
      'extrinsic_return_mean',
      'intrinsic_return_mean',
      'extrinsic_explained_variance',
      'intrinsic_explained_variance',
  )


def test_streams_from_gin():
  gin.parse_config("""
      RNDPPOAgent.streams = [@far/ReturnStream(), @near/ReturnStream()]
      far/ReturnStream.name = 'far'
      far/ReturnStream.discount_factor = 0.9
      near/ReturnStream.name = 'near'
      near/ReturnStream.discount_factor = 0.5
      near/ReturnStream.advantage_coefficient = 0.25
  """)
  agent = agent_test_utils.build_agent(
      rnd_network=None, target_rnd_network=None
  )
  assert [s.name for s in agent.streams] == ['far', 'near']
  info = agent.train(agent_test_utils.rollout(agent)).extra
  assert info.near_value_loss > 0


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ({'discount_factor': 1.5}, 'discount_factor .*0 and 1'),
        ({'advantage_coefficient': None}, 'advantage_coefficient .*numb'),
        ({'name': 'a b'}, 'name .*word'),
        ({'reward': 'extrinsic'}, 'reward .*index'),
        ({'reward': -1}, 'reward .*index'),
        ({'reward': []}, r'reward .*pairs.*got \[\]'),
        ({'reward': [0]}, 'reward .*pairs.*got 0'),
        ({'bonus_clip': 0}, 'bonus_clip .*above 0'),
        ({'bonus_clip': 5}, 'bonus_clip has no effect'),
    ],
)
def test_stream_is_refused(arguments, words):
  with pytest.raises((TypeError, ValueError), match=f'ReturnStream.{words}'):
    Stream(**{'name': 'a', 'discount_factor': 0.9, **arguments})


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'streams': []}, 'one stream or more'),
        (
            {'streams': [Stream('a', 0.9), Stream('a', 0.9)]},
            'of different names',
        ),
        ({'streams': ['extrinsic']}, 'ReturnStream.*got str'),
        (
            {'streams': [Stream('a', 0.9), Stream('b', 0.9)]},
            'not the reward of any stream',
        ),
        ({'streams': lambda c: [Stream('a', 0.9, reward=c)]}, '1 heads'),
        (
            {
                'streams': lambda c: [
                    Stream('a', 0.9, reward=c), Stream('b', 0.9, reward=1)
                ]
            },
            'reward of ReturnStream b is entry 1',
        ),
        ({'reward_spec': VECTOR}, 'extrinsic .*entry'),
        (
            {
                'streams': lambda c: [Stream('a', 0.9, reward=c)],
                'discount_factor': 0.5,
            },
            'discount_factor has no effect',
        ),
        ({'curiosity': 'rnd'}, 'curiosity .*Curiosity'),
    ],
)
def test_agent_refuses_streams(settings, words):
  with pytest.raises((TypeError, ValueError), match=words):
    agent_test_utils.build_agent(**settings)


def test_rnd_networks_beside_a_curiosity_are_refused():
  curiosity = agent_test_utils.build_agent().curiosity
  with pytest.raises(ValueError, match='rnd_network has no effect'):
    agent_test_utils.build_agent(curiosity=curiosity)


_UNUSED = (
    'get_loss',
    'policy_gradient_loss',
    'value_estimation_loss',
    'entropy_regularization_loss',
    'kl_penalty_loss',
    'compute_advantages',
    'compute_return_and_advantage',
)


def test_methods_that_training_never_calls_raise():
  agent = agent_test_utils.build_agent()
  for name in _UNUSED:
    with pytest.raises(NotImplementedError, match=f'{name} has no.*verride _'):
      getattr(agent, name)(None)
    with pytest.raises(TypeError, match=f'Mine.{name} has no.*verride _'):
      type('Mine', (rnd_ppo_agent.RNDPPOAgent,), {name: lambda self: None})


def test_no_other_public_method_of_the_parent_is_left_without_an_effect():
  """New ones of TF-Agents come to notice here."""
  own = {n for n in vars(ppo_agent.PPOAgent) if not n.startswith('_')}
  assert own - set(_UNUSED) == {
      'actor_net',
      'adaptive_kl_loss',
      'kl_cutoff_loss',
      'update_adaptive_kl_beta',
      'l2_regularization_loss',
      'update_observation_normalizer',
      'update_reward_normalizer',
  }


def test_a_subclass_computes_the_objective_otherwise():
  class Mine(rnd_ppo_agent.RNDPPOAgent):

    def _ppo_losses(self, *args):
      return dict(
          super()._ppo_losses(*args), policy_gradient_loss=tf.constant(7.0)
      )

  agent = Mine(
      ts.time_step_spec(agent_test_utils.FLAT),
      agent_test_utils.DISCRETE,
      agent_test_utils.adam(),
      train_step_counter=tf.Variable(0, dtype=tf.int64),
      **agent_test_utils.small_networks(
          agent_test_utils.FLAT, agent_test_utils.DISCRETE
      )._asdict(),
  )
  info = agent.train(agent_test_utils.rollout(agent)).extra
  assert info.policy_gradient_loss == 7
