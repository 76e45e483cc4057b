# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a function of tensors in each of the ways that a user may run it."""

import numpy as np
import pytest
import tensorflow as tf


def _tensors(arrays):
  return [tf.convert_to_tensor(array) for array in arrays]


def _numpy(nest):
  return tf.nest.map_structure(np.asarray, nest)


def eager(fn, *arrays):
  """Calls `fn` on tensors and returns its results as numpy arrays."""
  return _numpy(fn(*_tensors(arrays)))


def graph(fn, *arrays):
  """The same inside a `tf.function` that knows all shapes.

  Without AutoGraph, which takes longer than the rest: the package's functions
  must not lean on it.
  """
  return _numpy(tf.function(fn, autograph=False)(*_tensors(arrays)))


def unknown_shapes(fn, *arrays):
  """The same inside a `tf.function` that knows ranks, but no dimension."""
  tensors = _tensors(arrays)
  signature = [tf.TensorSpec([None] * t.shape.rank, t.dtype) for t in tensors]
  return _numpy(tf.function(fn, signature, autograph=False)(*tensors))


# For tests that take `run` and call `run(fn, *arrays)`.
in_every_mode = pytest.mark.parametrize(
    'run', [eager, graph, unknown_shapes], ids=lambda run: run.__name__
)


def gradient(fn, *arrays):
  """Gradients of `fn` by each of its arguments; None where there is none."""
  tensors = _tensors(arrays)
  with tf.GradientTape() as tape:
    tape.watch(tensors)
    result = fn(*tensors)
  return [g if g is None else g.numpy() for g in tape.gradient(result, tensors)]
