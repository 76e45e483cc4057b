# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""`train` against the same update written out slowly, variable by variable."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents import networks
from rnd_agents.agents import return_streams
from rnd_agents.ops import rollout_parts
from tests.agents import agent_test_utils
from tests.agents import slow_recurrent
from tests.agents import slow_streams
from tests.agents import slow_update

PLAIN = {'intrinsic_advantage_coefficient': 0.0}
# The slow update steps networks one by one: a second epoch takes seconds.
ONCE = {'num_epochs': 1}


def _separate_networks(observation_spec, action_spec):
  """Policy and values that share no weights, each a network of its own."""
  tf.random.set_seed(3)
  first = agent_test_utils.small_networks(observation_spec, action_spec)
  second = agent_test_utils.small_networks(observation_spec, action_spec)
  return first._replace(value_net=second.value_net)._asdict()


def _pair(
    settings,
    action_spec=agent_test_utils.DISCRETE,
    separate=False,
    rnd_optimizer=False,
    core=None,
    chunking=None,
):
  """(agent, the same update written slowly), of equal variables."""
  observation_spec = agent_test_utils.FLAT
  known = dataclasses.asdict(slow_streams.Settings(**settings))
  agents = []
  for seed in (1, 2):
    arguments = dict(known)
    if rnd_optimizer:
      arguments['rnd_optimizer'] = agent_test_utils.adam(1e-3)
    if core is not None:
      arguments['sizes'] = {'core': core(5)}
      arguments.update(chunking)
    if separate:
      arguments['nets'] = _separate_networks(observation_spec, action_spec)
    agents.append(
        agent_test_utils.build_agent(
            observation_spec, action_spec, seed, **arguments
        )
    )
  agent_test_utils.stir(agents[0])
  agent_test_utils.copy_variables(*agents)
  settings = slow_streams.Settings(**settings)
  if core is not None:
    slow = slow_recurrent.SlowRecurrentAgent(agents[1], settings, chunking)
  else:
    slow = slow_update.SlowAgent(agents[1], settings)
  return agents[0], slow


def _assert_equal_variables(agent, slow):
  """Weights, Adam's moments, and the target, each to 1e-5."""
  explores = slow.settings.intrinsic_advantage_coefficient != 0
  twin = slow.twin
  assert len(agent.variables) == len(twin.variables)
  pairs = [
      (agent._optimizer, a, twin._optimizer, b)
      for a, b in zip(agent._ppo_variables, twin._ppo_variables, strict=True)
  ]
  predictors = zip(
      agent.curiosity.rnd_network.variables,
      twin.curiosity.rnd_network.variables,
      strict=True,
  )
  for a, b in predictors:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5, err_msg=a.name)
    if explores:
      pairs.append((
          agent._rnd_optimizer or agent._optimizer,
          a,
          twin._rnd_optimizer or twin._optimizer,
          b,
      ))
  assert len(pairs) >= 8
  for optimizer_a, a, optimizer_b, b in pairs:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5, err_msg=a.name)
    slots = zip(
        agent_test_utils.adam_slots(optimizer_a, a),
        agent_test_utils.adam_slots(optimizer_b, b),
        strict=True,
    )
    for x, y in slots:
      np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=a.name)


def _assert_equal_losses(loss_info, losses):
  info = loss_info.extra
  for name, ours in (
      ('policy', info.policy_gradient_loss),
      ('entropy', info.entropy_regularization_loss),
      ('extrinsic', info.extrinsic_value_loss),
      ('intrinsic', info.intrinsic_value_loss),
      ('l2', info.l2_regularization_loss),
      ('rnd', info.rnd_loss),
      ('penalty', info.kl_penalty_loss),
      ('mean_entropy', info.entropy),
      ('clip_fraction', info.clip_fraction),
      ('kl', info.approximate_kl),
      ('norm', info.gradient_norm),
      ('rnd_norm', info.rnd_gradient_norm),
      ('update_size', info.update_size),
      ('skipped_train_steps', info.skipped_train_steps),
      ('total', loss_info.loss),
  ):
    np.testing.assert_allclose(
        ours, losses.get(name, 0.0), rtol=1e-4, atol=1e-6, err_msg=name
    )
  np.testing.assert_allclose(
      info.value_estimation_loss,
      info.extrinsic_value_loss + info.intrinsic_value_loss,
      rtol=1e-5,
  )


