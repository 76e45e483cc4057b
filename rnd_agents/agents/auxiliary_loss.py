# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses that train the policy's trunk besides those of PPO."""

import abc
from collections.abc import Callable, Sequence
from typing import TypeAlias

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
from rnd_agents.ops import losses

# From raw observations [n, ...] to the trunk's features, floats [n, F].
Features: TypeAlias = Callable[[types.NestedTensor], tf.Tensor]


class AuxiliaryLoss(tf.Module, abc.ABC):
  """A loss of transitions with a gradient into the policy's trunk.

  `RNDPPOAgent` adds it to the loss of every minibatch; its variables are
  trained by the optimizer of the policy, and are part of checkpoints.
  """

  def __init__(self, coefficient: float, name: str):
    """Creates the module.

    Args:
      coefficient: Factor of the loss.
      name: Name of the module.
    """
    super().__init__(name=name)
    self.coefficient = coefficient

  @property
  @abc.abstractmethod
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the loss alone."""

  @abc.abstractmethod
  def loss(
      self,
      features: Features,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
  ) -> tf.Tensor:
    """Returns the mean loss, a scalar, without the coefficient.

    Args:
      features: The trunk, a function of raw observations.
      transitions: `Transitions` [n].
      weights: Factors of each one's loss, [n], or None for 1.
    """


# From (time step spec, action spec, F) to a loss, or None for none.
AuxiliaryLossFn: TypeAlias = Callable[
    [ts.TimeStep, types.NestedTensorSpec, int], AuxiliaryLoss | None
]


class InverseDynamics(AuxiliaryLoss):
  """Predicts the action from the trunk's features before and after it.

  The features then have what the agent can change (Pathak et al., 2017,
  equation 2; as an auxiliary task of a policy: Shelhamer et al., 2016).
  """

  def __init__(
      self,
      action_spec: types.NestedTensorSpec,
      num_features: int,
      coefficient: float = 0.1,
      fc_layer_params: Sequence[int] = (256,),
      name: str = 'InverseDynamics',
  ):
    """Creates the layers from features to actions.

    Args:
      action_spec: A nest of `BoundedTensorSpec`.
      num_features: F.
      coefficient: As for `AuxiliaryLoss`.
      fc_layer_params: Units of the hidden layers.
      name: Name of the module.
    """
    super().__init__(coefficient, name)
    self._flat_action_spec = tf.nest.flatten(tensor_spec.from_spec(action_spec))
    self._layers = encoders.dense_layers(
        fc_layer_params,
        sum(inverse_model.action_sizes(self._flat_action_spec)),
        gain=0.01,
    )
    self._layers.build([None, 2 * num_features])

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the layers from features to actions."""
    return self._layers.trainable_weights

  def loss(
      self,
      features: Features,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
  ) -> tf.Tensor:
    """Returns the mean negative log likelihood of the actions."""
    both = [
        features(transitions.observation),
        features(transitions.next_observation),
    ]
    outputs = self._layers(tf.cast(tf.concat(both, axis=-1), tf.float32))
    errors = inverse_model.action_errors(
        outputs, transitions.action, self._flat_action_spec
    )
    return losses.predictor_loss(errors, transitions.valid, weights)


@gin.configurable(
    module='rnd_agents',
    denylist=['time_step_spec', 'action_spec', 'num_features'],
)
def create_inverse_dynamics(
    time_step_spec: ts.TimeStep,
    action_spec: types.NestedTensorSpec,
    num_features: int,
    coefficient: float = 0.1,
    fc_layer_params: Sequence[int] = (256,),
) -> InverseDynamics | None:
  """Builds `InverseDynamics`, for `create_rnd_ppo_agent.auxiliary_loss_fn`.

  Args:
    time_step_spec: Not used.
    action_spec: A nest of `BoundedTensorSpec`.
    num_features: Features of the trunk.
    coefficient: Factor of the loss; a higher one makes the trunk represent more
      of what the agent can change. At 0 nothing is built.
    fc_layer_params: Units of the hidden layers from features to actions.

  Returns:
    The loss; None with a coefficient of 0.
  """
  del time_step_spec
  owner = 'create_inverse_dynamics'
  ranges.check(
      dict(coefficient=ranges.AT_LEAST_0),
      dict(coefficient=coefficient),
      f'{owner}.',
  )
  factory.check_units(owner, fc_layer_params=fc_layer_params)
  if not coefficient:
    return None
  return InverseDynamics(
      action_spec, num_features, coefficient, fc_layer_params
  )
