# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a function takes."""

import functools

import gin
import pytest

from rnd_agents import signatures


@gin.configurable(module='signatures_test')
def of_gin(first, second, third):
  return first, second, third


class OfThree:

  def __init__(self, first, second, third):
    pass

  def __call__(self, first, second):
    pass


@pytest.mark.parametrize(
    ('function', 'expected'),
    [
        (lambda first, second: 0, True),
        (lambda *arguments: 0, True),
        (lambda first, second, third=0: 0, True),
        (lambda first: 0, False),
        (lambda first, second, third: 0, False),
        (lambda first, second, *, third: 0, False),
        (functools.partial(lambda first, second, third: 0, third=1), True),
        (functools.partial(lambda first, second, third: 0), False),
        # Gin may bind the third.
        (of_gin, True),
        (functools.partial(of_gin), True),
        (OfThree, True),
        (OfThree(1, 2, 3), True),
        (max, True),  # Its signature is not known.
        (0.5, False),
    ],
)
def test_two_arguments(function, expected):
  assert signatures.takes_arguments(function, 1, 2) == expected
