# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers in the process of the test, which are lost as the test says."""

import pickle
import threading

from rnd_agents.workers import remote_collector
from rnd_agents.workers import shard_worker


class Workers(remote_collector.Workers):
  """One worker in this process, lost as it is told.

  All that goes in and out is pickled, as between processes.
  """

  def __init__(self, recipes, losses):
    """`losses`: what happens to which call, by (shard, its call)."""
    self._recipes = recipes
    self._losses = dict(losses)
    self._lock = threading.Lock()
    self._begin()

  def _begin(self):
    self._worker = shard_worker.ShardWorker(self._recipes)

  def run(self, task):
    with self._lock:
      loss = self._losses.pop((task.shard, task.num_calls), None)
      if loss == 'nobody knows':
        self._begin()
      if loss == 'before the call':
        self._begin()
        raise remote_collector.WorkerLost('It died.')
      reply = self._worker.run(pickle.loads(pickle.dumps(task)))
      if loss == 'after the call':
        self._begin()
        raise remote_collector.WorkerLost('It died.')
      if loss == 'but lives':  # Its answer is lost; it is a call ahead now.
        raise remote_collector.WorkerLost('The network failed.')
      return pickle.loads(pickle.dumps(reply))

  def close(self):
    assert not self._losses  # All of them have happened.
