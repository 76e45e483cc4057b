# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The shards of a run, as one batch.

A shard is the unit of seeding, work and recovery: a run depends on the number
of its shards and not on where they run.
"""

import contextlib
import functools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import numpy as np
import tensorflow as tf

from rnd_agents.collecting import collector


class Ahead(NamedTuple):
  """A rollout that is collected while the learner learns.

  Attributes:
    variables: of the policy, a list for each shard.
    num_steps: T.
    is_uniform: whether actions are uniformly random.
    finish: function that waits for the `Rollout` and returns it; None in a
      checkpoint.
  """

  variables: Sequence[Any]
  num_steps: int
  is_uniform: bool
  finish: Optional[Callable[[], Any]]


class Shards:
  """Collectors whose environments follow on each other in a batch."""

  def __init__(
      self, collectors: Sequence[collector.Collector], max_lag_rounds: int = 0
  ):
    """Takes over the collectors.

    Args:
      collectors: One a shard, at least one, of equal specs.
      max_lag_rounds: 0: `collect` acts with the variables that it is given. 1:
        it returns what was collected with those of the call before, and these
        are for the next round, which begins now, while the learner learns.
    """
    self._collectors = list(collectors)
    self._max_lag_rounds = max_lag_rounds
    self._variables = None  # Of the last call that gave some, for each shard.
    self._ahead = None  # `Ahead`, with a lag.
    stops = np.cumsum([each.num_environments for each in self._collectors])
    self._slices = [
        slice(int(stop) - each.num_environments, int(stop))
        for each, stop in zip(self._collectors, stops)
    ]

  @property
  def specs(self) -> collector.Specs:
    """The specs of the environments."""
    return self._collectors[0].specs

  @property
  def num_environments(self) -> int:
    """B, of all shards together."""
    return self._slices[-1].stop

  def environments(self) -> List[Any]:
    """Returns the environments in this process, for a watchdog."""
    return [e for each in self._collectors for e in each.environments()]

  def reset(self) -> None:
    """Starts new episodes."""
    self._drop_ahead()
    self._map('reset')

  def _map(self, name, *arguments):
    """Calls a method of each shard, one after the other, in this process.

    Args:
      name: The method.
      *arguments: Of the method, each a list with a value for each shard.

    Returns:
      A list of results.
    """
    return [
        getattr(each, name)(*its)
        for each, *its in zip(self._collectors, *arguments, strict=True)
    ]

  def collect(
      self,
      variables_of: Optional[Callable[[slice], List[np.ndarray]]],
      num_steps: int,
      is_uniform: bool = False,
  ) -> collector.Rollout:
    """Collects a rollout of all environments; see `Collector.collect`.

    Args:
      variables_of: function of a slice of the batch that returns the values
        of the policy's variables for those environments; None where they are
        those of the call before.
      num_steps: T.
      is_uniform: Whether to take uniformly random actions instead.
    """
    variables = [variables_of and variables_of(part) for part in self._slices]
    if not self._max_lag_rounds:
      return self._collect(variables, num_steps, is_uniform)
    if variables_of is None:  # A checkpoint needs the values.
      variables = self._variables
    self._variables = variables
    if self._ahead is None:
      self._collect_ahead(variables, num_steps, is_uniform)
    rollout = self._ahead.finish()
    self._collect_ahead(variables, num_steps, is_uniform)
    return rollout

  def _collect(self, variables, *arguments):
    of_each = [[argument] * len(self._slices) for argument in arguments]
    return self._joined(self._map('collect', variables, *of_each))

  def _collect_ahead(self, variables, *arguments):
    work = functools.partial(self._collect, variables, *arguments)
    self._ahead = Ahead(variables, *arguments, self._begin(work))

  def _begin(self, work):
    """Returns a function that finishes work: here, that does all of it."""
    return work

  def _drop_ahead(self):
    ahead, self._ahead = self._ahead, None
    if ahead is not None:
      ahead.finish()

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

  def report(self) -> List[Dict[str, float]]:
    """Returns facts of each worker since the last report, by name."""
    return []

  def visits(self) -> List[Any]:
    """Returns counts of visited states, one for each shard that counts."""
    return [counts for counts in self._map('visits') if counts is not None]

  def get_state(self) -> Dict[str, Any]:
    """Returns states of all shards, and how a round ahead is collected."""
    ahead = self._ahead and self._ahead._replace(finish=None)
    return dict(shards=self._states(), ahead=ahead)

  def _states(self):
    """Returns the states of the shards, before a round ahead."""
    return self._map('get_state')

  def set_state(self, state: Dict[str, Any]) -> bool:
    """Restores what `get_state` returned.

    Returns:
      Whether all episodes in progress continue. If some cannot, all shards
      start new ones.
    """
    go_on = self._map('set_state', state['shards'])
    if not all(go_on):
      self.reset()
    ahead = state['ahead']
    if ahead is not None:
      self._variables = ahead.variables
      self._collect_ahead(*ahead[:-1])
    return all(go_on)

  def close(self) -> None:
    """Closes all environments."""
    with contextlib.ExitStack() as stack:
      for each in self._collectors:
        stack.callback(each.close)
