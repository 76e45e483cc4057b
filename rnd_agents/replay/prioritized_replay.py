# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prioritised replay of an agent's own sequences and of demonstrations.

Two tables of one Reverb server in this process: the agent's own sequences are
evicted when the table is full, demonstrations never. Each table has its own
priorities, and each element of a batch is a demonstration with a fixed
probability (R2D3, Paine et al., 2019, section 3).

A sequence is one step to Reverb: its arrays are stored whole, with the
recurrent state of its first frame only.

Batches are sampled when asked for, so that every draw knows all priorities.
Sampling ahead, as `reverb.TrajectoryDataset` does, would save milliseconds a
batch (benchmarks/replay_speed.py).
"""

import os
import tempfile
from typing import Any, NamedTuple
import uuid

import gin
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import spec_differences
from rnd_agents.replay import replay_checkpoints

AGENT = 'agent'
DEMONSTRATIONS = 'demonstrations'
# A sequence of priority 0 would never be sampled again.
MIN_PRIORITY = 1e-6


class Batch(NamedTuple):
  """What `PrioritizedReplay.sample` returns.

  Attributes:
    sequences: nest like the spec, of arrays [B, ...].
    keys: uint64 [B], for `update_priorities`.
    probabilities: float64 [B], of each to be sampled from its table.
    table_sizes: int64 [B], the number of sequences in its table.
  """

  sequences: Any
  keys: np.ndarray
  probabilities: np.ndarray
  table_sizes: np.ndarray


@gin.configurable(
    module='rnd_agents',
    denylist=['spec', 'seed', 'checkpoint_dir', 'restore_from'],
)
class PrioritizedReplay:
  """Two prioritised tables of sequences; for one thread.

  `seed` decides which elements of a batch are demonstrations. Reverb decides
  which sequences of a table are sampled, and its samplers take no seed: two
  runs are never the same.

  Reverb runs threads: fork processes, such as environments, before.
  """

  def __init__(
      self,
      spec,
      max_sequences,
      max_demonstrations=0,
      priority_exponent=0.9,
      min_sequences=1,
      seed=None,
      checkpoint_dir=None,
      restore_from=None,
  ):
    """Creates the tables, or restores them.

    Args:
      spec: Nest of `TensorSpec`s of one sequence, `is_demonstration` among its
        attributes, such as `sequences.sequence_spec` returns.
      max_sequences: Size of the agent's table, the oldest of which are evicted.
      max_demonstrations: Size of the table of demonstrations, which are never
        evicted; 0 for none.
      priority_exponent: alpha of P(i) = p_i^alpha / sum p^alpha, from 0.
      min_sequences: How many the agent must have stored before any is sampled.
      seed: Of the draws between the tables, or None.
      checkpoint_dir: Folder for `checkpoint`, used by this replay only. The
        newest checkpoint in it is restored.
      restore_from: Restores this checkpoint instead: a path that `checkpoint`
        returned, or where it was moved or copied to.

    Raises:
      ImportError: If Reverb is not installed.
      OSError: If there is no checkpoint where restore_from says.
      RuntimeError: If a checkpoint is damaged.
      ValueError: If an argument is out of range or not the checkpoint's.
    """
    if not 0 < min_sequences <= max_sequences:
      raise errors.InvalidValue(
          f'min_sequences={min_sequences} must be from 1 to max_sequences='
          f'{max_sequences}.'
      )
    if max_demonstrations < 0 or priority_exponent < 0.0:
      raise errors.InvalidValue(
          'max_demonstrations and priority_exponent must be at least 0, got'
          f' {max_demonstrations} and {priority_exponent}.'
      )
    self._spec = spec
    self._settings = {
        'max_sequences': int(max_sequences),
        'max_demonstrations': int(max_demonstrations),
        'priority_exponent': float(priority_exponent),
        'min_sequences': int(min_sequences),
        'spec': [
            f'{name}: {spec_differences.described(leaf)}'
            for name, leaf in spec_differences.leaves(spec)
        ],
    }
    self._checkpoint_dir = checkpoint_dir
    self._generator = np.random.default_rng(seed)
    self._max_priorities = {AGENT: 1.0, DEMONSTRATIONS: 1.0}
    if restore_from is None and checkpoint_dir is not None:
      restore_from = replay_checkpoints.newest(checkpoint_dir)
    saved = None
    if restore_from is not None:
      saved = replay_checkpoints.read(restore_from, self._settings)
    self._server = self._create_server(restore_from)
    self._client = self._server.localhost_client()
    self._writer = self._client.trajectory_writer(num_keep_alive_refs=1)
    if saved is not None:
      self.set_state(saved['state'])
      if self.sizes() != saved['sizes']:
        self.close()
        raise RuntimeError(replay_checkpoints.DAMAGED.format(restore_from))

  def add(self, sequence, priority=None):
    """Adds a sequence that the agent has collected.

    Args:
      sequence: Nest of arrays that fits the spec.
      priority: A number from 0; None for the largest one that the table has
        seen, 1 at least.

    Raises:
      ValueError: If the sequence or its priority does not fit.
    """
    self._insert(AGENT, sequence, priority)

  def add_demonstration(self, sequence, priority=None):
    """Adds a demonstration as `add` does; ValueError if the table is full."""
    if self.sizes()[DEMONSTRATIONS] >= self._settings['max_demonstrations']:
      raise errors.InvalidValue(
          f'The {self._settings["max_demonstrations"]} sequences of'
          ' max_demonstrations are there already, and demonstrations are never'
          ' evicted: raise it, or add fewer.'
      )
    self._insert(DEMONSTRATIONS, sequence, priority)

  def sample(self, batch_size, demonstration_ratio=0.0):
    """Samples sequences, with replacement.

    Args:
      batch_size: B.
      demonstration_ratio: rho, the probability of each element to be a
        demonstration, independent of the others.

    Returns:
      `Batch`.

    Raises:
      ValueError: If a table that could be sampled is too short, or if an
        argument is out of range.
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
    drawn = [None] * batch_size
    for table, chosen in _by_table(is_demonstration):
      found = self._client.sample(table, chosen.size, emit_timesteps=False)
      for i, sample in zip(chosen, found):
        drawn[i] = sample
    infos = [sample.info for sample in drawn]
    columns = map(np.concatenate, zip(*[s.data for s in drawn]))  # [1, ...]
    return Batch(
        sequences=tf.nest.pack_sequence_as(self._spec, list(columns)),
        keys=np.array([info.key for info in infos], np.uint64),
        probabilities=np.array([i.probability for i in infos], np.float64),
        table_sizes=np.array([info.table_size for info in infos], np.int64),
    )

  def update_priorities(self, keys, priorities, is_demonstration):
    """Sets the priorities of sequences that were sampled.

    Keys of evicted sequences are ignored. Of a key that comes twice the last
    priority counts.

    Args:
      keys: uint64 [B], of a `Batch`.
      priorities: Numbers from 0 [B]; 1e-6 takes the place of less.
      is_demonstration: Booleans [B]: which table each is of.

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
    for table, chosen in _by_table(is_demonstration):
      self._open_client().mutate_priorities(
          table, dict(zip(keys[chosen].tolist(), priorities[chosen].tolist()))
      )
      self._note_priority(table, priorities[chosen].max())

  def sizes(self):
    """Returns the number of sequences in each table, by its name."""
    # Table.info would not know what was restored.
    tables = self._open_client().server_info()
    sizes = {name: info.current_size for name, info in tables.items()}
    return {AGENT: 0, DEMONSTRATIONS: 0, **sizes}

  def is_ready(self, demonstration_ratio=0.0):
    """Returns whether enough is stored for `sample`."""
    return self._missing(demonstration_ratio) is None

  def state(self):
    """Returns what `set_state` takes: all but the tables, for JSON."""
    return {
        'generator': self._generator.bit_generator.state,
        'max_priorities': dict(self._max_priorities),
    }

  def set_state(self, state):
    """Goes on from a `state`. A checkpoint includes it."""
    self._generator.bit_generator.state = state['generator']
    self._max_priorities = dict(state['max_priorities'])

  def checkpoint(self, in_use=()):
    """Writes everything to the disk; keeps the one before and those in use.

    Args:
      in_use: Names of checkpoints, the last parts of their paths, that another
        file refers to, such as the newest checkpoint of a run.

    Returns:
      The path of the checkpoint, a folder in `checkpoint_dir`.

    Raises:
      OSError: If the disk does not take it. The one before stays.
      ValueError: If there is no `checkpoint_dir`.
    """
    if self._checkpoint_dir is None:
      raise errors.InvalidValue(
          'PrioritizedReplay has no checkpoint_dir to write to.'
      )
    client = self._open_client()
    # First, so that there is room for the new one.
    replay_checkpoints.folders(self._checkpoint_dir).prune(1, in_use)
    try:
      written = client.checkpoint()
    # On a full disk Reverb says IndexError.
    except (IndexError, RuntimeError) as error:
      raise OSError(f'Reverb could not write the replay: {error}') from error
    state = {'settings': self._settings, 'sizes': self.sizes()}
    state['state'] = self.state()
    return replay_checkpoints.publish(written, self._checkpoint_dir, state)

  def close(self):
    """Stops the server; what is in no checkpoint is lost."""
    if self._server is not None:
      self._writer.close()
      self._server.stop()
      self._writer = self._client = self._server = None

  def _create_server(self, restore_from):
    try:
      import reverb  # pylint: disable=g-import-not-at-top
    except ImportError as error:
      raise errors.MissingPackage(
          'PrioritizedReplay needs Reverb: pip install "rnd_agents[reverb]"'
      ) from error

    def table(name, size_name, min_size):
      exponent = self._settings['priority_exponent']
      return reverb.Table(
          name,
          sampler=reverb.selectors.Prioritized(exponent),
          remover=reverb.selectors.Fifo(),
          max_size=self._settings[size_name],
          rate_limiter=reverb.rate_limiters.MinSize(min_size),
          signature=[
              tf.TensorSpec([1] + leaf.shape.as_list(), leaf.dtype)
              for leaf in tf.nest.flatten(self._spec)
          ],
      )

    tables = [table(AGENT, 'max_sequences', self._settings['min_sequences'])]
    if self._settings['max_demonstrations']:
      tables.append(table(DEMONSTRATIONS, 'max_demonstrations', 1))
    if self._checkpoint_dir is None:
      # Never created. Reverb's own default would be, and never deleted.
      folder = os.path.join(tempfile.gettempdir(), uuid.uuid4().hex)
    else:  # Empty: Reverb would restore whatever it holds.
      folder = replay_checkpoints.folders(self._checkpoint_dir).aside()
    checkpointer = reverb.checkpointers.DefaultCheckpointer(
        folder, '', restore_from
    )
    try:
      return reverb.Server(tables, checkpointer=checkpointer)
    except RuntimeError as error:
      if restore_from is None:
        raise
      raise RuntimeError(
          replay_checkpoints.DAMAGED.format(restore_from)
      ) from error

  def _open_client(self):
    if self._server is None:
      raise RuntimeError('This PrioritizedReplay has been closed.')
    return self._client

  def _insert(self, table, sequence, priority):
    self._open_client()
    leaves = self._checked_leaves(sequence)
    if bool(sequence.is_demonstration) != (table == DEMONSTRATIONS):
      raise errors.InvalidValue(
          f'A sequence for the table {table!r} says is_demonstration='
          f'{bool(sequence.is_demonstration)}: it would be trained as that.'
      )
    if priority is None:
      priority = self._max_priorities[table]
    priority = float(_checked(priority))
    self._writer.append(leaves)
    self._writer.create_item(
        table, priority, [column[-1:] for column in self._writer.history]
    )
    self._writer.flush()  # Until then it cannot be sampled.
    self._note_priority(table, priority)

  def _checked_leaves(self, sequence):
    tf.nest.assert_same_structure(self._spec, sequence, check_types=False)
    leaves = [np.asarray(leaf) for leaf in tf.nest.flatten(sequence)]
    for i, (leaf, spec) in enumerate(zip(leaves, tf.nest.flatten(self._spec))):
      if leaf.shape != tuple(spec.shape) or leaf.dtype != spec.dtype:
        raise errors.InvalidValue(
            f'A sequence has {leaf.dtype} {list(leaf.shape)} where the spec of'
            f' the replay says {self._settings["spec"][i]}.'
        )
    return leaves

  def _note_priority(self, table, priority):
    largest = max(self._max_priorities[table], float(priority))
    self._max_priorities[table] = largest

  def _missing(self, demonstration_ratio):
    """Returns what `sample` needs and Reverb would wait for, or None."""
    sizes = self.sizes()
    least = self._settings['min_sequences']
    if demonstration_ratio < 1.0 and sizes[AGENT] < least:
      return (
          f'The agent has stored {sizes[AGENT]} sequences, and min_sequences='
          f'{least} must be there before any is sampled: collect more, or'
          ' sample demonstrations only (demonstration_ratio=1).'
      )
    if demonstration_ratio > 0.0 and not sizes[DEMONSTRATIONS]:
      return (
          f'demonstration_ratio={demonstration_ratio}, but there are no'
          ' demonstrations: add_demonstration() first, or make it 0.'
      )
    return None


def _by_table(is_demonstration):
  """Yields each table with the indices [n] of its elements, n > 0."""
  for table, is_of_table in (
      (AGENT, ~is_demonstration), (DEMONSTRATIONS, is_demonstration)
  ):
    if is_of_table.any():
      yield table, np.flatnonzero(is_of_table)


def _checked(priorities):
  """Returns priorities as float64, at least MIN_PRIORITY."""
  priorities = np.asarray(priorities, np.float64)
  if not (np.isfinite(priorities) & (priorities >= 0.0)).all():
    raise errors.InvalidValue(
        f'Priorities must be finite and at least 0, got {priorities}: a NaN or'
        ' an infinity here comes from the loss.'
    )
  return np.maximum(priorities, MIN_PRIORITY)
