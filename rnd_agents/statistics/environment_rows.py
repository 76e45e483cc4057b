# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A memory with one row for each environment of a batch."""

import tensorflow as tf
from tf_agents.typing import types


class EnvironmentRows(tf.Module):
  """Keeps a row for each environment of a batch from call to call.

  The number of environments is that of the last call. When it changes, all rows
  are zero again.
  """

  def __init__(
      self, spec: types.NestedTensorSpec, name: str = 'EnvironmentRows'
  ):
    """Creates an empty memory.

    Args:
      spec: A nest of tensor specs of one environment's row; None stands for a
        dimension that may grow.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._spec = spec
    self._flat = [
        tf.Variable(
            _zeros(leaf, 0),
            shape=[None, *leaf.shape],
            trainable=False,
            validate_shape=False,
            name='rows',
        )
        for leaf in tf.nest.flatten(spec)
    ]
    # Not tf.shape(rows)[0]: TensorFlow 2.15's graph optimiser takes an equal
    # size for granted where the result is assigned back to the variable.
    self._num_rows = tf.Variable(0, trainable=False, name='num_rows')

  def are_for(self, batch_size: types.Int) -> tf.Tensor:
    """Returns whether the rows belong to a batch of this size, boolean []."""
    return tf.equal(self._num_rows, batch_size)

  def read(self, batch_size: types.Int) -> types.NestedTensor:
    """Returns the rows, a nest [B, ...]; zeros if the batch size is new."""
    rows = tf.cond(
        self.are_for(batch_size),
        lambda: [variable.read_value() for variable in self._flat],
        lambda: [
            _zeros(leaf, batch_size) for leaf in tf.nest.flatten(self._spec)
        ],
    )
    return tf.nest.pack_sequence_as(self._spec, rows)

  def assign(self, rows: types.NestedTensor) -> None:
    """Stores new rows, a nest [B, ...], after they were computed."""
    flat = tf.nest.flatten(rows)
    with tf.control_dependencies(flat):
      for variable, value in zip(self._flat, flat, strict=True):
        variable.assign(value)
      self._num_rows.assign(tf.shape(flat[0])[0])


def _zeros(spec: tf.TensorSpec, batch_size: types.Int) -> tf.Tensor:
  return tf.zeros([batch_size, *(size or 0 for size in spec.shape)], spec.dtype)
