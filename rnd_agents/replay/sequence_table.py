# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stores sequences with priorities; saves only those that are new.

The number of a sequence is the number of sequences added before it. Numbers
k * S to k * S + S - 1 are segment k, whose sequences are contiguous in memory
and in one file, `agent_000000012000_00500.npz`, named by its first number and
its length. A full segment is written once. The newest segment is written again
whenever sequences were added to it, under a name with its new length, so that a
file never changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
import io
import os
import sys
from typing import Any

import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import frame_stacks

# Large enough to be written fast, and small compared to a checkpoint.
_SEGMENT_BYTES = 16 * 2**20
_LEAST_SEQUENCES = 8
_LEAST_BYTES_OF_A_THREAD = 32 * 2**10
# Memory for evicted sequences of a segment that is not yet evicted: 1/16.
_SEGMENTS_PER_TABLE = 16


class DamagedReplayError(errors.SetupError):
  """A file of a saved replay is missing or damaged."""


class SumTree:
  """Draws indices in proportion to weights (Schaul et al., 2016, B.2.1).

  The leaves of this binary tree are weights, its nodes are sums. Setting and
  finding n weights takes O(n log size), a few NumPy operations for each level.
  A node is always the sum of its two children and never changed by a
  difference. The tree therefore depends only on its weights, to the last bit,
  and not on the order in which they were set.
  """

  def __init__(self, size: int):
    """Creates a tree of zeros.

    Args:
      size: Number of weights, from 1.
    """
    self._num_levels = (size - 1).bit_length()
    self._first = 1 << self._num_levels  # Node of the first leaf; the root is 1
    self._nodes = np.zeros(2 * self._first)

  @property
  def total(self) -> float:
    """The sum of all weights."""
    return self._nodes[1]

  def weights(self, indices: np.ndarray) -> np.ndarray:
    """Returns the weights, float64 [n], at integer indices [n]."""
    return self._nodes[self._first + indices]

  def set(self, indices: np.ndarray, weights: np.ndarray) -> None:
    """Sets weights.

    Args:
      indices: Integers [n]; the last weight counts for one that comes twice.
      weights: Finite numbers from 0, [n].
    """
    nodes = self._first + np.asarray(indices, np.int64)
    self._nodes[nodes] = weights
    for _ in range(self._num_levels):
      # A node that comes twice gets the same sum twice. To find it first, by
      # sorting, takes three to twelve times as long.
      nodes >>= 1
      self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

  def find(self, positions: np.ndarray) -> np.ndarray:
    """Returns the index at each position of the line of all weights.

    Args:
      positions: Numbers from 0 to below `total`, [n].

    Returns:
      int64 [n]: the first i whose weights 0 to i sum to more than the position.
      Its weight is above 0 in spite of rounding.
    """
    left_over = np.array(positions, np.float64)
    nodes = np.ones(left_over.shape, np.int64)
    for _ in range(self._num_levels):
      nodes *= 2
      left, right = self._nodes[nodes], self._nodes[nodes + 1]
      goes_right = (left_over >= left) & (right > 0.0)
      left_over -= np.where(goes_right, left, 0.0)
      nodes += goes_right
    return nodes - self._first


