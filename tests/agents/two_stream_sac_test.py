# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC with two streams against a slow twin."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.trajectories import time_step as ts

from rnd_agents import agents
from rnd_agents import errors
from rnd_agents import random_numbers
from rnd_agents.agents import two_stream_sac
from tests.agents import curious_agent_test as test_utils

_SPECS = ts.time_step_spec(test_utils.VECTOR), test_utils.ACTION
_GAMMA, _GAMMA_I = 0.9, 0.5
_WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0], np.float32)


def _create(**kwargs):
  tf.keras.utils.set_random_seed(0)
  agent = agents.create_sac_agent(
      *_SPECS,
      discount_factor=_GAMMA,
      initial_alpha=0.3,
      fc_layer_params=(8,),
      **kwargs,
  )
  agent.initialize()
  return agent


def _slow_losses(agent, rows, bonus, bonus_discount, generator):
  """Losses of the critics and of the actor of steps [N, 2], one by one."""
  observation = rows.observation.numpy()
  alpha = np.exp(agent._log_alpha.numpy())
  online = agent._critic_network_1, agent._critic_network_2
  targets = agent._target_critic_network_1, agent._target_critic_network_2

  def values(critics, seen, action):
    inputs = tf.constant(seen[np.newaxis]), tf.constant(action[np.newaxis])
    return [critic(inputs)[0].numpy()[0] for critic in critics]

  def drawn(column):
    steps = ts.TimeStep(*(
        x[:, column]
        for x in (rows.step_type, rows.reward, rows.discount, rows.observation)
    ))
    with _from_the_start(generator):
      return [x.numpy() for x in agent._actions_and_log_probs(steps)]

  losses = []
  for i, (new, log_pi, following, next_log_pi) in enumerate(
      zip(*drawn(0), *drawn(1), strict=True)
  ):
    q = values(targets, observation[i, 1], following)
    reward, discount = rows.reward[i, 0].numpy(), rows.discount[i, 0].numpy()
    wanted = [
        reward
        + _GAMMA * discount * (min(q[0][0], q[1][0]) - alpha * next_log_pi),
        bonus[i] + _GAMMA_I * bonus_discount[i] * min(q[0][1], q[1][1]),
    ]
    taken = values(online, observation[i, 0], rows.action[i, 0].numpy())
    critic_loss = np.sum(np.square(np.array(taken) - wanted))
    q = values(online, observation[i, 0], new)
    worth = min(q[0][0], q[1][0]) + min(q[0][1], q[1][1])
    losses.append((critic_loss, alpha * log_pi - worth))
  return np.mean(_WEIGHTS[:, np.newaxis] * losses, axis=0)


@contextlib.contextmanager
def _from_the_start(generator):
  generator.reset_from_seed(7)
  with random_numbers.seeded(generator):
    yield


def _rows():
  """Steps [4, 2]: one to a termination, one from a LAST frame."""
  first, mid, last = range(3)
  generator = np.random.default_rng(0)
  return test_utils.rows_of(
      [[first, mid], [mid, mid], [mid, last], [last, first]],
      generator.normal(size=[4, 2, 2]).astype(np.float32),
      generator.normal(size=[4, 2]),
      [[1, 1], [1, 1], [0, 1], [1, 1]],
      generator.uniform(-2, 1, [4, 2, 1]).astype(np.float32),
  )


def test_losses_equal_a_slow_twin_over_updates():
  agent = _create(bonus_discount_factor=_GAMMA_I)
  rows = _rows()
  steps = ts.TimeStep(
      rows.step_type[:, 0], tf.zeros(4), tf.zeros(4), rows.observation[:, 0]
  )
  generator = tf.random.Generator.from_seed(7)
  variables = agent.collect_policy.variables()
  before = [x.numpy() for x in variables]
  for update in range(2):
    bonus = np.array([1.0, 0.25, 3.0, 0.5], np.float32) * update
    discount = np.array([1.0, 0.5, 0.0, 1.0], np.float32)
    expected = _slow_losses(agent, rows, bonus, discount, generator)
    with _from_the_start(generator):
      actor_loss = agent.actor_loss(steps, tf.constant(_WEIGHTS))
    with _from_the_start(generator):
      info = agent.train(
          rows,
          tf.constant(_WEIGHTS),
          bonus=tf.constant(bonus),
          bonus_discount=tf.constant(discount),
      )
    found = info.extra.critic_loss / 0.5, actor_loss  # `critic_loss_weight`.
    np.testing.assert_allclose(found, expected, rtol=1e-5)
  for old, new in zip(before, variables, strict=True):
    assert np.any(old != new.numpy()), new.name


class _Recorder(two_stream_sac.TwoStreamSacAgent):
  """Keeps what `train` gets."""

  def _train(self, experience, weights=None, bonus=None, bonus_discount=None):
    self.got = experience.reward[:, 0], bonus, bonus_discount
    return tf_agent.LossInfo(tf.constant(0.0), ())


def test_bonus_and_rewards_are_joined_with_their_own_discounts(monkeypatch):
  monkeypatch.setattr(two_stream_sac, 'TwoStreamSacAgent', _Recorder)
  inside = _create(bonus_discount_factor=_GAMMA_I)
  agent = agents.CuriousAgent(
      inside, test_utils.Marks(), bonus_weight=0.5, n_step=2
  )
  first, mid, last = range(3)
  bonuses = np.array([[9, 1, 2, 4], [9, 8, 16, 9]], np.float32)
  agent.train(
      test_utils.rows_of(
          [[first, mid, mid, last], [mid, mid, last, first]],
          np.stack([bonuses, bonuses], axis=-1),
          [[1, 2, 4, 0], [8, 16, 0, 0]],
          [[1, 1, 0, 1], [1, 1, 1, 1]],  # A termination, a time limit.
      )
  )
  expected = [
      [1 + 1.8, 2 + 3.6, 4, 8 + 14.4, 16, 0],
      [0.5 + 0.5, 1 + 1, 2, 4 + 4, 8, 0],
      [0.5, 0, 0, 0.5, 1, 0],
  ]
  for i, found in enumerate(inside.got):
    valid = np.array(expected[1]) > 0
    np.testing.assert_allclose(
        found.numpy()[valid], np.array(expected[i])[valid], rtol=1e-6
    )


def test_two_streams_without_a_bonus_are_refused():
  with pytest.raises(errors.InvalidValue, match='bonus_discount_factor'):
    agents.CuriousAgent(_create(bonus_discount_factor=_GAMMA_I))
