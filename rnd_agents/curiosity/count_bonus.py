# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts: a bonus that falls with the number of visits of a place."""

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types
from tf_agents.utils import nest_utils

from rnd_agents import action_masks
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory


@gin.configurable(
    module='rnd_agents', denylist=['environment_observation_spec', 'name']
)
class CountBonus(curiosity.Curiosity):
  """Pays (n + 1)^-exponent for a place that was visited n times so far.

  (Tang et al., 2017, arXiv 1611.04717, section 2.2: counts of a hash of the
  observation, exponent 1/2.) It has nothing to learn and no network, so it is
  the baseline of tasks with few different observations. n counts all
  environments up to the last `update_statistics`: visits within one rollout
  earn the same.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      key_fn: curiosity.ObservationFn | None = None,
      exponent: float = 0.5,
      num_buckets: int = 2**20,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'CountBonus',
  ):
    """Creates counts of 0.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      key_fn: Function from a nest of raw observations [outer..., ...] to a nest
        [outer..., ...]: observations with equal keys are the same place. None
        for the whole observation.
      exponent: Above 0. Larger ones leave known places sooner.
      num_buckets: Number of counts, 4 bytes each. Places share one if their
        hashes agree modulo this number: of P places about P^2 / (2 num_buckets)
        pairs.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    ranges.check(
        dict(exponent=ranges.ABOVE_0, num_buckets=ranges.COUNT),
        dict(exponent=exponent, num_buckets=num_buckets),
        f'{name}.',
    )
    self._environment_spec = tensor_spec.from_spec(
        action_masks.without_mask(environment_observation_spec)
    )
    curiosity.check_key_fn(f'{name}.key_fn', key_fn, self._environment_spec)
    self._key_fn = key_fn
    self._exponent = exponent
    self._counts = tf.Variable(
        tf.zeros([int(num_buckets)], tf.int32), trainable=False, name='visits'
    )

  def _buckets(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns the index of the count of each observation, int64 [outer...]."""
    outer_rank = nest_utils.get_outer_rank(observations, self._environment_spec)
    keys = observations if self._key_fn is None else self._key_fn(observations)
    return tf.math.floormod(
        episodic_memory.fingerprints(keys, outer_rank), self._counts.shape[0]
    )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the bonus of the next observations."""
    counts = tf.gather(
        self._counts, self._buckets(transitions.next_observation)
    )
    return tf.pow(tf.cast(counts, tf.float32) + 1.0, -self._exponent)

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Counts the valid next observations."""
    # Not in `update_observation_statistics`, which takes the random steps
    # before training, too: they would lower the bonus of what an agent has
    # not seen.
    buckets = self._buckets(transitions.next_observation)
    visits = tf.ones_like(buckets, tf.int32)
    if transitions.valid is not None:
      visits = tf.cast(transitions.valid, tf.int32)
    self._counts.scatter_add(
        tf.IndexedSlices(tf.reshape(visits, [-1]), tf.reshape(buckets, [-1]))
    )


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_counts(
    time_step_spec: ts.TimeStep, action_spec: types.NestedTensorSpec
) -> CountBonus:
  """Builds a `CountBonus`; gin binds its other arguments."""
  del action_spec
  return CountBonus(time_step_spec.observation)
