# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replay of sequences: priorities and importance weights."""


import tensorflow as tf


def sequence_priorities(
    td_errors: tf.Tensor, valid_mask: tf.Tensor, max_weight: float = 0.9
) -> tf.Tensor:
  """Computes the replay priority of each sequence.

      p = eta max_t |delta_t| + (1 - eta) mean_t |delta_t|

  (R2D2, Kapturowski et al., 2019, section 2.3, eta = 0.9.) Steps without a loss
  count in neither. `PrioritizedReplay` raises the priority to its exponent.

  Args:
    td_errors: delta, in the units of the network's output, or another measure
      of each step. Float [B, T].
    valid_mask: Which steps count, booleans [B, T].
    max_weight: eta, a float from 0 to 1.

  Returns:
    Priorities, a float tensor [B]; 0 where no step counts. No gradient passes.
  """
  sizes = tf.abs(tf.stop_gradient(tf.convert_to_tensor(td_errors)))
  tf.debugging.assert_shapes(
      [(sizes, ('B', 'T')), (valid_mask, ('B', 'T'))],
      message='td_errors and valid_mask must both be [B, T]',
  )
  sizes = tf.where(valid_mask, sizes, tf.zeros_like(sizes))
  count = tf.reduce_sum(tf.cast(valid_mask, sizes.dtype), axis=1)
  mean = tf.reduce_sum(sizes, axis=1) / tf.maximum(count, 1.0)
  largest = tf.reduce_max(sizes, axis=1)
  return max_weight * largest + (1.0 - max_weight) * mean


def importance_weights(
    probabilities: tf.Tensor,
    table_sizes: tf.Tensor,
    exponent: float | tf.Tensor,
) -> tf.Tensor:
  """Returns weights that correct for sampling by priority; the largest is 1.

      w_i = (N_i P_i)^-beta / max_j (N_j P_j)^-beta

  (Schaul et al., 2016, arXiv 1511.05952, section 3.4, the maximum taken over
  the batch.) Sequences of several tables have the size of their own table each,
  and the maximum is taken over all.

  Args:
    probabilities: P, the probability of each sequence to be drawn from its
      table, above 0, such as `prioritized_replay.Batch.probabilities`. Float
      [B].
    table_sizes: N, the number of sequences in each one's table, numbers [B].
    exponent: beta, a float or a scalar tensor from 0 (all weights are 1) to 1.

  Returns:
    Weights, float32 [B].

  Raises:
    tf.errors.InvalidArgumentError: If a probability is not above 0.
  """
  # Tables hold millions: a float32 product would not be exact.
  chances = tf.cast(probabilities, tf.float64) * tf.cast(
      table_sizes, tf.float64
  )
  tf.debugging.assert_positive(
      chances,
      'Nothing is drawn with probability 0 or from an empty table: pass the'
      ' probabilities that the batch was sampled with.',
  )
  # The largest weight belongs to the smallest chance: the quotient of chances
  # cannot overflow, as their powers could.
  relative = tf.reduce_min(chances) / chances
  return tf.cast(relative ** tf.cast(exponent, tf.float64), tf.float32)
