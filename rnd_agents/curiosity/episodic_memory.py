# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memories of what each environment's episode has shown so far."""

import abc

import tensorflow as tf

from rnd_agents.ops import episodic
from rnd_agents.statistics import environment_rows

# The newest places of an episode that are remembered as visited.
_MAX_KEYS = 20_000


class EpisodicMemory(tf.Module, abc.ABC):
  """Numbers that transitions have by their episode so far.

  The memory has a row for each environment. Another number of environments than
  before begins with empty ones. The first observation of an episode is part of
  it. Where calls share no row, as those of an emptied replay buffer do not, the
  first observation of a call is missed.
  """

  def __init__(self, shape, dtype, name):
    """Creates an empty memory.

    Args:
      shape: Shape of one environment's memory, with None for what grows.
      dtype: Of the memory.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._memory = environment_rows.EnvironmentRows(
        tf.TensorSpec(shape, dtype)
    )

  def values(self, transitions):
    """Returns numbers of transitions, and changes nothing.

    Args:
      transitions: `Transitions` [B, T] or [B] that follow on those of the last
        `update`.

    Returns:
      float32 [B, T] or [B].

    Raises:
      ValueError: If they are not whole.
    """
    values, _ = self._look(transitions)
    return values if transitions.is_rollout else values[:, 0]

  def update(self, transitions):
    """Takes the transitions into the memory, after `values`."""
    _, memory = self._look(transitions)
    self._memory.assign(memory)

  def _look(self, transitions):
    """(values [B, T], memory [B, ...] with the transitions in it)."""
    transitions.require_whole(self.name)
    if not transitions.is_rollout:
      transitions = transitions.add_time()
    is_first = transitions.is_first[:, :1]
    # T transitions are T + 1 rows; only at an episode's begin is the first one
    # new, and what is neither led to nor begins an episode is padding.
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
  def _of_rows(self, observations, starts, counts, memory):
    """Returns (values [B, R], the memory after the rows).

    Args:
      observations: A nest [B, R, ...].
      starts: Booleans [B, R]: rows that begin an episode.
      counts: Booleans [B, R]: rows that are part of their episode.
      memory: [B, ...].
    """


class FirstVisits(EpisodicMemory):
  """1 for an observation that is seen for the first time in its episode."""

  def __init__(self, key_fn=None, name='FirstVisits'):
    """Creates an empty memory.

    Args:
      key_fn: Function from a nest of observations [outer..., ...] to a nest of
        tensors [outer..., ...]: observations of one key are the same place;
        None for all of the observation.
      name: Name of the module.
    """
    super().__init__([None], tf.int64, name)
    self._key_fn = key_fn

  def _of_rows(self, observations, starts, counts, memory):
    if self._key_fn is not None:
      observations = self._key_fn(observations)
    return episodic.first_visits(
        fingerprints(observations), starts, counts, memory, _MAX_KEYS
    )


class EllipticalMemory(EpisodicMemory):
  """f' C^-1 f of features f, with the C of their episode (E3B)."""

  def __init__(self, features_fn, num_features, ridge, name='EllipticalMemory'):
    """Creates an empty memory.

    Args:
      features_fn: Function from observations [B, R, ...] to floats [B, R, F].
      num_features: F.
      ridge: What C has on its diagonal at an episode's begin.
      name: Name of the module.
    """
    super().__init__([num_features, num_features], tf.float64, name)
    self._features_fn = features_fn
    self._ridge = ridge

  def _of_rows(self, observations, starts, counts, memory):
    return episodic.elliptical_bonuses(
        self._features_fn(observations), starts, counts, memory, self._ridge
    )


def fingerprints(nest):
  """Returns a hash of each row of a nest of tensors [B, R, ...]; never 0.

  Args:
    nest: Of numbers or booleans.

  Returns:
    int64 [B, R].
  """
  leaves = tf.nest.flatten(nest)
  outer = tf.shape(leaves[0])[:2]
  columns = [_bytes(leaf, tf.reduce_prod(outer)) for leaf in leaves]
  hashes = tf.bitcast(tf.fingerprint(tf.concat(columns, axis=1)), tf.int64)
  one = tf.ones_like(hashes)
  return tf.reshape(tf.where(tf.equal(hashes, 0), one, hashes), outer)


def _bytes(leaf, num_rows):
  if leaf.dtype.is_bool:
    leaf = tf.cast(leaf, tf.uint8)
  elif leaf.dtype.is_floating:
    leaf += 0.0  # -0 is 0.
  if leaf.dtype.size > 1:
    leaf = tf.bitcast(leaf, tf.uint8)
  return tf.reshape(leaf, [num_rows, -1])
