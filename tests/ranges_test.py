# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of numbers."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges


@pytest.mark.parametrize(
    ('range_', 'value', 'message'),
    [
        (ranges.COUNT, 'a', "A.n must be an integer from 1, got 'a'."),
        (ranges.COUNT, 0, 'A.n must be an integer from 1, got 0.'),
        (ranges.COUNT, float('inf'), 'A.n must be an integer from 1, got inf.'),
        (ranges.COUNT_OR_0, None, 'A.n must be an integer from 0, got None.'),
        (ranges.ABOVE_0, 'a', "A.n must be a number above 0, got 'a'."),
        (ranges.ABOVE_0, True, 'A.n must be a number above 0, got True.'),
        (
            ranges.ABOVE_0,
            float('inf'),
            'A.n must be above 0, and inf is too large for float32.',
        ),
        (
            ranges.AT_LEAST_0,
            1e39,
            'A.n must be at least 0, and 1e+39 is too large for float32.',
        ),
        (ranges.ABOVE_0.or_none(), -1, 'A.n must be above 0, got -1.'),
    ],
)
def test_what_is_out_of_range_is_said(range_, value, message):
  with pytest.raises(errors.UserError) as caught:
    ranges.check(dict(n=range_), dict(n=value), 'A.')
  assert str(caught.value) == message


def test_a_schedule_is_no_class():
  schedules = tf.keras.optimizers.schedules
  with pytest.raises(errors.InvalidType, match=r'A\.rate .* @ExponentialDecay'):
    ranges.check_learning_rates('A.', rate=schedules.ExponentialDecay)
  ranges.check_learning_rates('A.', rate=schedules.ExponentialDecay(1.0, 2, 3))
  with pytest.raises(errors.InvalidValue, match='A.weight .*at least 0'):
    ranges.check_scheduled('A.', ranges.AT_LEAST_0, weight=-1)


@pytest.mark.parametrize('rate', [lambda: 1e-3, lambda step: 1e-3, max])
def test_a_learning_rate_is_no_function(rate):
  with pytest.raises(errors.InvalidType, match=r'A\.rate must be a number'):
    ranges.check_learning_rates('A.', rate=rate)


def test_a_scheduled_number_may_be_a_function_of_the_steps():
  ranges.check_scheduled('A.', ranges.AT_LEAST_0, weight=lambda step: step)
  for weight in (lambda: 1.0, lambda step, more: 1.0):
    with pytest.raises(errors.InvalidType, match='A.weight .*function of the'):
      ranges.check_scheduled('A.', ranges.AT_LEAST_0, weight=weight)


@pytest.mark.parametrize('value', ['False', '', None, 2, [], tf.constant(True)])
def test_a_flag_is_no_text(value):
  with pytest.raises(errors.InvalidType, match='A.is_on must be True or False'):
    ranges.check_flags('A.', is_on=value)


@pytest.mark.parametrize('value', [True, False, 0, 1, np.bool_(False)])
def test_what_a_flag_may_be(value):
  ranges.check_flags('A.', is_on=value)
