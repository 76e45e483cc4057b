# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""E3B: elliptical bonuses within an episode."""

from collections.abc import Sequence

import gin
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import inverse_model
from rnd_agents.ops import losses


@gin.configurable(module='rnd_agents', denylist=['model', 'name'])
class EllipticalBonus(curiosity.Curiosity):
  """Pays the elliptical episodic bonus (E3B).

  (Henaff et al., 2022, arXiv 2210.05805.)

      f(s')' C^-1 f(s'),   C = ridge I + sum of f(s) f(s)' over the episode

  where f are the features of an inverse model. It counts visits within the
  episode where features are one-hot, and does not depend on earlier episodes:
  it suits tasks in which every episode is another world.
  """

  def __init__(
      self,
      model: inverse_model.InverseModel,
      ridge: float = 0.1,
      discount_factor: types.Float = 0.99,
      scale_horizon_env_steps: float | None = None,
      least_scale_share: float = 0.0,
      name: str = 'EllipticalBonus',
  ):
    """Creates the module.

    Args:
      model: An `InverseModel`.
      ridge: Lambda, the diagonal of C at the begin of an episode.
      discount_factor: As for `Curiosity`.
      scale_horizon_env_steps: As for `Curiosity`.
      least_scale_share: As for `Curiosity`.
      name: Name of the module.
    """
    super().__init__(
        discount_factor, name, scale_horizon_env_steps, least_scale_share
    )
    ranges.check_above_0(f'{name}.', ridge=ridge)
    self.model = model
    self._memory = episodic_memory.EllipticalMemory(
        model.fixed_features, model.num_features, ridge, name=name
    )

  @property
  def trainable_variables(self) -> Sequence[tf.Variable]:
    """Trainable variables of the inverse model."""
    return self.model.trainable_variables

  @property
  def episodic_spec(self) -> types.NestedTensorSpec:
    """Spec of the bonus itself."""
    return tf.TensorSpec([], tf.float32)

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the bonus of transitions, from the memory of the episodes."""
    return self._memory.values(transitions)

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the bonus; for replayed transitions that of their collection."""
    return self.episodic_part(transitions)

  def loss(
      self,
      transitions: curiosity.Transitions,
      weights: tf.Tensor | None = None,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the weighted mean error of the inverse model."""
    transitions.require_whole(self.name)
    errors = self.model.errors(
        self.model.features(transitions.observation),
        self.model.features(transitions.next_observation),
        transitions.action,
    )
    return losses.predictor_loss(errors, transitions.valid, weights)

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions to the memory of the episodes and the whitening."""
    self._memory.update(transitions)
    super().update_statistics(transitions)

  def update_observation_statistics(
      self, observations: types.NestedTensor, mask: tf.Tensor | None = None
  ) -> None:
    """Adds raw observations [outer..., *shape] to the whitening."""
    self.model.seen.update(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_e3b(
    time_step_spec: ts.TimeStep, action_spec: types.NestedTensorSpec
) -> EllipticalBonus:
  """Builds `EllipticalBonus` on an `InverseModel`; gin binds both."""
  return EllipticalBonus(
      inverse_model.InverseModel(time_step_spec.observation, action_spec)
  )
