# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent policies: what they collect, learn from and save."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.networks import actor_distribution_rnn_network
from tf_agents.networks import lstm_encoding_network
from tf_agents.networks import network
from tf_agents.networks import value_rnn_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.trajectories import time_step as ts

from rnd_agents import networks
from rnd_agents.agents import rollout
from rnd_agents.environments import loaders
from tests.agents import agent_test_utils
from tests.agents import slow_recurrent

NUM_ENVIRONMENTS = 3
NUM_STEPS = 25  # Random episodes of CartPole last about 20.


def _environment():
  return tf_py_environment.TFPyEnvironment(
      loaders.load_environment(
          'CartPole-v1', num_environments=NUM_ENVIRONMENTS, seed=1
      )
  )


def _agent(environment, core=networks.LSTMCore, nets=None, **settings):
  arguments = {'sizes': {'core': core(6)}} if nets is None else {'nets': nets}
  agent = agent_test_utils.build_agent(
      environment.observation_spec(),
      environment.action_spec(),
      **arguments,
      **dict({'unroll_length': 7}, **settings),
  )
  return agent_test_utils.stir(agent)


def _collector(environment, policy):
  """A function that gives one rollout [B, T+1] after the other."""
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      policy.trajectory_spec, NUM_ENVIRONMENTS, max_length=NUM_STEPS + 1
  )
  driver = dynamic_step_driver.DynamicStepDriver(
      environment,
      policy,
      observers=[buffer.add_batch],
      num_steps=NUM_ENVIRONMENTS * (NUM_STEPS + 2),
  )
  state = policy.get_initial_state(NUM_ENVIRONMENTS)

  def collect():
    nonlocal state
    buffer.clear()
    _, state = driver.run(policy_state=state, maximum_iterations=NUM_STEPS + 1)
    return buffer.gather_all()

  return collect


def _chunks(agent, experience):
  """The samples of a rollout, as `train` makes them."""
  rows, _ = agent_test_utils.rows_of(agent, experience)
  return rows, agent_test_utils.sampler_of(agent, experience)


def _unrolled(agent, rows, chunks):
  """(logits, values, minibatch) of all chunks."""
  minibatch, _ = chunks.minibatch(rows, chunks.indices)
  distribution, values = agent.collect_policy.distribution_and_values(
      minibatch.observation, minibatch.step_type, minibatch.network_state
  )
  return distribution.logits, values, minibatch


def test_chunks_unroll_to_what_was_collected():
  environment = _environment()
  # Values are recorded step by step where a learner is to find them.
  agent = _agent(
      environment,
      compute_value_and_advantage_in_train=False,
      update_normalizers_in_train=False,
  )
  collect = _collector(environment, agent.collect_policy)
  collect()
  experience = collect()  # Begins amid episodes.
  step_types = experience.step_type.numpy()
  assert (step_types[:, 1:-1] == ts.StepType.LAST).sum() >= NUM_ENVIRONMENTS
  assert (step_types[:, 0] != ts.StepType.FIRST).any()
  assert np.abs(experience.policy_info['network_state'][0][:, 0]).max() > 0.05
  info = experience.policy_info
  recorded = tf.stack(
      [info['value_prediction'], info['intrinsic_value_prediction']], -1
  )

  def distances(state_init):
    twin = _agent(environment, recurrent_state_init=state_init)
    agent_test_utils.copy_variables(agent, twin)
    rows, chunks = _chunks(twin, _without_values(experience, state_init))
    logits, values, minibatch = _unrolled(twin, rows, chunks)
    steps = tf.gather(chunks.steps, chunks.indices)
    flat = tf.reshape(info['dist_params']['logits'], [-1, logits.shape[-1]])
    kept = minibatch.counts > 0
    logit_errors = tf.abs(logits - tf.gather(flat, steps))[kept]
    flat_values = tf.reshape(recorded, [-1, 2])
    value_errors = tf.abs(values - tf.gather(flat_values, steps))[kept]
    valid = rollout.begins_transition(experience)
    old_errors = tf.abs(rows.old_values - flat_values)[tf.reshape(valid, [-1])]
    assert kept.numpy().sum() == (step_types[:, :-1] != ts.StepType.LAST).sum()
    return [np.max(x) for x in (logit_errors, value_errors, old_errors)]

  assert max(distances('stored')) < 1e-5
  assert min(distances('zero')) > 1e-2


def _without_values(experience, state_init):
  """The same rollout as an agent with another policy info has it."""
  kept = ['dist_params'] + ['network_state'] * (state_init == 'stored')
  info = {name: experience.policy_info[name] for name in kept}
  return experience.replace(policy_info=info)


