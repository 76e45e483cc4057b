# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Actors: objects that choose the actions of episodes.

An actor is an object with `initial_state(batch_size)` and
`act(time_step, state, wanted)`, which returns a nest of NumPy arrays [B, ...]
that fits the action spec, and the next state; only the actions of the
environments with an index in `wanted` matter.
"""

import inspect

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces


class ActorError(errors.InvalidValue):
  """An actor that cannot play in an environment; the message says why."""


class ExpertFailure(RuntimeError):
  """An expert raised an error of its own, which is the cause of this one."""


class PolicyActor:
  """Plays the actions of a policy."""

  def __init__(self, policy):
    """Creates the actor.

    Args:
      policy: A `TFPolicy`, a `SavedPolicy`, or what `tf.saved_model.load`
        returns for one.
    """
    self._policy = policy
    self._action = common.function(policy.action)

  def initial_state(self, batch_size):
    return self._policy.get_initial_state(batch_size)

  def act(self, time_step, state, wanted=None):
    del wanted
    step = self._action(
        tf.nest.map_structure(tf.convert_to_tensor, time_step), state
    )
    return tf.nest.map_structure(np.asarray, step.action), step.state


class ObservationActor:
  """Plays an actor on batches of observations, from any step of episodes."""

  def __init__(self, actor):
    """Creates the actor of observations from a `PolicyActor`."""
    self._actor = actor
    self.reset()

  def reset(self):
    """Forgets the states of the actor, as if episodes began."""
    self._state = None

  def __call__(self, observations):
    """Returns actions [B, ...] for observations [B, ...]."""
    size = len(tf.nest.flatten(observations)[0])
    if self._state is None:
      self._state = self._actor.initial_state(size)
      time_step = ts.restart(observations, size)
    else:
      time_step = ts.transition(
          observations,
          np.zeros(size, np.float32),
          np.ones(size, np.float32),  # TF-Agents would not repeat it.
      )
    actions, self._state = self._actor.act(
        tf.nest.map_structure(np.asarray, time_step), self._state
    )
    return actions


class ExpertActor:
  """Plays the actions of the environment's own `expert_action()`.

  It is not translated by wrappers that renumber the actions: use none.
  """

  def __init__(self, environment):
    """Creates the actor.

    Args:
      environment: Of `load_environment`, of environments that have an
        `expert_action()` each.

    Raises:
      ActorError: If there is none.
    """
    self._environment = environment
    call = getattr(environment.gymnasium_vector_env, 'call', None)
    # Asked first: a worker process that has no such method would be lost.
    if call is None or not all(call('has_wrapper_attr', 'expert_action')):
      raise ActorError(
          f'{environment.name} has no expert_action(). Name a function'
          ' of its observations: --expert=module:function.'
      )

  def initial_state(self, batch_size):
    del batch_size
    return ()

  def act(self, time_step, state, wanted=None):
    environment = self._environment
    vector_env, size = environment.gymnasium_vector_env, environment.batch_size
    name = f'expert_action() of {environment.name}'
    wanted = list(range(size) if wanted is None else wanted)
    parts = _ask(
        name, vector_env.call, 'call_if_among', wanted, 'expert_action'
    )
    # Any action will do for the others.
    parts = [parts[i if i in wanted else wanted[0]] for i in range(size)]
    actions = tf.nest.map_structure(lambda *p: np.stack(p), *parts)
    space = vector_env.single_action_space
    return gymnasium_spaces.from_zero(space, actions), state


class FunctionActor:
  """Plays the actions that a function of the observations returns."""

  def __init__(self, function, environment):
    """Creates the actor.

    Args:
      function: Takes a nest of NumPy arrays [B, ...] and returns one. If it has
        a parameter `time_step`, that gets the `TimeStep` [B] by name.
      environment: The `VectorPyEnvironment` it plays in.
    """
    self._function = function
    self._is_nested = tf.nest.is_nested(environment.action_spec())
    self._name = getattr(function, '__name__', type(function).__name__)
    try:
      parameters = inspect.signature(function).parameters
    except ValueError:  # It is not written in Python.
      parameters = ()
    self._takes_time_step = 'time_step' in parameters

  def initial_state(self, batch_size):
    del batch_size
    return ()

  def act(self, time_step, state, wanted=None):
    del wanted
    # It may write into what it gets, and what it gets is recorded.
    time_step = tf.nest.map_structure(np.copy, time_step)
    more = {'time_step': time_step} if self._takes_time_step else {}
    actions = _ask(self._name, self._function, time_step.observation, **more)
    if not self._is_nested:  # A list of numbers serves as an array does.
      return np.asarray(actions), state
    return tf.nest.map_structure(np.asarray, actions), state


def _ask(name, function, *args, **kwargs):
  """Calls an expert; raises ActorError or ExpertFailure for what it raises."""
  try:
    return function(*args, **kwargs)
  except errors.InvalidValue as error:
    raise ActorError(f'{name}: {error}') from error
  except Exception as error:
    what = f'{name} raised {type(error).__name__}: {error}'
    raise ExpertFailure(f'{what.splitlines()[0]}.') from error


def load_function(name):
  """Returns the function of a module, or a new object of the class.

  Args:
    name: 'package.module:function', or the name of a class, whose objects
      remember something from call to call.

  Raises:
    UserError: If there is none.
  """
  module_name, _, function_name = name.partition(':')
  if not module_name or not function_name:
    raise ActorError(f"{name!r} must be 'module:function', as in experts:mine.")
  module = failures.import_module(module_name, name)
  function = getattr(module, function_name, None)
  if not callable(function):
    raise ActorError(f'{module_name} has no function {function_name!r}.')
  return function() if isinstance(function, type) else function


def network_state_spec(actor):
  """Returns specs of an actor's state, as a flat tuple; () if it has none."""
  return tuple(
      array_spec.ArraySpec(np.shape(part)[1:], np.asarray(part).dtype)
      for part in tf.nest.flatten(actor.initial_state(1))
  )
