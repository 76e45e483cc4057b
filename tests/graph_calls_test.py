# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls in graphs equal calls of the function."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import graph_calls

_Pair = collections.namedtuple('_Pair', ('a', 'b'))


def _polynomial(pair, more, offset):
  result = pair.a * pair.b['x'] + tf.cast(more[0], tf.float32)
  if offset is not None:
    result += offset
  return _Pair(result, {'n': tf.size(result)})


@pytest.mark.parametrize('as_tensors', [True, False])
@pytest.mark.parametrize('eagerly', [True, False])
def test_nests_of_any_shapes_and_none(as_tensors, eagerly):
  calls = []

  def counted(*args):
    calls.append(args)
    return _polynomial(*args)

  call = graph_calls.GraphCall(counted)
  rng = np.random.default_rng(0)
  tf.config.run_functions_eagerly(eagerly)
  try:
    for _ in range(2):
      for size in (3, 1, 4):
        for offset in (None, np.float32(0.5)):
          a, x = rng.normal(size=[2, size]).astype(np.float32)
          more = (np.arange(size), ())
          args = _Pair(a, {'x': x}), more, offset
          if as_tensors:
            args = tf.nest.map_structure(
                lambda leaf: None if leaf is None else tf.constant(leaf), args
            )
          found = call(*args)
          expected = a * x + np.arange(size) + (offset or 0.0)
          np.testing.assert_allclose(found.a, expected, rtol=1e-6)
          assert found.b['n'] == size
  finally:
    tf.config.run_functions_eagerly(False)
  # A trace for each shape and place of None at most.
  assert len(calls) == 12 if eagerly else len(calls) <= 6


def test_variables_and_random_numbers_are_those_of_the_moment():
  variable = tf.Variable([1.0, 2.0])
  generator = tf.random.Generator.from_seed(3)

  def step(x):
    variable.assign_add(x)
    return variable + 0.0, generator.normal([2])

  call = graph_calls.GraphCall(step)
  values = [call(np.float32([1, 1])) for _ in range(3)]
  np.testing.assert_allclose(
      [value for value, _ in values], [[2, 3], [3, 4], [4, 5]]
  )
  other = tf.random.Generator.from_seed(3)
  for _, drawn in values:
    np.testing.assert_array_equal(drawn, other.normal([2]))


def test_gradients_pass():
  variable = tf.Variable(3.0)
  call = graph_calls.GraphCall(lambda x: x * variable * variable)
  with tf.GradientTape() as tape:
    y = call(np.float32(2.0))
  assert tape.gradient(y, variable) == 12.0
