# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A collector whose work is done by workers, any of which may die.

The state of a shard stays here and is part of the run's checkpoint; workers own
nothing. A call that a worker did not answer is made again by the next one, from
the state before it: so it returns the same bytes.
"""

import abc
from collections.abc import Callable, Sequence
import concurrent.futures
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.collecting import collector
from rnd_agents.workers import shard_worker

# More workers lost at one call than this are an error.
_MAX_LOSSES = 5


class WorkerLost(Exception):
  """A worker died, hung or cannot be reached; the message says which."""


class Workers(abc.ABC):
  """Processes with a `ShardWorker` each."""

  @abc.abstractmethod
  def run(self, task: shard_worker.Task) -> shard_worker.Reply:
    """Returns a worker's reply to a task; several threads may call it.

    Raises:
      WorkerLost: If no answer came. Another worker takes its place.
    """

  def share(self, variables: list[np.ndarray]) -> Any:
    """Returns a policy's variables as tasks hold them, such as a reference."""
    return variables

  def report(self) -> list[dict[str, float]]:
    """Returns facts of each worker since the last report, by name."""
    return []

  @abc.abstractmethod
  def close(self) -> None:
    """Ends the processes."""


class RemoteCollector(collector.Collector):
  """Hands every call over to workers."""

  def __init__(
      self,
      recipe: collector.Recipe,
      specs: collector.Specs,
      num_environments: int,
      workers: Workers,
  ):
    """Builds the collector; nothing runs yet.

    Args:
      recipe: Recipe of the shard's collector.
      specs: Its specs, which each rollout is checked against.
      num_environments: B.
      workers: The processes that collect.
    """
    self._index = recipe.shard
    self._specs = specs
    self._num_environments = num_environments
    self._workers = workers
    self._variables: Any = None  # The policy's, as the workers share them.
    self._num_calls = 0
    self._state: dict[str, Any] = {}  # After the last call.

  @property
  def specs(self) -> collector.Specs:
    return self._specs

  @property
  def num_environments(self) -> int:
    return self._num_environments

  def reset(self) -> None:
    self._call('reset')

  def collect(
      self,
      variables: collector.Variables | None,
      num_steps: int,
      is_uniform: bool = False,
  ) -> collector.Rollout:
    if variables is not None:
      self._variables = self._workers.share(list(map(np.asarray, variables)))
    has_old_row = self._state.get('last_row') is not None
    rollout = self._checked(
        self._call('collect', self._variables, num_steps, is_uniform)
    )
    if has_old_row and not rollout.num_old_rows:
      has_new_episodes = np.ones([self._num_environments], np.bool_)
      rollout = rollout._replace(has_new_episodes=has_new_episodes)
    # The first row of new episodes of a worker counts as the one that was lost.
    return rollout._replace(num_old_rows=int(has_old_row))

  def visits(self) -> dict[str, Any] | None:
    return self.get_state()['visits']

  def get_state(self) -> dict[str, Any]:
    return self._state or self._call('get_state')

  def set_state(self, state: dict[str, Any]) -> bool:
    return self._call('set_state', state)

  def close(self) -> None:
    pass

  def _call(self, name: str, *arguments: Any) -> Any:
    """Makes a call, again and again until a worker has survived it.

    Args:
      name: Name of a method of the collector.
      *arguments: Its arguments.

    Returns:
      The method's result.

    Raises:
      UserError: If the call ended in one, or no worker survived it.
    """
    task = shard_worker.Task(self._index, self._num_calls, (name, arguments))
    origin = self._state
    for losses in range(_MAX_LOSSES + 1):
      try:
        reply = self._workers.run(task)
        if reply.is_missing:
          task = task._replace(origin=origin)
          reply = self._workers.run(task)
        break
      except WorkerLost as lost:
        logging.warning(
            '%s Another one continues with shard %d.', lost, self._index
        )
        if losses == _MAX_LOSSES:
          raise errors.RunError(
              f'{losses + 1} workers in a row were lost at the same call,'
              f' {name} of shard {self._index}: {lost}'
          ) from lost
        task = task._replace(origin=origin)
    if reply.error is not None:
      raise reply.error
    reply = shard_worker.unpack_reply(reply)
    self._num_calls += 1
    self._state = reply.state
    if reply.has_new_episodes:  # Nobody reads the logs of a worker.
      logging.warning(
          'New episodes begin in shard %d: another worker cannot continue those'
          ' in progress.',
          self._index,
      )
    return reply.result

  def _checked(self, rollout: collector.Rollout) -> collector.Rollout:
    """Refuses a rollout that does not fit the learner's networks."""
    rows = rollout.trajectory
    expected = dict(
        observation=(self._specs.time_step.observation, rows.observation),
        action=(self._specs.action, rows.action),
    )
    for name, (spec, value) in expected.items():
      tf.nest.assert_same_structure(spec, value)
      for one, array in zip(tf.nest.flatten(spec), tf.nest.flatten(value)):
        shape, dtype = array.shape, np.dtype(array.dtype)
        wanted = (self._num_environments, shape[1], *one.shape)
        if shape != wanted or dtype != one.dtype.as_numpy_dtype:
          raise errors.RunError(
              f'The worker of shard {self._index} returned an {name} of shape'
              f' {shape} and type {dtype}, where {wanted} of'
              f' {one.dtype.name} was expected.'
          )
    return rollout


class RemoteShards(collector.Shards):
  """Shards that work side by side."""

  def __init__(
      self,
      collectors: Sequence[RemoteCollector],
      workers: Workers,
      max_lag_rounds: int = 0,
  ):
    """Takes over the collectors and their workers.

    Args:
      collectors: One a shard, as for `Shards`.
      workers: Workers of all of them.
      max_lag_rounds: As for `Shards`.
    """
    super().__init__(collectors, max_lag_rounds)
    self._workers = workers
    # One for each shard, and one that waits for them in a round ahead.
    self._threads = concurrent.futures.ThreadPoolExecutor(len(collectors) + 1)
    # Before the round ahead, while it is collected.
    self._states_before: list[dict[str, Any]] | None = None

  def _map(self, name: str, *arguments: Sequence[Any]) -> list[Any]:
    methods = [getattr(each, name) for each in self._collectors]
    return list(
        self._threads.map(lambda call, *its: call(*its), methods, *arguments)
    )

  def _begin(
      self, work: Callable[[], collector.Rollout]
  ) -> Callable[[], collector.Rollout]:
    self._states_before = self._states()
    working = self._threads.submit(work)

    def finish() -> collector.Rollout:
      rollout = working.result()
      self._states_before = None
      return rollout

    return finish

  def _states(self) -> list[dict[str, Any]]:
    return self._states_before or super()._states()

  def report(self) -> list[dict[str, float]]:
    return self._workers.report()

  def visits(self) -> list[dict[str, Any]]:
    found = [state['visits'] for state in self._states()]
    return [counts for counts in found if counts is not None]

  def close(self) -> None:
    self._workers.close()
    self._threads.shutdown(wait=False)
