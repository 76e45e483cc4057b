# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stacks of frames that travel."""

import zlib

import numpy as np
import pytest

from rnd_agents import frame_stacks


def _stacks(num_frames, starts):
  """Stacks [2, 6, 5, 7, C] of random frames; `starts`: (b, row) of episodes."""
  frames = np.random.RandomState(0).randint(
      0, 256, [2, 6, 5, 7], dtype=np.uint8
  )
  stacks = np.zeros([2, 6, 5, 7, num_frames], np.uint8)
  for b in range(2):
    stack = [frames[b, 0]] * num_frames
    for row in range(6):
      is_start = row == 0 or (b, row) in starts
      newest = frames[b, row]
      stack = [newest] * num_frames if is_start else [*stack[1:], newest]
      stacks[b, row] = np.stack(stack, axis=-1)
  return stacks


@pytest.mark.parametrize('starts', [(), ((0, 3), (1, 1), (1, 5))])
@pytest.mark.parametrize('num_frames', [1, 2, 4])
def test_each_frame_travels_once(num_frames, starts):
  stacks = _stacks(num_frames, starts)
  packed = frame_stacks.pack(stacks)
  np.testing.assert_array_equal(frame_stacks.unpack(packed), stacks)
  assert frame_stacks.unpack(packed).flags['C_CONTIGUOUS']
  # Of each stack a flag, the newest frame, and of first ones the others.
  num_older = (2 + len(starts)) * (num_frames - 1)
  contents = [zlib.decompress(part) for part in packed.parts]
  assert sum(map(len, contents)) == 2 * 6 + (2 * 6 + num_older) * 5 * 7
  assert packed.nbytes == sum(map(len, packed.parts))


def test_what_is_no_stack_travels_whole():
  noise = np.random.RandomState(1).randint(
      0, 256, [2, 3, 4, 4, 3], dtype=np.uint8
  )
  packed = frame_stacks.pack(noise)
  np.testing.assert_array_equal(frame_stacks.unpack(packed), noise)
  assert {len(zlib.decompress(part)) for part in packed.parts} == {
      3 + 3 * 3 * 4 * 4
  }
  for other in (noise.astype(np.float32), noise[..., 0]):
    assert frame_stacks.pack(other) is other
    assert frame_stacks.unpack(other) is other
