# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random actions of a space, and actions as bytes."""

from typing import Any, List, Sequence

from gymnasium import spaces
import numpy as np

from rnd_agents import errors


class Actions:
  """The actions of a Discrete, MultiDiscrete or bounded Box space.

  Attributes:
    space: the space of one environment.
    num_bytes: of a packed action.
  """

  def __init__(self, space: spaces.Space):
    """Creates an Actions of `space`.

    Raises:
      InvalidType: the space is another one.
      InvalidValue: a bound is infinite.
    """
    if not isinstance(
        space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)
    ):
      raise errors.InvalidType(
          'Archive exploration needs actions of a Discrete, MultiDiscrete or'
          f' Box space, not {space}.'
      )
    if isinstance(space, spaces.Box) and not space.is_bounded():
      raise errors.InvalidValue(
          f'Random actions need bounds, and {space} has none: rescale the'
          ' actions in a wrapper.'
      )
    self.space = space
    self._dtype = np.dtype(space.dtype)
    if isinstance(space, spaces.Discrete) and space.start >= 0:
      # A byte an action, for most of them.
      self._dtype = np.min_scalar_type(int(space.start + space.n - 1))
    self.num_bytes = self._dtype.itemsize * int(np.prod(space.shape, dtype=int))

  def sample(self, rng: np.random.Generator) -> Any:
    """Returns a uniformly random action."""
    space = self.space
    if isinstance(space, spaces.Discrete):
      return space.dtype.type(rng.integers(space.n) + space.start)
    if isinstance(space, spaces.MultiDiscrete):
      return (rng.integers(space.nvec) + space.start).astype(space.dtype)
    if space.dtype.kind == 'f':
      return rng.uniform(space.low, space.high).astype(space.dtype)
    return rng.integers(space.low, space.high, space.shape, space.dtype, True)

  def pack(self, actions: Sequence[Any]) -> bytes:
    """Returns actions as bytes, to be joined with those of later actions."""
    return np.array(actions, self._dtype).tobytes()

  def unpack(self, data: bytes) -> np.ndarray:
    """Returns the actions of `pack`, [T, ...], of the space's dtype."""
    flat = np.frombuffer(data, self._dtype).astype(self.space.dtype)
    return flat.reshape(-1, *self.space.shape)

  def listed(self, data: bytes) -> List[Any]:
    """Returns the actions of `pack`, as an environment takes them."""
    return list(self.unpack(data))
