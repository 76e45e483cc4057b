# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Discounts of steps that lose a life, from the lives in their infos."""

from typing import Any, Optional

import numpy as np

from rnd_agents import ranges
from rnd_agents.environments import failures


def create_lives(
    key: str | None, discount: float, num_environments: int
) -> Optional['Lives']:
  """Returns the `Lives` of these settings; None if lives are not counted.

  Args:
    key: Key of the infos with the number of lives left; None for no lives.
    discount: Factor on the discount of a step that loses a life.
    num_environments: B.
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
  """Finds the steps that lose a life.

  Attributes:
    left: Lives left in each environment, [B]; 0 before the first infos.
  """

  def __init__(self, key: str, discount: float, num_environments: int):
    """Creates a Lives.

    Args:
      key: Key of the infos with the number of lives left.
      discount: Factor on the discount of a step that loses a life.
      num_environments: B.
    """
    self._key = key
    self._discount = discount
    self.left = np.zeros(num_environments)

  def discounts(
      self, infos: dict[str, Any], is_first: np.ndarray
  ) -> np.ndarray:
    """Returns factors on the discounts: below 1 where a life was lost, [B].

    Args:
      infos: Gymnasium's infos. An environment without the key has as many lives
        as before.
      is_first: Booleans [B], where an episode begins and no life can be lost.

    Returns:
      Floats: the discount of a lost life where one was lost, 1 elsewhere.

    Raises:
      EnvironmentFailure: If no environment gives the key within an episode.
    """
    before = self.left
    if self._key in infos:
      given = infos.get(f'_{self._key}', True)  # Gymnasium's mark.
      left = np.asarray(infos[self._key])
      if left.dtype.kind not in 'biuf' or left.size not in (1, before.size):
        raise failures.EnvironmentFailure(
            f'load_environment.lives_key is {self._key!r}, whose values in its'
            f' infos are not numbers: {left.tolist()}.'
        )
      self.left = np.where(given, left.ravel(), before)
    elif not is_first.all():
      told = sorted(str(key) for key in infos if str(key)[:1] != '_')
      raise failures.EnvironmentFailure(
          f'load_environment.lives_key is {self._key!r}, which is not among its'
          f' infos {told}.'
      )
    lost = np.logical_and(self.left < before, ~is_first)
    return np.where(lost, self._discount, 1.0)
