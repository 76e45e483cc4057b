# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the policies that a local collector draws with."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from rnd_agents.collecting import local

_TIME_STEP = ts.time_step_spec(tf.TensorSpec([2], tf.float32))


class _Remembering(tf_policy.TFPolicy):
  """Counts its steps, in its state and its policy info."""

  def __init__(self, action_spec):
    count = tf.TensorSpec([], tf.int32)
    super().__init__(
        _TIME_STEP,
        action_spec,
        policy_state_spec=count,
        info_spec=dict(count=count),
    )
    self._structure = lambda: action_spec

  def _distribution(self, time_step, policy_state):
    # A structure without TensorFlow's wrappers, as agents' policies return it.
    action = tf.nest.map_structure(
        lambda spec: tfp.distributions.Deterministic(spec.minimum),
        self._structure(),
    )
    info = dict(count=policy_state)
    return policy_step.PolicyStep(action, policy_state + 1, info)


def _time_step(batch_size):
  return ts.restart(tf.zeros([batch_size, 2]), batch_size)


def _eager(action_spec):
  """The action of a call without a graph."""
  policy = local.UniformPolicy(
      _Remembering(action_spec), tf.random.Generator.from_seed(1)
  )
  return policy.action(_time_step(2), policy.get_initial_state(2)).action


def _draws(action_spec, batch_size=4000, seed=1):
  policy = local.UniformPolicy(
      _Remembering(action_spec),
      tf.random.Generator.from_seed(seed),
  )
  state = policy.get_initial_state(batch_size)
  act = tf.function(policy.action, autograph=False)
  action = act(_time_step(batch_size), state).action
  return tf.nest.map_structure(lambda x: x.numpy(), action)


@pytest.mark.parametrize('dtype', [tf.int32, tf.int64, tf.uint8])
def test_integers_are_drawn_evenly_with_both_bounds(dtype):
  spec = tensor_spec.BoundedTensorSpec([2], dtype, [0, 2], [1, 5])
  draws = _draws(spec)
  assert draws.dtype == dtype.as_numpy_dtype and draws.shape == (4000, 2)
  for column, low, high in ((0, 0, 1), (1, 2, 5)):
    values, counts = np.unique(draws[:, column], return_counts=True)
    np.testing.assert_array_equal(values, np.arange(low, high + 1))
    expected = 4000 / len(values)
    np.testing.assert_allclose(counts, expected, atol=4 * expected**0.5)


def test_floats_are_drawn_evenly_between_their_bounds():
  spec = tensor_spec.BoundedTensorSpec([2], tf.float32, [-1, 3], [1, 4])
  draws = _draws(spec)
  for column, low, high in ((0, -1.0, 1.0), (1, 3.0, 4.0)):
    counts, _ = np.histogram(draws[:, column], 8, (low, high))
    assert counts.sum() == 4000
    np.testing.assert_allclose(counts, 500, atol=90)
  assert np.abs(np.corrcoef(draws.T)[0, 1]) < 0.06


@pytest.mark.parametrize(
    ('low', 'high', 'expected'),
    [
        (tf.float32.min, tf.float32.max, (-1, 1)),
        (3.0, tf.float32.max, (3, 9)),
        (0.0, 2e6, (0, 2e6)),
    ],
)
def test_floats_are_drawn_in_the_range_of_the_policy(low, high, expected):
  draws = _draws(tensor_spec.BoundedTensorSpec([], tf.float32, low, high))
  np.testing.assert_allclose(
      np.quantile(draws, [0, 0.5, 1]),
      [expected[0], np.mean(expected), expected[1]],
      atol=0.05 * np.ptp(expected),
  )


@pytest.mark.parametrize('shape', [(), (2,)])
def test_allowed_actions_are_drawn_evenly(shape):
  mask = np.uint8([[0, 1, 1, 0, 1], [0, 0, 0, 1, 0]])
  mask = np.repeat(mask, 2000, axis=0)
  if shape:  # The other entry allows what this one forbids.
    mask = np.stack([mask, 1 - mask], axis=1)
  spec = tensor_spec.BoundedTensorSpec(shape, tf.int64, 0, 4)
  policy = local.UniformPolicy(
      _Remembering(spec), tf.random.Generator.from_seed(1)
  )
  actions = policy._draw_allowed(spec, tf.constant(mask))
  assert actions.dtype == tf.int64 and actions.shape == (4000, *shape)
  actions, mask = actions.numpy().reshape(4000, -1), mask.reshape(4000, -1, 5)
  for entry in range(mask.shape[1]):
    for half in (slice(0, 2000), slice(2000, 4000)):
      values, counts = np.unique(actions[half, entry], return_counts=True)
      allowed = np.flatnonzero(mask[half, entry][0])
      np.testing.assert_array_equal(values, allowed)
      expected = 2000 / len(allowed)
      np.testing.assert_allclose(counts, expected, atol=4 * expected**0.5)


def test_a_seed_decides_a_nest_of_actions():
  spec = dict(
      a=tensor_spec.BoundedTensorSpec([], tf.int64, 0, 99),
      b=tensor_spec.BoundedTensorSpec([3], tf.float32, 0, 1),
  )
  one, same, other = (_draws(spec, seed=seed) for seed in (1, 1, 2))
  assert type(_eager(spec)) is dict  # A checkpoint may hold it.
  for name in spec:
    np.testing.assert_array_equal(one[name], same[name])
    assert not np.array_equal(one[name], other[name])


def test_the_state_is_that_of_the_policy():
  spec = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 99)
  generator = tf.random.Generator.from_seed(1)
  policy = local.UniformPolicy(_Remembering(spec), generator)
  state = policy.get_initial_state(3)
  time_step = ts.transition(tf.zeros([3, 2]), tf.zeros([3]))
  for i in range(3):
    step = policy.action(time_step, state)
    np.testing.assert_array_equal(step.info['count'], [i] * 3)
    state = step.state