def _terms_and_gradients(agent, minibatch, rows, begins):
  with tf.GradientTape() as tape:
    terms = agent_test_utils.loss_terms(agent, rows, minibatch, begins)
    total = tf.add_n([v for k, v in terms.items() if k.endswith('_loss')])
  variables = agent._ppo_variables + agent._predictor_variables
  return terms, tape.gradient(total, variables)


def test_padding_and_boundaries_weigh_nothing():
  agent = agent_test_utils.stir(
      agent_test_utils.build_agent(
          sizes={'core': networks.LSTMCore(5)},
          unroll_length=3,
          value_clipping=0.1,
      )
  )
  experience = slow_recurrent.with_states(agent_test_utils.rollout(agent))
  rows, _ = agent_test_utils.rows_of(agent, experience)
  chunks = agent_test_utils.sampler_of(agent, experience)
  minibatch, begins = chunks.minibatch(rows, chunks.indices)
  is_nothing = minibatch.counts == 0
  padding = (4, 2), (5, 2)
  assert is_nothing.numpy().sum() > len(padding)

  # What a step that is none observed must not reach those after it. A boundary
  # may: the policy was asked there, and FIRST forgets it.
  steps = tf.gather(chunks.steps, chunks.indices)
  is_padding = tf.concat(
      [tf.zeros_like(steps[:, :1], tf.bool), steps[:, 1:] == steps[:, :-1]], 1
  )
  assert is_padding.numpy().sum() == 4
  expected = _terms_and_gradients(agent, minibatch, rows, begins)
  for garbage in (7.0, 1e4, -1e4):
    spoiled = minibatch._asdict()
    for name, mask in (
        ('advantage', is_nothing),
        ('returns', is_nothing[..., tf.newaxis]),
        ('old_values', is_nothing[..., tf.newaxis]),
        ('old_log_probability', is_nothing),
        ('observation', is_padding[..., tf.newaxis]),
    ):
      spoiled[name] = tf.where(mask, garbage, spoiled[name])
    results = _terms_and_gradients(agent, rollout.Rows(**spoiled), rows, begins)
    for x, y in zip(*map(tf.nest.flatten, (expected, results)), strict=True):
      np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7)


def test_minibatches_draw_chunks_whole_and_each_once():
  agent = agent_test_utils.build_agent(
      sizes={'core': networks.GRUCore(5)}, unroll_length=3
  )
  experience = agent_test_utils.rollout(agent)
  rows, _ = agent_test_utils.rows_of(agent, experience)
  # A number for each row.
  rows = rows._replace(advantage=tf.range(36, dtype=tf.float32))
  chunks = agent_test_utils.sampler_of(agent, experience)
  seen = []
  for chosen in tf.split(chunks.indices, [5, 7]):
    minibatch, begins = chunks.minibatch(rows, chosen)
    numbers = minibatch.advantage.numpy().astype(int)
    for row_numbers in numbers:
      first = row_numbers[0]
      last = first // 9 * 9 + 7  # The last transition of its environment.
      np.testing.assert_array_equal(
          row_numbers, [min(first + i, last) for i in range(3)]
      )
    counts = minibatch.counts.numpy()
    np.testing.assert_allclose(counts.mean(), 1.0, rtol=1e-6)
    drawn = sorted(numbers[counts > 0])
    transitions = list(begins.numpy())
    assert sorted(transitions) == drawn
    # Shuffled: the predictor's share is the first ones.
    assert transitions != list(numbers[counts > 0])
    seen += drawn
  step_types = experience.step_type.numpy()
  step_types[:, -1] = ts.StepType.LAST
  np.testing.assert_array_equal(
      sorted(seen), np.flatnonzero(step_types != ts.StepType.LAST)
  )


def test_learner_path_equals_whole_rollouts():
  results = []
  for in_train in (True, False):
    agent = agent_test_utils.stir(
        agent_test_utils.build_agent(
            sizes={'core': networks.LSTMCore(5)},
            unroll_length=3,
            num_epochs=1,
            num_minibatches=1,
            predictor_proportion=1.0,
            compute_value_and_advantage_in_train=in_train,
            update_normalizers_in_train=False,
        )
    )
    start = [v.numpy() for v in agent._ppo_variables]
    experience = slow_recurrent.with_states(
        agent_test_utils.rollout(agent, ['MMMTFMMLF'])
    )
    if not in_train:
      # Recorded while stepping, where the test's rollout restarts at each row.
      info = dict(experience.policy_info)
      del info['value_prediction']
      values = agent._values(experience.replace(policy_info=info))
      experience = experience.replace(
          policy_info=dict(
              experience.policy_info,
              value_prediction=values[..., 0],
              intrinsic_value_prediction=values[..., 1],
          )
      )
      experience = agent.preprocess_sequence(experience)
    results.append((agent, start, agent.train(experience)))
  (first, start, info), (second, other_start, other_info) = results
  for x, y in zip(start, other_start, strict=True):
    np.testing.assert_array_equal(x, y)
  np.testing.assert_allclose(info.loss, other_info.loss, rtol=1e-5)
  for x, y in zip(first._ppo_variables, second._ppo_variables, strict=True):
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-5)


