# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What enters the running statistics of the agent, when, and what does not."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from tests.agents import agent_test_utils
from tests.agents import slow_streams


def _observation_moments(agent):
  """(mean, variance, count) of RND's only observation leaf."""
  moments = agent.curiosity.seen.moments[0]
  return [x.numpy() for x in (moments.mean, moments.variance, moments.count)]


def _return_moments(scaler):
  moments = scaler.moments
  return [x.numpy() for x in (moments.mean, moments.variance, moments.count)]


def _assert_moments(found, samples):
  """Compares with the moments of all samples, and of the prior's 1e-4."""
  mean, variance = samples.moments()
  np.testing.assert_allclose(found[0], mean, rtol=1e-5, atol=1e-6)
  np.testing.assert_allclose(found[1], variance, rtol=1e-5, atol=1e-6)
  np.testing.assert_allclose(found[2], 1e-4 + len(samples), rtol=1e-9)


def _bonus_rollout(agent, bonus, row='FMMM'):
  """Environments with a bonus [B, T] of arriving, and values of 0."""
  parts = []
  for line in bonus:
    zeros = np.zeros(len(line) + 1)
    parts.append(
        agent_test_utils.readable_rollout(
            agent, row, zeros[1:], np.append(25.0, line), zeros, zeros
        )
    )
  return tf.nest.map_structure(lambda *x: tf.concat(x, axis=0), *parts)


def test_return_statistics_take_the_bonus_in_before_they_divide_it():
  # Worked out by hand: sums 1, 3.99, 8.9501 and 2, 5.98, 11.9202 in the first
  # rollout; the sums live on in the second.
  agent = agent_test_utils.readable_agent(
      True, update_normalizers_in_train=True, lambda_value=0.0
  )
  expected = (
      [[0.261092, 0.783275, 1.305458], [0.522183, 1.044366, 1.566549]],
      [[0.0, 0.221980, 0.0], [0.443961, 0.0, 0.443961]],
  )
  bonuses = ([[1.0, 3, 5], [2.0, 4, 6]], [[0.0, 1, 0], [2.0, 0, 2]])
  for bonus, rewards in zip(bonuses, expected, strict=True):
    experience = _bonus_rollout(agent, bonus)
    rows, statistics = agent_test_utils.rows_of(agent, experience)
    # Back to no whitening, which would change the next bonus.
    moments = agent.curiosity.seen.moments[0]
    moments.mean.assign([0.0])
    moments.variance.assign([1.0])
    # With values of 0 and lambda 0 a return is its reward.
    found = tf.reshape(rows.returns[:, 1], [2, 4])[:, :3]
    np.testing.assert_allclose(found, rewards, atol=2e-6)
    np.testing.assert_allclose(
        statistics['intrinsic_reward_mean'], np.mean(rewards), atol=2e-6
    )
  np.testing.assert_allclose(
      _return_moments(agent.curiosity._return_scaler),
      [8.761386, 20.294160, 12.0001],
      rtol=1e-6,
  )


def test_the_first_reward_after_many_of_0_is_clipped():
  # Sums of 0 alone leave next to no deviation: unclipped it would be 100.
  for settings, expected in (
      ({}, 10.0),
      ({'reward_norm_clipping': 2.5}, 2.5),
      ({'reward_norm_clipping': 0.0}, 100.0),
      ({'least_reward_deviation': 0.5}, 2.0),
      ({'least_reward_deviation': 0.001, 'reward_norm_clipping': 0.0}, 100.0),
  ):
    agent = agent_test_utils.readable_agent(
        True,
        normalize_rewards=True,
        lambda_value=0.0,
        discount_factor=0.0,
        intrinsic_advantage_coefficient=0.0,
        extrinsic_advantage_coefficient=1.0,
        **settings,
    )
    agent._return_streams.scalers[0].moments.variance.assign(1e-4)
    experience = agent_test_utils.readable_rollout(
        agent, 'FMMM', [0.0, 1.0, -1.0], [0.0] * 4, [0.0] * 4, [0.0] * 4
    )
    rows, _ = agent_test_utils.rows_of(agent, experience)
    np.testing.assert_allclose(
        rows.advantage, [0, expected, -expected, 0], rtol=1e-4
    )


