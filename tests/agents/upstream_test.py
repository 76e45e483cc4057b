# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The way of TF-Agents' PPOLearner: sequences preprocessed, rows trained on."""

import numpy as np
import tensorflow as tf
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.train import ppo_learner
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from tests.agents import agent_test_utils
from tests.agents import slow_streams

FOR_LEARNER = {
    'compute_value_and_advantage_in_train': False,
    'update_normalizers_in_train': False,
    'num_epochs': 1,
}


def _flat(experience):
  """[B, T+1, ...] -> [B * (T+1), 1, ...], as PPOLearner hands it over."""
  return tf.nest.map_structure(
      lambda x: tf.reshape(x, [-1, 1, *x.shape[2:]]), experience
  )


def _replay(agent, experience):
  """The rollout, once through a replay buffer of TF-Agents."""
  batch_size, num_rows = experience.reward.shape
  buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
      agent.collect_data_spec, batch_size=batch_size, max_length=num_rows
  )
  for t in range(num_rows):
    buffer.add_batch(tf.nest.map_structure(lambda x, t=t: x[:, t], experience))
  return buffer.gather_all()


def test_ppo_learner_trains_the_agent(tmp_path):
  agent = agent_test_utils.build_agent(
      normalize_observations=True,
      normalize_rewards=True,
      predictor_proportion=1.0,
      **FOR_LEARNER,
  )
  experience = _replay(agent, agent_test_utils.rollout(agent))

  def dataset():
    raw = tf.data.Dataset.from_tensors(experience)
    return raw.map(lambda x: (agent.preprocess_sequence(x), ()))

  before = [v.numpy() for v in agent._ppo_variables]
  predictor = [v.numpy() for v in agent._predictor_variables]
  target = [v.numpy() for v in agent.curiosity.target_rnd_network.variables]
  learner = ppo_learner.PPOLearner(
      str(tmp_path),
      agent.train_step_counter,
      agent,
      experience_dataset_fn=dataset,
      normalization_dataset_fn=dataset,
      num_samples=1,
      num_epochs=2,
      minibatch_size=12,
      shuffle_buffer_size=36,
  )
  losses = [learner.run().extra.rnd_loss.numpy() for _ in range(4)]
  # 4 x 9 rows are 3 minibatches, twice a run.
  assert agent.train_step_counter.numpy() == 4 * 6
  assert agent._optimizer.iterations.numpy() == 4 * 6
  for old, variable in zip(before, agent._ppo_variables, strict=True):
    assert not np.array_equal(old, variable), variable.name
  for old, variable in zip(predictor, agent._predictor_variables, strict=True):
    assert not np.array_equal(old, variable), variable.name
  for old, variable in zip(
      target, agent.curiosity.target_rnd_network.variables, strict=True
  ):
    np.testing.assert_array_equal(old, variable)
  assert losses[-1] < 0.9 * losses[0]
  # The learner fed every statistic once a run.
  for moments, count in (
      (agent.curiosity.seen.moments[0], 32),
      (agent.curiosity._return_scaler.moments, 32),
      (agent._observation_normalizer._flat_moments[0], 36),
      (agent._return_streams.scalers[0].moments, 36),
  ):
    np.testing.assert_allclose(moments.count, 4 * count + 1e-4)


def test_one_step_on_all_rows_is_that_of_the_whole_rollout():
  """The two ways differ in who cuts the minibatches, not in the step."""
  settings = dict(
      value_clipping=0.05,
      num_epochs=1,
      num_minibatches=1,
      predictor_proportion=1.0,
      update_normalizers_in_train=False,
      normalize_advantages=True,
      gradient_clipping=0.2,
      initial_adaptive_kl_beta=0.5,
  )
  whole = agent_test_utils.build_agent(**settings)
  by_rows = agent_test_utils.build_agent(
      compute_value_and_advantage_in_train=False, **settings
  )
  for agent in (whole, by_rows):
    agent_test_utils.stir(agent)
  experience = agent_test_utils.rollout(by_rows)
  losses = [
      whole.train(
          experience.replace(
              policy_info={'dist_params': experience.policy_info['dist_params']}
          )
      ),
      by_rows.train(_flat(by_rows.preprocess_sequence(experience))),
  ]
  assert by_rows.train_step_counter.numpy() == 1
  np.testing.assert_allclose(losses[0].loss, losses[1].loss, rtol=1e-5)
  for name in ('rnd_loss', 'extrinsic_value_loss', 'intrinsic_value_loss'):
    np.testing.assert_allclose(
        *(getattr(x.extra, name) for x in losses), rtol=1e-5, err_msg=name
    )
  # `preprocess_sequence` keeps no count of what was paid.
  counts = {v.ref() for v in whole._return_streams.episode_sums[1].variables}
  for a, b in zip(whole.variables, by_rows.variables, strict=True):
    if a.ref() not in counts:
      np.testing.assert_allclose(a, b, rtol=0, atol=1e-5, err_msg=a.name)


def test_a_minibatch_of_padding_alone_changes_nothing():
  agent = agent_test_utils.build_agent(
      initial_adaptive_kl_beta=0.5, **FOR_LEARNER
  )
  rows = _flat(agent.preprocess_sequence(agent_test_utils.rollout(agent)))
  # The boundary within the first environment, and its last row.
  nothing = tf.nest.map_structure(lambda x: tf.gather(x, [3, 8]), rows)
  before = [v.numpy() for v in agent.variables]
  for train in (agent.train, common.function(agent.train)):
    assert train(nothing).loss == 0
  for a, b in zip(agent.variables, before, strict=True):
    np.testing.assert_array_equal(a, b, err_msg=a.name)


