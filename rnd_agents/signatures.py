# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of functions that a user gives to an agent or a run."""

import functools
import inspect
from typing import Any


def takes_arguments(function: Any, *arguments: Any) -> bool:
  """Returns whether a function can be called with positional arguments.

  So can every function whose signature is not known, as of many that are not
  written in Python.

  Args:
    function: Anything.
    *arguments: The arguments.
  """
  if not callable(function):
    return False
  try:
    signature = inspect.signature(function)
  except ValueError:
    return True
  while isinstance(function, functools.partial):
    function = function.func
  # Gin may give further arguments to what it decorates.
  may_get_more = isinstance(function, type) or hasattr(function, '__wrapped__')
  bind = signature.bind_partial if may_get_more else signature.bind
  try:
    bind(*arguments)
  except TypeError:
    return False
  return True
