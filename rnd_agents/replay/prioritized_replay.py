# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replay of an agent's own sequences and of demonstrations.

Two tables in this process: the agent's own sequences are evicted when the table
is full, demonstrations never. Each table has its own priorities, and each
element of a batch is a demonstration with a fixed probability (R2D3, Paine et
al., 2019, section 3). A sequence keeps the recurrent state of its first frame
only.
"""

from collections.abc import Iterator, Mapping
import os
from typing import Any, NamedTuple

import gin
import numpy as np
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import ranges
from rnd_agents import spec_differences
from rnd_agents.replay import sequence_table

AGENT = 'agent'
DEMONSTRATIONS = 'demonstrations'
# A sequence of priority 0 would never be sampled again.
MIN_PRIORITY = 1e-6
_TRAIN_STEP = tf.TensorSpec([], tf.int64)


class Batch(NamedTuple):
  """Sequences that `PrioritizedReplay.sample` drew.

  Attributes:
    sequences: nest like the spec, of arrays [B, ...].
    keys: uint64 [B], for `update_priorities`.
    probabilities: float64 [B]: probability of each sequence in its table.
    table_sizes: int64 [B]: number of sequences in its table.
    train_steps: int64 [B]: the argument `train_step` with which it was added.
  """

  sequences: types.NestedArray
  keys: np.ndarray
  probabilities: np.ndarray
  table_sizes: np.ndarray
  train_steps: np.ndarray


@gin.configurable(module='rnd_agents', denylist=['spec', 'seed'])
class PrioritizedReplay:
  """Two prioritised tables of sequences.

  Draws depend only on the seed and on the earlier calls of `add`, `sample` and
  `update_priorities`, also across a `save` and a `restore`.
  """

  def __init__(
      self,
      spec: types.NestedTensorSpec,
      max_sequences: int | None = None,
      priority_exponent: float = 0.9,
      min_sequences: int = 1,
      compress_images: bool = True,
      seed: types.Seed | None = None,
  ):
    """Creates empty tables.

    Args:
      spec: Nest of `TensorSpec`s of one sequence, `is_demonstration` among its
        attributes, such as `episode_cutter.sequence_spec` returns.
      max_sequences: Size of the agent's table, beyond which the oldest sequence
        is evicted. Required, because it depends on the machine's memory.
      priority_exponent: alpha of P(i) = p_i^alpha / sum p^alpha, 0 to 10: 0
        draws uniformly, a higher one prefers large errors.
      min_sequences: Number of sequences in the agent's table before any is
        sampled.
      compress_images: Whether uint8 images are stored compressed; docs/r2d3.md
        has memory and speed.
      seed: Seed of all draws, or None.

    Raises:
      ValueError: If an argument is out of range, or if this machine has too
        little memory.
    """
    if max_sequences is None:
      raise errors.InvalidValue(
          'PrioritizedReplay.max_sequences is missing: how many sequences to'
          ' keep, such as 10_000. docs/r2d3.md tells how much memory they take.'
      )
    ranges.check(
        dict(
            max_sequences=ranges.COUNT,
            min_sequences=ranges.COUNT,
            # A priority to a higher power may not be a number.
            priority_exponent=ranges.Range(
                lambda x: 0 <= x <= 10, 'between 0 and 10'
            ),
        ),
        locals(),
        'PrioritizedReplay.',
    )
    ranges.check_flags('PrioritizedReplay.', compress_images=compress_images)
    if min_sequences > max_sequences:
      raise errors.InvalidValue(
          f'PrioritizedReplay.min_sequences={min_sequences} must be at most'
          f' max_sequences={max_sequences}.'
      )
    self._spec = spec
    self._flat_spec = tf.nest.flatten(spec)
    self._exponent = float(priority_exponent)
    self._min_sequences = int(min_sequences)
    self._generator = np.random.default_rng(seed)
    self._tables = {
        name: sequence_table.SequenceTable(
            name, [*self._flat_spec, _TRAIN_STEP], size, compress_images
        )
        for name, size in ((AGENT, int(max_sequences)), (DEMONSTRATIONS, None))
    }
    self._max_priorities = {AGENT: 1.0, DEMONSTRATIONS: 1.0}

  def add(
      self,
      sequences: types.NestedArray,
      priorities: np.ndarray | None = None,
      train_step: int = 0,
  ) -> None:
    """Adds sequences that the agent has collected.

    Args:
      sequences: Nest of arrays [n, ...] that fits the spec.
      priorities: Numbers from 0, [n]; None for the largest priority that the
        table has ever had, at least 1.
      train_step: Updates of the agent so far.

    Raises:
      ValueError: If a sequence or its priority does not fit.
    """
    self._insert(AGENT, sequences, priorities, train_step)

  def add_demonstrations(
      self,
      sequences: types.NestedArray,
      priorities: np.ndarray | None = None,
  ) -> None:
    """Adds demonstrations as `add` does; they are never evicted."""
    self._insert(DEMONSTRATIONS, sequences, priorities)

  def sample(self, batch_size: int, demonstration_ratio: float = 0.0) -> Batch:
    """Samples sequences, with replacement.

    Args:
      batch_size: B.
      demonstration_ratio: rho, the probability of each element to be a
        demonstration, independent of the others.

    Raises:
      ValueError: If a required table has too few sequences, or if an argument
        is out of range.
    """
    if batch_size < 1 or not 0.0 <= demonstration_ratio <= 1.0:
      raise errors.InvalidValue(
          f'sample: batch_size={batch_size} must be at least 1, and'
          f' demonstration_ratio={demonstration_ratio} from 0 to 1.'
      )
    missing = self._missing(demonstration_ratio)
    if missing is not None:
      raise errors.InvalidValue(missing)
    is_demonstration = self._generator.random(batch_size) < demonstration_ratio
    uniform = self._generator.random(batch_size)
    leaves: list[np.ndarray] = []
    keys = np.empty([batch_size], np.uint64)
    probabilities = np.empty([batch_size])
    table_sizes = np.empty([batch_size], np.int64)
    for name, chosen in _by_table(is_demonstration):
      table = self._tables[name]
      arrays, keys[chosen], probabilities[chosen] = table.sample(
          uniform[chosen]
      )
      table_sizes[chosen] = table.size
      if chosen.size == batch_size:
        leaves = arrays
        break
      leaves = leaves or [
          np.empty((batch_size, *array.shape[1:]), array.dtype)
          for array in arrays
      ]
      for leaf, array in zip(leaves, arrays):
        leaf[chosen] = array
    train_steps = leaves.pop()
    return Batch(
        sequences=tf.nest.pack_sequence_as(self._spec, leaves),
        keys=keys,
        probabilities=probabilities,
        table_sizes=table_sizes,
        train_steps=train_steps,
    )

  def update_priorities(
      self,
      keys: np.ndarray,
      priorities: np.ndarray,
      is_demonstration: np.ndarray,
  ) -> None:
    """Sets the priorities of sequences that were sampled.

    Keys of evicted sequences are ignored. The last priority counts for a key
    that comes twice.

    Args:
      keys: uint64 [B], those of a `Batch`.
      priorities: Numbers from 0 [B]; those below 1e-6 are raised to it.
      is_demonstration: Booleans [B]: whether each is a demonstration.

    Raises:
      ValueError: If a priority is negative or not finite, or if the lengths
        differ.
    """
    keys = np.asarray(keys, np.uint64)
    is_demonstration = np.asarray(is_demonstration, np.bool_)
    priorities = _checked(priorities)
    if not keys.shape == priorities.shape == is_demonstration.shape:
      raise errors.InvalidValue(
          'keys, priorities and is_demonstration must all be [B], got shapes'
          f' {keys.shape}, {priorities.shape} and {is_demonstration.shape}.'
      )
    for name, chosen in _by_table(is_demonstration):
      self._tables[name].set_weights(
          keys[chosen], self._weights(priorities[chosen])
      )
      self._note_priority(name, priorities[chosen].max())

  def sizes(self) -> dict[str, int]:
    """Returns the number of sequences in each table, by its name."""
    return {name: table.size for name, table in self._tables.items()}

  def is_ready(self, demonstration_ratio: float = 0.0) -> bool:
    """Returns whether enough sequences are stored for `sample`."""
    return self._missing(demonstration_ratio) is None

  def save(self, folder: str) -> dict[str, Any]:
    """Writes the sequences that are new since the last `save` or `restore`.

    Files never change: the state that an earlier `save` returned can be
    restored as long as its files are kept (`saved_files`).

    Args:
      folder: Folder that only this replay uses; created if it is missing.

    Returns:
      The argument of `restore`, plain data: everything but the sequences, and
      size and checksum of each of their files.

    Raises:
      OSError: If writing fails. Earlier files stay.
    """
    os.makedirs(folder, exist_ok=True)
    tables = {name: table.save(folder) for name, table in self._tables.items()}
    files.sync(folder)
    return dict(
        tables=tables,
        generator=self._generator.bit_generator.state,
        max_priorities=dict(self._max_priorities),
    )

  def restore(self, folder: str, state: Mapping[str, Any]) -> None:
    """Restores a state of `save` in a new replay of the same arguments.

    Args:
      folder: Folder of the files.
      state: Result of `save`.

    Raises:
      DamagedReplayError: If a file is missing or damaged. The replay stays
        empty.
    """
    for name, table in self._tables.items():
      table.read(folder, state['tables'][name])
    for name, table in self._tables.items():
      table.restore(state['tables'][name])
    self._generator.bit_generator.state = state['generator']
    self._max_priorities = dict(state['max_priorities'])

  def _insert(
      self,
      table: str,
      sequences: types.NestedArray,
      priorities: np.ndarray | None,
      train_step: int = 0,
  ) -> None:
    leaves = self._checked_leaves(sequences)
    is_demonstration = np.asarray(sequences.is_demonstration)
    if np.any(is_demonstration != (table == DEMONSTRATIONS)):
      raise errors.InvalidValue(
          f'A sequence for the table {table!r} has is_demonstration='
          f'{table != DEMONSTRATIONS}, which would choose the wrong loss.'
      )
    if priorities is None:
      priorities = np.full(is_demonstration.shape, self._max_priorities[table])
    priorities = _checked(priorities)
    leaves.append(np.full(len(priorities), train_step, np.int64))
    self._tables[table].add(leaves, self._weights(priorities))
    self._note_priority(table, priorities.max())

  def _weights(self, priorities: np.ndarray) -> np.ndarray:
    # As Python rounds, and not the vector instructions of a machine.
    return np.array([p**self._exponent for p in priorities.tolist()])

  def _checked_leaves(self, sequences: types.NestedArray) -> list[np.ndarray]:
    tf.nest.assert_same_structure(self._spec, sequences, check_types=False)
    leaves = [np.asarray(leaf) for leaf in tf.nest.flatten(sequences)]
    for i, (leaf, spec) in enumerate(zip(leaves, self._flat_spec)):
      if leaf.shape[1:] != tuple(spec.shape) or leaf.dtype != spec.dtype:
        name, leaf_spec = spec_differences.leaves(self._spec)[i]
        raise errors.InvalidValue(
            f'Sequences have {leaf.dtype} {list(leaf.shape)} where the spec of'
            f' the replay has {name}: n of'
            f' {spec_differences.described(leaf_spec)}.'
        )
    return leaves

  def _note_priority(self, table: str, priority: float) -> None:
    largest = max(self._max_priorities[table], float(priority))
    self._max_priorities[table] = largest

  def _missing(self, demonstration_ratio: float) -> str | None:
    """Returns the reason why `sample` cannot run yet, or None."""
    sizes = self.sizes()
    least = self._min_sequences
    if demonstration_ratio < 1.0 and sizes[AGENT] < least:
      return (
          f'The agent has stored {sizes[AGENT]} sequences and needs'
          f' min_sequences={least} before any is sampled: collect more, or'
          ' sample demonstrations only (demonstration_ratio=1).'
      )
    if demonstration_ratio > 0.0 and not sizes[DEMONSTRATIONS]:
      return (
          f'demonstration_ratio={demonstration_ratio}, but there are no'
          ' demonstrations: add_demonstrations() first, or make it 0.'
      )
    return None


def saved_files(state: Mapping[str, Any]) -> dict[str, dict[str, int]]:
  """Returns `files.fingerprint` by name of the files of a state of `save`."""
  tables = state['tables'].values()
  return dict(pair for table in tables for pair in table['files'])


def _by_table(is_demonstration: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
  """Yields each table with the indices [n] of its elements, n > 0."""
  for table, is_of_table in (
      (AGENT, ~is_demonstration), (DEMONSTRATIONS, is_demonstration)
  ):
    if is_of_table.any():
      yield table, np.flatnonzero(is_of_table)


def _checked(priorities: np.ndarray) -> np.ndarray:
  """Returns priorities as float64, at least MIN_PRIORITY."""
  priorities = np.asarray(priorities, np.float64)
  if not (np.isfinite(priorities) & (priorities >= 0.0)).all():
    raise errors.InvalidValue(
        f'Priorities must be finite and at least 0, got {priorities}: a NaN or'
        ' an infinity here comes from the loss.'
    )
  return np.maximum(priorities, MIN_PRIORITY)
