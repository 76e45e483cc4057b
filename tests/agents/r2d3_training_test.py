# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What R2D3 pays and trains of a curiosity; and checkpoints."""

import numpy as np
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents import networks
from rnd_agents.curiosity import random_network_distillation
from tests.agents import agent_test_utils
from tests.agents import slow_r2d3


# ------------------------------------------------------------------- curiosity
def _curiosity():
  spec = slow_r2d3.OBSERVATION
  return random_network_distillation.RandomNetworkDistillation(
      spec,
      networks.RNDNetwork(spec, (8,), 4),
      networks.RNDNetwork(spec, (8,), 4, trainable=False),
      observation_clip_value=None,
  )


def _bonus(rnd, experience):
  """Of each transition by hand, [B, L - 1], and which are trained on.

  Those of the burn-in are not: it may be filled up with frames that nobody
  arrived at.
  """
  arrivals = experience.observation[:, 1:]
  features = [
      net(arrivals)[0].numpy()
      for net in (rnd.rnd_network, rnd.target_rnd_network)
  ]
  acted = experience.step_type[:, :-1].numpy() != slow_r2d3.LAST
  acted[:, : slow_r2d3.Settings().burn_in_length] = False
  # Without any statistics: whitening and scale are the identity.
  return np.mean((features[0] - features[1]) ** 2, -1), acted


def test_rewards_get_the_bonus_of_the_arrival():
  tf.random.set_seed(3)
  rnd = _curiosity()
  agent = slow_r2d3.build_agent(
      curiosity=rnd,
      rnd_optimizer=tf.keras.optimizers.SGD(0.5),
      bonus_weight=0.7,
  )
  plain = slow_r2d3.build_agent()
  slow_r2d3.copy_networks(
      (agent._q_network, agent._target_q_network),
      (plain._q_network, plain._target_q_network),
  )
  experience = slow_r2d3.sequences()
  states = slow_r2d3.random_states(agent._q_network, 5)
  bonus, acted = _bonus(rnd, experience)
  assert bonus.min() > 0.01
  paid = experience.reward.numpy()
  paid[:, :-1] += 0.7 * bonus * acted
  before = {
      'predictor': [v.numpy() for v in rnd.rnd_network.variables],
      'target': [v.numpy() for v in rnd.target_rnd_network.variables],
      'statistics': [
          v.numpy()
          for v in (*rnd.seen.moments[0].variables,
                    *rnd._return_scaler.variables)
      ],
  }
  result = slow_r2d3.train(
      agent, experience, states, function=common.function(agent.train)
  )
  expected = slow_r2d3.train(
      plain, experience.replace(reward=tf.constant(paid)), states
  )
  # All that Q-learning does is what it does with the other rewards.
  np.testing.assert_allclose(result.loss, expected.loss, rtol=1e-5)
  for key in ('td_loss', 'priorities', 'target_mean', 'gradient_norm'):
    np.testing.assert_allclose(
        getattr(result.extra, key), getattr(expected.extra, key), rtol=1e-5
    )
  slow_r2d3.assert_networks_equal(
      agent, (plain._q_network, plain._target_q_network), 1e-6
  )
  np.testing.assert_allclose(
      result.extra.bonus_mean, 0.7 * bonus[acted].mean(), rtol=1e-4
  )
  assert expected.extra.bonus_mean == expected.extra.rnd_loss == 0
  # The predictor learns from the transitions that there are, nothing else does.
  np.testing.assert_allclose(
      result.extra.rnd_loss, bonus[acted].mean(), rtol=1e-5
  )
  assert _bonus(rnd, experience)[0][acted].mean() < 0.9 * bonus[acted].mean()
  assert all(
      np.abs(x - y).max() > 1e-5
      for x, y in zip(before['predictor'], rnd.rnd_network.variables)
  )
  after = (
      *rnd.target_rnd_network.variables,
      *rnd.seen.moments[0].variables,
      *rnd._return_scaler.variables,
  )
  for x, y in zip(before['target'] + before['statistics'], after, strict=True):
    np.testing.assert_array_equal(x, y)


