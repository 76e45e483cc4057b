# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""E3B: elliptical bonuses within an episode."""

import gin
import tensorflow as tf

from rnd_agents import ranges
from rnd_agents.curiosity import curiosity
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import inverse_model
from rnd_agents.ops import rnd


@gin.configurable(module='rnd_agents', denylist=['model', 'name'])
class EllipticalBonus(curiosity.Curiosity):
  """The elliptical episodic bonus, E3B (Henaff et al., 2022, arXiv 2210.05805).

      f(s')' C^-1 f(s'),   C = ridge I + sum of f(s) f(s)' over the episode

  where f are the features of an inverse model. It counts visits within the
  episode where features are one-hot, and needs no novelty over a lifetime: it
  serves where every episode is another world.
  """

  def __init__(
      self,
      model,
      ridge=0.1,
      discount_factor=0.99,
      scale_horizon_env_steps=None,
      least_scale_share=0.0,
      name='EllipticalBonus',
  ):
    """Creates the module.

    Args:
      model: An `InverseModel`.
      ridge: Lambda: what C has on its diagonal at an episode's begin.
      discount_factor: As for `Curiosity`, like those below.
      scale_horizon_env_steps: See there.
      least_scale_share: See there.
      name: Name of the module.

    Raises:
      ValueError: If ridge is out of range.
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
  def trainable_variables(self):
    """The inverse model's."""
    return self.model.trainable_variables

  @property
  def episodic_spec(self):
    """The bonus itself."""
    return tf.TensorSpec([], tf.float32)

  def episodic(self, transitions):
    """As for `Curiosity`."""
    return self._memory.values(transitions)

  def bonus(self, transitions, constants=None):
    """As for `Curiosity`; of replayed transitions as it was."""
    return self.episodic_part(transitions)

  def loss(self, transitions, weights=None, constants=None):
    """As for `Curiosity`: the inverse model's error, weighted."""
    transitions.require_whole(self.name)
    errors = self.model.errors(
        self.model.features(transitions.observation),
        self.model.features(transitions.next_observation),
        transitions.action,
    )
    return rnd.predictor_loss(errors, transitions.valid, weights)

  def update_statistics(self, transitions):
    """As for `Curiosity`; the memory of the episodes goes on, too."""
    self._memory.update(transitions)
    super().update_statistics(transitions)

  def update_observation_statistics(self, observations, mask=None):
    """Takes raw observations [outer..., *shape] into the whitening."""
    self.model.seen.update(observations, mask)


@gin.configurable(
    module='rnd_agents', denylist=['time_step_spec', 'action_spec']
)
def create_e3b(time_step_spec, action_spec):
  """Builds `EllipticalBonus` on an `InverseModel`; gin binds theirs.

  Args:
    time_step_spec: A `TimeStep` spec.
    action_spec: A nest of `BoundedTensorSpec`.

  Returns:
    An `EllipticalBonus`.
  """
  return EllipticalBonus(
      inverse_model.InverseModel(time_step_spec.observation, action_spec)
  )
