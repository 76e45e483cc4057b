# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A collector in a process of its own, with nothing but the protocol.

What goes through the pipe is pickled: the run's gin configuration and seed, a
recipe, names of methods with their arguments, and what they return.
"""

import os

import gin
import tensorflow as tf

from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from tests.training import tiny_runs  # Registers configurables, too.


def _serve(connection, gin_config, seed, recipe):
  """The process: answers until it is told to close."""
  gin.parse_config(gin_config)
  tf.keras.utils.set_random_seed(seed)
  served = local.LocalCollector(recipe)
  while True:
    name, arguments = connection.recv()
    found = getattr(served, name)
    connection.send(found(*arguments) if callable(found) else found)
    if name == 'close':
      return


class ProcessCollector(collector.Collector):
  """Hands every call over to a `LocalCollector` in a process that is new."""

  def __init__(self, recipe, seed):
    processes = tiny_runs.context()  # Nothing of this process is copied.
    self._connection, theirs = processes.Pipe()
    self._process = processes.Process(
        target=_serve, args=(theirs, gin.config_str(), seed, recipe)
    )
    self._process.start()
    theirs.close()
    self.pid = self._process.pid
    assert self.pid != os.getpid()

  def _call(self, name, *arguments):
    self._connection.send((name, arguments))
    return self._connection.recv()

  @property
  def specs(self):
    return self._call('specs')

  @property
  def num_environments(self):
    return self._call('num_environments')

  def reset(self):
    self._call('reset')

  def collect_random(self, num_rows):
    return self._call('collect_random', num_rows)

  def collect(self, variables, num_steps):
    return self._call('collect', variables, num_steps)

  def visits(self):
    return self._call('visits')

  def get_state(self):
    return self._call('get_state')

  def set_state(self, state):
    return self._call('set_state', state)

  def close(self):
    self._call('close')
    self._process.join()
