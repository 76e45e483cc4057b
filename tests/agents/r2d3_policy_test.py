# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Epsilon-greedy policies: how often they do what, and what they remember."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.drivers import py_driver
from tf_agents.networks import network
from tf_agents.policies import greedy_policy
from tf_agents.policies import py_tf_eager_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import networks
from rnd_agents.agents import r2d3_policy
from rnd_agents.environments import loaders
from rnd_agents.tasks import memory_tasks
from tests.agents import slow_r2d3

FIRST, MID = int(ts.StepType.FIRST), int(ts.StepType.MID)


@pytest.fixture(autouse=True)
def _same_actions():
  tf.random.set_seed(1)


class _Observed(network.Network):
  """Q values that are the observation."""

  def __init__(self, spec):
    super().__init__(spec, state_spec=(), name='Observed')

  def call(self, observation, step_type=None, network_state=(), training=False):
    return observation, network_state


def _policy(epsilon, action_spec=slow_r2d3.ACTION):
  return r2d3_policy.EpsilonGreedyQPolicy(
      ts.time_step_spec(slow_r2d3.OBSERVATION),
      action_spec,
      _Observed(slow_r2d3.OBSERVATION),
      epsilon,
  )


# The lowest value is that of our networks.
@pytest.mark.parametrize('forbidden', [-np.inf, tf.float32.min])
def test_forbidden_actions_are_never_taken(forbidden):
  values = tf.constant([[5.0, 1.0, 2.0], [3.0, 4.0, 0.0]])
  mask = np.bool_([[0, 1, 1], [1, 0, 0]])
  time_step = ts.restart(tf.where(mask, values, forbidden), 2)
  probs = _policy(0.3).distribution(time_step).action.probs_parameter()
  np.testing.assert_allclose(probs, [[0, 0.15, 0.85], [1, 0, 0]], rtol=1e-6)
  greedy = greedy_policy.GreedyPolicy(_policy(0.3)).action(time_step).action
  np.testing.assert_array_equal(greedy, [2, 0])


