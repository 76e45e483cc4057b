# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""SAC learns the same whatever the units of the actions."""

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


def _agent(low, high, **kwargs):
  spec = tensor_spec.BoundedTensorSpec([2], tf.float32, low, high)
  agent = agents.create_sac_agent(
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


@pytest.mark.parametrize('bonus_discount_factor', [None, 0.9])
def test_the_units_of_the_actions_change_nothing(bonus_discount_factor):
  arguments = dict(bonus_discount_factor=bonus_discount_factor)
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
