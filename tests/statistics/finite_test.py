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


def test_a_check_is_no_infinity_itself():
  tf.debugging.enable_check_numerics()
  try:
    numbers = tf.constant([[0.0, 3e38]])
    check = tf.function(
        lambda x: finite.verify(dict(logits=x), largest=float('inf'))
    )
    assert all(check(numbers))
  finally:
    tf.debugging.disable_check_numerics()
  with pytest.raises(errors.InvalidValue, match='logits is nan'):
    finite.verify(
        dict(logits=tf.constant([[0.0, np.nan]])), largest=float('inf')
    )


def test_what_tf_agents_refuses_in_a_graph_has_a_message():
  check = tf.function(lambda x: tf.debugging.check_numerics(x, 'Loss is nan.'))
  with pytest.raises(tf.errors.InvalidArgumentError) as caught:
    check(tf.constant(np.nan))
  assert finite.refusal_message(caught.value).startswith('Loss is nan.')
