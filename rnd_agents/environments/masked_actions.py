# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Puts the action mask of an environment into its observations."""

from collections.abc import Iterator
import re
from typing import Any

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces

# Names that environments give to their masks.
_LIKELY = re.compile('mask|legal|avail|valid|allowed', re.IGNORECASE)


def likely_keys(
    action_space: spaces.Space, values: dict[Any, Any]
) -> Iterator[str]:
  """Yields keys of an observation or an info that may hold an action mask."""
  counts = gymnasium_spaces.num_values(action_space)
  if counts is None:
    return
  for key, value in values.items():
    if isinstance(key, str) and _LIKELY.search(key):
      flat = _flat(value)
      if flat.shape == (np.sum(counts),) and np.isin(flat, (0, 1)).all():
        yield key


def _flat(mask: Any) -> np.ndarray:
  """Returns a mask, or the masks of several entries, as one row."""
  if isinstance(mask, (tuple, list)):
    mask = [np.ravel(part) for part in mask]
  return np.hstack(mask).ravel()


class MaskedActions(gymnasium.Wrapper):
  """Observes a dict of the `observation` and the `action_mask`.

  The mask comes from a key of the observation, or else of the infos: a 0 or a 1
  for each value of a discrete action; for several entries (`MultiDiscrete`),
  their masks one after the other. Here it is uint8 [*shape of the action,
  largest number of values]. The last observation of an episode, after which no
  action counts, may allow none and may come without a mask.
  """

  def __init__(self, env: gymnasium.Env, key: str):
    """Creates a MaskedActions.

    Args:
      env: The environment.
      key: Key of the mask.
    """
    super().__init__(env)
    self._key = key
    space = env.observation_space
    self._is_observed = isinstance(space, spaces.Dict) and key in space.spaces
    if self._is_observed:
      rest = {k: part for k, part in space.spaces.items() if k != key}
      if not rest:
        raise failures.EnvironmentSetupError(
            f'The observation has no part but its action mask {key!r}.'
        )
      space = spaces.Dict(rest)
    counts = gymnasium_spaces.num_values(env.action_space)
    if counts is None:
      raise failures.EnvironmentSetupError(
          'load_environment.action_mask_key needs a Discrete or MultiDiscrete'
          f' action, and the action is {env.action_space}: leave it out.'
      )
    # Values that exist, [*shape, largest number].
    self._exists = np.arange(np.max(counts)) < counts[..., np.newaxis]
    self.observation_space = gymnasium_spaces.SpaceWithMask(
        observation=space,
        action_mask=spaces.Box(0, 1, self._exists.shape, np.uint8),
    )

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    observation, info = self.env.reset(**kwargs)
    return self._with_mask(observation, info, False), info

  def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    observation, reward, terminated, truncated, info = self.env.step(action)
    observation = self._with_mask(observation, info, terminated or truncated)
    return observation, reward, terminated, truncated, info

  def _with_mask(
      self, observation: Any, info: dict[str, Any], ended: Any
  ) -> dict[str, Any]:
    if self._is_observed:
      mask = observation[self._key]
      observation = {k: v for k, v in observation.items() if k != self._key}
    else:
      mask = info.get(self._key)
    full = self._exists.astype(np.uint8)
    if mask is None and not ended:
      raise failures.EnvironmentFailure(
          f'load_environment.action_mask_key is {self._key!r}, which is a key'
          f' neither of its observation nor of its infos {sorted(info)}.'
      )
    if mask is not None:
      full[self._exists] = self._checked(mask)
      if not full.any(axis=-1).all():
        if not ended:
          raise failures.EnvironmentFailure(
              f'its action mask {self._key!r} allows no action: {mask}.'
          )
        full = self._exists.astype(np.uint8)
    return dict(observation=observation, action_mask=full)

  def _checked(self, mask: Any) -> np.ndarray:
    """Returns a mask as one row of 0 and 1."""
    flat = _flat(mask)
    size = int(self._exists.sum())
    if flat.shape != (size,) or not np.isin(flat, (0, 1)).all():
      raise failures.EnvironmentFailure(
          f'its action mask {self._key!r} must be {size} numbers, 1 for each'
          f' allowed action and 0 for others, and is {mask}.'
      )
    return flat


class OnlyAllowed(gymnasium.Wrapper):
  """Takes for a forbidden value of an action the next one that is allowed.

  For the checker, whose random actions are those of the whole space.
  """

  def __init__(self, env: MaskedActions):
    super().__init__(env)
    self._mask = np.ones(env.observation_space['action_mask'].shape, np.uint8)

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    observation, info = self.env.reset(**kwargs)
    self._mask = observation['action_mask']
    return observation, info

  def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    value = np.asarray(gymnasium_spaces.from_zero(self.action_space, action))
    size = self._mask.shape[-1]
    # All values of each entry, its own first.
    values = (value[..., np.newaxis] + np.arange(size)) % size
    order = np.take_along_axis(self._mask, values, axis=-1).argmax(axis=-1)
    if np.any(order):
      allowed = (value + order) % size
      action = (action - value + allowed).astype(self.action_space.dtype)
    values = self.env.step(action)
    self._mask = values[0]['action_mask']
    return values
