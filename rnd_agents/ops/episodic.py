# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Novelty within episodes: first visits, elliptical bonuses, neighbours.

Rows [B, R] are observations of B environments in their order. For an episode
that began in an earlier call, a memory holds what it has shown so far.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Distances [B, R, N] of features [B, N, F] and [B, R, F].
DistanceFn = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


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


def nearest_neighbors(
    features: tf.Tensor,
    starts: tf.Tensor,
    counts: tf.Tensor,
    memory: tf.Tensor,
    num_neighbors: int,
    max_rows: int,
    distance_fn: DistanceFn | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the distances of rows to the nearest of their episode.

  (Badia et al., 2020, arXiv 2002.06038, section 2.)

  Args:
    features: Floats [B, R, F].
    starts: Booleans [B, R]: rows that begin an episode.
    counts: Booleans [B, R]: False for rows that are ignored.
    memory: float32 [B, N, 1 + F]: features of the running episodes, in their
      order, behind a column that is 1, or 0 where the entry is unused.
    num_neighbors: K.
    max_rows: Number of rows to keep, the newest ones.
    distance_fn: Distances [B, R, N] from each of N features [B, N, F] to each
      of R, its second argument; None for `squared_distances`.

  Returns:
    A tuple (distances [B, R, K] from rows before in the episode, the nearest
    first and infinite where there are fewer than K, memory [B, M, 1+F] of the
    episodes of the last rows).
  """
  features = tf.cast(features, tf.float32)
  known = tf.concat([memory[:, :, 1:], features], axis=1)
  episodes = _episodes(starts)
  is_known = tf.concat(
      [
          # A row sees the memory until an episode begins,
          tf.equal(episodes, 0)[:, :, tf.newaxis]
          & (memory[:, tf.newaxis, :, 0] > 0),
          # and the earlier rows of its own episode.
          _same_episode_before(episodes) & counts[:, tf.newaxis],
      ],
      axis=-1,
  )
  distances = (distance_fn or squared_distances)(known, features)
  distances = tf.where(is_known, distances, np.inf)
  # At least K columns.
  distances = tf.pad(
      distances, [[0, 0], [0, 0], [0, num_neighbors]], constant_values=np.inf
  )
  nearest, _ = tf.math.top_k(-distances, num_neighbors)
  is_continued = tf.equal(episodes[:, -1:], 0)
  in_last = tf.equal(episodes, episodes[:, -1:])
  kept = tf.concat(
      [is_continued & (memory[:, :, 0] > 0), in_last & counts], axis=1
  )
  memory = tf.ragged.boolean_mask(
      tf.concat([tf.ones_like(known[:, :, :1]), known], axis=-1), kept
  )[:, -max_rows:].to_tensor()
  return -nearest, memory


def squared_distances(known: tf.Tensor, features: tf.Tensor) -> tf.Tensor:
  """Returns squared distances [B, R, N] of [B, N, F] and [B, R, F]."""
  # The terms cancel where features are near each other and far from 0; and GPUs
  # multiply float32 with 11 bits of precision (TF32).
  known, features = (tf.cast(x, tf.float64) for x in (known, features))
  distances = (
      tf.reduce_sum(tf.square(features), -1)[:, :, tf.newaxis]
      + tf.reduce_sum(tf.square(known), -1)[:, tf.newaxis]
      - 2.0 * tf.matmul(features, known, transpose_b=True)
  )
  return tf.cast(tf.maximum(distances, 0.0), tf.float32)


def _episodes(starts: tf.Tensor) -> tf.Tensor:
  """Returns the number of each row's episode; 0 if it began earlier."""
  return tf.cumsum(tf.cast(starts, tf.int32), axis=1)


def _same_episode(episodes: tf.Tensor) -> tf.Tensor:
  return tf.equal(episodes[:, :, tf.newaxis], episodes[:, tf.newaxis])


def _same_episode_before(episodes: tf.Tensor) -> tf.Tensor:
  """Returns [B, R, R]: whether row j precedes row i in its episode."""
  steps = tf.range(tf.shape(episodes)[1])
  return _same_episode(episodes) & (steps[:, tf.newaxis] > steps)
