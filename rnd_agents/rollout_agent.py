# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of agents that learn from whole rollouts."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class RolloutAgent(Protocol):
  """A `TFAgent` whose `train` takes whole rollouts [B, T+1]."""

  def check_rollout(self, num_environments: int, rollout_length: int) -> None:
    """Raises InvalidValue unless `train` can learn from such rollouts.

    Args:
      num_environments: B.
      rollout_length: T, the transitions of each environment.
    """