def _rows(size):
  """Time steps in which action 1, 0 or 2 is the best, in turns."""
  observations = np.float32([[0.1, 3.0, -2.0], [5.0, 4.9, 0], [-3, -2, -1]])
  return ts.restart(
      tf.constant(np.tile(observations, [size // 3, 1])), size
  ), np.tile([1, 0, 2], size // 3)


def _assert_frequencies(actions, best, epsilon):
  """Chi-squared of the counts of the best action and the others."""
  others = [(best + 1) % 3, (best + 2) % 3]
  counts = [np.sum(actions == x) for x in (best, *others)]
  assert sum(counts) == len(best)
  expected = len(best) * np.array(
      [1 - epsilon + epsilon / 3, epsilon / 3, epsilon / 3]
  )
  if epsilon == 0:
    assert counts[0] == len(best)
    return
  # Two degrees of freedom: once in a thousand above 13.8.
  assert np.sum((counts - expected) ** 2 / expected) < 13.8, counts


# -------------------------------------------------------------------- epsilon
@pytest.mark.parametrize('epsilon', [0.0, 0.15, 0.6, 1.0, 0, 1])
def test_frequencies_of_actions(epsilon):
  time_step, best = _rows(30_000)
  actions = _policy(epsilon).action(time_step, seed=7).action.numpy()
  _assert_frequencies(actions, best, epsilon)


def test_epsilon_of_each_environment():
  time_step, best = _rows(40_000 // 3 * 3)
  ladder = np.tile(np.float32([0.0, 0.1, 0.5, 1.0]), 10_000)[: len(best)]
  policy = _policy(tf.constant(ladder))
  actions = policy.action(time_step, seed=3).action.numpy()
  for epsilon in (0.0, 0.1, 0.5, 1.0):
    rows = np.isclose(ladder, epsilon)
    _assert_frequencies(actions[rows], best[rows], epsilon)


def test_probabilities():
  time_step, _ = _rows(3)
  probs = _policy(tf.constant([0.3, 0.6, 0.0])).distribution(
      time_step
  ).action.probs_parameter()
  np.testing.assert_allclose(
      probs, [[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0, 0, 1]], atol=1e-6
  )


@pytest.mark.parametrize('shape', [[], [30_000]])
def test_a_variable_changes_inside_a_graph(shape):
  epsilon = tf.Variable(tf.zeros(shape))
  policy = _policy(epsilon)
  time_step, best = _rows(30_000)
  num_traces = 0

  @tf.function
  def act():
    nonlocal num_traces
    num_traces += 1
    return policy.action(time_step, seed=5).action

  for value in (0.0, 0.9, 0.2):
    epsilon.assign(tf.fill(shape, value))
    _assert_frequencies(act().numpy(), best, value)
  assert num_traces == 1


def test_whoever_samples_brings_the_random_numbers():
  time_step, _ = _rows(300)
  distribution = _policy(1.0).distribution(time_step).action
  first, again, other = (
      distribution.sample(seed=tf.constant([seed, 0])).numpy()
      for seed in (1, 1, 2)
  )
  np.testing.assert_array_equal(first, again)
  assert np.mean(first == other) < 0.5


def test_a_greedy_policy_around_it_is_greedy():
  time_step, best = _rows(3_000)
  policy = greedy_policy.GreedyPolicy(_policy(0.9))
  np.testing.assert_array_equal(policy.action(time_step).action, best)


def test_actions_are_of_the_specs_type():
  spec = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 2)
  time_step, best = _rows(30)
  for policy in (_policy(0.0, spec), greedy_policy.GreedyPolicy(
      _policy(0.0, spec)
  )):
    actions = policy.action(time_step).action
    assert actions.dtype == tf.int32
    np.testing.assert_array_equal(actions, best)


@pytest.mark.parametrize('epsilon', [-0.1, 1.5, float('nan')])
def test_epsilon_is_a_probability(epsilon):
  with pytest.raises(ValueError, match='epsilon .*0 and 1'):
    _policy(epsilon)


# --------------------------------------------------------------------- memory
class _Walk:
  """The Q network of an agent, one frame and one environment at a time."""

  def __init__(self, agent, batch_size):
    self._net = agent._q_network
    self._states = [self._zeros()] * batch_size

  def _zeros(self):
    return [
        np.zeros([1, *spec.shape], np.float32)
        for spec in tf.nest.flatten(self._net.state_spec)
    ]

  def step(self, observations, step_types):
    """Returns (Q values [B, A], flat states that enter, each [B, units])."""
    values, entering = [], []
    for b, state in enumerate(self._states):
      if step_types[b] == FIRST:
        state = self._zeros()
      entering.append(state)
      q_values, state = self._net(
          tf.constant(observations[b : b + 1]),
          # The state has been taken care of.
          tf.constant([MID]),
          network_state=tf.nest.pack_sequence_as(
              self._net.state_spec, list(map(tf.constant, state))
          ),
      )
      values.append(q_values[0].numpy())
      self._states[b] = [x.numpy() for x in tf.nest.flatten(state)]
    return np.array(values), [np.concatenate(x) for x in zip(*entering)]


@pytest.mark.parametrize(('core', 'epsilon'), [('lstm', 0.0), ('gru', 0.7)])
def test_stored_states_are_those_that_enter(core, epsilon):
  agent = slow_r2d3.build_agent(core=core, collect_epsilon=epsilon)
  policy = agent.collect_policy
  experience = slow_r2d3.sequences(
      ['FMMTFMMM', 'MMMMLFMM', 'MLFMMTFM', 'FFFMMMTF', 'MMMMMMMM']
  )
  state, walk = policy.get_initial_state(5), _Walk(agent, 5)
  if epsilon == 0:  # No state at all is a state of zeros.
    state = ()
  greedy_state = agent.policy.get_initial_state(5)
  seen = []
  for t in range(8):
    row = tf.nest.map_structure(lambda x, t=t: x[:, t], experience)
    time_step = ts.TimeStep(
        row.step_type, row.reward, row.discount, row.observation
    )
    step = policy.action(time_step, state)
    q_values, entering = walk.step(
        row.observation.numpy(), row.step_type.numpy()
    )
    stored = step.info['network_state']
    assert type(stored) is tuple  # Reverb's tables refuse lists.
    for x, y in zip(stored, entering, strict=True):
      np.testing.assert_allclose(x, y, atol=1e-5)
      assert np.all(x[row.step_type == FIRST] == 0)
    best = np.argmax(q_values, -1)
    greedy = agent.policy.action(time_step, greedy_state)
    np.testing.assert_array_equal(greedy.action, best)
    assert greedy.info == ()
    if epsilon == 0:
      np.testing.assert_array_equal(step.action, best)
    state, greedy_state = step.state, greedy.state
    seen.append(stored[0].numpy())
  assert np.abs(np.array(seen)[1:, 4]).min(1).max() > 0.02


@pytest.mark.parametrize('epsilon', [0.0, 0.3])
def test_eval_epsilon_is_that_of_the_evaluated_policy(epsilon):
  agent = slow_r2d3.build_agent(
      core='lstm', collect_epsilon=1.0, eval_epsilon=epsilon
  )
  row = _rows(3)[0]
  best = np.argmax(_Walk(agent, 3).step(
      row.observation.numpy(), row.step_type.numpy()
  )[0], -1)
  step = agent.policy.distribution(row, agent.policy.get_initial_state(3))
  assert step.info == ()
  actions = np.arange(int(agent.action_spec.maximum) + 1)
  np.testing.assert_allclose(
      np.exp([step.action.log_prob(np.full(3, a)) for a in actions]).T,
      epsilon / len(actions)
      + (1 - epsilon) * (actions == best[:, np.newaxis]),
      atol=1e-6,
  )


def test_feed_forward_policies_store_nothing():
  agent = slow_r2d3.build_agent(core='none')
  assert agent.collect_policy.info_spec == ()
  assert agent.collect_policy.policy_state_spec == ()
  step = agent.collect_policy.action(_rows(3)[0])
  assert step.info == () and step.state == ()


def _recall_agent(epsilon):
  environment = loaders.load_environment(
      memory_tasks.Recall, 4, seed=2, env_kwargs={'delay_env_steps': 2}
  )
  tf.random.set_seed(4)
  nets = networks.create_q_networks(
      tensor_spec.from_spec(environment.observation_spec()),
      tensor_spec.from_spec(environment.action_spec()),
      fc_layer_params=(6,),
      core=networks.LSTMCore(5),
      head_units=4,
  )
  agent = slow_r2d3.build_agent(
      nets,
      action_spec=tensor_spec.from_spec(environment.action_spec()),
      collect_epsilon=epsilon,
      burn_in_length=0,
  )
  return environment, agent


def test_a_driver_carries_the_state():
  environment, agent = _recall_agent(tf.Variable(0.5))
  policy = py_tf_eager_policy.PyTFEagerPolicy(
      agent.collect_policy, use_tf_function=True, batch_time_steps=False
  )
  rows = []
  driver = py_driver.PyDriver(
      environment,
      policy,
      [lambda row: rows.append(tf.nest.map_structure(np.asarray, row))],
      max_steps=4 * 4,
  )
  time_step, state = environment.reset(), policy.get_initial_state(4)
  for _ in range(3):  # What one run leaves the next goes on with.
    time_step, state = driver.run(time_step, state)
  step_types = np.stack([row.step_type for row in rows], 1)
  assert np.sum(step_types == slow_r2d3.LAST) >= 8
  walk, values = _Walk(agent, 4), []
  for row in rows:
    q_values, entering = walk.step(row.observation, row.step_type)
    values.append(q_values)
    for x, y in zip(row.policy_info['network_state'], entering, strict=True):
      np.testing.assert_allclose(x, y, atol=1e-5)
  actions = np.stack([row.action for row in rows])
  agrees = actions == np.argmax(values, -1)
  assert 0.5 < agrees.mean() < 1  # 0.75 of them.

  # From the middle of an episode a sequence unrolls to what was collected.
  experience = tf.nest.map_structure(
      lambda *x: tf.constant(np.stack(x, 1)), *rows[2:]
  )
  assert not np.any(experience.step_type[:, 0] == FIRST)
  stored = tf.nest.map_structure(
      lambda x: x[:, 0], experience.policy_info['network_state']
  )
  unrolled, _ = agent._unroll(*agent._split(experience), stored)
  np.testing.assert_allclose(unrolled, np.stack(values[2:], 1), atol=1e-5)
  # And is what `train` takes.
  assert agent.train(experience, network_state=stored).loss > 0
  spec = agent.collect_data_spec
  tf.nest.assert_same_structure(spec, experience)
  assert isinstance(experience, trajectory.Trajectory)
  for x, y in zip(*map(tf.nest.flatten, (spec, experience)), strict=True):
    assert x.shape == y.shape[2:] and x.dtype == y.dtype
  environment.close()
