# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimism by counts of actions, against a slow dictionary of them."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import agents
from rnd_agents import errors

FIRST, MID, LAST = 0, 1, 2
_OBSERVATION = dict(
    place=tensor_spec.BoundedTensorSpec([2], tf.float32, -9.0, 9.0),
    key=tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3),
    # Networks that whiten integers declare them as floats.
    ram=tensor_spec.BoundedTensorSpec([1], tf.uint8, 0, 255),
)
_ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)
_C, _M = 0.7, 1.5
_GAMMA = 0.9


def _create(optimism=_C, **kwargs):
  agent = agents.create_dqn_agent(
      ts.time_step_spec(_OBSERVATION),
      _ACTION,
      collect_epsilon=0.0,
      discount_factor=_GAMMA,
      optimism=optimism,
      optimism_exponent=_M,
      **kwargs,
  )
  agent.initialize()
  return agent


# Few places, so that some are met again, with zeros of both signs.
def _observations(generator, shape):
  return dict(
      place=generator.choice(np.float32([0.0, -0.0, 1.0]), [*shape, 2]),
      key=generator.integers(0, 2, shape),
      ram=np.full([*shape, 1], 7, np.uint8),
  )


def _rows(observation, action, step_type, reward=None, discount=None):
  shape = np.shape(step_type)
  following = np.roll(step_type, -1, axis=-1)
  return tf.nest.map_structure(
      tf.constant,
      trajectory.Trajectory(
          np.int32(step_type),
          observation,
          action,
          (),
          np.int32(following),
          np.zeros(shape, np.float32) if reward is None else reward,
          np.ones(shape, np.float32) if discount is None else discount,
      ),
  )


def _key(observation, index):
  return tuple(
      tuple(np.ravel(leaf[index]).tolist())  # In which -0 equals 0.
      for leaf in tf.nest.flatten(observation)
  )


class _Slow:
  """Counts in a dictionary."""

  def __init__(self):
    self._counts = collections.Counter()

  def add(self, observation, action, step_type, mask):
    for i in range(len(action)):
      if mask[i] and step_type[i] != LAST:
        self._counts[_key(observation, i), int(action[i])] += 1

  def optimism(self, observation, num):
    return np.array([
        [
            _C / (self._counts[_key(observation, i), a] + 1) ** _M
            for a in range(3)
        ]
        for i in range(num)
    ])


def _collected(agent, num_rows=12):
  """Rows that an agent and a slow twin have counted; returns the twin."""
  generator = np.random.default_rng(0)
  slow = _Slow()
  curious = agents.CuriousAgent(agent)
  update = tf.function(curious.update_statistics)
  for _ in range(num_rows):
    observation = _observations(generator, [4])
    action = generator.integers(0, 3, [4])
    step_type = generator.integers(0, 3, [4])
    mask = generator.random(4) < 0.8
    slow.add(observation, action, step_type, mask)
    action = np.where(mask, action, -1)
    update(_rows(observation, action, step_type), tf.constant(mask))
  return slow


def _q(network, observation):
  return network(tf.nest.map_structure(tf.constant, observation))[0].numpy()


def _shuffle(network, seed):
  """Gives a network weights that differ much from each other's."""
  generator = np.random.default_rng(seed)
  for variable in network.variables:
    variable.assign(generator.normal(size=variable.shape))


def test_it_collects_by_q_and_optimism_and_is_evaluated_by_q_alone():
  agent = _create()
  slow = _collected(agent)
  observation = _observations(np.random.default_rng(1), [30])
  q = _q(agent._q_network, observation)
  steps = ts.restart(tf.nest.map_structure(tf.constant, observation), 30)
  chosen = agent.collect_policy.action(steps, seed=1).action
  optimistic = (q + slow.optimism(observation, 30)).argmax(axis=1)
  np.testing.assert_array_equal(chosen, optimistic)
  greedy = q.argmax(axis=1)
  np.testing.assert_array_equal(agent.policy.action(steps).action, greedy)
  assert (optimistic != greedy).any()
  # Workers get the counts with the policy.
  assert any(
      variable is agent._tried.counts
      for variable in agent.collect_policy.variables()
  )


