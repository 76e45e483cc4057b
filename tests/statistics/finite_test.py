# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what refuses numbers of which no action can be drawn."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.statistics import finite


@pytest.mark.parametrize('wrap', [lambda f: f, tf.function])
def test_nan_and_plus_infinity_are_refused(wrap):
  look = wrap(lambda x: finite.without_nan('The logit', x))
  good = tf.constant([-np.inf, 0.0, 3e38])
  np.testing.assert_array_equal(look(good), good)
  for bad in (np.nan, np.inf):
    with pytest.raises(
        (errors.InvalidValue, tf.errors.InvalidArgumentError),
        match='Refused: The logit is NaN or infinite',
    ):
      look(tf.constant([0.0, bad, 0.0]))


def test_checks_work_beside_those_of_tensorflow():
  tf.debugging.enable_check_numerics()
  try:

    @tf.function
    def look(x):
      with tf.control_dependencies(
          finite.verify(dict(x=x), outer_rank=1, largest=np.inf)
      ):
        return tf.identity(x)

    np.testing.assert_array_equal(look(tf.constant([1.0, 2.0])), [1, 2])
  finally:
    tf.debugging.disable_check_numerics()
