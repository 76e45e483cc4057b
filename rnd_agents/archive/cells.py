# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Key functions: which states of an environment share a cell of the archive.

A key function takes the observation of one environment, as the environment gave
it, and the environment (its outermost wrapper; `env.unwrapped` has the state),
and returns the key: a number, a text, bytes, or a tuple of these. States of
equal keys share a cell, so that the key decides what is worth returning to.

    explore.key_fn = @minigrid_state
"""

from collections.abc import Hashable
import enum
import hashlib
import math
from typing import Any

import gin
import gymnasium
import numpy as np

from rnd_agents import errors
from rnd_agents import observations
from rnd_agents import ranges
from rnd_agents.ops import areas

_DIGEST_BYTES = 16
# An array of more entries is an image if it has the axes of one.
_MIN_IMAGE_SIDE = 16
_RANGES = dict(
    width=ranges.COUNT,
    height=ranges.COUNT,
    levels=areas.GREY_LEVELS,
)


class KeyFailure(errors.UserError, RuntimeError):
  """A key function raised, or returned what cannot be a key."""


@gin.configurable(module='rnd_agents', denylist=['observation', 'env'])
def coarse_observation(
    observation: Any,
    env: gymnasium.Env,
    width: int = 11,
    height: int = 8,
    levels: int = 8,
    digits: int = 2,
) -> bytes:
  """Returns a hash of the coarse observation, 16 bytes.

  Images (uint8, of 16 pixels or more a side, in any layout that
  `rnd_agents.observations` knows) become grey pictures of
  `width` x `height` pixels with `levels` levels, each pixel the mean of its
  area; of a stack of frames the newest counts. 11 x 8 with 8 levels are those
  of Go-Explore (Ecoffet et al., 2019, arXiv 1901.10995). Of all other
  observations every number counts, rounded.

  Args:
    observation: Array, or nest of arrays.
    env: Not used.
    width: Width of the picture in pixels.
    height: Height of the picture in pixels.
    levels: Levels of grey, from 2 to 256.
    digits: Decimals that floating numbers are rounded to.
  """
  ranges.check(_RANGES, locals(), 'coarse_observation.')
  del env
  digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

  def add(part: Any) -> None:
    if isinstance(part, dict):
      for name in sorted(part):
        add(part[name])
    elif isinstance(part, (tuple, list)):
      for each in part:
        add(each)
    else:
      array = np.asarray(part)
      picture = _picture(array)
      if picture is not None:
        array = coarse_image(picture, width, height, levels)
      elif array.dtype.kind == 'f':
        array = np.round(array, digits) + 0.0  # -0.0 becomes 0.0.
      digest.update(array.tobytes())

  add(observation)
  return digest.digest()


def coarse_image(
    image: np.ndarray, width: int, height: int, levels: int
) -> np.ndarray:
  """Returns a small picture, uint8 [height, width], from 0 to levels - 1.

  Args:
    image: uint8 [H, W] or [H, W, C]: three channels are colours, of any other
      number the last is the newest frame.
    width: Width of the result, at most W.
    height: Height of the result, at most H.
    levels: Levels of grey.
  """
  if image.ndim == 3:
    grey = image.mean(-1) if image.shape[-1] == 3 else image[..., -1]
  else:
    grey = image
  rows = areas.shares(grey.shape[0], height)
  columns = areas.shares(grey.shape[1], width)
  small = rows @ grey.astype(np.float32) @ columns.T
  return np.floor(areas.in_levels(small, levels)).astype(np.uint8)


def _picture(array: np.ndarray) -> np.ndarray | None:
  """Returns a picture [H, W] or [H, W, C], the newest of a stack; else None."""
  if array.dtype != np.uint8:
    return None
  if array.ndim == 4:
    array = array[-1]
  axes = (0, 1) if array.ndim == 2 else observations.image_axes(array.shape)
  if axes is None:
    return None
  picture = array.transpose(axes)
  return picture if min(picture.shape[:2]) >= _MIN_IMAGE_SIDE else None


@gin.configurable(module='rnd_agents', denylist=['observation', 'env'])
def position_of_largest(
    observation: np.ndarray, env: gymnasium.Env
) -> tuple[int, ...]:
  """Returns the indices of the largest entry, the last axis first.

  For one-hot pictures such as DeepSea's, of which it is (column, row).

  Args:
    observation: An array.
    env: Not used.
  """
  del env
  index = np.unravel_index(np.argmax(observation), np.shape(observation))
  return tuple(int(i) for i in reversed(index))


@gin.configurable(module='rnd_agents', denylist=['observation', 'env'])
def minigrid_state(observation: Any, env: gymnasium.Env) -> tuple[Any, ...]:
  """Returns the agent and the doors of a MiniGrid task.

  (x, y, direction, what it carries, state of each door, boxes left), of which
  the first two are drawn as a map. A box that was opened is gone. Where loose
  objects lie does not count, or there would be a cell for each place of each.

  Args:
    observation: Not used.
    env: A MiniGrid task.

  Raises:
    InvalidValue: If it is another environment.
  """
  del observation
  task = env.unwrapped
  if not hasattr(task, 'agent_pos'):
    raise errors.InvalidValue(
        f'minigrid_state needs a MiniGrid task, not {env}.'
    )
  x, y = task.agent_pos
  carrying = task.carrying
  doors, boxes = [], 0
  for cell in task.grid.grid:
    if cell is None:
      continue
    if cell.type == 'door':
      # Were open doors told from closed ones, n doors would make 2^n times as
      # many cells.
      doors.append(2 if cell.is_locked else 0)
    elif cell.type == 'box':
      boxes += 1
  return (
      int(x),
      int(y),
      int(task.agent_dir),
      '' if carrying is None else f'{carrying.color} {carrying.type}',
      tuple(doors),
      boxes,
  )


@gin.configurable(module='rnd_agents', denylist=['observation', 'env'])
def ram_bytes(
    observation: Any,
    env: gymnasium.Env,
    addresses: tuple[int, ...] = (),
    divisors: tuple[int, ...] = (),
) -> tuple[int, ...]:
  """Returns some bytes of the console's memory of an ALE game.

  Args:
    observation: Not used.
    env: An ALE game.
    addresses: Addresses of the bytes, from 0 to 127.
    divisors: Whole numbers by which the bytes are divided, rounded down: 16
      makes cells of 16 pixels from a position. Empty for 1 everywhere.

  Raises:
    InvalidValue: If it is another environment, or an address or a divisor is
      missing or out of range.
  """
  del observation
  ale = getattr(env.unwrapped, 'ale', None)
  if ale is None or not addresses:
    raise errors.InvalidValue(
        f'ram_bytes needs an ALE game and addresses, not {env} and'
        f' {addresses}.'
    )
  divisors = divisors or (1,) * len(addresses)
  if len(divisors) != len(addresses) or any(
      not isinstance(divisor, int) or divisor < 1 for divisor in divisors
  ):
    raise errors.InvalidValue(
        f'ram_bytes.divisors must be {len(addresses)} whole numbers from 1, as'
        f' many as addresses, not {divisors}.'
    )
  ram = ale.getRAM()
  if not all(0 <= address < len(ram) for address in addresses):
    raise errors.InvalidValue(
        f'ram_bytes.addresses must be from 0 to {len(ram) - 1}, not'
        f' {addresses}.'
    )
  return tuple(
      int(ram[address]) // divisor
      for address, divisor in zip(addresses, divisors)
  )


def canonical(key: Any) -> Hashable:
  """Returns a key of plain Python numbers, texts, bytes and tuples.

  Raises:
    KeyFailure: If it is something else.
  """
  if isinstance(key, enum.Enum):  # An IntEnum is an int, but no literal.
    key = key.value
  if isinstance(key, (np.generic, np.ndarray)):
    key = key.tolist()
  if isinstance(key, (list, tuple)):
    return tuple(canonical(each) for each in key)
  if isinstance(key, float) and not math.isfinite(key):
    raise KeyFailure(f'it returned {key}; numbers of a key are finite')
  if isinstance(key, (bool, int, float, str, bytes)):
    return key
  raise KeyFailure(
      f'it returned {type(key).__name__}; a key is a number, a text, bytes or a'
      ' tuple of these'
  )
