# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""NGU's episodic bonus: how far the nearest observations of the episode are."""

import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import inverse_model
from rnd_agents.ops import moments
from rnd_agents.statistics import running_statistics


@gin.configurable(module='rnd_agents', denylist=['model', 'name'])
class NeighborBonus(
    episodic_memory.EpisodicBonus, inverse_model.InverseModelCuriosity
):
  """Pays Never Give Up's episodic bonus (Badia et al., 2020, arXiv 2002.06038).

      1 / (sqrt(sum_i K(f(s'), f_i)) + c),   K(x, y) = e / (d^2(x, y) / m + e)

  (section 2, algorithm 1) over the k nearest features f_i of the episode, where
  m is the running mean of their squared distances, these included;
  `cluster_distance` is subtracted from each quotient d^2 / m, down to 0. The
  bonus is 0 where the denominator is above `max_similarity`. A factor for a
  `Product`, beside a `BoundedFactor` of RND: that is the bonus of NGU.
  """

  def __init__(
      self,
      model: inverse_model.InverseModel,
      num_neighbors: int = 10,
      max_rows: int = 2_000,
      kernel_epsilon: float = 1e-3,
      cluster_distance: float = 8e-3,
      constant: float = 1e-3,
      max_similarity: float = 8.0,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'NeighborBonus',
  ):
    """Creates the module.

    Args:
      model: An `InverseModel`.
      num_neighbors: k.
      max_rows: Newest observations of an episode that are remembered. They take
        4 (F + 1) bytes each in each environment.
      kernel_epsilon: e, above 0.
      cluster_distance: Quotient d^2 / m up to which two observations are the
        same; it is subtracted from all.
      constant: c, above 0, which bounds the bonus.
      max_similarity: Denominator above which nothing is paid.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        model,
        discount_factor,
        name,
        scale_horizon_env_steps,
        least_scale_share,
    )
    ranges.check(
        dict(
            num_neighbors=ranges.Range(
                lambda x: 1 <= x <= 1_000 and x % 1 == 0,
                'an integer from 1 to 1,000',
            ),
            max_rows=ranges.COUNT,
            kernel_epsilon=ranges.ABOVE_0,
            cluster_distance=ranges.AT_LEAST_0,
            constant=ranges.ABOVE_0,
            max_similarity=ranges.ABOVE_0,
        ),
        dict(
            num_neighbors=num_neighbors,
            max_rows=max_rows,
            kernel_epsilon=kernel_epsilon,
            cluster_distance=cluster_distance,
            constant=constant,
            max_similarity=max_similarity,
        ),
        f'{name}.',
    )
    self._kernel_epsilon = kernel_epsilon
    self._cluster_distance = cluster_distance
    self._constant = constant
    self._max_similarity = max_similarity
    self._memory = episodic_memory.NearestNeighbors(
        model.fixed_features,
        model.num_features,
        int(num_neighbors),
        int(max_rows),
        name=name,
    )
    self._square_distances = running_statistics.RunningMoments(
        [], 'square_distances'
    )

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the bonus of transitions, from the memory of the episodes."""
    distances, is_neighbor = self._distances(transitions)
    mean, *_ = moments.merge_moments(
        self._square_distances.mean,
        self._square_distances.variance,
        self._square_distances.count,
        *moments.batch_moments(
            tf.cast(distances, tf.float64), is_neighbor, distances.shape.rank
        ),
    )
    quotients = distances / tf.cast(tf.maximum(mean, 1e-12), tf.float32)
    quotients = tf.where(
        is_neighbor, tf.maximum(quotients - self._cluster_distance, 0.0), np.inf
    )
    kernels = self._kernel_epsilon / (quotients + self._kernel_epsilon)
    similarity = tf.sqrt(tf.reduce_sum(kernels, axis=-1)) + self._constant
    return tf.where(similarity > self._max_similarity, 0.0, 1.0 / similarity)

  def _distances(
      self, transitions: curiosity.Transitions
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns squared distances [..., K], and whether there is a neighbor."""
    distances = self._memory.values(transitions)
    is_neighbor = tf.math.is_finite(distances)
    if transitions.valid is not None:
      is_neighbor &= transitions.valid[..., tf.newaxis]
    return tf.where(is_neighbor, distances, 0.0), is_neighbor

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions to memory, mean distance and whitening."""
    self._square_distances.update(*self._distances(transitions))
    super().update_statistics(transitions)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_ngu_episodic(
    time_step_spec: ts.TimeStep, action_spec: types.NestedTensorSpec
) -> NeighborBonus:
  """Builds `NeighborBonus` on an `InverseModel`; gin binds both."""
  return NeighborBonus(
      inverse_model.InverseModel(time_step_spec.observation, action_spec)
  )
