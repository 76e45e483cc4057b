# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stores sequences with priorities; saves only what is new since the last time.

The number of a sequence says how many were added before it. Numbers k * S to
k * S + S - 1 are segment k, which lies side by side in memory and is one file,
`agent_000000012000_00500.npz` with its first number and its length. A full
segment is never written again; the newest one is written anew, with its length
in its name, once sequences were added. So a file never changes.
"""

import io
import os
import zipfile

import numpy as np

from rnd_agents import errors
from rnd_agents import files
from rnd_agents.replay import columns
from rnd_agents.replay import sum_tree

# Large enough for the disk, and small beside what a checkpoint may take.
_SEGMENT_BYTES = 16 * 2**20
_LEAST_SEQUENCES = 8
# Memory for sequences that were evicted while their segment was not: 1/16.
_SEGMENTS_PER_TABLE = 16


class DamagedReplayError(errors.SetupError):
  """A file of a saved replay is missing or not what was written."""


class SequenceTable:
  """Sequences, all or the newest, drawn in proportion to their weights."""

  def __init__(self, name, specs, max_size, compresses_images=True):
    """Creates an empty table.

    Args:
      name: What its files begin with.
      specs: List of the `TensorSpec`s of the arrays of one sequence.
      max_size: The number of sequences beyond which the oldest are evicted;
        None to evict none.
      compresses_images: Whether arrays of images are compressed.

    Raises:
      ValueError: If the memory of this machine does not suffice.
    """
    self._name = name
    self._max_size = np.inf if max_size is None else max_size
    self._uncompressed_bytes = sum(  # Of a sequence.
        _num_bytes(spec)
        for spec in specs
        if not (compresses_images and columns.is_images(spec))
    )
    length = _SEGMENT_BYTES // sum(map(_num_bytes, specs))
    if max_size is not None:
      length = min(length, max_size // _SEGMENTS_PER_TABLE)
    self._segment_length = length = max(length, _LEAST_SEQUENCES)
    # One segment more than are full of what is not evicted: the one that is
    # partly evicted keeps its place until it is so wholly.
    capacity = (-(-(max_size or 0) // length) + 1) * length
    self._check_memory(max_size or capacity, capacity)
    self._columns = [
        columns.create(spec, capacity, compresses_images) for spec in specs
    ]
    self._capacity = capacity
    self._tree = sum_tree.SumTree(capacity)
    self._num_added = 0
    self._saved_files = set()

  @property
  def size(self):
    """The number of sequences."""
    return min(self._num_added, self._max_size)

  @property
  def _first(self):
    """Number of the oldest sequence."""
    return self._num_added - self.size

  def add(self, leaves, weights):
    """Adds sequences, and evicts the oldest ones where the table is full.

    Args:
      leaves: Arrays [n, ...].
      weights: Numbers from 0, [n].

    Raises:
      ValueError: If the memory of this machine does not suffice.
    """
    self._make_room(self._num_added + len(weights))
    numbers = self._num_added + np.arange(len(weights))
    places = numbers % self._capacity
    for column, leaf in zip(self._columns, leaves, strict=True):
      column.put(places, leaf)
    first = self._first
    self._num_added += len(weights)
    evicted = np.arange(first, self._first) % self._capacity
    # Of more than the table holds, the newest.
    weights = np.where(numbers < self._first, 0.0, weights)
    self._tree.set(
        np.concatenate([evicted, places]),
        np.concatenate([np.zeros(evicted.shape), weights]),
    )

  def sample(self, uniform):
    """Draws sequences with replacement.

    Args:
      uniform: Numbers from 0 to below 1, [n].

    Returns:
      (list of arrays [n, ...], their numbers uint64 [n], their probabilities
      float64 [n]).
    """
    places = self._tree.find(uniform * self._tree.total)
    newest = self._num_added - 1
    numbers = newest - (newest - places) % self._capacity
    probabilities = self._tree.weights(places) / self._tree.total
    arrays = [column.take(places) for column in self._columns]
    return arrays, numbers.astype(np.uint64), probabilities

  def set_weights(self, numbers, weights):
    """Sets weights [n]; numbers of evicted sequences are ignored."""
    numbers = numbers.astype(np.int64)
    is_here = (numbers >= self._first) & (numbers < self._num_added)
    self._tree.set(numbers[is_here] % self._capacity, weights[is_here])

  def save(self, folder):
    """Writes the sequences that `folder` does not have yet.

    Args:
      folder: Where the files lie, for this table only.

    Returns:
      What `read` and `restore` take, picklable: the names of the 'files', and
      what is not in them.

    Raises:
      OSError: If the disk does not take it.
    """
    length = self._segment_length
    names = []
    for start in range(self._first // length * length, self._num_added, length):
      count = min(length, self._num_added - start)
      names.append(f'{self._name}_{start:012d}_{count:05d}.npz')
      if names[-1] not in self._saved_files:
        self._write(os.path.join(folder, names[-1]), start, count)
    self._saved_files = set(names)
    live = np.arange(self._first, self._num_added) % self._capacity
    return dict(
        files=names,
        num_added=self._num_added,
        weights=self._tree.weights(live),
    )

  def read(self, folder, state):
    """Reads the files of what `save` returned; the table stays as it was.

    Raises:
      DamagedReplayError: If a file is missing or damaged.
    """
    self._make_room(state['num_added'])
    for name in state['files']:
      self._read(os.path.join(folder, name), int(name.split('_')[-2]))

  def restore(self, state):
    """Goes on from what `save` returned, after `read`."""
    self._num_added = state['num_added']
    live = np.arange(self._first, self._num_added) % self._capacity
    self._tree.set(live, state['weights'])
    self._saved_files = set(state['files'])

  def _make_room(self, num_sequences):
    """Doubles a table that evicts nothing until it holds `num_sequences`."""
    if num_sequences <= self._capacity or self._max_size < np.inf:
      return
    self._check_memory(num_sequences, num_sequences)
    weights = self._tree.weights(np.arange(self._num_added))
    while self._capacity < num_sequences:
      self._capacity *= 2
    for column in self._columns:
      column.grow(self._capacity)
    self._tree = sum_tree.SumTree(self._capacity)
    self._tree.set(np.arange(self._num_added), weights)

  def _check_memory(self, num_sequences, num_places):
    """Refuses sequences whose places would not fit into the memory."""
    needed = num_places * self._uncompressed_bytes
    available = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    if needed > available:
      raise errors.InvalidValue(
          f'The table {self._name!r} of PrioritizedReplay takes'
          f' {needed / 2**30:,.0f} GiB for {num_sequences:,} sequences, and'
          f' this machine has {available / 2**30:,.0f} GiB: lower'
          ' PrioritizedReplay.max_sequences, or read fewer demonstrations.'
      )

  def _write(self, path, start, count):
    arrays = {}
    for i, column in enumerate(self._columns):
      packed = column.packed(start % self._capacity, count)
      arrays.update({f'{i}_{name}': packed[name] for name in packed})
    content = io.BytesIO()
    np.savez(content, **arrays)
    with files.replacing(path, 'wb') as file:
      file.write(content.getbuffer())

  def _read(self, path, start):
    """Reads a file; `np.load` compares the checksum of each array."""
    try:
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
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as e:
      raise DamagedReplayError(
          f'{path}, a part of the replay, is damaged or missing'
          f' ({type(e).__name__}: {e}).'
      ) from e


def _num_bytes(spec):
  return spec.dtype.size * spec.shape.num_elements()
