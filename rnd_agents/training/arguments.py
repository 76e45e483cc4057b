# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the settings of a run, before it starts."""

import numbers

import gin

from rnd_agents import errors


def check_positive(owner, **values):
  """Refuses numbers that are not above 0.

  Args:
    owner: Gin's name of what has the settings.
    **values: Numbers by name; None and schedules of TensorFlow pass.

  Raises:
    UserError: If there are any.
  """
  for name, value in values.items():
    if value is None or callable(value):
      continue
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
      raise errors.InvalidType(
          f'{owner}.{name} must be a number, got {value!r}.'
      )
    if not value > 0:
      raise errors.InvalidValue(
          f'{owner}.{name} must be above 0, got {value}.'
      )


def check_within(owner, low, high, **values):
  """Refuses numbers outside of a range.

  Args:
    owner: Gin's name of what has the settings.
    low: The least number.
    high: The greatest.
    **values: Numbers by name.

  Raises:
    UserError: If there are any.
  """
  for name, value in values.items():
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
      raise errors.InvalidType(
          f'{owner}.{name} must be a number from {low} to {high}, got'
          f' {value!r}.'
      )
    if not low <= value <= high:
      raise errors.InvalidValue(
          f'{owner}.{name} must be between {low} and {high}, got {value}.'
      )


def check_unbound(name, instead):
  """Refuses a binding in gin that the arguments of a call would hide."""
  try:
    gin.query_parameter(name)
  except ValueError:
    return
  raise errors.InvalidValue(f'{name} has no effect: use {instead}.')
