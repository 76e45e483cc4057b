# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls functions in TensorFlow graphs with little work around each call."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.utils import common

from rnd_agents import _compat

_ARRAYS = (np.ndarray, np.generic)


class GraphCall:
  """A `tf.function` for many short calls.

  A `tf.function` describes the types of its arguments at each call, and
  compares them with those of its traces, which takes several times as long as
  to begin the call. This one looks for the dtypes and shapes of the leaves. It
  computes the same numbers.
  """

  def __init__(self, function: Callable[..., Any]):
    """Creates the call.

    Args:
      function: Function of nests of tensors, always of the same structure but
        where leaves are None: neither variables nor numbers of Python.
    """
    self._python_function = function
    # A tf.function by which of the leaves are None, and its traces by the
    # dtypes and shapes of the others.
    self._functions: dict[tuple[bool, ...], Any] = {}
    self._traces: dict[tuple[Any, ...], Callable[..., Any]] = {}

  def __call__(self, *args: Any) -> Any:
    """Calls the function.

    Args:
      *args: Nests of tensors, NumPy arrays or None.

    Returns:
      What the function returns, of tensors.
    """
    leaves = tf.nest.flatten(args)
    tensors = [
        tf.constant(leaf) if isinstance(leaf, _ARRAYS) else leaf
        for leaf in leaves
        if leaf is not None
    ]
    key = tuple(
        None if leaf is None else (leaf.dtype, tuple(leaf.shape))
        for leaf in leaves
    )
    trace = self._traces.get(key)
    if trace is None or tf.config.functions_run_eagerly():
      function = self._function_for(args, leaves)
      if tf.config.functions_run_eagerly():
        return function(*tensors)
      trace = self._traces[key] = function.get_concrete_function(*tensors)
    return _compat.call_flat(trace, tensors)

  def _function_for(self, args: Any, leaves: list[Any]) -> Any:
    """Returns the tf.function of the leaves that are not None."""
    are_none = tuple(leaf is None for leaf in leaves)
    if are_none not in self._functions:
      structure = tf.nest.map_structure(lambda leaf: None, args)

      def call(*tensors: tf.Tensor) -> Any:
        given = iter(tensors)
        flat = [None if is_none else next(given) for is_none in are_none]
        return self._python_function(
            *tf.nest.pack_sequence_as(structure, flat)
        )

      self._functions[are_none] = common.function(call)
    return self._functions[are_none]