def test_a_predictor_learns_from_its_own_loss_alone():
  rnd = _curiosity()
  agent = slow_r2d3.build_agent(
      core='none',
      curiosity=rnd,
      rnd_optimizer=tf.keras.optimizers.SGD(0.5),
      optimizer=tf.keras.optimizers.SGD(0.1),
  )
  assert agent.curiosity is rnd
  assert slow_r2d3.build_agent(core='none').curiosity is None
  experience = slow_r2d3.sequences()
  bonus, acted = _bonus(rnd, experience)
  predictor = rnd.rnd_network
  with tf.GradientTape() as tape:
    arrivals = experience.observation[:, 1:][acted]
    errors = predictor(arrivals)[0] - rnd.target_rnd_network(arrivals)[0]
    loss = tf.reduce_mean(tf.square(errors))
  np.testing.assert_allclose(loss, bonus[acted].mean(), rtol=1e-5)
  gradients = tape.gradient(loss, predictor.trainable_variables)
  expected = [
      x - 0.5 * g
      for x, g in zip(predictor.trainable_variables, gradients, strict=True)
  ]
  agent.train(experience, weights=tf.constant(slow_r2d3.WEIGHTS))
  for x, y in zip(expected, predictor.trainable_variables, strict=True):
    np.testing.assert_allclose(x, y, atol=1e-6)


# ----------------------------------------------------------------- checkpoints
def _everything(agent):
  """All that training changes, as arrays."""
  result = [
      v.numpy()
      for net in (agent._q_network, agent._target_q_network)
      for v in net.variables
  ]
  for variable in agent._q_network.trainable_variables:
    result += agent_test_utils.adam_slots(agent._optimizer, variable)
  if agent.curiosity is not None:
    rnd = agent.curiosity
    result += [
        v.numpy()
        for v in (
            *rnd.rnd_network.variables,
            *rnd.target_rnd_network.variables,
            *rnd.seen.moments[0].variables,
            *rnd._return_scaler.variables,
        )
    ]
    for variable in rnd.trainable_variables:
      result += agent_test_utils.adam_slots(agent.optimizers[1], variable)
  return result + [agent.train_step_counter.numpy()]


def _agent_with_everything(seed, first_layer_number):
  """An agent whose layers are named from dense_<first_layer_number> on."""
  tf.keras.backend.reset_uids()
  for _ in range(first_layer_number):
    tf.keras.layers.Dense(1)
  agent = slow_r2d3.build_agent(
      seed=seed,
      optimizer=agent_test_utils.adam(),
      curiosity=_curiosity(),
      rnd_optimizer=tf.keras.optimizers.Adam(1e-2),
      target_update_period_train_steps=3,
  )
  tf.keras.backend.reset_uids()
  return agent


def test_a_restored_agent_goes_on_bit_for_bit(tmp_path):
  # In another process the layers have other numbers.
  first, second = _agent_with_everything(1, 0), _agent_with_everything(2, 8)
  states = slow_r2d3.random_states(first._q_network, 5)
  for seed in range(2):
    slow_r2d3.train(first, slow_r2d3.sequences(seed=seed), states)
  path = tf.train.Checkpoint(agent=first).save(str(tmp_path / 'agent'))
  saved = _everything(first)
  assert sum(
      not np.array_equal(x, y) for x, y in zip(saved, _everything(second))
  ) > 40
  status = tf.train.Checkpoint(agent=second).restore(path)
  status.assert_existing_objects_matched()
  status.assert_consumed()
  for x, y in zip(saved, _everything(second), strict=True):
    np.testing.assert_array_equal(x, y)
  # The very next train step is the third, at which the target follows.
  for seed in range(2, 4):
    infos = [
        slow_r2d3.train(agent, slow_r2d3.sequences(seed=seed), states)
        for agent in (first, second)
    ]
    for x, y in zip(*map(tf.nest.flatten, infos), strict=True):
      np.testing.assert_array_equal(x, y)
    for x, y in zip(_everything(first), _everything(second), strict=True):
      np.testing.assert_array_equal(x, y)
    if seed == 2:
      for x, y in zip(
          second._q_network.variables, second._target_q_network.variables
      ):
        np.testing.assert_array_equal(x, y)
