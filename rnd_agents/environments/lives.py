# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where environments lose a life, of what their infos say."""

from typing import Any, Dict

import numpy as np

from rnd_agents.environments import errors


class Lives:
  """Compares the lives left with those before.

  Attributes:
    left: lives of each environment, [B]; 0 before the first infos.
  """

  def __init__(self, key: str, num_environments: int):
    """Creates a Lives.

    Args:
      key: of the infos, how many lives are left.
      num_environments: B.
    """
    self._key = key
    self.left = np.zeros(num_environments)

  def lost(self, infos: Dict[str, Any], is_first: np.ndarray) -> np.ndarray:
    """Returns where a life was lost since the last call, bool [B].

    Args:
      infos: Gymnasium's. An environment that does not give the key has as many
        lives as before.
      is_first: bool [B], where an episode begins: nothing is lost there.

    Raises:
      EnvironmentFailure: no environment gives the key within an episode.
    """
    before = self.left
    if self._key in infos:
      given = infos.get(f'_{self._key}', True)  # Gymnasium's mark.
      self.left = np.where(given, infos[self._key], before)
    elif not is_first.all():
      told = sorted(key for key in infos if not key.startswith('_'))
      raise errors.EnvironmentFailure(
          f'load_environment.lives_key is {self._key!r}, which is not among its'
          f' infos {told}.'
      )
    return np.logical_and(self.left < before, ~is_first)
