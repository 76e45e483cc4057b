# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scripted experts: functions of a batch of observations.

  python -m train.collect_demos --env=MountainCar-v0 --episodes=10 \
      --expert=rnd_agents.tasks.scripted_experts:mountain_car \
      --out=demos.tfrecord

An expert takes observations [B, ...] and returns actions [B]. If it has a
parameter `time_step`, it also gets the time step, which says where episodes
begin: docs/r2d3.md.
"""

import gin
import numpy as np

from rnd_agents import errors
from rnd_agents.tasks import deep_sea as deep_sea_module

_LEFT, _RIGHT = 0, 2  # Actions of MountainCar.


def mountain_car(observation: np.ndarray) -> np.ndarray:
  """Pushes in the direction of the velocity, which solves MountainCar-v0.

  It takes about 120 steps for an episode, which is not the best possible.

  Args:
    observation: Position and velocity, float32 [B, 2].

  Returns:
    int64 [B].
  """
  return np.where(observation[:, 1] < 0, _LEFT, _RIGHT).astype(np.int64)


@gin.configurable(module='rnd_agents', denylist=['observation'])
def deep_sea(
    observation: np.ndarray,
    mapping_seed: int = deep_sea_module.DEFAULT_MAPPING_SEED,
    randomize_actions: bool = True,
) -> np.ndarray:
  """Steers right in every row, which solves rnd_agents/DeepSea-v0.

  Args:
    observation: float32 [B, N, N], 1 at the diver's cell; zeros at the end.
    mapping_seed: Argument of the environment.
    randomize_actions: Argument of the environment.

  Returns:
    int64 [B].

  Raises:
    SetupError: If there is no `mapping_seed`, so that the mapping is unknown.
  """
  if mapping_seed is None and randomize_actions:
    raise errors.SetupError(
        'The expert needs the mapping_seed of its Deep Sea: with None each'
        ' environment has a mapping of its own. Give both the same number.'
    )
  mapping = deep_sea_module.make_action_mapping(
      observation.shape[-1], mapping_seed, randomize_actions
  )
  return np.sum(observation * mapping, axis=(1, 2)).astype(np.int64)
