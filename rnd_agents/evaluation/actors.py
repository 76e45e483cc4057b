# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Actors: objects that choose the actions of episodes.

`load_function` finds an expert by its name; `Actor` is what all actors have.
"""

from collections.abc import Callable, Sequence
import contextlib
import inspect
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types
import tree

from rnd_agents import errors
from rnd_agents import graph_calls
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import vector_environment


class ActorError(errors.InvalidValue):
  """An actor cannot play in an environment."""


class ExpertFailure(RuntimeError):
  """An expert raised an error, which is the cause of this one."""


class Actor(Protocol):
  """Chooses the actions of B environments."""

  def initial_state(self, batch_size: int) -> types.NestedTensorOrArray:
    """Returns the state with which episodes begin; () for none."""

  def act(
      self,
      time_step: ts.TimeStep,
      state: types.NestedTensorOrArray,
      wanted: Sequence[int] | None = None,
  ) -> tuple[types.NestedArray, types.NestedTensorOrArray]:
    """Returns the actions of a time step and the next state.

    Args:
      time_step: `TimeStep` of arrays [B, ...].
      state: Returned by the last call, or by `initial_state`.
      wanted: Indices of the environments whose actions matter; None for all.

    Returns:
      A tuple (nest of arrays [B, ...] that fits the action spec, state).
    """


class PolicyActor:
  """Plays the actions of a policy."""

  def __init__(self, policy: Any):
    """Creates the actor.

    Args:
      policy: A `TFPolicy`, a `SavedPolicy`, or a policy that
        `tf.saved_model.load` returned.
    """
    self._policy = policy
    self._action = graph_calls.GraphCall(policy.action)

  def initial_state(self, batch_size: int) -> types.NestedTensorOrArray:
    return self._policy.get_initial_state(batch_size)

  def act(
      self,
      time_step: ts.TimeStep,
      state: types.NestedTensorOrArray,
      wanted: Sequence[int] | None = None,
  ) -> tuple[types.NestedArray, types.NestedTensorOrArray]:
    del wanted
    step = self._action(time_step, state)
    return tf.nest.map_structure(np.asarray, step.action), step.state


class ObservationActor:
  """Calls an actor with batches of observations, from any step on."""

  def __init__(self, actor: Actor):
    """Creates the actor.

    Args:
      actor: A `PolicyActor`.
    """
    self._actor = actor
    self.reset()

  def reset(self) -> None:
    """Resets the states of the actor, as at the begin of episodes."""
    self._state = None

  def __call__(self, observations: types.NestedArray) -> types.NestedArray:
    """Returns actions [B, ...] for observations [B, ...]."""
    size = len(tf.nest.flatten(observations)[0])
    if self._state is None:
      self._state = self._actor.initial_state(size)
      time_step = ts.restart(observations, size)
    else:
      time_step = ts.transition(
          observations,
          np.zeros(size, np.float32),
          np.ones(size, np.float32),  # TF-Agents does not broadcast it.
      )
    actions, self._state = self._actor.act(
        tf.nest.map_structure(np.asarray, time_step), self._state
    )
    return actions


class ExpertActor:
  """Plays the actions of the environment's own `expert_action()`.

  Do not use wrappers that renumber the actions: they do not change it.
  """

  def __init__(self, environment: vector_environment.VectorPyEnvironment):
    """Creates the actor.

    Args:
      environment: A `VectorPyEnvironment` whose environments have an
        `expert_action()`.

    Raises:
      ActorError: If they do not have it.
    """
    self._environment = environment
    call = getattr(environment.gymnasium_vector_env, 'call', None)
    # Checked first: a worker process without such a method would end.
    if call is None or not all(call('has_wrapper_attr', 'expert_action')):
      raise ActorError(
          f'{environment.name} has no expert_action(). Name a function'
          ' of its observations: --expert=module:function.'
      )

  def initial_state(self, batch_size: int) -> types.NestedTensorOrArray:
    del batch_size
    return ()

  def act(
      self,
      time_step: ts.TimeStep,
      state: types.NestedTensorOrArray,
      wanted: Sequence[int] | None = None,
  ) -> tuple[types.NestedArray, types.NestedTensorOrArray]:
    environment = self._environment
    vector_env, size = environment.gymnasium_vector_env, environment.batch_size
    name = f'expert_action() of {environment.name}'
    wanted = list(range(size) if wanted is None else wanted)
    parts = _ask(
        name, vector_env.call, 'call_if_among', wanted, 'expert_action'
    )
    space = vector_env.single_action_space
    # Any action will do for the others.
    parts = [parts[i if i in wanted else wanted[0]] for i in range(size)]
    # Before they are joined, since an action may be a list of numbers.
    parts = [gymnasium_spaces.from_zero(space, part) for part in parts]
    return tf.nest.map_structure(lambda *p: np.stack(p), *parts), state


class FunctionActor:
  """Plays the actions that a function of the observations returns."""

  def __init__(
      self,
      function: Callable[..., Any],
      environment: vector_environment.VectorPyEnvironment,
  ):
    """Creates the actor.

    Args:
      function: Function from a nest of NumPy arrays [B, ...] to a nest of
        actions. If it has a parameter `time_step`, it gets the `TimeStep` [B]
        by that keyword.
      environment: The `VectorPyEnvironment` in which it plays.
    """
    self._function = function
    self._action_spec = environment.action_spec()
    self._name = getattr(function, '__name__', type(function).__name__)
    self._takes_time_step = False
    with contextlib.suppress(ValueError):  # It is not written in Python.
      parameters = inspect.signature(function).parameters
      self._takes_time_step = 'time_step' in parameters

  def initial_state(self, batch_size: int) -> types.NestedTensorOrArray:
    del batch_size
    return ()

  def act(
      self,
      time_step: ts.TimeStep,
      state: types.NestedTensorOrArray,
      wanted: Sequence[int] | None = None,
  ) -> tuple[types.NestedArray, types.NestedTensorOrArray]:
    del wanted
    # A copy: the function may write into it, and it is recorded.
    time_step = tf.nest.map_structure(np.copy, time_step)
    more = {'time_step': time_step} if self._takes_time_step else {}
    actions = _ask(self._name, self._function, time_step.observation, **more)
    try:  # A list of numbers serves as an array does.
      return tree.map_structure_up_to(
          self._action_spec, np.asarray, actions, check_types=False
      ), state
    except (TypeError, ValueError) as error:
      raise ActorError(
          f'{self._name} must return actions like {self._action_spec}: {error}'
      ) from error


def _ask(
    name: str, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
  """Calls an expert; turns its errors into ActorError or ExpertFailure."""
  try:
    return function(*args, **kwargs)
  except errors.InvalidValue as error:
    raise ActorError(f'{name}: {error}') from error
  except Exception as error:
    what = f'{name} raised {type(error).__name__}: {error}'
    raise ExpertFailure(f'{what.splitlines()[0]}.') from error


def load_function(name: str) -> Callable[..., Any]:
  """Returns the function of a module, or a new object of the class.

  Args:
    name: 'package.module:function', or the name of a class, of which an object
      is made, for an expert with a memory.

  Raises:
    UserError: If there is no such function.
  """
  module_name, _, function_name = name.partition(':')
  if not module_name or not function_name:
    raise ActorError(f"{name!r} must be 'module:function', as in experts:mine.")
  module = failures.import_module(module_name, name)
  function = getattr(module, function_name, None)
  if not callable(function):
    raise ActorError(f'{module_name} has no function {function_name!r}.')
  return function() if isinstance(function, type) else function


def network_state_spec(actor: Actor) -> tuple[types.NestedArraySpec, ...]:
  """Returns specs of an actor's state as a flat tuple; () for no state."""
  return tuple(
      array_spec.ArraySpec(np.shape(part)[1:], np.asarray(part).dtype)
      for part in tf.nest.flatten(actor.initial_state(1))
  )
