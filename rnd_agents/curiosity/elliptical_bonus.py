# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""E3B: elliptical bonuses within an episode."""

import gin
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import ranges
from rnd_agents.curiosity import episodic_memory
from rnd_agents.curiosity import inverse_model


@gin.configurable(module='rnd_agents', denylist=['model', 'name'])
class EllipticalBonus(
    episodic_memory.EpisodicBonus, inverse_model.InverseModelCuriosity
):
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
      ridge: Lambda, the diagonal of C at the begin of an episode, in units of
        the features' squares. A smaller one pays more for its first steps.
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
    ranges.check_above_0(f'{name}.', ridge=ridge)
    self._memory = episodic_memory.EllipticalMemory(
        model.fixed_features, model.num_features, ridge, name=name
    )


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
