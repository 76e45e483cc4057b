# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Computes a network once for all equal observations of a batch.

In a maze seen from within, in a grid, or wherever an environment has few
states, most rows of a batch are equal: of 4,096 rows of MiniGrid-DoorKey-8x8
one in eight is left at the start of training, and one in four at its end.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tf_agents.networks import encoding_network
from tf_agents.typing import types

# Below this many rows, known when the graph is made, finding equal ones takes
# longer than it saves: a step of the policy.
_FEWEST_ROWS = 128
# Distinct rows are filled up to a multiple of this, because oneDNN makes new
# kernels for each number of rows, which takes longer than some more rows.
_ROWS_MULTIPLE = 64


class MergesEqualRows(encoding_network.EncodingNetwork):
  """An `EncodingNetwork` that may compute equal observations once."""

  def __init__(
      self,
      input_tensor_spec: types.NestedTensorSpec,
      merge_equal_observations: bool = False,
      **kwargs: Any,
  ):
    """Creates the network.

    Args:
      input_tensor_spec: A nest of tensor specs of its input.
      merge_equal_observations: Whether equal observations of a batch are
        computed once (`over_distinct_rows`).
      **kwargs: Arguments of `EncodingNetwork`.
    """
    super().__init__(input_tensor_spec, **kwargs)
    self._merge_equal_observations = merge_equal_observations

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    if not self._merge_equal_observations:
      return self.features(observation, training), network_state
    features = over_distinct_rows(
        lambda distinct: self.features(distinct, training),
        observation,
        self.input_tensor_spec,
    )
    return features, network_state

  def features(
      self, observation: types.NestedTensor, training: bool = False
  ) -> tf.Tensor:
    """Returns the features [outer..., F] of observations [outer..., *shape]."""
    return super().call(observation, training=training)[0]


def over_distinct_rows(
    function: Callable[[types.NestedTensor], tf.Tensor],
    observations: types.NestedTensor,
    spec: types.NestedTensorSpec,
) -> tf.Tensor:
  """Returns `function(observations)`, computed once for equal observations.

  Rows are compared by 64 bits of FarmHash: two rows of 4,096 that differ are
  taken for equal in one of 10^12 batches. The gradient is that of the function
  on all rows, with another order of its sums.

  Args:
    function: Function from a nest of tensors [n, *shape] to a tensor [n, ...],
      whose row i depends on rows i alone.
    observations: A nest of tensors [outer..., *shape].
    spec: The nest of their specs, of shapes [*shape].

  Returns:
    A tensor [outer..., ...].
  """
  leaves = tf.nest.flatten(observations)
  shapes = [leaf.shape for leaf in tf.nest.flatten(spec)]
  outer_rank = leaves[0].shape.rank - shapes[0].rank
  outer_shape = leaves[0].shape[:outer_rank]
  num_rows = outer_shape.num_elements()
  if num_rows is not None and num_rows < _FEWEST_ROWS:
    return function(observations)
  rows = [
      tf.reshape(leaf, [-1, *shape]) for leaf, shape in zip(leaves, shapes)
  ]
  first, which = _distinct(rows)
  first = _filled_up(first, tf.size(which))
  results = function(
      tf.nest.pack_sequence_as(
          observations, [tf.gather(leaf, first) for leaf in rows]
      )
  )
  results = tf.gather(results, which)
  inner_shape = results.shape[1:]
  results = tf.reshape(
      results, tf.concat([tf.shape(leaves[0])[:outer_rank], inner_shape], 0)
  )
  return tf.ensure_shape(results, outer_shape.concatenate(inner_shape))


def _filled_up(first: tf.Tensor, num_rows: tf.Tensor) -> tf.Tensor:
  """Appends row 0 until the number of rows recurs from batch to batch.

  Args:
    first: Indices of rows, [m].
    num_rows: n, the number of all rows, which is never exceeded.

  Returns:
    Indices [k], with a multiple of `_ROWS_MULTIPLE` or n for k.
  """
  num_distinct = tf.size(first)
  num_blocks = -(-num_distinct // _ROWS_MULTIPLE)
  num_filled = tf.minimum(num_blocks * _ROWS_MULTIPLE, num_rows)
  return tf.pad(first, [[0, num_filled - num_distinct]])


def _distinct(rows: list[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
  """Finds equal rows.

  Args:
    rows: Tensors [n, ...].

  Returns:
    A tuple (index of the first of each set of equal rows, in the order of the
    rows, [m]; which set each row belongs to, [n]), int32.
  """
  keys = [
      tf.fingerprint(tf.reshape(leaf, [tf.shape(leaf)[0], -1]))
      for leaf in rows
  ]
  key = keys[0]
  if len(keys) > 1:
    key = tf.fingerprint(tf.concat(keys, axis=1))
  distinct, which = tf.unique(tf.bitcast(key, tf.int64))
  first = tf.math.unsorted_segment_min(
      tf.range(tf.size(which)), which, tf.size(distinct)
  )
  return first, which
