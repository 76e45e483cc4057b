# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compresses stacked frames for sending: each frame is sent once."""

import dataclasses

import numpy as np

from rnd_agents import frame_stacks


@dataclasses.dataclass(frozen=True)
class PackedFrames:
  """Stacks of frames, compressed.

  Attributes:
    shape: (B, N, H, W, C): B environments, N rows that follow on each other, C
      frames in a stack, the newest one last.
    parts: bytes of each environment, as `frame_stacks.compress` returns them.
  """

  shape: tuple[int, ...]
  parts: tuple[bytes, ...]

  @property
  def nbytes(self) -> int:
    """Number of bytes, as of an array."""
    return sum(map(len, self.parts))


def pack(array: np.ndarray) -> PackedFrames | np.ndarray:
  """Packs uint8 [B, N, H, W, C]; other arrays are returned as they are."""
  if array.dtype != np.uint8 or array.ndim != 5:
    return array
  return PackedFrames(array.shape, tuple(map(frame_stacks.compress, array)))


def unpack(array: PackedFrames | np.ndarray) -> np.ndarray:
  """Returns the array that `pack` was given."""
  if not isinstance(array, PackedFrames):
    return array
  stacks = np.empty(array.shape, np.uint8)
  for part, of_environment in zip(array.parts, stacks, strict=True):
    frame_stacks.expand(part, of_environment)
  return stacks