def _sums_at_ends(data, before):
  """Bonuses of each episode that ends in a rollout, since it began.

  Episodes may have begun in the rollouts `before` it.
  """
  sums = []
  for b in range(len(data['intrinsic_rewards'])):
    total = 0.0
    for part in (*before, data):
      experience = part['experience']
      for t, reward in enumerate(part['intrinsic_rewards'][b]):
        if experience.step_type[b, t] == slow_streams.LAST:
          continue
        if experience.step_type[b, t] == slow_streams.FIRST:
          total = 0.0
        total += reward
        if (
            part is data
            and experience.next_step_type[b, t] == slow_streams.LAST
        ):
          sums.append(total)
  return sums


def _assert_equal_statistics(info, data, before=()):
  """What a loss info says about the rollout before the update."""
  valid = data['experience'].step_type.numpy()[:, :-1] != slow_streams.LAST
  expected = {}
  for head, name in enumerate(('extrinsic', 'intrinsic')):
    returns = data['returns'][..., head][valid]
    rest = returns - data['old_values'][..., head][valid]
    expected[f'{name}_return_mean'] = returns.mean()
    expected[f'{name}_explained_variance'] = 1 - rest.var() / returns.var()
  bonus = data['bonus'][valid]
  expected['bonus_mean'] = bonus.mean()
  expected['bonus_std'] = bonus.std()
  expected['bonus_max'] = bonus.max()
  earned = data['extrinsic_rewards'][valid]
  expected['extrinsic_reward_mean'] = earned.mean()
  rewards = data['intrinsic_rewards'][valid]
  expected['intrinsic_reward_mean'] = rewards.mean()
  expected['intrinsic_reward_max'] = rewards.max()
  expected['intrinsic_reward_clipped'] = data['is_clipped'][valid].mean()
  sums = _sums_at_ends(data, before)
  assert len(sums) > 1
  expected['num_ended_episodes'] = len(sums)
  expected['intrinsic_episode_return_mean'] = np.mean(sums)
  for name, value in expected.items():
    np.testing.assert_allclose(
        getattr(info, name), value, rtol=1e-3, atol=1e-5, err_msg=name
    )


def _compare(monkeypatch, settings, graph, weights=None, **pair):
  """Trains both on one rollout and compares everything."""
  agent, slow = _pair(settings, **pair)
  target = [v.numpy() for v in agent.curiosity.target_rnd_network.variables]
  experience = agent_test_utils.rollout(agent)
  if 'network_state' in experience.policy_info:
    experience = slow_recurrent.with_states(experience)
  num_epochs = slow.settings.num_epochs
  # Recurrent agents go on to shuffle the rows of each minibatch.
  period = 1_000 if pair.get('core') else num_epochs
  agent_test_utils.fix_shuffles(monkeypatch, period)
  train = common.function(agent.train) if graph else agent.train
  loss_info = train(experience, weights)
  losses, data = slow.train(experience, weights)
  _assert_equal_variables(agent, slow)
  for a, b in zip(
      agent.curiosity.target_rnd_network.variables, target, strict=True
  ):
    np.testing.assert_array_equal(a, b)
  _assert_equal_losses(loss_info, losses)
  if slow.settings.importance_ratio_clipping:
    assert losses['clip_fraction'] > 0.02
  if slow.kl_beta:
    assert slow.kl_beta != slow.settings.initial_adaptive_kl_beta
    np.testing.assert_allclose(agent._adaptive_kl_beta, slow.kl_beta, rtol=1e-6)
  if slow.settings.intrinsic_advantage_coefficient:
    _assert_equal_statistics(loss_info.extra, data)
  num_steps = num_epochs * slow.settings.num_minibatches
  num_steps -= losses['skipped_train_steps']
  assert agent.train_step_counter.numpy() == num_steps
  return agent, slow, dict(data, losses=losses)