class SequenceTable:
  """Sequences, all or the newest, drawn in proportion to their weights."""

  def __init__(
      self,
      name: str,
      specs: Sequence[tf.TensorSpec],
      max_size: int | None,
      compresses_images: bool = True,
  ):
    """Creates an empty table.

    Args:
      name: First part of the names of its files.
      specs: `TensorSpec`s [L, ...] of the arrays of one sequence.
      max_size: Number of sequences beyond which the oldest are evicted; None to
        evict none.
      compresses_images: Whether arrays of images are compressed.

    Raises:
      ValueError: If this machine has too little memory.
    """
    self._name = name
    self._max_size = sys.maxsize if max_size is None else max_size
    is_compressed = [compresses_images and _is_images(spec) for spec in specs]
    self._uncompressed_bytes = sum(  # Of a sequence.
        _num_bytes(spec)
        for spec, compressed in zip(specs, is_compressed, strict=True)
        if not compressed
    )
    length = _SEGMENT_BYTES // sum(map(_num_bytes, specs))
    if max_size is not None:
      length = min(length, max_size // _SEGMENTS_PER_TABLE)
    self._segment_length = length = max(length, _LEAST_SEQUENCES)
    # One segment more than the sequences fill: a partly evicted segment keeps
    # its place until all of it is evicted.
    capacity = (-(-(max_size or 0) // length) + 1) * length
    self._check_memory(max_size or capacity, capacity)
    self._columns: list[_ImageColumn | _ArrayColumn] = [
        _ImageColumn(spec, capacity)
        if compressed
        else _ArrayColumn(spec, capacity)
        for spec, compressed in zip(specs, is_compressed, strict=True)
    ]
    self._capacity = capacity
    self._tree = SumTree(capacity)
    self._num_added = 0
    self._saved_files: dict[str, dict[str, int]] = {}

  @property
  def size(self) -> int:
    """The number of sequences."""
    return min(self._num_added, self._max_size)

  @property
  def _first(self) -> int:
    """Number of the oldest sequence."""
    return self._num_added - self.size

  def add(self, leaves: Sequence[np.ndarray], weights: np.ndarray) -> None:
    """Adds sequences, and evicts the oldest ones where the table is full.

    Args:
      leaves: Arrays [n, ...].
      weights: Numbers from 0, [n].

    Raises:
      ValueError: If this machine has too little memory.
    """
    self._make_room(self._num_added + len(weights))
    numbers = self._num_added + np.arange(len(weights))
    places = numbers % self._capacity
    for column, leaf in zip(self._columns, leaves, strict=True):
      column.put(places, leaf)
    first = self._first
    self._num_added += len(weights)
    evicted = np.arange(first, self._first) % self._capacity
    # If these are more than the table holds, only the newest stay.
    weights = np.where(numbers < self._first, 0.0, weights)
    self._tree.set(
        np.concatenate([evicted, places]),
        np.concatenate([np.zeros(evicted.shape), weights]),
    )

  def sample(
      self, uniform: np.ndarray
  ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Draws sequences with replacement.

    Args:
      uniform: Numbers from 0 to below 1, [n].

    Returns:
      A tuple (list of arrays [n, ...], their numbers uint64 [n], their
      probabilities float64 [n]).
    """
    places = self._tree.find(uniform * self._tree.total)
    newest = self._num_added - 1
    numbers = newest - (newest - places) % self._capacity
    probabilities = self._tree.weights(places) / self._tree.total
    arrays = [column.take(places) for column in self._columns]
    return arrays, numbers.astype(np.uint64), probabilities

  def set_weights(self, numbers: np.ndarray, weights: np.ndarray) -> None:
    """Sets weights [n]; numbers of evicted sequences are ignored."""
    numbers = numbers.astype(np.int64)
    is_here = (numbers >= self._first) & (numbers < self._num_added)
    self._tree.set(numbers[is_here] % self._capacity, weights[is_here])

  def save(self, folder: str) -> dict[str, Any]:
    """Writes the sequences that `folder` does not have yet.

    Args:
      folder: Folder of the files of this table.

    Returns:
      The argument of `read` and `restore`, plain data: pairs (name,
      `files.fingerprint`) of the 'files', and the state that is not in them.

    Raises:
      OSError: If writing fails.
    """
    length = self._segment_length
    saved = {}
    for start in range(self._first // length * length, self._num_added, length):
      count = min(length, self._num_added - start)
      name = f'{self._name}_{start:012d}_{count:05d}.npz'
      saved[name] = self._saved_files.get(name) or self._write(
          os.path.join(folder, name), start, count
      )
    self._saved_files = saved
    live = np.arange(self._first, self._num_added) % self._capacity
    return dict(
        files=list(saved.items()),
        num_added=self._num_added,
        weights=self._tree.weights(live),
    )

  def read(self, folder: str, state: Mapping[str, Any]) -> None:
    """Reads the files of a state; the table stays empty until `restore`.

    Args:
      folder: Folder of the files of this table.
      state: Result of `save`.

    Raises:
      DamagedReplayError: If a file is missing or damaged.
    """
    self._make_room(state['num_added'])
    for name, expected in state['files']:
      path = os.path.join(folder, name)
      self._read(path, int(name.split('_')[-2]), expected)

  def restore(self, state: Mapping[str, Any]) -> None:
    """Restores a state whose files `read` has read."""
    self._num_added = state['num_added']
    live = np.arange(self._first, self._num_added) % self._capacity
    self._tree.set(live, state['weights'])
    self._saved_files = dict(state['files'])

  def _make_room(self, num_sequences: int) -> None:
    """Doubles a table that evicts nothing until it holds `num_sequences`."""
    if num_sequences <= self._capacity or self._max_size < sys.maxsize:
      return
    self._check_memory(num_sequences, num_sequences)
    weights = self._tree.weights(np.arange(self._num_added))
    while self._capacity < num_sequences:
      self._capacity *= 2
    for column in self._columns:
      column.grow(self._capacity)
    self._tree = SumTree(self._capacity)
    self._tree.set(np.arange(self._num_added), weights)

  def _check_memory(self, num_sequences: int, num_places: int) -> None:
    """Raises InvalidValue if sequences would not fit into the memory."""
    needed = num_places * self._uncompressed_bytes
    available = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    if needed > available:
      raise errors.InvalidValue(
          f'The table {self._name!r} of PrioritizedReplay takes'
          f' {needed / 2**30:,.0f} GiB for {num_sequences:,} sequences, and'
          f' this machine has {available / 2**30:,.0f} GiB: lower'
          ' PrioritizedReplay.max_sequences, or the length of sequences'
          ' (ReplayTraining.unroll_length and burn_in_length), or read fewer'
          ' demonstrations.'
      )

  def _write(self, path: str, start: int, count: int) -> dict[str, int]:
    arrays: dict[str, Any] = {}
    for i, column in enumerate(self._columns):
      packed = column.packed(start % self._capacity, count)
      arrays.update({f'{i}_{name}': packed[name] for name in packed})
    content = io.BytesIO()
    np.savez(content, **arrays)
    with files.replacing(path, 'wb') as file:
      file.write(content.getbuffer())
    return files.fingerprint_of(content.getbuffer())

  def _read(self, path: str, start: int, expected: dict[str, int]) -> None:
    try:
      if files.fingerprint(path) != expected:
        raise errors.InvalidValue('it has changed')
      with np.load(path) as arrays:
        found = {name: arrays[name] for name in arrays.files}
      for i, column in enumerate(self._columns):
        prefix = f'{i}_'
        column.unpack(
            start % self._capacity,
            {
                name.removeprefix(prefix): value
                for name, value in found.items()
                if name.startswith(prefix)
            },
        )
    except Exception as e:  # Whatever NumPy says of a file of another kind.
      raise DamagedReplayError(
          f'{path}, a part of the replay, is damaged or missing'
          f' ({type(e).__name__}: {e}).'
      ) from e


class _ArrayColumn:
  """One array of each sequence, at places 0 to capacity - 1.

  The memory of a place is taken when it is first written.
  """

  def __init__(self, spec: tf.TensorSpec, capacity: int):
    self._values = np.empty((capacity, *spec.shape), spec.dtype.as_numpy_dtype)

  def grow(self, capacity: int) -> None:
    """Adds places until there are `capacity`."""
    values = np.empty((capacity, *self._values.shape[1:]), self._values.dtype)
    values[: len(self._values)] = self._values
    self._values = values

  def put(self, places: np.ndarray, values: np.ndarray) -> None:
    """Stores arrays [n, ...] at places [n]."""
    self._values[places] = values

  def take(self, places: np.ndarray) -> np.ndarray:
    """Returns the arrays [n, ...] at places [n]."""
    return self._values[places]

  def packed(self, first: int, count: int) -> dict[str, np.ndarray]:
    """Returns the argument of `unpack` for `count` places: arrays by name."""
    return {'values': self._values[first : first + count]}

  def unpack(self, first: int, packed: Mapping[str, np.ndarray]) -> None:
    """Puts back the arrays that `packed` returned."""
    values = packed['values']
    self._values[first : first + len(values)] = values


class _ImageColumn:
  """The images of each sequence, compressed by `frame_stacks`."""

  def __init__(self, spec: tf.TensorSpec, capacity: int):
    self._shape = tuple(spec.shape)
    self._compressed = [b''] * capacity
    # zlib lets other threads run; to hand a small sequence to one takes longer.
    self._map: Callable[..., Iterable[Any]] = map
    if _num_bytes(spec) >= _LEAST_BYTES_OF_A_THREAD:
      self._map = futures.ThreadPoolExecutor().map

  def grow(self, capacity: int) -> None:
    """Adds places until there are `capacity`."""
    self._compressed += [b''] * (capacity - len(self._compressed))

  def put(self, places: np.ndarray, values: np.ndarray) -> None:
    """Stores images [n, L, height, width, C] at places [n]."""
    contents = self._map(frame_stacks.compress, values)
    for place, content in zip(places, contents):
      self._compressed[place] = content

  def take(self, places: np.ndarray) -> np.ndarray:
    """Returns the images [n, L, height, width, C] at places [n]."""
    values = np.empty((len(places), *self._shape), np.uint8)

    def fill(i: int) -> None:
      frame_stacks.expand(self._compressed[places[i]], values[i])

    for _ in self._map(fill, range(len(places))):
      pass  # An exception of a thread is raised here.
    return values

  def packed(self, first: int, count: int) -> dict[str, np.ndarray]:
    """Returns the argument of `unpack` for `count` places: arrays by name."""
    parts = self._compressed[first : first + count]
    return {
        'lengths': np.array([len(part) for part in parts]),
        'compressed': np.frombuffer(b''.join(parts), np.uint8),
    }

  def unpack(self, first: int, packed: Mapping[str, np.ndarray]) -> None:
    """Puts back the arrays that `packed` returned."""
    content, start = packed['compressed'].tobytes(), 0
    for i, length in enumerate(packed['lengths'].tolist()):
      self._compressed[first + i] = content[start : start + length]
      start += length


def _is_images(spec: tf.TensorSpec) -> bool:
  """Returns whether a spec is of uint8 [L, height, width, channels]."""
  return spec.shape.rank == 4 and spec.dtype == tf.uint8


def _num_bytes(spec: tf.TensorSpec) -> int:
  return spec.dtype.size * spec.shape.num_elements()