def test_bonuses_of_an_episode_add_up_over_rollouts():
  # Worked out by hand. Nothing is scaled: the statistics do not move.
  agent = agent_test_utils.readable_agent(
      True, update_normalizers_in_train=False
  )
  rollouts = (
      # Rows, bonuses of transitions; how many end, and the mean of their sums.
      ('FMMM', [[1.0, 3, 5], [2.0, 4, 6]], 0, 0.0),
      # From an end to the next beginning is no transition.
      ('MTFM', [[7.0, 99, 1], [8.0, 99, 2]], 2, (16 + 20) / 2),
      ('MMLF', [[0.5, 1, 99], [1.5, 2, 99]], 2, (2.5 + 5.5) / 2),
  )
  for row, bonus, num_ends, mean in rollouts:
    experience = _bonus_rollout(agent, bonus, row)
    _, statistics = agent_test_utils.rows_of(agent, experience)
    assert statistics['num_ended_episodes'] == num_ends
    np.testing.assert_allclose(
        statistics['intrinsic_episode_return_mean'], mean, rtol=1e-5
    )


def test_sums_end_with_an_episode_where_rollouts_share_no_row():
  # The first row of the next episode is a rollout's last: no transition of it.
  agent = agent_test_utils.readable_agent(
      True, update_normalizers_in_train=False
  )
  bonus = [[1.0, 3, 99], [2.0, 4, 99]]
  experience = _bonus_rollout(agent, bonus, 'MMLF')
  agent_test_utils.rows_of(agent, experience)
  _, statistics = agent_test_utils.rows_of(agent, experience)
  np.testing.assert_allclose(
      statistics['intrinsic_episode_return_mean'], (4 + 6) / 2, rtol=1e-5
  )


def test_returns_end_with_an_episode_where_rollouts_share_no_row():
  agent = agent_test_utils.readable_agent(
      True,
      normalize_rewards=True,
      discount_factor=1.0,
      update_normalizers_in_train=True,
      num_minibatches=2,
  )
  for _ in range(2):
    experience = agent_test_utils.readable_rollout(
        agent, 'MMLF', [1.0, 2.0, 0.0], [0.0] * 4, [0.0] * 4, [0.0] * 4
    )
    agent_test_utils.rows_of(agent, experience)
  # 1 and 3, and again; not 1, 3, 4 and 6.
  np.testing.assert_allclose(
      agent._return_streams.scalers[0].moments.mean, 2.0, rtol=1e-4
  )


def test_sums_of_an_episode_go_on_behind_padding():
  # `hierarchy.Decisions` puts LAST rows before rows in mid-episode.
  agent = agent_test_utils.readable_agent(
      True,
      normalize_rewards=True,
      discount_factor=1.0,
      update_normalizers_in_train=True,
  )
  for row, rewards, bonus in (
      ('FMM', [1.0, 2.0], [1.0, 3.0]),
      ('LLMT', [99.0, 99.0, 4.0], [99.0, 99.0, 5.0]),
  ):
    zeros = np.zeros(len(row))
    experience = agent_test_utils.readable_rollout(
        agent, row, rewards, np.append(25.0, bonus), zeros, zeros
    )
    transitions = curiosity.Transitions.of_trajectory(experience)
    _, bonuses, values, _ = agent._evaluate(experience, transitions)
    streams = agent._return_streams
    streams.update_return_statistics(experience, {})
    rewards = streams.rewards(experience, bonuses)
    statistics = streams.statistics(
        experience, bonuses, rewards, values[:, :-1], values
    )
  np.testing.assert_allclose(
      statistics['intrinsic_episode_return_mean'], 1 + 3 + 5, rtol=1e-5
  )
  np.testing.assert_allclose(
      agent._return_streams.scalers[0].moments.mean, (1 + 3 + 7) / 3, rtol=1e-4
  )


def test_padding_is_no_observation_of_the_policy():
  agent = agent_test_utils.readable_agent(
      True,
      normalize_observations=True,
      update_normalizers_in_train=True,
      num_epochs=1,
      num_minibatches=1,
  )
  values = np.array([7.0, 7.0, 1.0, 2.0, 4.0, 9.0])
  agent.train(
      agent_test_utils.readable_rollout(
          agent, 'LLMLFM', np.zeros(5), np.ones(6), values, values
      )
  )
  (moments,) = agent._observation_normalizer._flat_moments
  np.testing.assert_allclose(moments.count, 3 + 1e-4)
  np.testing.assert_allclose(moments.mean[1], (1 + 2 + 4) / 3, rtol=1e-4)