@pytest.mark.usefixtures('optimized_graphs')
@pytest.mark.parametrize(
    ('settings', 'space', 'graph'),
    [
        (PLAIN, agent_test_utils.DICT, False),
        ({}, agent_test_utils.DISCRETE, True),
        (
            dict(
                ONCE,
                initial_adaptive_kl_beta=0.7,
                importance_ratio_clipping=0.0,
            ),
            agent_test_utils.BOX,
            False,
        ),
    ],
    ids=['ppo-dict-eager', 'rnd-discrete-graph', 'rnd-continuous-eager'],
)
def test_update_equals_the_slow_one(monkeypatch, settings, space, graph):
  _compare(monkeypatch, settings, graph, action_spec=space)


# Several options a case: each of them, if wrong, makes the case fail.
CLIPPED = {
    'value_clipping': 0.05,
    'gradient_clipping': 0.1,
    'normalize_advantages': True,
    'log_prob_clipping': 1.1,
    'use_gae': False,
    **ONCE,
}
REGULAR = {
    'entropy_regularization': 0.3,
    'normalize_rewards': True,
    'reward_norm_clipping': 0.4,
    'policy_l2_reg': 0.1,
    'shared_vars_l2_reg': 0.2,
    'bootstrap_at_time_limit': False,
    'use_td_lambda_return': False,
    'initial_adaptive_kl_beta': 0.3,
    'kl_cutoff_factor': 2.0,
    'kl_cutoff_coef': 50.0,
    'adaptive_kl_target': 0.002,
    **ONCE,
}
UNLIKE_DEFAULT = {
    'discount_factor': 0.6,
    'lambda_value': 0.5,
    'extrinsic_advantage_coefficient': 0.3,
    'importance_ratio_clipping': 0.25,
    'value_pred_loss_coef': 2.0,
    'num_epochs': 3,
    'num_minibatches': 4,
}


@pytest.mark.parametrize(
    'settings',
    [
        dict(
            CLIPPED,
            intrinsic_advantage_coefficient=-0.8,
            predictor_proportion=1.0,
            observation_clip_value=0.5,
        ),
        dict(
            REGULAR,
            observation_clip_value=None,
            predictor_proportion=0.6,
            least_reward_deviation=3.0,
        ),
        dict(
            UNLIKE_DEFAULT,
            intrinsic_discount_factor=0.5,
            episodic_intrinsic_stream=True,
            predictor_proportion=0.001,
        ),
    ],
    ids=['clipped', 'regular', 'unlike-default'],
)
def test_update_with_options_equals_the_slow_one(monkeypatch, settings):
  _compare(monkeypatch, settings, graph=False)


def test_separate_networks_and_optimizers_equal_the_slow_update(monkeypatch):
  # Views of two networks: the unused heads of each get no gradient.
  settings = {
      'policy_l2_reg': 0.1,
      'value_function_l2_reg': 0.2,
      'shared_vars_l2_reg': 0.4,
      'gradient_clipping': 0.1,
  }
  agent, *_ = _compare(
      monkeypatch, settings, graph=False, separate=True, rnd_optimizer=True
  )
  assert len(agent._ppo_variables) == 16
  assert agent._rnd_optimizer.iterations.numpy() == 6
  assert agent._optimizer.iterations.numpy() == 6


# Entries of kernels that serve the policy alone, the values alone, and both:
# 3 numbers are observed, there are 3 actions and 2 values.
KERNELS = {
    'one trunk': ({}, (8 * 3, 8 * 2, 3 * 8)),
    'two trunks': (
        {'value_fc_layer_params': (5,)},
        (3 * 8 + 8 * 3, 3 * 5 + 5 * 2, 0),
    ),
    'residual heads': (
        {'residual_heads': True},
        (8 * 8 + 8 * 3, 8 * 8 + 8 * 2, 3 * 8),
    ),
    'core': (
        {'core': networks.LSTMCore},
        (4 * 3, 4 * 2, 3 * 8 + 8 * 16 + 4 * 16),
    ),
}


