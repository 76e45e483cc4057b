# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random Network Distillation: the error of predicting a random network."""

from collections.abc import Callable, Sequence
from typing import Any

import gin
import tensorflow as tf
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents.curiosity import curiosity
from rnd_agents.networks import factory
from rnd_agents.ops import losses

# Error of each sample, from (predictions, targets) [..., F] to [...].
LossFn = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def _assert_compatible(spec: tf.TensorSpec, expected: tf.TensorSpec) -> None:
  if not expected.is_compatible_with(tf.TensorSpec(spec.shape, spec.dtype)):
    raise errors.InvalidValue(f'its input is {spec}.')


def _take_floats(net: network.Network, spec: types.NestedTensorSpec) -> None:
  """Lets a network on an integer observation spec take whitened floats."""
  given = net.input_tensor_spec
  if given is None:
    return
  tf.nest.assert_same_structure(given, spec)
  pairs = list(zip(tf.nest.flatten(given), tf.nest.flatten(spec)))
  if all(raw.shape == seen.shape for raw, seen in pairs) and any(
      raw.dtype.is_integer for raw, _ in pairs
  ):
    _compat.set_input_spec(net, spec)


class RandomNetworkDistillation(curiosity.Curiosity):
  """Pays the bonus of Random Network Distillation.

  (Burda et al., 2018, arXiv 1810.12894.)

  The bonus is the error of a predictor that learns the output of a fixed,
  random target network on the next observation. `tf.Module` tracks all state
  (predictor, target, observation statistics, statistics of the return), so any
  checkpoint of the owner saves it.
  """

  def __init__(
      self,
      environment_observation_spec: types.NestedTensorSpec,
      rnd_network: network.Network,
      target_rnd_network: network.Network,
      observation_fn: curiosity.ObservationFn | None = None,
      loss_fn: LossFn = losses.rnd_error,
      observation_clip_value: float | None = 5.0,
      discount_factor: types.Float = 0.99,
      name: str = 'RandomNetworkDistillation',
      **scale: Any,
  ):
    """Creates the module.

    Args:
      environment_observation_spec: A nest of tensor specs: raw observations.
      rnd_network: The predictor: a `Network` on `observation_spec(...)`.
      target_rnd_network: The target, of the same output shape; it is made not
        trainable.
      observation_fn: Selects RND's input; see `observation_spec`.
      loss_fn: Error of each sample, from (predictions, targets) [..., F] to
        [...], with no gradient into the targets.
      observation_clip_value: Bound on whitened observations, in standard
        deviations; None for no clipping.
      discount_factor: gamma_I, the discount of the return whose standard
        deviation divides the bonus.
      name: Name of the module.
      **scale: `scale_horizon_env_steps` and `least_scale_share`, as for
        `Curiosity`.

    Raises:
      InvalidValue: If the networks have equal weights, different output shapes
        or a wrong input, or the predictor has nothing to learn.
    """
    super().__init__(discount_factor, name, **scale)
    self._loss_fn = loss_fn
    self.seen = curiosity.SeenObservations(
        environment_observation_spec, observation_fn, observation_clip_value
    )
    self.rnd_network = rnd_network
    self.target_rnd_network = target_rnd_network
    self._check_networks()

  def _check_networks(self) -> None:
    """Raises InvalidValue if the networks are unsuitable."""
    specs = []
    for label, net in (
        ('rnd_network', self.rnd_network),
        ('target_rnd_network', self.target_rnd_network),
    ):
      try:
        _take_floats(net, self.seen.spec)
        specs.append(net.create_variables(self.seen.spec))
        tf.nest.assert_same_structure(net.input_tensor_spec, self.seen.spec)
        tf.nest.map_structure(
            _assert_compatible, net.input_tensor_spec, self.seen.spec
        )
      except (TypeError, ValueError) as error:
        raise errors.InvalidValue(
            f'{label} does not take RND\'s input, {self.seen.spec}. Build it'
            ' on curiosity.observation_spec(observation_spec, observation_fn):'
            f' {error}'
        ) from error
    predictor, target = self.rnd_network, self.target_rnd_network
    if predictor is target:
      raise errors.InvalidValue(
          'rnd_network and target_rnd_network are one object: the error would'
          ' always be 0. Build two networks.'
      )
    if specs[0].shape != specs[1].shape:
      raise errors.InvalidValue(
          'rnd_network and target_rnd_network must have outputs of one shape,'
          f' got {specs[0].shape} and {specs[1].shape}.'
      )
    target.trainable = False
    if not predictor.trainable_variables:
      raise errors.InvalidValue(
          'rnd_network has nothing to learn: its layers are those of'
          ' target_rnd_network, which stay as they are drawn, or none is'
          ' trainable. Build two networks.'
      )
    example = tf.nest.map_structure(
        lambda spec: tf.random.stateless_normal([8] + spec.shape, seed=[1, 2]),
        self.seen.spec,
    )
    bonus = losses.rnd_error(predictor(example)[0], target(example)[0])
    if not tf.reduce_max(bonus) > 0:
      raise errors.InvalidValue(
          'rnd_network equals target_rnd_network: its error is 0 on random'
          ' input, so no observation would ever earn a bonus. This comes from'
          ' `copy()` or from an initializer shared by both; give each layer an'
          ' initializer of its own (rnd_agents.networks.RNDNetwork does).'
      )

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the predictor."""
    return self.rnd_network.trainable_variables

  def target_features(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns the target's output [outer..., F] for raw observations."""
    return self._target_features(self.seen.whiten(observations))

  def _target_features(self, whitened: types.NestedTensor) -> tf.Tensor:
    features, _ = self.target_rnd_network(whitened)
    return tf.stop_gradient(features)

  def errors(
      self,
      observations: types.NestedTensor,
      target_features: tf.Tensor | None = None,
  ) -> tf.Tensor:
    """Returns prediction errors with a gradient into the predictor.

    Args:
      observations: A nest of raw tensors [outer..., *shape].
      target_features: `target_features(observations)` if already known: they
        change only with the observation statistics.

    Returns:
      A float32 tensor [outer...].
    """
    whitened = self.seen.whiten(observations)
    if target_features is None:
      target_features = self._target_features(whitened)
    predictions, _ = self.rnd_network(whitened, training=True)
    return self._loss_fn(predictions, target_features)

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the prediction error on next observations."""

    def bonus(*arguments: Any) -> tf.Tensor:
      return tf.stop_gradient(self.errors(*arguments))

    observations = transitions.next_observation
    if constants is not None:
      return bonus(observations, constants)
    return self.seen.in_parts(bonus, observations)

  def constants(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the target's features [outer..., F]."""
    return self.seen.in_parts(
        self.target_features, transitions.next_observation
    )

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the weighted mean prediction error."""
    errors = self.errors(transitions.next_observation, constants)
    return losses.predictor_loss(errors, transitions.valid, weights)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the whitening."""
    self.seen.update(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_rnd(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    observation_fn: curiosity.ObservationFn | None = None,
    observation_clip_value: float | None = 5.0,
    discount_factor: types.Float = 0.99,
    scale_horizon_env_steps: float | None = None,
    least_scale_share: float = 0.0,
    rnd_class: type[RandomNetworkDistillation] = RandomNetworkDistillation,
) -> RandomNetworkDistillation:
  """Builds a `rnd_class`, RND or a subclass, on `create_rnd_networks`.

  The arguments are those of `RandomNetworkDistillation` and `Curiosity`. The
  bonus does not depend on actions.
  """
  del action_spec
  rnd_network, target_rnd_network = factory.create_rnd_networks(
      curiosity.observation_spec(time_step_spec.observation, observation_fn)
  )
  return rnd_class(
      time_step_spec.observation,
      rnd_network,
      target_rnd_network,
      observation_fn=observation_fn,
      observation_clip_value=observation_clip_value,
      discount_factor=discount_factor,
      scale_horizon_env_steps=scale_horizon_env_steps,
      least_scale_share=least_scale_share,
  )
