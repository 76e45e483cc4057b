# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Discounts of steps that lose a life, by what their infos say."""

from typing import Any, Dict, Optional

import numpy as np

from rnd_agents import ranges
from rnd_agents.environments import failures


def create(
    key: Optional[str], discount: float, num_environments: int
) -> Optional['Lives']:
  """Returns the `Lives` of these settings; None if no lives are counted.

  Args:
    key: of the infos, how many lives are left; None counts none.
    discount: what a lost life leaves of the discount.
    num_environments: B.

  Raises:
    EnvironmentSetupError: the discount would have no effect.
    ValueError: it is not between 0 and 1.
  """
  ranges.check(
      dict(life_discount=ranges.WITHIN_0_AND_1),
      dict(life_discount=discount),
      'load_environment.',
  )
  if key is not None:
    return Lives(key, discount, num_environments)
  if discount != 0:
    raise failures.EnvironmentSetupError(
        'life_discount has no effect without lives_key, the key of the infos '
        "that says how many lives are left: 'lives' in Atari games."
    )
  return None


class Lives:
  """Compares the lives left with those before.

  Attributes:
    left: lives of each environment, [B]; 0 before the first infos.
  """

  def __init__(self, key: str, discount: float, num_environments: int):
    """Creates a Lives.

    Args:
      key: of the infos, how many lives are left.
      discount: what a lost life leaves of the discount.
      num_environments: B.
    """
    self._key = key
    self._discount = discount
    self.left = np.zeros(num_environments)

  def discounts(
      self, infos: Dict[str, Any], is_first: np.ndarray
  ) -> np.ndarray:
    """Returns what lives lost since the last call leave of discounts, [B].

    Args:
      infos: Gymnasium's. An environment that does not give the key has as many
        lives as before.
      is_first: bool [B], where an episode begins: nothing is lost there.

    Returns:
      Floats: the discount of a lost life where one was lost, 1 elsewhere.

    Raises:
      EnvironmentFailure: no environment gives the key within an episode.
    """
    before = self.left
    if self._key in infos:
      given = infos.get(f'_{self._key}', True)  # Gymnasium's mark.
      self.left = np.where(given, infos[self._key], before)
    elif not is_first.all():
      told = sorted(key for key in infos if not key.startswith('_'))
      raise failures.EnvironmentFailure(
          f'load_environment.lives_key is {self._key!r}, which is not among its'
          f' infos {told}.'
      )
    lost = np.logical_and(self.left < before, ~is_first)
    return np.where(lost, self._discount, 1.0)
