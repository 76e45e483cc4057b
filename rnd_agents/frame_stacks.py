# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compresses stacks of frames: each frame once, by zlib."""

import dataclasses
import zlib

import numpy as np

# zlib's fastest: higher levels save little and take several times as long.
_LEVEL = 1


def compress(stacks: np.ndarray) -> bytes:
  """Compresses consecutive stacks of frames.

  If a stack is the previous one moved by one frame, only its newest frame, the
  last one, is stored.

  Args:
    stacks: uint8 [L, height, width, C].

  Returns:
    Bytes for `expand`.
  """
  length, _, _, channels = stacks.shape
  is_moved = np.zeros([length], np.bool_)
  if channels > 1:
    is_same = stacks[1:, ..., :-1] == stacks[:-1, ..., 1:]
    is_moved[1:] = is_same.all(axis=(1, 2, 3))
  is_new = np.repeat(~is_moved[:, np.newaxis], channels, axis=1)
  is_new[:, -1] = True
  frames = np.moveaxis(stacks, -1, 1)[is_new]
  return zlib.compress(is_moved.tobytes() + frames.tobytes(), _LEVEL)


def expand(compressed: bytes, stacks: np.ndarray) -> None:
  """Fills stacks of frames with the result of `compress`.

  Args:
    compressed: Result of `compress`.
    stacks: uint8 [L, height, width, C], which are overwritten.
  """
  length, height, width, channels = stacks.shape
  content = zlib.decompress(compressed)
  is_moved = np.frombuffer(content, np.bool_, length)
  frames = np.frombuffer(content, np.uint8, offset=length)
  if not is_moved.any():
    frames = frames.reshape(length, channels, height, width)
    stacks[...] = np.moveaxis(frames, 1, -1)
    return
  frames = frames.reshape(-1, height, width)
  # Index of the frame in each channel of each stack.
  indices = np.empty([length, channels], np.int64)
  num_read = 0
  for t in range(length):
    num_new = 1 if is_moved[t] else channels
    indices[t, :-num_new] = indices[t - 1, num_new:]
    indices[t, -num_new:] = range(num_read, num_read + num_new)
    num_read += num_new
  for channel in range(channels):
    stacks[..., channel] = frames[indices[:, channel]]


@dataclasses.dataclass(frozen=True)
class PackedFrames:
  """Stacks of frames, compressed.

  Attributes:
    shape: (B, N, H, W, C): B environments, N rows that follow on each other, C
      frames in a stack, the newest one last.
    parts: bytes of each environment, as `compress` returns them.
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
  return PackedFrames(array.shape, tuple(map(compress, array)))


def unpack(array: PackedFrames | np.ndarray) -> np.ndarray:
  """Returns the array that `pack` was given."""
  if not isinstance(array, PackedFrames):
    return array
  stacks = np.empty(array.shape, np.uint8)
  for part, of_environment in zip(array.parts, stacks, strict=True):
    expand(part, of_environment)
  return stacks
