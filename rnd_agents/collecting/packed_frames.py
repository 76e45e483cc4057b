# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stacked frames as they travel: each frame once, and compressed."""

import dataclasses
from typing import Tuple
import zlib

import numpy as np

_FASTEST = 1  # A level of zlib.


@dataclasses.dataclass(frozen=True)
class PackedFrames:
  """Stacks of frames in rows that follow on each other.

  Attributes:
    shape: (B, N, C, H, W): B environments, N rows, C frames in a stack, the
      newest one last.
    follows: booleans [B, N]: whether all frames of a row but the newest are
      those of the row before but its oldest.
    newest: the newest frame of each row, compressed.
    older: the other frames of the rows that do not follow, compressed.
  """

  shape: Tuple[int, ...]
  follows: np.ndarray
  newest: bytes
  older: bytes

  @classmethod
  def pack(cls, stacks):
    """Packs uint8 [B, N, H, W, C]; other arrays are returned as they are."""
    if stacks.dtype != np.uint8 or stacks.ndim != 5:
      return stacks
    frames = np.ascontiguousarray(np.moveaxis(stacks, -1, 2))
    follows = np.zeros(stacks.shape[:2], bool)
    follows[:, 1:] = np.all(
        frames[:, 1:, :-1] == frames[:, :-1, 1:], axis=(2, 3, 4)
    )
    return cls(
        frames.shape,
        follows,
        zlib.compress(frames[:, :, -1].tobytes(), _FASTEST),
        zlib.compress(frames[~follows][:, :-1].tobytes(), _FASTEST),
    )

  def unpack(self):
    """Returns the array that was packed."""
    frames = np.empty(self.shape, np.uint8)
    frames[:, :, -1] = self._frames(self.newest).reshape(frames[:, :, -1].shape)
    first = ~self.follows
    frames[first, :-1] = self._frames(self.older).reshape(
        frames[first, :-1].shape
    )
    for row in range(1, self.shape[1]):
      follows = self.follows[:, row]
      frames[follows, row, :-1] = frames[follows, row - 1, 1:]
    return np.ascontiguousarray(np.moveaxis(frames, 2, -1))

  def _frames(self, compressed):
    return np.frombuffer(zlib.decompress(compressed), np.uint8)

  @property
  def nbytes(self):
    """Bytes that travel."""
    return self.follows.nbytes + len(self.newest) + len(self.older)


def unpacked(array):
  """What was packed, of what `PackedFrames.pack` returned."""
  return array.unpack() if isinstance(array, PackedFrames) else array
