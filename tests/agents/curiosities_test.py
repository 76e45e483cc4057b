# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for agents with other curiosities than RND, or with several."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import curiosity
from rnd_agents import errors
from tests.agents import agent_test_utils

_SPECS = ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE


def _nets(num_values):
  return agent_test_utils.networks.create_networks(
      agent_test_utils.FLAT,
      agent_test_utils.DISCRETE,
      rnd_networks_fn=None,
      fc_layer_params=(8,),
      num_values=num_values,
  )._asdict()


def _agent(curiosity_, num_values=2, **settings):
  return agent_test_utils.build_agent(
      nets=_nets(num_values), curiosity=curiosity_, **settings
  )


def _memory(module):
  """The keys that NovelD remembers of each environment, as sets."""
  memory = module._visits._memory.variables[0].numpy()
  return [set(row[row != 0]) for row in memory]


@pytest.mark.parametrize('in_graph', [False, True])
def test_training_pays_first_visits_and_extends_the_memory(in_graph):
  tf.keras.utils.set_random_seed(0)
  novel_d = curiosity.create_novel_d(*_SPECS)
  agent = _agent(novel_d)
  train = common.function(agent.train) if in_graph else agent.train
  experience = agent_test_utils.rollout(agent)
  transitions = curiosity.Transitions.of_trajectory(experience)
  valid = transitions.valid.numpy()
  wanted = novel_d.bonus(transitions).numpy()[valid]
  info = train(experience).extra
  np.testing.assert_allclose(info.bonus_mean, wanted.mean(), rtol=1e-4)
  np.testing.assert_allclose(info.bonus_max, wanted.max(), rtol=1e-4)
  # Rows since the last FIRST, or all but the first; no two are equal.
  assert [len(keys) for keys in _memory(novel_d)] == [1, 5, 8, 4]
  # What goes on in the same episodes, and saw these places before.
  again = transitions._replace(
      is_first=tf.zeros_like(transitions.is_first),
      valid=tf.ones_like(transitions.valid),
      next_is_first=None,  # Nowhere, since all are transitions.
  )
  last = novel_d.episodic(again).numpy()[:, -1]
  np.testing.assert_array_equal(last, np.zeros(4))


def test_the_collect_policy_carries_the_variables_of_every_curiosity():
  """What a collector elsewhere, or a saved policy, is sent."""
  curiosities = [curiosity.create_rnd(*_SPECS), curiosity.create_icm(*_SPECS)]
  agent = _agent(curiosities, num_values=3)
  carried = {v.ref() for v in agent.collect_policy.variables()}
  for one in curiosities:
    assert one.variables
    assert {v.ref() for v in one.variables} <= carried


def test_each_of_several_curiosities_has_a_stream():
  tf.keras.utils.set_random_seed(0)
  both = [curiosity.create_rnd(*_SPECS), curiosity.create_e3b(*_SPECS)]
  agent = _agent(
      both,
      num_values=3,
      intrinsic_discount_factor=0.9,
      intrinsic_advantage_coefficient=0.5,
  )
  assert agent.curiosity is both[0]
  assert [
      (s.name, s.discount_factor, s.advantage_coefficient, s.curiosity)
      for s in agent.streams[1:]
  ] == [('intrinsic', 0.9, 0.5, both[0]), ('intrinsic_2', 0.9, 0.5, both[1])]
  experience = agent_test_utils.rollout(agent)
  transitions = curiosity.Transitions.of_trajectory(experience)
  valid = transitions.valid.numpy()
  wanted = [each.bonus(transitions).numpy()[valid].mean() for each in both]
  before = [v.numpy() for each in both for v in each.trainable_variables]
  info = agent.train(experience).extra
  np.testing.assert_allclose(
      [info.intrinsic_bonus_mean, info.intrinsic_2_bonus_mean],
      wanted,
      rtol=1e-4,
  )
  after = [v.numpy() for each in both for v in each.trainable_variables]
  assert all((x != y).any() for x, y in zip(before, after, strict=True))


def test_what_a_ppo_learner_cannot_feed_is_refused():
  with pytest.raises(errors.InvalidValue, match='NovelD'):
    _agent(
        curiosity.create_novel_d(*_SPECS),
        compute_value_and_advantage_in_train=False,
        update_normalizers_in_train=False,
    )


def test_every_curiosity_of_a_list_must_be_one():
  rnd = curiosity.create_rnd(*_SPECS)
  with pytest.raises(errors.InvalidType, match='list.*got function'):
    _agent([rnd, curiosity.create_rnd], num_values=3)
