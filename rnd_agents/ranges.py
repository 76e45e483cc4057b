# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that numbers are in their ranges."""

import math
import numbers
from typing import Callable, NamedTuple

import tensorflow as tf

from rnd_agents import errors


class Range(NamedTuple):
  """The values that a number may have.

  Attributes:
    contains: function of a number: whether it is in the range.
    words: the range in words, for messages.
    allows_none: whether None serves, too.
    allows_schedule: whether a tensor or a variable does, whose later values are
      not known.
    hint: what to do instead, at the end of messages.
  """

  contains: Callable[[float], bool]
  words: str
  allows_none: bool = False
  allows_schedule: bool = False
  hint: str = ''

  def or_none(self):
    """Returns the range with None in it."""
    return self._replace(allows_none=True)

  def or_schedule(self):
    """Returns the range with schedules in it."""
    return self._replace(allows_schedule=True)


ABOVE_0 = Range(lambda x: x > 0, 'above 0')
AT_LEAST_0 = Range(lambda x: x >= 0, 'at least 0')
WITHIN_0_AND_1 = Range(lambda x: 0 <= x <= 1, 'between 0 and 1')
SHARE = Range(lambda x: 0 < x <= 1, 'above 0 and at most 1')
COUNT = Range(lambda x: x >= 1 and x % 1 == 0, 'an integer from 1')
COUNT_OR_0 = Range(lambda x: x >= 0 and x % 1 == 0, 'an integer from 0')
FINITE = Range(math.isfinite, 'neither infinite nor NaN')


def check(ranges, arguments, owner=''):
  """Refuses numbers out of their ranges.

  Args:
    ranges: A `Range` by name.
    arguments: Values by name; those without a range are ignored.
    owner: What stands before the names in messages, with its dot.

  Raises:
    TypeError: If a number is something else.
    ValueError: If it is out of range.
  """
  for name, range_ in ranges.items():
    if name not in arguments:
      continue
    value = arguments[name]
    if value is None and range_.allows_none:
      continue
    if range_.allows_schedule and tf.is_tensor(value):
      continue
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
      a_number = '' if range_.words.startswith('an ') else 'a number '
      raise errors.InvalidType(
          f'{owner}{name} must be {a_number}{range_.words}, got {value!r}.'
      )
    if not range_.contains(value):
      raise errors.InvalidValue(
          f'{owner}{name} must be {range_.words}, got {value}.{range_.hint}'
      )


def check_above_0(owner, **values):
  """Refuses numbers that are not above 0.

  Args:
    owner: What stands before the names in messages, with its dot.
    **values: By name: numbers, or None, which passes.

  Raises:
    TypeError: If one is something else.
    ValueError: If it is not above 0.
  """
  check(dict.fromkeys(values, ABOVE_0.or_none()), values, owner)


def check_learning_rates(owner, **rates):
  """Refuses learning rates that are not above 0.

  Args:
    owner: What stands before the names in messages, with its dot.
    **rates: By name: numbers, or schedules of Keras or TensorFlow, which pass.

  Raises:
    TypeError: If a rate is something else.
    ValueError: If it is not above 0.
  """
  rates = {name: rate for name, rate in rates.items() if not callable(rate)}
  check(dict.fromkeys(rates, ABOVE_0.or_schedule()), rates, owner)
