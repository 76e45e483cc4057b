# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Many threads ask one policy: right answers, in batches, from one graph."""

import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.agents import r2d3_policy
from rnd_agents.serving import batched_policy

_SPEC = dict(
    x=tf.TensorSpec([2], tf.float32), n=tf.TensorSpec([], tf.uint8)
)
_ACTION = dict(
    sum=tensor_spec.BoundedTensorSpec([], tf.float32, -1e6, 1e6),
    seen=tensor_spec.BoundedTensorSpec([2], tf.float32, -1e6, 1e6),
)


class _Weighted(tf_policy.TFPolicy):
  """weight * sum of what it has seen, its state; counts its batches."""

  def __init__(self, weight, batch_s=0.0):
    super().__init__(
        ts.time_step_spec(_SPEC),
        _ACTION,
        policy_state_spec=[tf.TensorSpec([2], tf.float32)],
        info_spec=(_SPEC['n'],),
        clip=False,
    )
    self.weight = tf.Variable(weight)
    self._batch_s = batch_s
    self.num_batches = tf.Variable(0)
    self.num_graphs = 0

  def _action(self, time_step, policy_state, seed):
    self.num_graphs += 1
    self.num_batches.assign_add(1)
    if self._batch_s:
      tf.numpy_function(lambda: time.sleep(self._batch_s), [], [])
    seen = policy_state[0] + time_step.observation['x']
    return policy_step.PolicyStep(
        dict(sum=self.weight * tf.reduce_sum(seen, axis=-1), seen=seen),
        [seen],
        (time_step.observation['n'],),
    )


def _in_threads(number, function):
  """Calls function(0) ... function(number - 1), each in a thread of its own."""
  failures = []

  def call(i):
    try:
      function(i)
    except BaseException as error:  # pylint: disable=broad-exception-caught
      failures.append(error)

  threads = [threading.Thread(target=call, args=(i,)) for i in range(number)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(60)
    assert not thread.is_alive()
  if failures:
    raise failures[0]


def test_24_threads_get_the_answers_of_two_policies_and_their_own_states():
  # Slow enough that the other threads ask while a batch is computed, on a
  # machine of any speed.
  policies = [_Weighted(weight, batch_s=0.01) for weight in (1.0, -3.0)]
  batched = [batched_policy.BatchedPolicy(policy) for policy in policies]

  def ask(i):
    weight, policy = (1.0, -3.0)[i % 2], batched[i % 2]
    state, seen = policy.get_initial_state(), np.zeros(2)
    for step in range(20):
      x = np.array([100.0 * i, step])  # float64, as simulators have it.
      seen += x
      time_step = ts.transition(dict(n=np.uint8(step), x=x), 0.0)
      answer = policy.action(time_step, state)
      np.testing.assert_array_equal(answer.action['sum'], weight * seen.sum())
      np.testing.assert_array_equal(answer.action['seen'], seen)
      assert answer.info == (step,)
      state = answer.state

  _in_threads(24, ask)

  for policy in policies:
    assert policy.num_batches.numpy() < 0.9 * 12 * 20
    assert policy.num_graphs == 1


def test_network_with_a_memory_answers_as_it_does_alone():
  spec = tf.TensorSpec([3], tf.float32)
  action_spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 4)
  network = networks.create_q_networks(
      spec, action_spec, core=networks.LSTMCore(6)
  ).q_network
  policy = r2d3_policy.EpsilonGreedyQPolicy(
      ts.time_step_spec(spec), action_spec, network, stores_state=True
  )
  batched = batched_policy.BatchedPolicy(policy)
  chosen = set()

  def play(i):
    random = np.random.RandomState(i)
    state, alone = batched.get_initial_state(), policy.get_initial_state(1)
    for step in range(6):
      x = random.normal(size=3).astype(np.float32)
      make = ts.transition if step % 4 else lambda x, _: ts.restart(x)
      answer = batched.action(make(x, 0.0), state)
      rows = tf.nest.map_structure(
          lambda leaf: tf.constant(np.asarray(leaf))[tf.newaxis], make(x, 0.0)
      )
      expected = policy.action(rows, alone)
      chosen.add(int(answer.action))
      tf.nest.map_structure(
          lambda a, b: np.testing.assert_allclose(a, b[0], atol=1e-6),
          tuple(answer),
          tuple(expected),
      )
      state, alone = answer.state, expected.state

  _in_threads(4, play)
  assert len(chosen) > 1


def test_answers_see_changed_weights_at_once():
  policy = _Weighted(1.0)
  batched = batched_policy.BatchedPolicy(policy)
  time_step = ts.restart(dict(x=np.ones(2), n=np.uint8(0)))
  for weight in (1.0, 5.0, -2.0):
    policy.weight.assign(weight)
    answer = batched.action(time_step, batched.get_initial_state())
    assert answer.action['sum'] == 2 * weight


@pytest.mark.parametrize(
    ('observation', 'sentence'),
    [
        (dict(x=np.array([1.0, np.nan]), n=np.uint8(0)), 'x is not finite'),
        (dict(x=np.array([1.0, 1e39]), n=np.uint8(0)), 'x is not finite'),
        (dict(x=np.ones([1, 2]), n=np.uint8(0)), r'x is float64 \[1, 2\] and'),
        (dict(x=np.ones(2), n=0.5), 'n is float64 .* must be uint8'),
        (dict(x=np.ones(2), n=np.uint16(300)), 'n is beyond .* uint8: 300'),
        (dict(x=np.ones(2)), "must have .*'time_step/observation/n'"),
    ],
)
def test_refuses_what_would_fail_the_batches_of_others(observation, sentence):
  batched = batched_policy.BatchedPolicy(_Weighted(1.0))
  state = batched.get_initial_state()
  with pytest.raises(errors.InvalidValue, match=sentence):
    batched.action(ts.restart(observation), state)
  good = ts.restart(dict(x=np.array([1.0, 2.0]), n=np.uint8(0)))
  with pytest.raises(errors.InvalidValue, match='takes no seed'):
    batched.action(good, state, seed=3)
  assert batched.action(good, state).action['sum'] == 3.0
