# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model that predicts the action between two observations.

And the base class of the curiosities that use its features.
"""

from collections.abc import Sequence
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.typing import types

from rnd_agents.curiosity import curiosity
from rnd_agents.networks import encoders
from rnd_agents.networks import factory
from rnd_agents.networks import keras_layers
from rnd_agents.networks import rnd_network
from rnd_agents.ops import losses


@gin.configurable(
    module='rnd_agents', denylist=['observation_spec', 'action_spec', 'name']
)
class InverseModel(tf.Module):
  """Predicts actions from features of two observations (Pathak et al., 2017).

  The features f(s), learned with it, represent what the agent can change, and
  little of what changes by itself (section 2.2, eq. 2).
  """

  def __init__(
      self,
      observation_spec: types.NestedTensorSpec,
      action_spec: types.NestedTensorSpec,
      observation_fn: curiosity.ObservationFn | None = None,
      fc_layer_params: Sequence[int] = (128,),
      num_features: int = 128,
      conv_layers: keras_layers.ConvLayers | None = None,
      action_fc_layer_params: Sequence[int] = (256,),
      name: str = 'InverseModel',
  ):
    """Creates the networks.

    Args:
      observation_spec: A nest of tensor specs: raw observations.
      action_spec: A nest of `BoundedTensorSpec`.
      observation_fn: Selects the input of the features; see
        `curiosity.observation_spec`.
      fc_layer_params: Units of the hidden layers of f.
      num_features: F.
      conv_layers: Convolutions of f as (filters, kernel size, stride); None
        chooses them by the image's size.
      action_fc_layer_params: Units of the hidden layers from features to
        action.
      name: Name of the module.
    """
    super().__init__(name=name)
    self.seen = curiosity.SeenObservations(observation_spec, observation_fn)
    owner = type(self).__name__
    factory.check_units(
        owner,
        fc_layer_params=fc_layer_params,
        num_features=(num_features,),
        action_fc_layer_params=action_fc_layer_params,
    )
    factory.check_convolutions(owner, self.seen.spec, conv_layers=conv_layers)
    self.num_features = num_features
    self._network = rnd_network.RNDNetwork(
        self.seen.spec,
        fc_layer_params,
        num_features,
        conv_layers,
        name='Features',
    )
    self._flat_action_spec = tf.nest.flatten(tensor_spec.from_spec(action_spec))
    self._action_layers = encoders.dense_layers(
        action_fc_layer_params,
        sum(action_sizes(self._flat_action_spec)),
        gain=0.01,
    )
    self._action_layers.build([None, 2 * num_features])

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of f and of the layers to the action."""
    return [
        *self._network.trainable_variables,
        *self._action_layers.trainable_weights,
    ]

  def features(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns f of raw observations, float32 [outer..., F], with gradients."""
    features, _ = self._network(self.seen.whiten(observations), training=True)
    return features

  def fixed_features(self, observations: types.NestedTensor) -> tf.Tensor:
    """Returns `features` without gradients, in parts of a large rollout."""
    return tf.stop_gradient(self.seen.in_parts(self.features, observations))

  def errors(
      self,
      features: tf.Tensor,
      next_features: tf.Tensor,
      action: types.NestedTensor,
  ) -> tf.Tensor:
    """Returns the negative log likelihood of actions.

    Args:
      features: f(s), floats [M, F].
      next_features: f(s'), floats [M, F].
      action: A nest of tensors [M, ...].

    Returns:
      float32 [M], with a gradient into f.
    """
    return action_errors(
        self._action_layers(tf.concat([features, next_features], axis=-1)),
        action,
        self._flat_action_spec,
    )


class InverseModelCuriosity(curiosity.Curiosity):
  """The base class of curiosities on the features of an inverse model."""

  def __init__(self, model: InverseModel, *args: Any, **kwargs: Any):
    """Creates the module.

    Args:
      model: An `InverseModel`.
      *args: Arguments of `Curiosity`.
      **kwargs: Arguments of `Curiosity`.
    """
    super().__init__(*args, **kwargs)
    self.model = model

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the inverse model."""
    return self.model.trainable_variables

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the weighted mean loss of the model."""
    transitions.require_whole(self.name)
    errors = self._model_errors(
        self.model.features(transitions.observation),
        self.model.features(transitions.next_observation),
        transitions.action,
    )
    return losses.predictor_loss(errors, transitions.valid, weights)

  def _model_errors(
      self,
      features: tf.Tensor,
      next_features: tf.Tensor,
      action: types.NestedTensor,
  ) -> tf.Tensor:
    """Returns the losses [M] of what is learned; see `InverseModel.errors`."""
    return self.model.errors(features, next_features, action)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the whitening."""
    self.model.seen.update(observations, mask)


def action_sizes(flat_action_spec: Sequence[tf.TensorSpec]) -> list[int]:
  """Returns the number of outputs of each action: logits or means."""
  return [
      (_num_values(spec) or 1) * spec.shape.num_elements()
      for spec in flat_action_spec
  ]


def action_errors(
    outputs: tf.Tensor,
    action: types.NestedTensor,
    flat_action_spec: Sequence[tf.TensorSpec],
) -> tf.Tensor:
  """Returns the negative log likelihood of actions.

  The distribution of a discrete action is categorical. That of another action
  is normal with variance 1, in units of half its range (in its own units if the
  range is infinite); the constant is left out.

  Args:
    outputs: Logits and means, floats [M, sum of `action_sizes`].
    action: A nest of tensors [M, ...].
    flat_action_spec: Specs of its leaves.

  Returns:
    float32 [M].
  """
  terms = [
      _error(output, leaf, spec)
      for output, leaf, spec in zip(
          tf.split(outputs, action_sizes(flat_action_spec), axis=-1),
          tf.nest.flatten(action),
          flat_action_spec,
          strict=True,
      )
  ]
  return tf.add_n(terms)


def encode_actions(
    action: types.NestedTensor, action_spec: types.NestedTensorSpec
) -> tf.Tensor:
  """Returns actions as float32 [M, A]: one-hot, or in units of half ranges.

  Args:
    action: A nest of tensors [M, ...].
    action_spec: A nest of `BoundedTensorSpec`.
  """
  columns = []
  for leaf, spec in zip(
      tf.nest.flatten(action), tf.nest.flatten(action_spec), strict=True
  ):
    num_values = _num_values(spec)
    if num_values:
      leaf = tf.one_hot(_from_0(leaf, spec), num_values)
    else:
      leaf = _in_half_ranges(leaf, spec)
    columns.append(tf.reshape(leaf, [tf.shape(leaf)[0], -1]))
  return tf.concat(columns, axis=-1)


def _num_values(spec: tf.TensorSpec) -> int | None:
  """Returns the number of values of a discrete action; None for others."""
  if not spec.dtype.is_integer:
    return None
  return int(np.max(np.subtract(spec.maximum, spec.minimum, dtype=int))) + 1


def _error(
    output: tf.Tensor, action: tf.Tensor, spec: tf.TensorSpec
) -> tf.Tensor:
  """Returns the negative log likelihood [M] of one leaf of the actions."""
  num_values = _num_values(spec)
  if num_values:
    shape = [-1, spec.shape.num_elements(), num_values]
    labels = tf.reshape(_from_0(action, spec), shape[:2])
    errors = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, tf.reshape(output, shape)
    )
  else:
    wanted = tf.reshape(_in_half_ranges(action, spec), tf.shape(output))
    errors = 0.5 * tf.math.squared_difference(output, wanted)
  return tf.reduce_sum(errors, axis=-1)


def _from_0(action: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
  return tf.cast(action, tf.int64) - tf.cast(spec.minimum, tf.int64)


def _in_half_ranges(action: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
  """Returns a continuous action scaled to [-1, 1]; unscaled without bounds."""
  low, high = (tf.cast(x, tf.float32) for x in (spec.minimum, spec.maximum))
  half = high / 2 - low / 2
  is_bounded = tf.math.is_finite(half) & (half > 0) & (half < 1e30)
  return tf.where(
      is_bounded,
      (tf.cast(action, tf.float32) - (high / 2 + low / 2))
      / tf.where(is_bounded, half, 1.0),
      tf.cast(action, tf.float32),
  )