@pytest.mark.parametrize('name', KERNELS)
def test_l2_goes_by_what_kernels_serve(name):
  sizes, expected = KERNELS[name]
  if 'core' in sizes:
    sizes = dict(sizes, core=sizes['core'](4))
  nets = agent_test_utils.small_networks(
      agent_test_utils.FLAT, agent_test_utils.DISCRETE, **sizes
  )
  for i, argument in enumerate(
      ('policy_l2_reg', 'value_function_l2_reg', 'shared_vars_l2_reg')
  ):
    agent = agent_test_utils.build_agent(
        nets=nets._asdict(), **{argument: 0.25}
    )
    for variable in agent._ppo_variables:
      variable.assign(tf.fill(variable.shape, 2.0))
    loss_of = agent.l2_regularization_loss
    for loss in (loss_of(), tf.function(loss_of, autograph=False)()):
      np.testing.assert_allclose(loss, 0.25 * 2**2 * expected[i])


def test_statistics_live_on_in_the_next_update(monkeypatch):
  settings = {
      'normalize_observations': True,
      'normalize_rewards': True,
      'least_reward_deviation': 0.0,
  }
  agent, slow, before = _compare(monkeypatch, settings, graph=False)
  experience = agent_test_utils.rollout(agent, seed=50)
  loss_info = agent.train(experience)
  losses, data = slow.train(experience)
  _assert_equal_variables(agent, slow)
  _assert_equal_losses(loss_info, losses)
  _assert_equal_statistics(loss_info.extra, data, [before])


@pytest.mark.parametrize(
    # The KL of the first two minibatches is 0.0086 and 0.0156, most of it since
    # the rollout is another policy's.
    ('target_kl', 'skipped_train_steps', 'num_halvings', 'graph'),
    [(0.01, 4, 0, False), (1e-5, 5, 1, True)],
)
def test_bounded_updates_equal_the_slow_ones(
    monkeypatch, target_kl, skipped_train_steps, num_halvings, graph
):
  settings = {
      'intrinsic_reward_clip': 0.3,
      'intrinsic_termination_discount': 0.7,
      'target_kl': target_kl,
      'dual_clip': 1.05,
      'normalize_advantages': True,
      'advantage_scale_decay': 0.9,
  }
  agent, slow, before = _compare(monkeypatch, settings, graph)
  assert 0 < before['is_clipped'].mean() < 1
  assert before['losses']['skipped_train_steps'] == skipped_train_steps
  assert before['losses']['num_halvings'] == num_halvings
  # Of rewards so small that the divisor is what is left of the first one.
  experience = agent_test_utils.rollout(agent, seed=50)
  experience = experience.replace(reward=1e-3 * experience.reward)
  first = slow.advantage_deviation
  loss_info = agent.train(experience)
  losses, data = slow.train(experience)
  assert slow.advantage_deviation == 0.9 * first
  _assert_equal_variables(agent, slow)
  _assert_equal_losses(loss_info, losses)
  _assert_equal_statistics(loss_info.extra, data, [before])


@pytest.mark.parametrize(
    'weights',
    [
        [0.5, 0.0, 2.0, 1.0],
        np.random.RandomState(0).uniform(size=[4, 9]).tolist(),
    ],
    ids=['environments', 'rows'],
)
def test_weights_multiply_losses(monkeypatch, weights):
  weights = tf.constant(weights)
  _compare(monkeypatch, ONCE, graph=False, weights=weights)


# Of eight steps an environment, episodes end within chunks and between them.
CHUNKING = {
    'recurrent_state_init': 'stored',
    'unroll_length': 3,
    'burn_in_length': 0,
    'unroll_remainder': 'pad',
}


