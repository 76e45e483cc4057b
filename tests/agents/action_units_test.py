# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC and TD3 learn the same whatever the units of the actions."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import agents
from rnd_agents import errors
from rnd_agents import random_numbers
from tests.agents import curious_agent_test as test_utils

_LOW, _HIGH = np.array([-30.0, 0.5]), np.array([50.0, 0.6])


def _agent(low, high, create=agents.create_sac_agent, **kwargs):
  spec = tensor_spec.BoundedTensorSpec([2], tf.float32, low, high)
  agent = create(
      ts.time_step_spec(test_utils.VECTOR),
      spec,
      learning_rate=0.01,
      fc_layer_params=(8,),
      **kwargs,
  )
  agent.initialize()
  return agent


def _rows(rng):
  step_types = np.tile([[0, 1], [1, 1], [1, 2], [1, 1]], (8, 1))
  shape = step_types.shape
  return test_utils.rows_of(
      step_types,
      rng.normal(size=(*shape, 2)).astype(np.float32),
      rng.normal(size=shape),
      np.where(step_types == 1, 1, 0).astype(np.float32),
      action=rng.uniform(-1, 1, (*shape, 2)).astype(np.float32),
  )


@pytest.mark.parametrize(
    'arguments',
    [
        dict(create=agents.create_sac_agent),
        dict(create=agents.create_sac_agent, bonus_discount_factor=0.9),
        dict(create=agents.create_td3_agent),
    ],
    ids=['SAC', 'two streams', 'TD3'],
)
def test_the_units_of_the_actions_change_nothing(arguments):
  plain, wide = _agent(-1.0, 1.0, **arguments), _agent(_LOW, _HIGH, **arguments)
  for variable, value in zip(wide.variables, plain.variables, strict=True):
    variable.assign(value)
  before = [variable.numpy() for variable in plain.variables]
  found = []
  for agent, low, high in ((plain, -1.0, 1.0), (wide, _LOW, _HIGH)):
    generator, rng = tf.random.Generator.from_seed(3), np.random.default_rng(0)
    train = common.function(agent.train)
    for _ in range(20):
      rows = _rows(rng)
      scaled = low + (high - low) * (rows.action.numpy() + 1) / 2
      with random_numbers.seeded(generator):
        train(rows.replace(action=tf.constant(scaled, tf.float32)))
    found.append([variable.numpy() for variable in agent.variables])
  for old, first, second in zip(before, *found, strict=True):
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-4)
    if old.dtype == np.float32 and old.size > 1:
      assert np.abs(first - old).max() > 0.001


def test_alpha_falls_in_a_narrow_range():
  # Between -0.01 and 0.01 no density in these units has an entropy of -1.
  agent = _agent(-0.01, 0.01)
  rng = np.random.default_rng(0)
  for _ in range(10):
    rows = _rows(rng)
    agent.train(rows.replace(action=rows.action / 100))
  assert agent._log_alpha.numpy() < -0.05


def test_an_action_that_cannot_change():
  spec = tensor_spec.BoundedTensorSpec(
      [2], tf.float32, [-1.0, 0.5], [1.0, 0.5]
  )
  specs = ts.time_step_spec(test_utils.VECTOR), spec
  with pytest.raises(errors.InvalidValue, match='lowest below the highest'):
    agents.create_sac_agent(*specs)
  agent = agents.create_td3_agent(*specs, fc_layer_params=(8,))
  agent.initialize()
  rows = _rows(np.random.default_rng(0))
  for _ in range(3):
    agent.train(rows)
  for variable in agent.variables:
    assert np.isfinite(variable.numpy()).all()


def _frames(observation, reward):
  """Time steps [1] in the middle of an episode."""
  return ts.TimeStep(
      tf.constant([1]),
      tf.constant([reward], tf.float32),
      tf.constant([0.9]),
      tf.constant([observation], tf.float32),
  )


def _critic_losses(noise, clip):
  """Returns 30 drawn critic losses, and those of the four corners.

  Corners are the target actions with all noise at its largest size.
  """
  agent = _agent(
      _LOW,
      _HIGH,
      agents.create_td3_agent,
      target_policy_noise=noise,
      target_policy_noise_clip=clip,
      discount_factor=0.8,
  )
  for variable in agent.variables:  # An actor off the middle of the bounds.
    if variable.dtype == tf.float32 and variable.shape.rank:
      variable.assign(tf.random.stateless_normal(variable.shape, (1, 2)))
  now, then = _frames([0.3, -0.2], 0.0), _frames([0.5, 0.1], 2.0)
  action = tf.constant([[10.0, 0.52]])
  drawn = [agent.critic_loss(now, action, then).numpy() for _ in range(30)]
  mean = agent.policy.action(then).action.numpy()[0]
  corners = []
  for signs in np.array(np.meshgrid([-1, 1], [-1, 1])).reshape(2, 4).T:
    corner = np.clip(mean + signs * clip * (_HIGH - _LOW) / 2, _LOW, _HIGH)
    next_inputs = then.observation, tf.constant([corner], tf.float32)
    target = 2.0 + 0.8 * 0.9 * min(
        target_critic(next_inputs)[0].numpy()[0]
        for target_critic in (
            agent._target_critic_network_1, agent._target_critic_network_2
        )
    )
    corners.append(
        sum(
            (critic((now.observation, action))[0].numpy()[0] - target) ** 2
            for critic in (agent._critic_network_1, agent._critic_network_2)
        )
    )
  return drawn, corners


def test_noise_of_td3_targets_is_clipped_in_halves_of_the_ranges():
  for clip in (0.05, 5.0):  # The second one leads beyond all bounds.
    drawn, corners = _critic_losses(1e9, clip)
    distances = np.abs(np.subtract.outer(drawn, corners)) / np.abs(corners)
    assert distances.min(axis=1).max() < 1e-4
    assert set(distances.argmin(axis=1)) == set(range(4))
    assert np.ptp(corners) > 0.01


def test_collected_actions_of_td3_have_noise_in_halves_of_the_ranges():
  agent = _agent(
      _LOW, _HIGH, agents.create_td3_agent, exploration_noise=0.01
  )
  num_rows = 4_000
  time_step = ts.restart(tf.zeros([num_rows, 2]), batch_size=num_rows)
  mean = agent.policy.action(time_step).action.numpy()
  noise = agent.collect_policy.action(time_step).action.numpy() - mean
  np.testing.assert_allclose(noise.std(axis=0), [0.4, 0.0005], rtol=0.05)
  assert (np.abs(noise.mean(axis=0)) < [0.03, 0.00004]).all()
