# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that numbers are in their ranges."""

from collections.abc import Callable, Mapping
import math
import numbers
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import signatures


class Range(NamedTuple):
  """Range of a number.

  Attributes:
    contains: function that returns whether a number is in the range.
    words: the range in words, for messages.
    allows_none: whether None is allowed.
    allows_schedule: whether a tensor or a variable is allowed, whose values are
      not checked.
    hint: advice at the end of messages.
  """

  contains: Callable[[float], bool]
  words: str
  allows_none: bool = False
  allows_schedule: bool = False
  hint: str = ''

  def or_none(self) -> 'Range':
    """Returns the range that also allows None."""
    return self._replace(allows_none=True)

  def or_schedule(self) -> 'Range':
    """Returns the range that also allows schedules."""
    return self._replace(allows_schedule=True)


ABOVE_0 = Range(lambda x: x > 0, 'above 0')
AT_LEAST_0 = Range(lambda x: x >= 0, 'at least 0')
ABOVE_1 = Range(lambda x: x > 1, 'above 1')
WITHIN_0_AND_1 = Range(lambda x: 0 <= x <= 1, 'between 0 and 1')
SHARE = Range(lambda x: 0 < x <= 1, 'above 0 and at most 1')
COUNT = Range(lambda x: x >= 1 and x % 1 == 0, 'an integer from 1')
COUNT_OR_0 = Range(lambda x: x >= 0 and x % 1 == 0, 'an integer from 0')
FINITE = Range(math.isfinite, 'neither infinite nor NaN')
_LARGEST = float(tf.float32.max)


def check(
    ranges: Mapping[str, Range], arguments: Mapping[str, Any], owner: str = ''
) -> None:
  """Checks that numbers are in their ranges.

  Args:
    ranges: A range by name.
    arguments: Values by name; those without a range are ignored.
    owner: Prefix of the names in messages, with its dot.

  Raises:
    InvalidType: If a value is not a number.
    InvalidValue: If a number is out of range, or too large for float32.
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
    if abs(value) > _LARGEST:
      raise errors.InvalidValue(
          f'{owner}{name} must be {range_.words}, and {value} is too large for'
          ' float32.'
      )


def check_above_0(owner: str, **values: Any) -> None:
  """Checks, as `check` does, that numbers are above 0, or None."""
  check(dict.fromkeys(values, ABOVE_0.or_none()), values, owner)


def check_flags(owner: str, **flags: Any) -> None:
  """Raises InvalidType unless flags are True or False, such as for 'False'."""
  for name, value in flags.items():
    is_number = isinstance(value, (numbers.Integral, np.bool_))
    if not is_number or value not in (0, 1):
      raise errors.InvalidType(
          f'{owner}{name} must be True or False, got {value!r}.'
      )


def check_learning_rates(owner: str, **rates: Any) -> None:
  """Checks, as `check_scheduled` does, that learning rates are above 0.

  Raises:
    InvalidType: Also for functions other than schedules of Keras, whose
      optimizers would call them without arguments.
  """
  check_scheduled(owner, ABOVE_0, **rates)
  for name, rate in rates.items():
    if callable(rate) and not isinstance(
        rate, tf.keras.optimizers.schedules.LearningRateSchedule
    ):
      raise errors.InvalidType(
          f'{owner}{name} must be a number or a schedule of Keras, got'
          f' {rate!r}.'
      )


def check_scheduled(owner: str, range_: Range, **values: Any) -> None:
  """Checks, as `check` does, numbers that may be schedules of Keras, too.

  Args:
    owner: Prefix of the names in messages, with its dot.
    range_: Range of the numbers. What schedules return is not checked.
    **values: Values by name.

  Raises:
    InvalidType: Also for the class of a schedule, and for a function that
      does not take a number of steps.
  """
  for name, value in values.items():
    if isinstance(value, type):  # In gin, a name without brackets.
      raise errors.InvalidType(
          f'{owner}{name} must be a number or a schedule, not the class'
          f' {value.__name__}: write @{value.__name__}() in a gin file, or'
          ' create one.'
      )
    if callable(value) and not signatures.takes_arguments(value, 0):
      raise errors.InvalidType(
          f'{owner}{name} must be a number or a function of the number of'
          f' steps, got {value!r}.'
      )
  given = {name: each for name, each in values.items() if not callable(each)}
  check(dict.fromkeys(given, range_.or_schedule()), given, owner)
