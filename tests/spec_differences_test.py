# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the differences of specs."""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import spec_differences


def _integers(maximum, minimum=0):
  return tensor_spec.BoundedTensorSpec([], tf.int64, minimum, maximum)


def test_each_leaf_is_named():
  spec = tf.TensorSpec([2], tf.float32)
  found = {'a': spec, 'b': (_integers(3), _integers(4)), 'c': spec}
  expected = {
      'a': tf.TensorSpec([2, 1], tf.float32),
      'b': (_integers(3), _integers(5)),
      'd': tf.TensorSpec([2], tf.uint8),
  }
  assert spec_differences.differences(found, expected, 'observation') == [
      'observation/a is float32 [2] and must be float32 [2, 1]',
      'observation/b/1 is int64 [] of 0 to 4 and must be int64 [] of 0 to 5',
      'observation/d is nothing and must be uint8 [2]',
      'observation/c is float32 [2] and must be nothing',
  ]


def test_order_of_the_keys_does_not_count():
  # Protocol buffers keep maps in an order of their own.
  spec, other = tf.TensorSpec([2], tf.float32), _integers(3)
  orders = {'a': spec, 'b': other}, {'b': other, 'a': spec}
  assert spec_differences.differences(*orders, 'observation') == []


def test_bounds_within_a_long_list():
  high = np.arange(20)
  other = np.where(high == 10, 15, high)
  specs = [
      tensor_spec.BoundedTensorSpec([20], tf.int64, 0, bound)
      for bound in (high, other)
  ]
  assert spec_differences.differences(*specs, 'action') == [
      'action has other bounds than it must have'
  ]
  assert spec_differences.described(specs[0], (np.zeros(2), high)) == (
      'int64 [20] of 0.0 to [ 0,  1,  2, ..., 17, 18, 19]'
  )


def test_wide_bounds_of_observations_do_not_count():
  wide, wider = _integers(1_000), _integers(2_000)
  assert spec_differences.differences(wide, wider, 'observation') == []
  assert spec_differences.differences(wide, _integers(999), 'observation')
  assert spec_differences.differences(wide, wider, 'action')
