# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents with action masks: what a mask changes, and what it must not."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import actor_distribution_network
from tf_agents.networks import mask_splitter_network
from tf_agents.networks import q_network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.ops import q_learning
from tests.agents import agent_test_utils
from tests.agents import slow_r2d3

_MASK = tensor_spec.BoundedTensorSpec([3], tf.uint8, 0, 1, 'mask')
_MASKED = action_masks.ObservationWithMask(agent_test_utils.FLAT, _MASK)
_SETTINGS = dict(normalize_observations=True)


def _with_mask(experience, mask):
  """The experience with a mask [3] in each row."""
  shape = [*experience.step_type.shape, 3]
  mask = tf.constant(np.broadcast_to(np.uint8(mask), shape))
  observation = action_masks.ObservationWithMask(experience.observation, mask)
  return experience.replace(observation=observation)


def test_a_mask_that_allows_everything_changes_nothing():
  plain = agent_test_utils.build_agent(**_SETTINGS)
  masked = agent_test_utils.build_agent(_MASKED, **_SETTINGS)
  # As many variables: no network, statistic or normalizer has seen the mask.
  agent_test_utils.stir(plain)
  agent_test_utils.copy_variables(plain, masked)
  masked._shuffling.reset(plain._shuffling.state)
  experience = agent_test_utils.rollout(plain)
  info = plain.train(experience)
  same = masked.train(_with_mask(experience, [1, 1, 1]))
  tf.nest.map_structure(np.testing.assert_array_equal, info, same)
  for one, other in zip(plain.variables, masked.variables, strict=True):
    np.testing.assert_array_equal(one, other)


def test_values_and_bonuses_do_not_depend_on_the_mask():
  agent = agent_test_utils.stir(agent_test_utils.build_agent(_MASKED))
  experience = agent_test_utils.rollout(agent_test_utils.build_agent())
  rows = [_with_mask(experience, mask) for mask in ([1, 1, 1], [0, 1, 0])]
  values, bonuses = (
      [function(each) for each in rows]
      for function in (
          agent._values, lambda each: agent.rnd_loss(each.observation)[0]
      )
  )
  np.testing.assert_array_equal(*values)
  np.testing.assert_array_equal(*bonuses)
  distributions, _ = agent.collect_policy.distribution_and_values(
      rows[1].observation, rows[1].step_type
  )
  np.testing.assert_array_equal(
      distributions.probs_parameter()[0, 0], [0.0, 1.0, 0.0]
  )


@pytest.mark.parametrize('core', [None, networks.LSTMCore])
def test_forbidden_values_are_the_lowest(core):
  nets = networks.create_q_networks(
      _MASKED, slow_r2d3.ACTION, core=core and core(4)
  )
  observation = tf.random.normal([2, 5, 3])
  step_type = tf.fill([2, 5], ts.StepType.MID)
  mask = np.random.RandomState(0).randint(0, 2, [2, 5, 3]).astype(np.uint8)
  for net in nets:
    everything, _ = net(
        action_masks.ObservationWithMask(observation, tf.ones_like(mask)),
        step_type,
    )
    values, _ = net(
        action_masks.ObservationWithMask(observation, mask), step_type
    )
    np.testing.assert_array_equal(
        values, np.where(mask, everything, tf.float32.min)
    )


@pytest.mark.parametrize('double_q', [True, False])
def test_bootstrapping_looks_at_allowed_actions_alone(double_q):
  online, target = np.random.RandomState(1).normal(size=[2, 50, 4]) * 3
  masked = [np.float32(x) for x in (online, target)]
  for x in masked:
    x[:, [0, 2]] = tf.float32.min
  allowed = [x[:, [1, 3]] for x in masked]
  np.testing.assert_array_equal(
      q_learning.bootstrap_values(*masked, 1e-3, double_q),
      q_learning.bootstrap_values(*allowed, 1e-3, double_q),
  )


def _tf_agents_actor(passes_mask):
  """A policy network of TF-Agents, split by its own means."""
  return mask_splitter_network.MaskSplitterNetwork(
      action_masks.split_mask,
      actor_distribution_network.ActorDistributionNetwork(
          agent_test_utils.FLAT, agent_test_utils.DISCRETE, fc_layer_params=(4,)
      ),
      passthrough_mask=passes_mask,
      input_tensor_spec=_MASKED,
  )


def test_networks_that_ignore_the_mask_are_refused():
  nets = agent_test_utils.small_networks(
      _MASKED, agent_test_utils.DISCRETE
  )._asdict()
  agent = agent_test_utils.build_agent(
      _MASKED, nets=dict(nets, actor_net=_tf_agents_actor(True))
  )
  agent.train(agent_test_utils.rollout(agent))
  with pytest.raises(errors.InvalidValue, match='actor_net ignores'):
    agent_test_utils.build_agent(
        _MASKED, nets=dict(nets, actor_net=_tf_agents_actor(False))
    )
  values = [
      mask_splitter_network.MaskSplitterNetwork(
          action_masks.split_mask,
          q_network.QNetwork(agent_test_utils.FLAT, slow_r2d3.ACTION),
          input_tensor_spec=_MASKED,
      )
      for _ in range(2)
  ]
  with pytest.raises(errors.InvalidValue, match='q_network ignores'):
    slow_r2d3.build_agent(networks.QNetworks(*values))


def test_a_mask_that_fits_no_action_is_refused():
  wide = _MASKED._replace(action_mask=tf.TensorSpec([4], tf.uint8))
  for spec, action in (
      (wide, agent_test_utils.DISCRETE), (_MASKED, agent_test_utils.BOX)
  ):
    with pytest.raises(errors.InvalidValue, match='action mask'):
      networks.create_networks(spec, action)
