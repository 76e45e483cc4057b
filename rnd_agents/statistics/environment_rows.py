# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is remembered of each environment from one call to the next."""

import tensorflow as tf


class EnvironmentRows(tf.Module):
  """A row for each environment of a batch.

  The first call says how many environments there are; another number of them
  than before begins with zeros.
  """

  def __init__(self, spec, name='EnvironmentRows'):
    """Creates the memory of no environment.

    Args:
      spec: A nest of tensor specs of one environment's row, with None for
        dimensions that grow.
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

  def are_for(self, batch_size):
    """Returns whether the rows are of so many environments, boolean []."""
    return tf.equal(self._num_rows, batch_size)

  def read(self, batch_size):
    """Returns the rows of so many environments, a nest [B, ...]."""
    rows = tf.cond(
        self.are_for(batch_size),
        lambda: [variable.read_value() for variable in self._flat],
        lambda: [
            _zeros(leaf, batch_size) for leaf in tf.nest.flatten(self._spec)
        ],
    )
    return tf.nest.pack_sequence_as(self._spec, rows)

  def assign(self, rows):
    """Remembers a nest [B, ...], after it was computed."""
    flat = tf.nest.flatten(rows)
    with tf.control_dependencies(flat):
      for variable, value in zip(self._flat, flat, strict=True):
        variable.assign(value)
      self._num_rows.assign(tf.shape(flat[0])[0])


def _zeros(spec, batch_size):
  return tf.zeros([batch_size, *(size or 0 for size in spec.shape)], spec.dtype)
