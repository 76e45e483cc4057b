# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of specs."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import spec_differences

_BOX = tensor_spec.BoundedTensorSpec


def _differences(one, other, name='observation'):
  return spec_differences.differences(
      spec_differences.leaves(one, name), spec_differences.leaves(other, name)
  )


def test_names_types_and_shapes():
  a, b = tf.TensorSpec([2], tf.float32), _BOX([], tf.int64, 0, 3)
  # Protocol buffers keep maps in an order of their own.
  assert not _differences({'a': a, 'b': (b, a)}, {'b': (b, a), 'a': a})
  assert _differences({'a': a, 'b': (b, a)}, {'a': b, 'b': (b,)}) == [
      ('observation/a', 'float32 [2]', 'int64 [] of 0 to 3'),
      ('observation/b/1', 'float32 [2]', 'nothing'),
  ]
  assert _differences(a, {'c': a}) == [
      ('observation/c', 'nothing', 'float32 [2]'),
      ('observation', 'float32 [2]', 'nothing'),
  ]


@pytest.mark.parametrize(
    ('name', 'dtype', 'bounds', 'others', 'differ'),
    [
        ('observation', tf.int64, (0, 3), (0, 4), True),
        ('observation', tf.int64, (0, 3_000), (0, 4_000), False),
        ('observation', tf.int64, (0, 3), (0, 4_000), True),
        ('observation', tf.float32, (0, 3), (0, 4), False),
        ('action', tf.int64, (0, 3_000), (0, 4_000), True),
        ('action', tf.float32, (0, 3), (0, 4), True),
        ('action', tf.float32, ([0, 0], 3), (0, 3), False),
    ],
)
def test_bounds_that_count(name, dtype, bounds, others, differ):
  one, other = _BOX([2], dtype, *bounds), _BOX([2], dtype, *others)
  assert bool(_differences(one, other, name)) == differ


def test_bounds_between_the_extremes():
  one = _BOX([2], tf.int64, 0, np.array([2, 1]))
  other = _BOX([2], tf.int64, 0, np.array([1, 2]))
  ((name, text, other_text),) = _differences(one, other, 'action')
  assert (name, text) == ('action', other_text)
