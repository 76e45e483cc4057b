# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compresses stacks of frames: each frame once, by zlib."""

import zlib

import numpy as np

# Python's fastest: more than this saves little and takes several times as long.
_LEVEL = 1


def compress(stacks):
  """Compresses stacks of frames that follow on each other.

  Of a stack that is the one before, moved by one frame, it keeps only the
  newest frame, which is the last.

  Args:
    stacks: uint8 [L, height, width, C].

  Returns:
    Bytes, for `expand`.
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


def expand(compressed, stacks):
  """Fills stacks of frames from what `compress` returned of them.

  Args:
    compressed: Bytes.
    stacks: uint8 [L, height, width, C].
  """
  length, height, width, channels = stacks.shape
  content = zlib.decompress(compressed)
  is_moved = np.frombuffer(content, np.bool_, length)
  frames = np.frombuffer(content, np.uint8, offset=length)
  frames = frames.reshape(-1, height, width)
  if channels == 1:
    stacks[..., 0] = frames
    return
  # Which frame each channel of each stack is.
  indices = np.empty([length, channels], np.int64)
  num_read = 0
  for t in range(length):
    num_new = 1 if is_moved[t] else channels
    indices[t, :-num_new] = indices[t - 1, num_new:]
    indices[t, -num_new:] = range(num_read, num_read + num_new)
    num_read += num_new
  for channel in range(channels):
    stacks[..., channel] = frames[indices[:, channel]]
