# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stores one array of each sequence: as it is, or compressed if it is images.

Both kinds of column have places 0 to capacity - 1, which may be written again,
and can grow.
"""

from concurrent import futures

import numpy as np
import tensorflow as tf

from rnd_agents import frame_stacks


def create(spec, capacity, compresses_images):
  """Returns the column of a leaf.

  Args:
    spec: `TensorSpec` [L, ...] of the leaf of one sequence.
    capacity: Number of places.
    compresses_images: Whether uint8 images, [L, height, width, channels], are
      compressed.
  """
  if compresses_images and is_images(spec):
    return ImageColumn(tuple(spec.shape), capacity)
  return ArrayColumn(tuple(spec.shape), spec.dtype.as_numpy_dtype, capacity)


def is_images(spec):
  """Whether a `TensorSpec` is of uint8 [L, height, width, channels]."""
  return spec.shape.rank == 4 and spec.dtype == tf.uint8


class ArrayColumn:
  """Arrays, side by side in one that takes memory as it is filled."""

  def __init__(self, shape, dtype, capacity):
    self._values = np.empty((capacity, *shape), dtype)

  def grow(self, capacity):
    """Adds places until there are `capacity`."""
    values = np.empty((capacity, *self._values.shape[1:]), self._values.dtype)
    values[: len(self._values)] = self._values
    self._values = values

  def put(self, places, values):
    """Stores arrays [n, ...] at places [n]."""
    self._values[places] = values

  def take(self, places):
    """Returns the arrays [n, ...] at places [n]."""
    return self._values[places]

  def packed(self, first, count):
    """Returns what `unpack` takes, by name, of `count` places."""
    return {'values': self._values[first : first + count]}

  def unpack(self, first, packed):
    """Puts back what `packed` returned."""
    values = packed['values']
    self._values[first : first + len(values)] = values


class ImageColumn:
  """Images, each sequence of them compressed as `frame_stacks` does it."""

  def __init__(self, shape, capacity):
    self._shape = shape
    self._compressed = [b''] * capacity
    # zlib lets other threads run.
    self._pool = futures.ThreadPoolExecutor()

  def grow(self, capacity):
    """Adds places until there are `capacity`."""
    self._compressed += [b''] * (capacity - len(self._compressed))

  def put(self, places, values):
    """Stores images [n, L, height, width, C] at places [n]."""
    contents = self._pool.map(frame_stacks.compress, values)
    for place, content in zip(places, contents):
      self._compressed[place] = content

  def take(self, places):
    """Returns the images [n, L, height, width, C] at places [n]."""
    values = np.empty((len(places), *self._shape), np.uint8)

    def fill(i):
      frame_stacks.expand(self._compressed[places[i]], values[i])

    for _ in self._pool.map(fill, range(len(places))):
      pass  # What one of them raises is raised here.
    return values

  def packed(self, first, count):
    """Returns what `unpack` takes, by name, of `count` places."""
    parts = self._compressed[first : first + count]
    return {
        'lengths': np.array([len(part) for part in parts]),
        'compressed': np.frombuffer(b''.join(parts), np.uint8),
    }

  def unpack(self, first, packed):
    """Puts back what `packed` returned."""
    content, start = packed['compressed'].tobytes(), 0
    for i, length in enumerate(packed['lengths'].tolist()):
      self._compressed[first + i] = content[start : start + length]
      start += length