def _spoil(rows):
  """Garbage in all rows whose mask says that they are none."""
  mask = rows.policy_info['valid_mask']
  invalid = mask.numpy() == 0
  # The last row of each environment is padding, and six are boundaries.
  assert invalid.sum() == 4 + 6

  def spoil(x):
    x = x.numpy()
    x[invalid] = np.nan if x.dtype == np.float32 else 1
    return tf.constant(x)

  rows = tf.nest.map_structure(spoil, rows)
  return rows.replace(policy_info=dict(rows.policy_info, valid_mask=mask))


def test_rows_that_are_not_valid_change_nothing():
  results = []
  for garbage in (False, True):
    agent = agent_test_utils.build_agent(
        normalize_observations=True, predictor_proportion=1.0, **FOR_LEARNER
    )
    rows = _flat(agent.preprocess_sequence(agent_test_utils.rollout(agent)))
    if garbage:
      rows = _spoil(rows)
    loss_info = agent.train(rows)
    results.append([*agent.variables, *tf.nest.flatten(loss_info)])
  for a, b in zip(*results, strict=True):
    assert np.all(np.isfinite(a))
    np.testing.assert_array_equal(a, b)


def test_num_epochs_of_the_agent_repeat_the_minibatch():
  agent = agent_test_utils.build_agent(**dict(FOR_LEARNER, num_epochs=3))
  experience = agent_test_utils.rollout(agent)
  agent.train(_flat(agent.preprocess_sequence(experience)))
  assert agent.train_step_counter.numpy() == 3
  assert agent._optimizer.iterations.numpy() == 3


def test_collect_policy_records_both_values():
  agent = agent_test_utils.stir(
      agent_test_utils.build_agent(normalize_observations=True, **FOR_LEARNER)
  )
  observations = agent_test_utils.sample(agent_test_utils.FLAT, [20], 1)
  agent.update_observation_statistics(3 + 2 * observations)
  samples = slow_streams.Samples()
  samples.add(3 + 2 * observations.numpy())
  inputs = samples.whiten(observations, 5.0).astype(np.float32)
  values = agent._value_net.value_net(inputs)[0].numpy()
  assert np.abs(values[:, 0] - values[:, 1]).min() > 1e-3
  info = agent.collect_policy.action(ts.restart(observations, 20)).info
  np.testing.assert_allclose(info['value_prediction'], values[:, 0], atol=1e-5)
  np.testing.assert_allclose(
      info['intrinsic_value_prediction'], values[:, 1], atol=1e-5
  )
  assert set(agent.training_data_spec.policy_info) == {
      'dist_params',
      'value_prediction',
      'intrinsic_value_prediction',
      'advantage',
      'return',
      'intrinsic_return',
      'valid_mask',
      'next_observation',
  }


def test_what_the_learner_hands_over_enters_the_statistics():
  agent = agent_test_utils.build_agent(
      normalize_observations=True, normalize_rewards=True, **FOR_LEARNER
  )
  observations = agent_test_utils.sample(agent_test_utils.FLAT, [3, 5], 1)
  rewards = agent_test_utils.sample(tf.TensorSpec([]), [3, 5], 2)
  agent.update_observation_normalizer(observations)
  agent.update_reward_normalizer(rewards)
  policy, arrivals, sums, reward_sums = (
      slow_streams.Samples() for _ in range(4)
  )
  policy.add(observations.numpy().reshape([-1, 3]))
  arrivals.add(observations[:, 1:].numpy().reshape([-1, 3]))
  # The bonus under the new statistics, which are those of preprocessing too.
  bonus = agent.rnd_loss(observations[:, 1:])[0].numpy()
  for b in range(3):
    total, reward_total = 0.0, 0.0
    for t in range(5):
      reward_total = 0.999 * reward_total + rewards[b, t].numpy()
      reward_sums.add([reward_total])
      if t < 4:
        total = 0.99 * total + bonus[b, t]
        sums.add([total])
  for moments, samples in (
      (agent._observation_normalizer._flat_moments[0], policy),
      (agent.curiosity.seen.moments[0], arrivals),
      (agent.curiosity._return_scaler.moments, sums),
      (agent._return_streams.scalers[0].moments, reward_sums),
  ):
    mean, variance = samples.moments()
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moments.variance, variance, rtol=1e-5)
    np.testing.assert_allclose(moments.count, len(samples) + 1e-4)


def test_sequences_handed_over_one_by_one_share_a_return_filter():
  """A call has no name of a collector: docs/rnd_ppo.md has what this costs."""
  agents = [agent_test_utils.build_agent(**FOR_LEARNER) for _ in range(2)]
  for agent in agents:  # Or each call would change the bonus of the next.
    agent.curiosity.update_statistics = lambda transitions: None
  observations = agent_test_utils.sample(agent_test_utils.FLAT, [3, 5], 1)
  for row in observations:
    agents[0].update_observation_normalizer(row[tf.newaxis])
  agents[1].update_observation_normalizer(observations)
  bonus = agents[0].rnd_loss(observations[:, 1:])[0].numpy()
  shared, by_row, total = slow_streams.Samples(), slow_streams.Samples(), 0.0
  for row in bonus:
    row_total = 0.0
    for value in row:
      total, row_total = 0.99 * total + value, 0.99 * row_total + value
      shared.add([total])
      by_row.add([row_total])
  variances = [samples.moments()[1] for samples in (shared, by_row)]
  assert variances[0] > 2 * variances[1]
  for agent, variance in zip(agents, variances, strict=True):
    np.testing.assert_allclose(
        agent.curiosity._return_scaler.moments.variance, variance, rtol=1e-5
    )
