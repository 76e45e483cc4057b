# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Environments in workers for a policy that acts in the learner.

The collector of a shard is a `LocalCollector` here, with a `RemoteEnvironment`:
each of its steps is a message to a worker, which holds the `Simulator`.
"""

import functools

from tf_agents.environments import py_environment

from rnd_agents import errors
from rnd_agents.collecting import local
from rnd_agents.workers import remote_collector

# A lost worker's steps since the last state are taken again by the next one.
_CALLS_BETWEEN_STATES = 128


def create_collector(recipe, workers):
  """A collector whose environments are in workers.

  Args:
    recipe: The shard's `collector.Recipe`.
    workers: `remote_collector.Workers` with `Simulator`s.
  """
  return local.LocalCollector(
      recipe._replace(
          make_environment=functools.partial(
              RemoteEnvironment, recipe.index, workers
          )
      )
  )


class Simulator:
  """The environments of a shard, in a worker."""

  def __init__(self, recipe):
    """Makes the environments of a `collector.Recipe`."""
    self._environment = recipe.make_environment()

  def specs(self):
    """A tuple (time step spec, action spec, number of environments, name)."""
    environment = self._environment
    return (
        environment.time_step_spec(),
        environment.action_spec(),
        environment.batch_size,
        environment.name,
    )

  def reset(self):
    """Returns a tuple (time step, infos)."""
    return self._environment.reset(), self._environment.get_info()

  def step(self, action):
    """Returns a tuple (time step, infos)."""
    return self._environment.step(action), self._environment.get_info()

  def pop_episodes(self):
    """As `VectorPyEnvironment.pop_episodes`."""
    return self._environment.pop_episodes()

  def seed(self, seed):
    """As `VectorPyEnvironment.seed`."""
    self._environment.seed(seed)

  def get_state(self):
    """As `VectorPyEnvironment.get_state`; None where it cannot be saved."""
    try:
      return self._environment.get_state()
    except NotImplementedError:
      return None

  def set_state(self, state):
    """As `VectorPyEnvironment.set_state`; returns True."""
    self._environment.set_state(state)
    return True

  def close(self):
    """Closes the environments."""
    self._environment.close()


class RemoteEnvironment(py_environment.PyEnvironment):
  """A `VectorPyEnvironment` that a worker holds, for a `LocalCollector`."""

  def __init__(self, index, workers):
    """Makes the environments in a worker.

    Args:
      index: Number of the shard.
      workers: `remote_collector.Workers` with `Simulator`s.

    Raises:
      UserError: If they cannot be made.
    """
    super().__init__(handle_auto_reset=False)
    self.failure = None
    self._remote = remote_collector.RemoteObject(index, workers)
    self._time_step_spec, self._action_spec, self._batch_size, self.name = (
        self._call('specs')
    )
    self._observers = []

  @property
  def batched(self):
    return True

  @property
  def batch_size(self):
    return self._batch_size

  def time_step_spec(self):
    return self._time_step_spec

  def observation_spec(self):
    return self._time_step_spec.observation

  def reward_spec(self):
    return self._time_step_spec.reward

  def action_spec(self):
    return self._action_spec

  def add_step_observer(self, observer):
    self._observers.append(observer)

  def busy_since(self):
    """None: whoever asks the workers watches how long they take."""

  def pop_episodes(self):
    return self._call('pop_episodes')

  def seed(self, seed):
    self._call('seed', seed)

  def get_state(self):
    if self._remote.state is None:
      self._call('get_state', saves=True)
    return self._remote.state

  def set_state(self, state):
    self._call('set_state', state, saves=True)
    # Asked for by the next step or reset, which returns the restored one.
    self._current_time_step = None

  def close(self):
    pass

  def _reset(self):
    return self._observed(self._call('reset', saves=True))

  def _step(self, action):
    saves = self._remote.num_calls_since_state >= _CALLS_BETWEEN_STATES
    return self._observed(self._call('step', action, saves=saves))

  def _observed(self, stepped):
    time_step, infos = stepped
    for observer in self._observers:
      observer(time_step, infos)
    return time_step

  def _call(self, name, *arguments, saves=False):
    try:
      result = self._remote.call(name, *arguments, saves=saves)
      if saves and self._remote.state is None:
        raise errors.SetupError(
            f'{self.name} cannot be put back where a worker is lost, so that'
            ' the learner cannot act for it: leave out --acting=learner, or set'
            " load_environment.vectorization = 'sync'."
        )
    except errors.UserError as error:
      self.failure = error  # TensorFlow would make a text of it.
      raise
    return result
