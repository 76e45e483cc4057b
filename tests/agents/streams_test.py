# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Advantages, returns and statistics of rollouts, on both ways of use.

The networks of `readable_agent` hand out parts of the observation (bonus,
V_E, V_I), so that a test writes down what they say.
"""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.agents import rollout
from tests.agents import agent_test_utils
from tests.agents import slow_streams

BOTH_WAYS = pytest.mark.parametrize(
    'whole_rollout', [True, False], ids=['train', 'preprocess_sequence']
)


def _streams(agent, experience):
  """(advantages, returns, intrinsic returns, mask) [B, T+1] as used."""
  shape = experience.reward.shape
  if agent._compute_value_and_advantage_in_train:
    rows, _ = agent_test_utils.rows_of(agent, experience)
    returns = rows.returns
    valid = tf.cast(rollout.begins_transition(experience), tf.float32)
    found = rows.advantage, returns[:, 0], returns[:, 1], valid
  else:
    info = agent.preprocess_sequence(experience).policy_info
    found = (
        info['advantage'],
        info['return'],
        info['intrinsic_return'],
        info['valid_mask'],
    )
  return [np.reshape(x, shape) for x in found]


def _advantages(agent, experience):
  """Of the valid transitions, in their order."""
  advantages, _, _, mask = _streams(agent, experience)
  return advantages[mask > 0]


# Worked out by hand in float64: an episode of two steps, then a cut one. In
# TF-Agents' layout row 2 is the boundary. Values of the last observation: .77
# for V_E, and 9 for V_I, which must play no part.
LAMBDA = {
    'discount_factor': 0.999,
    'intrinsic_discount_factor': 0.99,
    'lambda_value': 0.95,
}
REWARDS = [0.0, 1.0, 0.0, 0.0, 2.0]
VALUES = [0.3, 0.6, 0.77, 0.1, 0.4, 0.9]
INTRINSIC_VALUES = [1.0, 1.5, 9.0, 0.5, 0.7, 1.2]
# Of arriving at row t; no one is paid for arriving at the rows 0 and 3.
BONUS = [49.0, 0.5, 0.2, 64.0, 0.8, 0.1]
EXTRINSIC = [0.679020, 0.400000, 2.671371, 2.499100]
BOOTSTRAPPED = [1.409058, 1.169230, 2.671371, 2.499100]
INTRINSIC = [1.595409, 0.649026, 1.546014, 0.588000]
COSTLY_DEATH = [1.228797, 0.259221, 1.546014, 0.588000]
EPISODIC_INTRINSIC = [-0.237650, -1.300000, 1.546014, 0.588000]


def _two_episodes(agent, letter):
  return agent_test_utils.readable_rollout(
      agent, f'FM{letter}FMM', REWARDS, BONUS, VALUES, INTRINSIC_VALUES
  )


@BOTH_WAYS
@pytest.mark.parametrize(
    ('settings', 'letter', 'extrinsic', 'intrinsic', 'combined'),
    [
        ({}, 'T', EXTRINSIC, INTRINSIC, None),
        ({}, 'L', BOOTSTRAPPED, INTRINSIC, None),
        ({'bootstrap_at_time_limit': False}, 'L', EXTRINSIC, INTRINSIC, None),
        (
            {'episodic_intrinsic_stream': True},
            'T',
            EXTRINSIC,
            EPISODIC_INTRINSIC,
            None,
        ),
        (
            {'intrinsic_termination_discount': 0.8},
            'T',
            EXTRINSIC,
            COSTLY_DEATH,
            None,
        ),
        (
            {'intrinsic_termination_discount': 0.8},
            'L',
            BOOTSTRAPPED,
            INTRINSIC,
            None,
        ),
        (
            {'normalize_advantages': True},
            'T',
            EXTRINSIC,
            INTRINSIC,
            [-0.592310, -1.296218, 1.248992, 0.639536],
        ),
    ],
    ids=['death', 'time-limit', 'time-limit-as-death', 'episodic',
         'costly-death', 'time-limit-costs-nothing', 'normalized'],
)
def test_worked_out_vectors(
    whole_rollout, settings, letter, extrinsic, intrinsic, combined
):
  agent = agent_test_utils.readable_agent(
      whole_rollout, **dict(LAMBDA, **settings)
  )
  advantages, returns, intrinsic_returns, mask = _streams(
      agent, _two_episodes(agent, letter)
  )
  np.testing.assert_array_equal(mask, [[1, 1, 0, 1, 1, 0]])
  acted = [0, 1, 3, 4]
  if combined is None:
    combined = 2 * np.array(extrinsic) + intrinsic
  for found, expected in (
      (advantages, combined),
      (returns, np.array(VALUES)[acted] + extrinsic),
      (intrinsic_returns, np.array(INTRINSIC_VALUES)[acted] + intrinsic),
  ):
    np.testing.assert_allclose(found[mask > 0], expected, rtol=0, atol=3e-6)


@BOTH_WAYS
def test_intrinsic_stream_ends_at_the_last_row(whole_rollout):
  # What follows the episode is not there to be seen: V_I(s_LAST) stands for it.
  agent = agent_test_utils.readable_agent(
      whole_rollout,
      intrinsic_discount_factor=0.5,
      lambda_value=0.5,
      extrinsic_advantage_coefficient=0.0,
      num_minibatches=2,
  )
  experience = agent_test_utils.readable_rollout(
      agent, 'MMT', [0.0, 0], [1.0, 1, 1], np.zeros(3), [2.0, 4, 8]
  )
  # delta = [1 + 2 - 2, 1 + 4 - 4] = [1, 1]; A = [1 + 1/4, 1].
  np.testing.assert_allclose(_advantages(agent, experience), [1.25, 1.0])


@BOTH_WAYS
@pytest.mark.parametrize(
    'settings',
    [
        {},
        {'intrinsic_termination_discount': 0.6},
        {'episodic_intrinsic_stream': True, 'bootstrap_at_time_limit': False},
    ],
    ids=['continuing', 'costly-death', 'episodic'],
)
def test_many_episodes_as_the_slow_loops(whole_rollout, settings):
  rows = agent_test_utils.ROLLOUT
  settings = dict(
      settings,
      discount_factor=0.9,
      intrinsic_discount_factor=0.8,
      lambda_value=0.7,
  )
  agent = agent_test_utils.readable_agent(whole_rollout, **settings)
  settings = slow_streams.Settings(**settings)
  experience = agent_test_utils.rollout(agent)
  observations = experience.observation.numpy()
  _, returns, intrinsic_returns, mask = _streams(agent, experience)
  advantages = _streams(agent, experience)[0]
  for b in range(len(rows)):
    step_types = experience.step_type[b].numpy()
    np.testing.assert_array_equal(
        mask[b, :-1], step_types[:-1] != slow_streams.LAST
    )
    assert mask[b, -1] == 0
    rewards = experience.reward[b, :-1].numpy()
    bonus = observations[b, 1:, 0] ** 2
    discounts = experience.discount[b].numpy()
    values, intrinsic_values = observations[b, :, 1], observations[b, :, 2]
    extrinsic = slow_streams.gae_extrinsic(
        settings, rewards, values, step_types, discounts
    )
    intrinsic = slow_streams.gae_intrinsic(
        settings, bonus, intrinsic_values, step_types, discounts
    )
    valid = mask[b, :-1] > 0
    for found, expected in (
        (returns, extrinsic + values[:-1]),
        (intrinsic_returns, intrinsic + intrinsic_values[:-1]),
        (advantages, 2 * extrinsic + intrinsic),
    ):
      np.testing.assert_allclose(
          found[b, :-1][valid], expected[valid], rtol=1e-5, atol=1e-5
      )


def test_a_sequence_without_batch_dimension_is_preprocessed_alike():
  agent = agent_test_utils.readable_agent(False, **LAMBDA)
  experience = _two_episodes(agent, 'T')
  batched = agent.preprocess_sequence(experience)
  single = agent.preprocess_sequence(
      tf.nest.map_structure(lambda x: x[0], experience)
  )
  tf.nest.map_structure(
      lambda a, b: np.testing.assert_array_equal(a[0], b), batched, single
  )


def test_preprocessing_keeps_rows_and_adds_arrivals():
  agent = agent_test_utils.readable_agent(False)
  experience = agent_test_utils.rollout(agent)
  processed = agent.preprocess_sequence(experience)
  tf.nest.assert_same_structure(processed, agent.training_data_spec)
  for name in ('step_type', 'observation', 'action', 'reward', 'discount'):
    np.testing.assert_array_equal(
        getattr(processed, name), getattr(experience, name)
    )
  arrivals = processed.policy_info['next_observation']
  np.testing.assert_array_equal(arrivals[:, :-1], experience.observation[:, 1:])
  np.testing.assert_array_equal(arrivals[:, -1], np.zeros([4, 3]))


def test_preprocessing_changes_no_variable():
  agent = agent_test_utils.readable_agent(False)
  before = [v.numpy() for v in agent.variables]
  agent.preprocess_sequence(agent_test_utils.rollout(agent))
  for a, b in zip(agent.variables, before, strict=True):
    np.testing.assert_array_equal(a, b)
