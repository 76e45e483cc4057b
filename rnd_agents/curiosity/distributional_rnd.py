# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""DRND: distills several random networks, whose spread tells how often."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gin
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import random_network_distillation
from rnd_agents.networks import factory
from rnd_agents.ops import losses


class TargetMoments(NamedTuple):
  """Outputs of N target networks for observations.

  Attributes:
    mean: float32 [outer..., F], over the targets.
    mean_square: float32 [outer..., F], over the targets.
    drawn: float32 [outer..., F]: output of one target, drawn for each
      observation.
  """

  mean: tf.Tensor
  mean_square: tf.Tensor
  drawn: tf.Tensor


@gin.configurable(
    module='rnd_agents',
    denylist=[
        'environment_observation_spec',
        'rnd_network',
        'target_rnd_networks',
        'observation_fn',  # Of `create_drnd`, which builds the networks on it.
        'name',
    ],
)
class DistributionalRND(random_network_distillation.RandomNetworkDistillation):
  """Pays the bonus of Distributional RND (Yang et al., 2024, arXiv 2401.09750).

      sum_j alpha (f_j - mu_j)^2
            + (1 - alpha) sqrt(|f_j^2 - mu_j^2| / (B_j - mu_j^2))

  of next observations, where f is the predictor's output, mu and B are mean and
  mean square over N targets, and the quotient is clipped to [1e-6, 1]. The
  predictor learns one target, drawn again for each visit. After n visits f is
  about the mean of n draws, so that f^2 - mu^2 is (B - mu^2) / n in the mean,
  and the second term falls like 1 / sqrt(n) where the first is already small.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      rnd_network: network.Network,
      target_rnd_networks: Sequence[network.Network],
      alpha: float = 0.95,
      observation_fn: curiosity.ObservationFn | None = None,
      observation_clip_value: float | None = 5.0,
      discount_factor: types.Float = 0.99,
      name: str = 'DistributionalRND',
      **scale: Any,
  ):
    """Creates the module.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      rnd_network: The predictor: a `Network` on `observation_spec(...)`.
      target_rnd_networks: N targets, at least two, of the same output shape;
        they are made not trainable.
      alpha: Share of the first term, between 0 and 1.
      observation_fn: As for `RandomNetworkDistillation`.
      observation_clip_value: As for `RandomNetworkDistillation`.
      discount_factor: As for `RandomNetworkDistillation`.
      name: Name of the module.
      **scale: `scale_horizon_env_steps` and `least_scale_share`, as for
        `Curiosity`.

    Raises:
      InvalidValue: If the networks do not fit each other.
    """
    num_targets = len(set(map(id, target_rnd_networks)))
    if num_targets < 2 or num_targets < len(target_rnd_networks):
      raise errors.InvalidValue(
          f'{name} needs at least 2 target networks, all different, got'
          f' {len(target_rnd_networks)} with {num_targets} different ones. With'
          ' one target, take RND.'
      )
    ranges.check(
        dict(alpha=ranges.WITHIN_0_AND_1), dict(alpha=alpha), f'{name}.'
    )
    self._alpha = alpha
    self.target_rnd_networks = list(target_rnd_networks)
    super().__init__(
        environment_observation_spec,
        rnd_network,
        target_rnd_networks[0],
        observation_fn=observation_fn,
        observation_clip_value=observation_clip_value,
        discount_factor=discount_factor,
        name=name,
        **scale,
    )
    # Its state is part of a checkpoint.
    self._drawing = tf.random.Generator.from_seed(
        tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    )

  def _check_networks(self) -> None:
    for target in self.target_rnd_networks:
      self.target_rnd_network = target
      super()._check_networks()

  def target_features(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns the output of all targets [outer..., N, F]."""
    whitened = self.seen.whiten(observations)
    return tf.stop_gradient(
        tf.stack(
            [target(whitened)[0] for target in self.target_rnd_networks],
            axis=-2,
        )
    )

  def constants(self, transitions: curiosity.Transitions) -> TargetMoments:
    """Returns the moments of the targets, and one drawn target's output."""
    features = super().constants(transitions)
    drawn = self._drawing.uniform(
        tf.shape(features)[:-2],
        maxval=len(self.target_rnd_networks),
        dtype=tf.int32,
    )
    return TargetMoments(
        tf.reduce_mean(features, axis=-2),
        tf.reduce_mean(tf.square(features), axis=-2),
        tf.gather(
            features, drawn, axis=-2, batch_dims=features.shape.rank - 2
        ),
    )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the two terms on next observations."""
    if constants is None:
      constants = self.constants(transitions)
    predictions = tf.stop_gradient(self.seen.in_parts(
        lambda x: self.rnd_network(self.seen.whiten(x), training=True)[0],
        transitions.next_observation,
    ))
    mean_square_of_mean = tf.square(constants.mean)
    shares = tf.math.divide_no_nan(
        tf.abs(tf.square(predictions) - mean_square_of_mean),
        constants.mean_square - mean_square_of_mean,
    )
    first = tf.math.squared_difference(predictions, constants.mean)
    second = tf.sqrt(tf.clip_by_value(shares, 1e-6, 1.0))
    return tf.reduce_sum(
        self._alpha * first + (1.0 - self._alpha) * second, axis=-1
    )

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the weighted mean error of predicting the drawn targets."""
    if constants is None:
      constants = self.constants(transitions)
    errors_of_drawn = self.errors(
        transitions.next_observation, constants.drawn
    )
    return losses.predictor_loss(errors_of_drawn, transitions.valid, weights)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_drnd(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    observation_fn: curiosity.ObservationFn | None = None,
    num_targets: int = 5,
) -> DistributionalRND:
  """Builds `DistributionalRND` on `create_rnd_networks`; gin binds the rest.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: Ignored: the bonus does not depend on actions.
    observation_fn: Selects the input; see `observation_spec`.
    num_targets: N, at least 2. Each costs one pass of the target network.
  """
  del action_spec
  ranges.check(
      dict(num_targets=ranges.COUNT),
      dict(num_targets=num_targets),
      'create_drnd.',
  )
  spec = curiosity.observation_spec(time_step_spec.observation, observation_fn)
  pairs = [factory.create_rnd_networks(spec) for _ in range(int(num_targets))]
  return DistributionalRND(
      time_step_spec.observation,
      pairs[0][0],
      [target for _, target in pairs],
      observation_fn=observation_fn,
  )
