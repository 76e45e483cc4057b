# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""ICM: the error of a prediction of the next observation's features."""

from collections.abc import Sequence

import gin
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import inverse_model
from rnd_agents.networks import encoders
from rnd_agents.networks import factory


@gin.configurable(
    module='rnd_agents', denylist=['model', 'action_spec', 'name']
)
class IntrinsicCuriosityModule(inverse_model.InverseModelCuriosity):
  """Pays the bonus of the intrinsic curiosity module (Pathak et al., 2017).

      1/2 ||g(f(s), a) - f(s')||^2

  where f are the features of an inverse model and g a network that predicts
  them (section 2.2, eq. 4 to 7). The loss is (1 - beta) times the inverse
  model's plus beta times that of g; both reach f.
  """

  def __init__(
      self,
      model: inverse_model.InverseModel,
      action_spec: types.NestedTensorSpec,
      fc_layer_params: Sequence[int] = (256,),
      forward_loss_share: float = 0.2,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'IntrinsicCuriosityModule',
  ):
    """Creates the module.

    Args:
      model: An `InverseModel`.
      action_spec: A nest of `BoundedTensorSpec`.
      fc_layer_params: Units of the hidden layers of g.
      forward_loss_share: Beta, the share of g's loss, between 0 and 1.
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
        dict(forward_loss_share=ranges.WITHIN_0_AND_1),
        dict(forward_loss_share=forward_loss_share),
        f'{name}.',
    )
    factory.check_units(name, fc_layer_params=fc_layer_params)
    self._action_spec = tensor_spec.from_spec(action_spec)
    self._share = forward_loss_share
    example = tensor_spec.sample_spec_nest(self._action_spec, outer_dims=[1])
    encoded = inverse_model.encode_actions(example, self._action_spec)
    self._layers = encoders.dense_layers(
        fc_layer_params, model.num_features, gain=1.0
    )
    self._layers.build([None, model.num_features + encoded.shape[-1]])

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the inverse model and of g."""
    return [
        *self.model.trainable_variables,
        *self._layers.trainable_weights,
    ]

  def _forward_errors(
      self,
      features: tf.Tensor,
      next_features: tf.Tensor,
      action: types.NestedTensor,
  ) -> tf.Tensor:
    """Returns half the squared distance [M] of g(f(s), a) from f(s')."""
    encoded = inverse_model.encode_actions(action, self._action_spec)
    predictions = self._layers(tf.concat([features, encoded], axis=-1))
    return 0.5 * tf.reduce_sum(
        tf.math.squared_difference(predictions, next_features), axis=-1
    )

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the error of g."""
    transitions.require_whole(self.name)
    if transitions.is_rollout:  # f of each of T + 1 rows once.
      rows = self.model.fixed_features(transitions.rows())
      features, next_features = rows[:, :-1], rows[:, 1:]
    else:
      features = self.model.fixed_features(transitions.observation)
      next_features = self.model.fixed_features(transitions.next_observation)
    flat = features, next_features, transitions.action
    if transitions.is_rollout:
      flat = curiosity.merge_time(flat)
    return tf.reshape(
        tf.stop_gradient(self._forward_errors(*flat)),
        tf.shape(transitions.is_first),
    )

  def _model_errors(
      self,
      features: tf.Tensor,
      next_features: tf.Tensor,
      action: types.NestedTensor,
  ) -> tf.Tensor:
    """Returns the weighted losses [M] of both models."""
    given = features, next_features, action
    errors = (1.0 - self._share) * self.model.errors(*given)
    return errors + self._share * self._forward_errors(*given)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_icm(
    time_step_spec: ts.TimeStep, action_spec: types.NestedTensorSpec
) -> IntrinsicCuriosityModule:
  """Builds `IntrinsicCuriosityModule` on an `InverseModel`; gin binds both."""
  model = inverse_model.InverseModel(time_step_spec.observation, action_spec)
  return IntrinsicCuriosityModule(model, action_spec)
