# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A collector whose work is done by workers, any of which may die.

The state of a shard stays here and is part of the run's checkpoint; workers own
nothing. A call that a worker did not answer is made again by the next one, from
the state before it: so it returns the same bytes.
"""

import abc
import concurrent.futures

from absl import logging
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents.collecting import collector
from rnd_agents.collecting import shards
from rnd_agents.workers import shard_worker

# A call that so many workers did not survive is told as an error.
_MAX_LOSSES = 5


class WorkerLost(Exception):
  """A worker died, hung or cannot be reached; the message says which."""


class Workers(abc.ABC):
  """Processes with a `ShardWorker` each."""

  @abc.abstractmethod
  def run(self, task):
    """Has a `shard_worker.Task` carried out; several threads may call it.

    Returns:
      A `shard_worker.Reply`.

    Raises:
      WorkerLost: If no answer came. Another worker takes its place.
    """

  def share(self, variables):
    """Returns what stands for the variables of a policy in tasks."""
    return variables

  def report(self):
    """Facts of each worker since the last report, numbers by name."""
    return []

  @abc.abstractmethod
  def close(self):
    """Ends the processes."""


class RemoteCollector(collector.Collector):
  """Hands every call over to workers."""

  def __init__(self, recipe, specs, num_environments, workers):
    """Builds the collector; nothing runs yet.

    Args:
      recipe: The shard's `collector.Recipe`.
      specs: Its `collector.Specs`, which each rollout is checked against.
      num_environments: B.
      workers: `Workers`.
    """
    self._index = recipe.index
    self._specs = specs
    self._num_environments = num_environments
    self._workers = workers
    self._variables = None  # Of the policy, as the workers share them.
    self._num_calls = 0
    self._state = None  # After the last call; None before the first one.

  @property
  def specs(self):
    return self._specs

  @property
  def num_environments(self):
    return self._num_environments

  def reset(self):
    self._call('reset')

  def collect(self, variables, num_steps, is_uniform=False):
    if variables is not None:
      self._variables = self._workers.share(variables)
    has_old_row = (self._state or {}).get('last_row') is not None
    rollout = self._checked(
        self._call('collect', self._variables, num_steps, is_uniform)
    )
    # Where a worker had to begin new episodes, its first row counts as the one
    # that was lost.
    return rollout._replace(num_old_rows=int(has_old_row))

  def visits(self):
    return self.get_state()['visits']

  def get_state(self):
    return self._call('get_state') if self._state is None else self._state

  def set_state(self, state):
    return self._call('set_state', state)

  def close(self):
    pass

  def _call(self, name, *arguments):
    """Makes a call, again and again until a worker has survived it.

    Args:
      name: Name of a method.
      *arguments: Of the method.

    Returns:
      What the method returned.

    Raises:
      UserError: If the call ended in one, or no worker survived it.
    """
    task = shard_worker.Task(self._index, self._num_calls, (name, arguments))
    origin = shard_worker.Origin(self._state)
    for losses in range(_MAX_LOSSES + 1):
      try:
        reply = self._workers.run(task)
        if reply.is_missing:
          task = task._replace(origin=origin)
          reply = self._workers.run(task)
        break
      except WorkerLost as lost:
        logging.warning(
            '%s Another one goes on with shard %d.', lost, self._index
        )
        if losses == _MAX_LOSSES:
          raise errors.RunError(
              f'{losses + 1} workers in a row were lost at the same call,'
              f' {name} of shard {self._index}: {lost}'
          ) from lost
        task = task._replace(origin=origin)
    if reply.error is not None:
      raise reply.error
    reply = shard_worker.unpacked(reply)
    self._num_calls += 1
    self._state = reply.state
    if reply.began_anew:  # Where a worker logs, nobody looks.
      logging.warning(
          'New episodes begin in shard %d: those in progress cannot go on in'
          ' another worker.',
          self._index,
      )
    return reply.result

  def _checked(self, rollout):
    """Refuses a rollout that the learner's networks do not fit."""
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


class RemoteShards(shards.Shards):
  """Shards that work side by side."""

  def __init__(self, collectors, workers, max_lag_rounds=0):
    """Takes over the collectors and their workers.

    Args:
      collectors: `RemoteCollector`s.
      workers: Their `Workers`.
      max_lag_rounds: As in `Shards`.
    """
    super().__init__(collectors, max_lag_rounds)
    self._workers = workers
    # One for each shard, and one that waits for them in a round ahead.
    self._threads = concurrent.futures.ThreadPoolExecutor(len(collectors) + 1)
    self._states_before = None  # A round ahead.

  def _map(self, name, *arguments):
    methods = [getattr(each, name) for each in self._collectors]
    return list(
        self._threads.map(lambda call, *its: call(*its), methods, *arguments)
    )

  def _begin(self, work):
    self._states_before = self._states()
    working = self._threads.submit(work)

    def finish():
      rollout = working.result()
      self._states_before = None
      return rollout

    return finish

  def _states(self):
    return self._states_before or super()._states()

  def report(self):
    return self._workers.report()

  def visits(self):
    found = [state['visits'] for state in self._states()]
    return [counts for counts in found if counts is not None]

  def close(self):
    self._workers.close()
    self._threads.shutdown(wait=False)
