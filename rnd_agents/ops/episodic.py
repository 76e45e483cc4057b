# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Novelty within episodes: first visits, elliptical bonuses.

Rows [B, R] are observations of B environments in their order. For an episode
that began in an earlier call, a memory holds what it has shown so far.
"""

import tensorflow as tf


def first_visits(
    keys: tf.Tensor,
    starts: tf.Tensor,
    counts: tf.Tensor,
    memory: tf.Tensor,
    max_keys: int,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns which rows show a place for the first time in their episode.

  Args:
    keys: int64 [B, R], not 0: rows with equal keys are the same place.
    starts: Booleans [B, R]: rows that begin an episode.
    counts: Booleans [B, R]: False for rows that are ignored.
    memory: int64 [B, N]: keys of the running episodes; 0 where unused.
    max_keys: Number of keys to keep, the newest ones.

  Returns:
    A tuple (booleans [B, R], memory [B, M] of the episodes of the last rows).
  """
  episodes = _episodes(starts)
  none = tf.zeros([], keys.dtype)
  keys = tf.where(counts, keys, none)
  seen = tf.reduce_any(
      _same_episode_before(episodes)
      & tf.equal(keys[:, :, tf.newaxis], keys[:, tf.newaxis]),
      axis=-1,
  )
  remembered = tf.reduce_any(
      tf.equal(keys[:, :, tf.newaxis], memory[:, tf.newaxis]), axis=-1
  )
  is_first = counts & ~seen & ~(remembered & tf.equal(episodes, 0))
  in_last = tf.equal(episodes, episodes[:, -1:])
  is_continued = tf.equal(episodes[:, -1:], 0)
  kept = tf.concat(
      [
          tf.where(is_continued, memory, none),
          tf.where(is_first & in_last, keys, none),
      ],
      axis=1,
  )
  kept = tf.ragged.boolean_mask(kept, tf.not_equal(kept, none))
  return is_first, kept[:, -max_keys:].to_tensor()


def elliptical_bonuses(
    features: tf.Tensor,
    starts: tf.Tensor,
    counts: tf.Tensor,
    covariance: tf.Tensor,
    ridge: float,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Computes elliptical bonuses of rows (E3B; Henaff et al., 2022, section 3).

      b_t = f_t' C_t^-1 f_t,   C_t = ridge I + sum of f_i f_i' over the rows i
                                     before t in the episode

  With L L' = ridge I + covariance and g = L^-1 f, the factors of I + G, where
  G_ts = g_t' g_s within an episode, have 1 + b_t on their diagonal (it is the
  conditional variance of a Gaussian process): one factorization for all rows,
  in place of a rank-one update for each, and no error that grows with them.

  Args:
    features: f, floats [B, R, F].
    starts: Booleans [B, R]: rows that begin an episode.
    counts: Booleans [B, R]: False for rows that are ignored.
    covariance: float64 [B, F, F]: sum of f f' over the running episodes.
    ridge: A float above 0.

  Returns:
    A tuple (float32 [B, R], covariance of the episodes of the last rows).
  """
  zero = tf.zeros([], tf.float64)
  features = tf.where(
      counts[..., tf.newaxis], tf.cast(features, tf.float64), zero
  )
  episodes = _episodes(starts)
  root = tf.linalg.cholesky(
      covariance
      + tf.cast(ridge, tf.float64)
      * tf.eye(tf.shape(covariance)[-1], dtype=tf.float64)
  )
  scaled = tf.where(
      tf.equal(episodes, 0)[..., tf.newaxis],
      tf.linalg.matrix_transpose(
          tf.linalg.triangular_solve(root, tf.linalg.matrix_transpose(features))
      ),
      features / tf.sqrt(tf.cast(ridge, tf.float64)),
  )
  gram = tf.matmul(scaled, scaled, transpose_b=True)
  gram = tf.where(_same_episode(episodes), gram, zero)
  num_rows = tf.shape(features)[1]
  factors = tf.linalg.cholesky(gram + tf.eye(num_rows, dtype=tf.float64))
  bonuses = tf.square(tf.linalg.diag_part(factors)) - 1.0
  last = tf.equal(episodes, episodes[:, -1:])[..., tf.newaxis]
  kept = tf.where(last, features, zero)
  is_continued = tf.equal(episodes[:, -1], 0)[:, tf.newaxis, tf.newaxis]
  covariance = tf.where(is_continued, covariance, zero)
  covariance += tf.matmul(kept, kept, transpose_a=True)
  return tf.cast(tf.maximum(bonuses, zero), tf.float32), covariance


def _episodes(starts: tf.Tensor) -> tf.Tensor:
  """Returns the number of each row's episode; 0 if it began earlier."""
  return tf.cumsum(tf.cast(starts, tf.int32), axis=1)


def _same_episode(episodes: tf.Tensor) -> tf.Tensor:
  return tf.equal(episodes[:, :, tf.newaxis], episodes[:, tf.newaxis])


def _same_episode_before(episodes: tf.Tensor) -> tf.Tensor:
  """Returns [B, R, R]: whether row j precedes row i in its episode."""
  steps = tf.range(tf.shape(episodes)[1])
  return _same_episode(episodes) & (steps[:, tf.newaxis] > steps)