def test_bonus_under_old_and_predictor_loss_under_new_statistics():
  # The error is x**2 of a whitened x: its mean is that of the raw squares while
  # nothing is known, and 1 once these very samples have set the variance.
  agent = agent_test_utils.readable_agent(
      True,
      update_normalizers_in_train=True,
      num_epochs=1,
      num_minibatches=1,
      predictor_proportion=1.0,
  )
  bonus = [[1.0, 4, 9], [16.0, 9, 49]]
  info = agent.train(_bonus_rollout(agent, bonus)).extra
  np.testing.assert_allclose(info.bonus_mean, np.mean(bonus), rtol=1e-5)
  np.testing.assert_allclose(info.bonus_max, 49, rtol=1e-5)
  np.testing.assert_allclose(info.rnd_loss, 1.0, rtol=1e-4)


def test_statistics_hold_the_valid_arrivals_and_nothing_else():
  agent = agent_test_utils.build_agent(
      normalize_rewards=True, discount_factor=0.9, num_minibatches=2
  )
  experience = agent_test_utils.rollout(agent)
  step_types = experience.step_type.numpy()
  bonus = agent.curiosity.errors(experience.observation[:, 1:]).numpy()
  arrivals, sums, reward_sums = (slow_streams.Samples() for _ in range(3))
  for b in range(len(bonus)):
    total, reward_total = 0.0, 0.0
    for t in range(bonus.shape[1]):
      if step_types[b, t] == slow_streams.LAST:
        continue
      if step_types[b, t] == slow_streams.FIRST:
        reward_total = 0.0
      total = 0.99 * total + bonus[b, t]
      reward_total = 0.9 * reward_total + experience.reward[b, t].numpy()
      arrivals.add([experience.observation[b, t + 1].numpy()])
      sums.add([total])
      reward_sums.add([reward_total])
  assert len(arrivals) == 32 - 6
  agent.train(experience)
  _assert_moments(_observation_moments(agent), arrivals)
  _assert_moments(_return_moments(agent.curiosity._return_scaler), sums)
  scaler, _ = agent._return_streams.scalers
  _assert_moments(_return_moments(scaler), reward_sums)


def test_statistics_rest_when_told_so():
  agent = agent_test_utils.build_agent(
      update_normalizers_in_train=False,
      normalize_observations=True,
      normalize_rewards=True,
  )
  trained = {v.ref() for v in agent._ppo_variables}
  trained |= {v.ref() for v in agent._predictor_variables}
  # They tell what was paid and decide nothing.
  trained |= {v.ref() for v in agent._return_streams.episode_sums[1].variables}
  others = [
      v
      for v in agent.variables
      if v.ref() not in trained and v.dtype.is_floating
  ]
  before = [v.numpy() for v in others]
  # Three sets of moments, two of return filters with sums, the target.
  assert len(before) == 4 * 3 + 2 + 4
  agent.train(agent_test_utils.rollout(agent))
  for a, b in zip(others, before, strict=True):
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize('numpy', [False, True])
def test_random_observations_can_come_first(numpy):
  agent = agent_test_utils.build_agent(normalize_observations=True)
  observations = agent_test_utils.sample(agent_test_utils.FLAT, [5, 7], 3)
  mask = np.random.RandomState(0).uniform(size=[5, 7]) > 0.4
  if numpy:
    agent.update_observation_statistics(observations.numpy(), mask)
  else:
    agent.update_observation_statistics(observations, tf.constant(mask))
  samples = slow_streams.Samples()
  samples.add(observations.numpy()[mask])
  _assert_moments(_observation_moments(agent), samples)
  moments = agent._observation_normalizer._flat_moments[0]
  np.testing.assert_allclose(moments.mean, samples.moments()[0], rtol=1e-6)
  np.testing.assert_allclose(moments.variance, samples.moments()[1], rtol=1e-6)