@pytest.mark.parametrize('optimism', [0.0, _C])
@pytest.mark.parametrize('epsilon', [0.0, 0.3])
def test_eval_epsilon_is_that_of_the_evaluated_policy(optimism, epsilon):
  agent = _create(optimism=optimism, eval_epsilon=epsilon)
  if optimism:
    _collected(agent)
  observation = _observations(np.random.default_rng(1), [30])
  best = _q(agent._q_network, observation).argmax(axis=1)
  steps = ts.restart(tf.nest.map_structure(tf.constant, observation), 30)
  # Around it, too, whose greedy_eval is for policies without an epsilon.
  for evaluated in agent.policy, agents.CuriousAgent(agent).policy:
    distribution = evaluated.distribution(steps).action
    np.testing.assert_allclose(
        np.transpose([distribution.prob(np.full(30, a)) for a in range(3)]),
        epsilon / 3 + (1 - epsilon) * (np.arange(3) == best[:, np.newaxis]),
        atol=1e-6,
    )


@pytest.mark.parametrize('epsilon', [0.0, 0.3, 1.0])
def test_targets_have_the_best_action_whatever_epsilon_evaluations_have(
    epsilon
):
  agent = _create(optimism=0.0, eval_epsilon=epsilon)
  _shuffle(agent._q_network, 1)
  _shuffle(agent._target_q_network, 2)
  observation = _observations(np.random.default_rng(1), [30])
  steps = ts.transition(
      tf.nest.map_structure(tf.constant, observation), tf.zeros([30])
  )
  best = _q(agent._q_network, observation).argmax(axis=1)
  of_targets = _q(agent._target_q_network, observation)
  assert (of_targets.argmax(axis=1) != best).any()
  np.testing.assert_allclose(
      agent._compute_next_q_values(steps, ()),
      of_targets[np.arange(30), best],
      rtol=1e-5,
  )


def test_an_observation_that_is_not_finite_is_not_counted():
  agent = _create()
  observation = _observations(np.random.default_rng(0), [2])
  observation['place'][1, 0] = np.nan
  row = _rows(observation, np.zeros([2], np.int64), [FIRST, MID])
  with pytest.raises(errors.InvalidValue, match='observation/place'):
    agents.CuriousAgent(agent).update_statistics(row)
  assert not agent._tried.counts.numpy().any()


def test_targets_are_those_of_opiq():
  agent = _create()
  slow = _collected(agent)
  _shuffle(agent._q_network, 2)
  _shuffle(agent._target_q_network, 3)
  generator = np.random.default_rng(4)
  observation = _observations(generator, [8, 2])
  action = generator.integers(0, 3, [8, 2])
  reward = generator.normal(size=[8, 2]).astype(np.float32)
  discount = (generator.random([8, 2]) < 0.7).astype(np.float32)
  step_type = np.full([8, 2], MID)
  now, then = (
      tf.nest.map_structure(lambda x, t=t: x[:, t], observation) for t in (0, 1)
  )
  q = _q(agent._q_network, now)
  optimism = slow.optimism(then, 8)
  best = (_q(agent._q_network, then) + optimism).argmax(axis=1)
  of_target = _q(agent._target_q_network, then) + optimism
  expected = [
      reward[i, 0]
      + _GAMMA * discount[i, 0] * of_target[i, best[i]]
      - q[i, action[i, 0]]
      for i in range(8)
  ]
  info = agent.train(_rows(observation, action, step_type, reward, discount))
  np.testing.assert_allclose(info.extra.td_error, expected, rtol=1e-4)
  plain = _q(agent._target_q_network, then).argmax(axis=1)
  assert (best != plain).any() and (optimism != _C).any()


def test_without_optimism_it_is_double_dqn():
  plain = _create(optimism=0.0)
  assert type(plain).__name__ == 'EpsilonDqnAgent'
  # Whether workers need the policy again after rows that nothing learned from.
  assert not agents.CuriousAgent(plain).acts_by_statistics
  assert agents.CuriousAgent(_create()).acts_by_statistics
  with pytest.raises(errors.InvalidValue, match='optimism must be at least 0'):
    _create(optimism=-1.0)
