# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memories of the observations of each environment's running episode."""

import abc
from collections.abc import Callable

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.curiosity import curiosity
from rnd_agents.ops import episodic
from rnd_agents.statistics import running_statistics

# The newest places of an episode that are remembered as visited.
_MAX_KEYS = 20_000


class EpisodicMemory(tf.Module, abc.ABC):
  """Computes numbers of transitions that depend on their episode so far.

  The memory has a row for each environment; all rows are empty again when the
  number of environments changes. The first observation of an episode is part of
  it. If calls share no row, as with a replay buffer that is emptied after each
  call, the first observation of a call is missed.
  """

  def __init__(self, shape: types.ShapeSequence, dtype: tf.DType, name: str):
    """Creates an empty memory.

    Args:
      shape: Shape of one environment's memory; None for a size that grows.
      dtype: Type of the memory.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._memory = running_statistics.EnvironmentRows(
        tf.TensorSpec(shape, dtype)
    )

  def values(self, transitions: curiosity.Transitions) -> tf.Tensor:
    """Returns the numbers of transitions without changing the memory.

    Args:
      transitions: `Transitions` [B, T] or [B] that follow those of the last
        `update`.

    Returns:
      float32 [B, T, ...] or [B, ...].

    Raises:
      InvalidValue: If attributes of the transitions are missing.
    """
    values, _ = self._look(transitions)
    return values if transitions.is_rollout else values[:, 0]

  def update(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions to the memory; call it after `values`."""
    _, memory = self._look(transitions)
    self._memory.assign(memory)

  def _look(
      self, transitions: curiosity.Transitions
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns (values [B, T, ...], memory [B, ...] with the transitions)."""
    transitions.require_whole(self.name)
    if not transitions.is_rollout:
      transitions = transitions.add_time()
    first: tf.Tensor = transitions.is_first
    is_first = first[:, :1]
    # T transitions are T + 1 rows. The first row is new only if it begins an
    # episode. A row that neither ends a transition nor begins an episode is
    # padding.
    valid, begins = transitions.valid, transitions.next_is_first
    if valid is None:
      valid = tf.ones_like(transitions.is_first)
    if begins is None:
      begins = ~valid
    starts = tf.concat([is_first, begins], axis=1)
    counts = tf.concat([is_first, valid | begins], axis=1)
    values, memory = self._of_rows(
        transitions.rows(),
        starts,
        counts,
        self._memory.read(tf.shape(is_first)[0]),
    )
    return tf.cast(values, tf.float32)[:, 1:], memory

  @abc.abstractmethod
  def _of_rows(
      self,
      observations: types.NestedTensor,
      starts: tf.Tensor,
      counts: tf.Tensor,
      memory: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns (values [B, R, ...], the memory after the rows).

    Args:
      observations: A nest [B, R, ...].
      starts: Booleans [B, R]: rows that begin an episode.
      counts: Booleans [B, R]: rows that are part of their episode.
      memory: [B, ...].
    """


class EpisodicBonus(curiosity.Curiosity):
  """The base class of bonuses that are all of their episode, from `_memory`."""

  _memory: EpisodicMemory

  @property
  def episodic_spec(self) -> types.NestedTensorSpec:
    """Spec of the bonus itself."""
    return tf.TensorSpec([], tf.float32)

  def episodic(self, transitions: curiosity.Transitions) -> types.NestedTensor:
    """Returns the bonus of transitions, from the memory of the episodes."""
    return self._memory.values(transitions)

  def bonus(
      self,
      transitions: curiosity.Transitions,
      constants: types.NestedTensor | None = None,
  ) -> tf.Tensor:
    """Returns the bonus; for replayed transitions that of their collection."""
    return self.episodic_part(transitions)

  def update_statistics(self, transitions: curiosity.Transitions) -> None:
    """Adds transitions to the memory of the episodes and the whitening."""
    self._memory.update(transitions)
    super().update_statistics(transitions)


class FirstVisits(EpisodicMemory):
  """Returns 1 for observations seen for the first time in their episode."""

  def __init__(
      self,
      key_fn: curiosity.ObservationFn | None = None,
      name: str = 'FirstVisits',
  ):
    """Creates an empty memory.

    Args:
      key_fn: Function from a nest of observations [outer..., ...] to a nest of
        tensors [outer..., ...]: observations with equal keys are the same
        place; None for the whole observation.
      name: Name of the module.
    """
    super().__init__([None], tf.int64, name)
    self._key_fn = key_fn

  def _of_rows(
      self,
      observations: types.NestedTensor,
      starts: tf.Tensor,
      counts: tf.Tensor,
      memory: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    if self._key_fn is not None:
      observations = self._key_fn(observations)
    return episodic.first_visits(
        fingerprints(observations), starts, counts, memory, _MAX_KEYS
    )


class EllipticalMemory(EpisodicMemory):
  """Computes f' C^-1 f of features f, with the C of their episode (E3B)."""

  def __init__(
      self,
      features_fn: Callable[[types.NestedTensor], tf.Tensor],
      num_features: int,
      ridge: float,
      name: str = 'EllipticalMemory',
  ):
    """Creates an empty memory.

    Args:
      features_fn: Function from observations [B, R, ...] to floats [B, R, F].
      num_features: F.
      ridge: Diagonal of C at the begin of an episode.
      name: Name of the module.
    """
    super().__init__([num_features, num_features], tf.float64, name)
    self._features_fn = features_fn
    self._ridge = ridge

  def _of_rows(
      self,
      observations: types.NestedTensor,
      starts: tf.Tensor,
      counts: tf.Tensor,
      memory: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    return episodic.elliptical_bonuses(
        self._features_fn(observations), starts, counts, memory, self._ridge
    )


class NearestNeighbors(EpisodicMemory):
  """Returns the distances [..., K] of the nearest rows of the episode."""

  def __init__(
      self,
      features_fn: Callable[[types.NestedTensor], tf.Tensor],
      num_features: int,
      num_neighbors: int,
      max_rows: int,
      distance_fn: episodic.DistanceFn | None = None,
      name: str = 'NearestNeighbors',
  ):
    """Creates an empty memory.

    Args:
      features_fn: Function from observations [B, R, ...] to floats [B, R, F].
      num_features: F.
      num_neighbors: K.
      max_rows: Newest rows of an episode that are remembered.
      distance_fn: As for `episodic.nearest_neighbors`.
      name: Name of the module.
    """
    super().__init__([None, 1 + num_features], tf.float32, name)
    self._features_fn = features_fn
    self._num_neighbors = num_neighbors
    self._max_rows = max_rows
    self._distance_fn = distance_fn

  def _of_rows(
      self,
      observations: types.NestedTensor,
      starts: tf.Tensor,
      counts: tf.Tensor,
      memory: tf.Tensor,
  ) -> tuple[tf.Tensor, tf.Tensor]:
    return episodic.nearest_neighbors(
        self._features_fn(observations),
        starts,
        counts,
        memory,
        self._num_neighbors,
        self._max_rows,
        self._distance_fn,
    )


def fingerprints(nest: types.NestedTensor, outer_rank: int = 2) -> tf.Tensor:
  """Returns a hash of each row of a nest of tensors [outer..., ...]; never 0.

  Args:
    nest: Nest of tensors of numbers or booleans.
    outer_rank: Number of dimensions of `outer`.

  Returns:
    int64 [outer...].
  """
  leaves = tf.nest.flatten(nest)
  outer = tf.shape(leaves[0])[:outer_rank]
  columns = [_bytes(leaf, tf.reduce_prod(outer)) for leaf in leaves]
  hashes = tf.bitcast(tf.fingerprint(tf.concat(columns, axis=1)), tf.int64)
  one = tf.ones_like(hashes)
  return tf.reshape(tf.where(tf.equal(hashes, 0), one, hashes), outer)


def _bytes(leaf: tf.Tensor, num_rows: tf.Tensor) -> tf.Tensor:
  if leaf.dtype.is_bool:
    leaf = tf.cast(leaf, tf.uint8)
  elif leaf.dtype.is_floating:
    # -0 is 0. Not by adding 0, which TensorFlow leaves out of graphs.
    leaf = tf.where(tf.equal(leaf, 0.0), tf.zeros_like(leaf), leaf)
  if leaf.dtype != tf.uint8:
    leaf = tf.bitcast(leaf, tf.uint8)
  return tf.reshape(leaf, [num_rows, -1])
