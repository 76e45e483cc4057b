# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TF-Agents' own tests of `PPOAgent`, with `RNDPPOAgent` in its place.

They come with TF-Agents 0.19; `PPO_AGENT_TEST=FILE` takes those of a checkout.
"""

import functools
import importlib.util
import os
import re
import types
import unittest

import pytest
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.agents.ppo import ppo_agent

from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_agent
from rnd_agents.agents import rollout
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import factory
from rnd_agents.ops import discounting
from tests.agents import agent_test_utils


def _path():
  """Returns the path of upstream's tests; skips where there are none."""
  path = os.environ.get(
      'PPO_AGENT_TEST',
      ppo_agent.__file__.replace('ppo_agent.py', 'ppo_agent_test.py'),
  )
  if not os.path.isfile(path):
    pytest.skip(
        f'{path} is missing: set PPO_AGENT_TEST to'
        ' tf_agents/agents/ppo/ppo_agent_test.py of TF-Agents 0.19.'
    )
  return path


_STRATEGY = re.compile('(Default|OneDevice|Mirrored|$)')


def _create_agent(
    time_step_spec,
    action_spec,
    optimizer=None,
    actor_net=None,
    value_net=None,
    discount_factor=0.99,
    **settings,
):
  """`PPOAgent(...)`: one stream, in which RND pays nothing but learns."""
  if not (
      settings.get('kl_cutoff_factor', 0) * settings.get('kl_cutoff_coef', 1)
      or settings.get('initial_adaptive_kl_beta')
  ):  # Refused, for it has no effect.
    settings.pop('adaptive_kl_target', None)
  rnd = random_network_distillation.RandomNetworkDistillation(
      time_step_spec.observation,
      *factory.create_rnd_networks(
          curiosity.observation_spec(time_step_spec.observation)
      ),
  )
  in_train = settings.get('compute_value_and_advantage_in_train', True)
  agent = rnd_ppo_agent.RNDPPOAgent(
      time_step_spec,
      action_spec,
      optimizer,
      actor_net,
      value_net,
      curiosity=rnd,
      streams=[
          return_streams.ReturnStream(
              'extrinsic', discount_factor, reward=[(1.0, None), (0.0, rnd)]
          )
      ],
      num_minibatches=1,
      update_normalizers_in_train=in_train,
      recurrent_state_init='zero' if actor_net.state_spec else 'stored',
      **settings,
  )
  for name, method in _METHODS.items():
    setattr(agent, name, functools.partial(method, agent))
  return agent


def _terms(
    agent,
    time_steps,
    actions=0,
    log_probs=0,
    returns=0,
    advantages=0,
    weights=1,
):
  """What training computes of the rows [M] of upstream's examples, by name."""
  num_rows = len(time_steps.observation)

  def of_rows(numbers, shape=()):
    return tf.broadcast_to(
        tf.reshape(tf.cast(numbers, tf.float32), [-1, *shape]),
        [num_rows, *shape],
    )

  rows = rollout.Rows(
      observation=time_steps.observation,
      next_observation=time_steps.observation,
      step_type=tf.zeros([num_rows], tf.int32),
      action=of_rows(actions, agent.action_spec.shape),
      old_log_probability=of_rows(log_probs),
      advantage=of_rows(advantages),
      returns=of_rows(returns, [1]),
      old_values=of_rows(0, [1]),
      weight=of_rows(weights),
  )
  return agent_test_utils.loss_terms(
      agent, rows, rows._replace(network_state=()), tf.range(num_rows)
  )


def _loss(agent, steps, actions, old, returns, advantages, _, weights, *unused,
          **unused_too):
  """`get_loss`, whose total has no loss of RND."""
  del unused, unused_too
  terms = _terms(agent, steps, actions, old, returns, advantages, weights)
  losses = {
      name: terms[name]
      for name in ppo_agent.PPOLossInfo._fields
      if name != 'clip_fraction'
  }
  return tf_agent.LossInfo(
      sum(losses.values()),
      ppo_agent.PPOLossInfo(clip_fraction=terms['clip_fraction'], **losses),
  )


# Methods that training does not call, by what it computes instead.
_METHODS = dict(
    get_loss=_loss,
    policy_gradient_loss=lambda agent, steps, actions, old, advantages, _, w: (
        _terms(agent, steps, actions, old, 0, advantages, w)[
            'policy_gradient_loss'
        ]
    ),
    value_estimation_loss=lambda agent, steps, returns, weights: _terms(
        agent, steps, returns=returns, weights=weights
    )['value_estimation_loss'],
    entropy_regularization_loss=lambda agent, steps, _, weights: _terms(
        agent, steps, weights=weights
    )['entropy_regularization_loss'],
    compute_advantages=lambda agent, rewards, _, discounts, values: (
        discounting.generalized_advantage_estimation(
            rewards,
            values[:, :-1],
            values[:, -1],
            discounts,
            agent._return_streams._lambda * discounts,
        )
    ),
)


# What the error says of those of upstream's statements that do not hold; by the
# name of the test without its parameters. docs/rnd_ppo.md explains them.
_REFUSED = {
    'testComputeAdvantagesNoGae': 'Mismatched elements',
    'testKlPenaltyLoss': 'kl_penalty_loss has no effect',
    'testRNNTrain': 'Rewards may be up to 1e+15 in size',
    'testSequencePreprocess': 'compute_return_and_advantage has no effect',
    'testSequencePreprocessNotBatched': 'Mismatched elements',
}


def test_upstream_statements_hold_but_for_those_listed(tmp_path):
  # Or the tests would cut the CPU into four devices, for all tests after them.
  tf.config.list_logical_devices()
  path = _path()
  spec = importlib.util.spec_from_file_location('upstream_ppo_agent_test', path)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  module.ppo_agent = types.SimpleNamespace(PPOAgent=_create_agent)
  module.FLAGS = types.SimpleNamespace(test_tmpdir=os.fspath(tmp_path))
  seen = set()
  for test in unittest.defaultTestLoader.loadTestsFromTestCase(
      module.PPOAgentTest
  ):
    name = test.id().rpartition('.')[-1]
    statement, strategy, _ = _STRATEGY.split(name, maxsplit=1)
    # Those with a strategy repeat the others.
    if strategy in ('OneDevice', 'Mirrored') and 'PPO_AGENT_TEST' not in (
        os.environ
    ):
      continue
    expected = _REFUSED.get(statement)
    if strategy == 'Mirrored':
      expected = 'does not run under MirroredStrategy'
    result = unittest.TestResult()
    test.run(result)
    ((_, text),) = result.errors + result.failures or [(test, '')]
    assert bool(text) == bool(expected) and (expected or '') in text, (
        f'{name}: {text or "holds"}'
    )
    seen.add(statement)
  assert seen.issuperset(_REFUSED) and len(seen) >= 22