@pytest.mark.parametrize(
    ('core', 'chunking', 'settings', 'graph'),
    [
        ('GRUCore', {}, {}, False),
        (
            'GRUCore',
            {'unroll_length': None},
            dict(ONCE, initial_adaptive_kl_beta=0.7, adaptive_kl_target=5.0),
            False,
        ),
        ('LSTMCore', {'unroll_length': 1}, ONCE, False),
        ('GRUCore', {'burn_in_length': 4, 'unroll_length': 2}, ONCE, False),
        (
            'GRUCore',
            {'burn_in_length': 3, 'recurrent_state_init': 'zero'},
            ONCE,
            False,
        ),
        (
            'LSTMCore',
            {'unroll_remainder': 'fill'},
            dict(ONCE, normalize_rewards=True, gradient_clipping=0.1),
            False,
        ),
        ('GRUCore', {'unroll_remainder': 'drop'}, ONCE, False),
        (
            'LSTMCore',
            {'burn_in_length': 2},
            dict(PLAIN, **CLIPPED),
            'optimized_graphs',
        ),
        ('GRUCore', {}, dict(ONCE, target_kl=1e-3), False),
    ],
)
def test_recurrent_update_equals_the_slow_one(
    request, monkeypatch, core, chunking, settings, graph
):
  if graph == 'optimized_graphs':  # In one case, for it takes long.
    request.getfixturevalue(graph)
  settings = dict({'predictor_proportion': 1.0}, **settings)
  if chunking.get('unroll_length') is None:
    settings['num_minibatches'] = 2
  _compare(
      monkeypatch,
      settings,
      graph,
      core=getattr(networks, core),
      chunking=dict(CHUNKING, **chunking),
  )


@pytest.mark.parametrize('core', [None, networks.GRUCore])
def test_large_observations_one_environment_at_a_time(monkeypatch, core):
  # As for images of 64 x 64 pixels and more.
  monkeypatch.setattr(rollout_parts, '_LARGE', 1)
  used = []
  map_fn = tf.map_fn
  monkeypatch.setattr(
      tf, 'map_fn', lambda *args, **kw: used.append(1) or map_fn(*args, **kw)
  )
  _compare(
      monkeypatch,
      dict(ONCE, normalize_rewards=True, predictor_proportion=1.0),
      graph=False,
      core=core,
      chunking=None if core is None else CHUNKING,
  )
  assert used


def _three_streams(curiosity):
  sources = {'bonus': curiosity}
  return [
      return_streams.ReturnStream(
          stream.name,
          stream.discount_factor,
          stream.coefficient,
          stream.ends_with_episode,
          sources.get(stream.source, stream.source),
      )
      for stream in slow_streams.ThreeStreams().streams()
  ]


def test_three_streams_of_a_vector_of_rewards_are_the_slow_update(monkeypatch):
  settings = slow_streams.ThreeStreams()
  ours = {
      name: value
      for name, value in dataclasses.asdict(settings).items()
      if name not in _STREAM_SETTINGS
  }
  both = [
      agent_test_utils.build_agent(
          seed=seed,
          sizes={'num_values': 3},
          reward_spec=tf.TensorSpec([2], tf.float32),
          streams=_three_streams,
          **ours,
      )
      for seed in (1, 2)
  ]
  agent, twin = both
  agent_test_utils.stir(agent)
  agent_test_utils.copy_variables(agent, twin)
  slow = slow_update.SlowAgent(twin, settings)
  agent_test_utils.fix_shuffles(monkeypatch, settings.num_epochs)
  for seed in (0, 1):
    experience = agent_test_utils.rollout(agent, seed=seed)
    rewards = np.random.RandomState(seed).normal(size=[4, 9, 2])
    rewards[experience.step_type == slow_streams.LAST] = 0.0
    experience = experience.replace(reward=tf.constant(rewards, tf.float32))
    info = agent.train(experience).extra
    losses, data = slow.train(experience)
    valid = experience.step_type.numpy()[:, :-1] != slow_streams.LAST
    for head, stream in enumerate(settings.streams()):
      for name, expected in (
          (f'{stream.name}_value_loss', losses[stream.name]),
          (f'{stream.name}_return_mean', data['returns'][valid, head].mean()),
      ):
        np.testing.assert_allclose(
            getattr(info, name), expected, rtol=1e-4, err_msg=name
        )
    np.testing.assert_allclose(info.rnd_loss, losses['rnd'], rtol=1e-4)
    assert info.bonus_mean > 0
    assert not hasattr(info, 'extrinsic_return_mean')
    _assert_equal_variables(agent, slow)


_STREAM_SETTINGS = (
    'discount_factor',
    'intrinsic_discount_factor',
    'extrinsic_advantage_coefficient',
    'intrinsic_advantage_coefficient',
    'episodic_intrinsic_stream',
    'intrinsic_termination_discount',
)
