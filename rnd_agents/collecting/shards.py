# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The shards of a run, as one batch.

A shard is the unit of seeding, work and recovery: a run depends on the number
of its shards and not on where they run.
"""

import contextlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rnd_agents.collecting import collector


class Slice(NamedTuple):
  """Which environments of the whole batch a shard has."""

  start: int
  stop: int


class Shards:
  """Collectors whose environments follow on each other in a batch."""

  def __init__(self, collectors):
    """Takes over the collectors.

    Args:
      collectors: `Collector`s of equal specs, at least one.
    """
    self._collectors = list(collectors)
    stops = np.cumsum([each.num_environments for each in self._collectors])
    self._slices = [
        Slice(int(stop) - each.num_environments, int(stop))
        for each, stop in zip(self._collectors, stops)
    ]

  @property
  def specs(self):
    """`collector.Specs` of the environments."""
    return self._collectors[0].specs

  @property
  def num_environments(self):
    """B, of all shards together."""
    return self._slices[-1].stop

  def busy_with(self):
    """Environments in this process, for a watchdog."""
    return [e for each in self._collectors for e in each.busy_with()]

  def reset(self):
    """Begins new episodes."""
    self._map(lambda each: each.reset(), self._collectors)

  def _map(self, function, *arguments):
    """`map`, as a list: one shard after the other, in this process."""
    return [function(*each) for each in zip(*arguments, strict=True)]

  def collect_random(self, num_rows):
    """As `Collector.collect_random`, for all environments."""
    return self._joined(
        self._map(lambda each: each.collect_random(num_rows), self._collectors)
    )

  def collect(self, variables_of, num_steps):
    """As `Collector.collect`, for all environments.

    Args:
      variables_of: function of a `Slice` of the batch that returns the values
        of the policy's variables for those environments; None where they are
        those of the call before.
      num_steps: T.

    Returns:
      A `Rollout`.
    """
    return self._joined(
        self._map(
            lambda each, part: each.collect(
                variables_of and variables_of(part), num_steps
            ),
            self._collectors,
            self._slices,
        )
    )

  def _joined(self, rollouts):
    if len(rollouts) == 1:
      return rollouts[0]
    episodes = [
        episode._replace(
            environment_index=part.start + episode.environment_index
        )
        for rollout, part in zip(rollouts, self._slices)
        for episode in rollout.episodes
    ]
    return collector.Rollout(
        tf.nest.map_structure(
            lambda *parts: np.concatenate(parts),
            *[rollout.trajectory for rollout in rollouts],
        ),
        rollouts[0].num_old_rows,
        episodes,
    )

  def visits(self):
    """Counts of visited states, one a shard that counts them."""
    found = [each.visits() for each in self._collectors]
    return [counts for counts in found if counts is not None]

  def get_state(self):
    """States of all shards, plain."""
    return [each.get_state() for each in self._collectors]

  def set_state(self, states):
    """Goes on from `get_state`.

    Returns:
      Whether all episodes in progress go on. Where some cannot, all shards
      begin new ones.
    """
    go_on = self._map(
        lambda each, state: each.set_state(state), self._collectors, states
    )
    if not all(go_on):
      self.reset()
    return all(go_on)

  def close(self):
    """Closes all environments."""
    with contextlib.ExitStack() as stack:
      for each in self._collectors:
        stack.callback(each.close)