class _TwoValues(lstm_encoding_network.LSTMEncodingNetwork):
  """A recurrent value network of a user's own, with TF-Agents' layers."""

  def __init__(self, observation_spec):
    super().__init__(
        observation_spec, input_fc_layer_params=(5,), lstm_size=(4,),
        output_fc_layer_params=(2,), name='TwoValues',
    )


def _two_value_networks(spec):
  return tuple(
      value_rnn_network.ValueRnnNetwork(
          spec,
          input_fc_layer_params=(5,),
          lstm_size=(4,),
          output_fc_layer_params=None,
      )
      for _ in range(2)
  )


def _separate_networks(environment, value_net):
  spec = environment.observation_spec()
  nets = agent_test_utils.small_networks(spec, environment.action_spec())
  return nets._replace(
      actor_net=actor_distribution_rnn_network.ActorDistributionRnnNetwork(
          spec,
          environment.action_spec(),
          input_fc_layer_params=(5,),
          output_fc_layer_params=(5,),
          lstm_size=(4,),
      ),
      value_net=value_net(spec),
  )._asdict()


@pytest.mark.parametrize('value_net', [_TwoValues, _two_value_networks])
def test_recurrent_networks_of_tf_agents_serve_too(value_net):
  environment = _environment()
  agent = _agent(
      environment,
      nets=_separate_networks(environment, value_net),
      optimizer=tf.keras.optimizers.SGD(0.0),
      num_epochs=1,
      num_minibatches=1,
  )
  assert sorted(agent.collect_policy.policy_state_spec) == [
      'actor_network_state', 'value_network_state'
  ]
  assert sorted(agent.policy.policy_state_spec) == ['actor_network_state']
  collect = _collector(environment, agent.collect_policy)
  collect()
  experience = collect()
  info = agent.train(experience).extra
  assert info.clip_fraction == 0
  assert abs(info.approximate_kl) < 1e-7
  # Values from their own stored state: those of one unroll from its start.
  rows, chunks = _chunks(agent, experience)
  _, values, minibatch = _unrolled(agent, rows, chunks)
  kept = minibatch.counts > 0
  np.testing.assert_allclose(
      values[kept], minibatch.old_values[kept], atol=1e-5
  )


class _Memory(network.Network):
  """A network for RND that has a state, which it must not."""

  def __init__(self):
    super().__init__(
        agent_test_utils.FLAT, state_spec=tf.TensorSpec([1], tf.float32)
    )


@pytest.mark.parametrize(
    ('settings', 'error', 'match'),
    [
        (
            {'recurrent_state_init': 'random'},
            ValueError,
            "recurrent_state_init .*'random'",
        ),
        ({'unroll_length': 0}, ValueError, 'unroll_length .*got 0'),
        ({'unroll_length': 2.5}, TypeError, 'unroll_length .*integer'),
        (
            {'burn_in_length': -1, 'unroll_length': 4},
            ValueError,
            'burn_in_length .*got -1',
        ),
        ({'burn_in_length': 4}, ValueError, r'needs \S*unroll_length'),
        ({'unroll_remainder': 'keep'}, ValueError, "remainder .*'shift'"),
    ],
)
def test_sequences_that_cannot_be_are_refused(settings, error, match):
  with pytest.raises(error, match=match):
    agent_test_utils.build_agent(
        sizes={'core': networks.GRUCore(5)}, **settings
    )


@pytest.mark.parametrize(
    'settings',
    [
        {'unroll_length': 8},
        {'burn_in_length': 2, 'unroll_length': 8},
        {'recurrent_state_init': 'zero'},
        {'unroll_remainder': 'drop'},
    ],
)
def test_feed_forward_networks_have_no_sequences(settings):
  with pytest.raises(ValueError, match='recurrent networks.*@LSTMCore'):
    agent_test_utils.build_agent(**settings)


@pytest.mark.parametrize('name', ['rnd_network', 'target_rnd_network'])
def test_rnd_networks_have_no_memory(name):
  nets = agent_test_utils.small_networks(
      agent_test_utils.FLAT, agent_test_utils.DISCRETE
  )._asdict()
  nets[name] = _Memory()
  with pytest.raises(ValueError, match=f'{name} .*recurrent'):
    agent_test_utils.build_agent(nets=nets)
