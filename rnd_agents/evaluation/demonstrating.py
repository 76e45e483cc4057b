# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole episodes of whoever can play, recorded from known seeds.

Who plays is an actor: an object with `initial_state(batch_size)` and
`act(time_step, state, wanted)`, which returns a nest of NumPy arrays [B, ...]
that fits the action spec, and the next state; only the actions of the
environments with an index in `wanted` matter. There are three: `PolicyActor`,
`ExpertActor` for environments that know what is best, and `FunctionActor`.
"""

import importlib
from typing import Any, NamedTuple

import gin
import numpy as np
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents.environments import gymnasium_spaces
from rnd_agents.evaluation import evaluator

_MAX_EPISODE_STEPS = 200_000


class Demonstration(NamedTuple):
  """One recorded episode.

  Attributes:
    seed: That it began from.
    return_: Sum of the rewards as the environment gave them; those of the
      trajectory are the agent's, see `load_environment.reward_fn`.
    length_env_steps: T.
    success: True, False, or None where the environment does not tell.
    trajectory: A `Trajectory` of arrays [T + 1, ...], from the FIRST to the
      LAST frame; the action of the last is as near to 0 as there is one.
  """

  seed: int
  return_: float
  length_env_steps: int
  success: Any
  trajectory: Any


class PolicyActor:
  """Plays as a policy does."""

  def __init__(self, policy, environment):
    """Creates the actor.

    Args:
      policy: A `TFPolicy` or a `SavedPolicy`.
      environment: The `VectorPyEnvironment` it plays in.
    """
    self._policy = policy
    self._action = evaluator.graph_action(policy)
    self._spec = environment.action_spec()

  def initial_state(self, batch_size):
    return self._policy.get_initial_state(batch_size)

  def act(self, time_step, state, wanted=None):
    del wanted
    step = self._action(
        tf.nest.map_structure(tf.convert_to_tensor, time_step), state
    )
    # Continuous ones are sampled without bounds; the environment clips as well.
    action = tf.nest.map_structure(_clipped, step.action, self._spec)
    return action, step.state


class ExpertActor:
  """Plays what the environment's own `expert_action()` says.

  Wrappers that renumber the actions are not asked: they must not be there.
  """

  def __init__(self, environment):
    """Creates the actor.

    Args:
      environment: A `VectorPyEnvironment` of environments that have an
        `expert_action()` each, or of a vector environment that has one.

    Raises:
      ValueError: If there is none.
    """
    self._environment = environment
    vector_env = environment.gymnasium_vector_env
    self._is_of_vector = hasattr(vector_env, 'expert_action')
    if self._is_of_vector:
      return

    # Asked first: a worker process that has no such method would be lost.
    def have(method):
      call = getattr(vector_env, 'call', None)
      return call is not None and all(call('has_wrapper_attr', method))

    if not have('expert_action'):
      raise ValueError(
          f'{environment.name} has no expert_action(). Name a function'
          ' of its observations: --expert=module:function.'
      )
    self._can_choose = have('call_if_among')

  def initial_state(self, batch_size):
    del batch_size
    return ()

  def act(self, time_step, state, wanted=None):
    vector_env = self._environment.gymnasium_vector_env
    batch_size = self._environment.batch_size
    if self._is_of_vector:
      actions = vector_env.expert_action()
    else:
      wanted = range(batch_size) if wanted is None else list(wanted)
      parts = (
          vector_env.call('call_if_among', wanted, 'expert_action')
          if self._can_choose
          else vector_env.call('expert_action')
      )
      # Any action will do for the others.
      asked = [i if i in wanted else wanted[0] for i in range(batch_size)]
      parts = [parts[i] for i in asked]
      actions = tf.nest.map_structure(lambda *p: np.stack(p), *parts)
    spec = self._environment.action_spec()
    space = vector_env.single_action_space
    return _fitting(actions, spec, batch_size, 'expert_action()', space), state


class FunctionActor:
  """Plays what a function of the observations says."""

  def __init__(self, function, environment):
    """Creates the actor.

    Args:
      function: Takes a nest of NumPy arrays [B, ...] and returns one.
      environment: The `VectorPyEnvironment` it plays in.
    """
    self._function = function
    self._environment = environment

  def initial_state(self, batch_size):
    del batch_size
    return ()

  def act(self, time_step, state, wanted=None):
    del wanted
    # It may write into what it gets, and what it gets is recorded.
    observation = tf.nest.map_structure(np.copy, time_step.observation)
    actions = self._function(observation)
    environment = self._environment
    name = getattr(self._function, '__name__', 'The function')
    return (
        _fitting(
            actions, environment.action_spec(), environment.batch_size, name
        ),
        state,
    )


def load_function(name):
  """The function of a module.

  Args:
    name: 'package.module:function'.

  Raises:
    ValueError: If there is none.
  """
  module_name, _, function_name = name.partition(':')
  if not module_name or not function_name:
    raise ValueError(f"{name!r} must be 'module:function', as in experts:mine.")
  try:
    with gin.unlock_config():  # It may define what gin configures.
      module = importlib.import_module(module_name)
  except ModuleNotFoundError as error:
    raise ValueError(
        f'{name}: {error}. The folder of the module has to be the current one,'
        ' or in PYTHONPATH.'
    ) from error
  function = getattr(module, function_name, None)
  if not callable(function):
    raise ValueError(f'{module_name} has no function {function_name!r}.')
  return function


def network_state_spec(actor):
  """Specs of the state of an actor, as a flat tuple; () if it has none."""
  return tuple(
      array_spec.ArraySpec(np.shape(part)[1:], np.asarray(part).dtype)
      for part in tf.nest.flatten(actor.initial_state(1))
  )


def collect(
    environment, actor, seeds, keep_network_state=False, should_stop=None
):
  """Plays one episode from each seed, as many at once as there is room for.

  Args:
    environment: A `VectorPyEnvironment`.
    actor: Who plays.
    seeds: A sequence of seeds.
    keep_network_state: Whether the policy info is a dict with `network_state`,
      the actor's state before each frame as a flat tuple, and not ().
    should_stop: Optional function that is asked before each step; True ends
      it all, after the episodes that are complete.

  Yields:
    A `Demonstration` each, in the order of the seeds. Of a round that is broken
    off by an error, those that are complete come before the error.

  Raises:
    EndlessEpisode: If an episode does not end.
    ValueError: If the actor has no state to keep, or its actions do not fit.
  """
  if keep_network_state and not network_state_spec(actor):
    raise ValueError(
        'There is no network state to keep: who plays has no memory.'
    )
  should_stop = should_stop or (lambda: False)
  size = environment.batch_size
  for start in range(0, len(seeds), size):
    if should_stop():
      return
    yield from _round(
        environment,
        actor,
        list(seeds[start : start + size]),
        keep_network_state,
        should_stop,
    )


def _round(*args):
  """Yields what `_play` completes; then raises what broke it off."""
  done, error = {}, None
  try:
    _play(*args, done)
  except Exception as found:  # pylint: disable=broad-exception-caught
    error = found
  yield from (done[i] for i in sorted(done))
  if error is not None:
    raise error


def _play(environment, actor, seeds, keep_network_state, should_stop, done):
  """Environment i plays the episode of seeds[i], which becomes done[i]."""
  spare = environment.batch_size - len(seeds)
  time_step = environment.reset_with_seeds(seeds + spare * seeds[-1:])
  environment.pop_episodes()
  state = actor.initial_state(environment.batch_size)
  info = _info(state, keep_network_state)
  recordings = {i: [] for i in range(len(seeds))}  # Of those that still play.
  for _ in range(_MAX_EPISODE_STEPS):
    if not recordings or should_stop():
      return
    action, state = actor.act(time_step, state, list(recordings))
    next_step = environment.step(action)
    frame = trajectory.Trajectory(
        step_type=time_step.step_type,
        observation=time_step.observation,
        action=action,
        policy_info=info,
        next_step_type=next_step.step_type,
        reward=next_step.reward,
        discount=next_step.discount,
    )
    for i, rows in recordings.items():
      rows.append(_row(frame, i))
    time_step, info = next_step, _info(state, keep_network_state)
    if np.any(time_step.step_type == ts.StepType.LAST):
      boundary = _boundary(environment, time_step, info)
      for episode in environment.pop_episodes():
        i = episode.environment_index
        if i in recordings:  # Else a later episode, which nobody asked for.
          rows = recordings.pop(i) + [_row(boundary, i)]
          done[i] = _demonstration(seeds[i], episode, frame, rows)
  raise evaluator.EndlessEpisode(
      f'After {_MAX_EPISODE_STEPS} steps {len(recordings)} of {len(seeds)}'
      ' episodes have not ended. Set load_environment.max_episode_steps.'
  )


def _info(state, keep_network_state):
  """The policy info of the frame that `state` is the state before."""
  if not keep_network_state:
    return ()
  parts = tf.nest.flatten(state)
  return {'network_state': tuple(np.asarray(part) for part in parts)}


def _boundary(environment, time_step, info):
  """The frame after the last step, as TF-Agents' drivers have it."""
  size = environment.batch_size
  return trajectory.Trajectory(
      step_type=time_step.step_type,
      observation=time_step.observation,
      action=tf.nest.map_structure(
          lambda spec: np.clip(
              np.zeros([size, *spec.shape], spec.dtype),
              spec.minimum,
              spec.maximum,
          ),
          environment.action_spec(),
      ),
      policy_info=info,
      next_step_type=np.full(size, ts.StepType.FIRST, np.int32),
      reward=np.zeros(size, np.float32),
      discount=np.ones(size, np.float32),
  )


def _row(frame, index):
  """One environment's part, flat; a copy, which does not hold the rest."""
  return [np.array(part[index]) for part in tf.nest.flatten(frame)]


def _demonstration(seed, episode, frame, rows):
  """Stacks the rows, which are flat, in the structure of `frame`."""
  parts = [np.stack(part) for part in zip(*rows)]
  return Demonstration(
      seed,
      episode.return_,
      episode.length_env_steps,
      episode.success,
      tf.nest.pack_sequence_as(frame, parts),
  )


def _clipped(action, spec):
  """A policy's actions as an array, of the type and within the bounds."""
  array = np.asarray(action)
  if array.dtype.kind == 'f':
    array = np.clip(array, spec.minimum, spec.maximum)
  return array.astype(spec.dtype, copy=False)


def _fitting(actions, spec, batch_size, who, space=None):
  """The actions as arrays of the spec; ValueError if they do not fit it.

  Those of a `space` may count from elsewhere than from 0.
  """

  def fit(spec, action):
    array = np.asarray(action)
    shape = (batch_size, *spec.shape)
    kinds = 'iub' if np.issubdtype(spec.dtype, np.integer) else 'iuf'
    if array.shape != shape or array.dtype.kind not in kinds:
      raise ValueError(
          f'{who} gave {array.dtype} {list(array.shape)} for actions that are'
          f' {np.dtype(spec.dtype).name} {list(shape)}, environments first.'
      )
    if np.any(array < spec.minimum) or np.any(array > spec.maximum):
      raise ValueError(
          f'{who} gave actions from {array.min()} to {array.max()}; they go'
          f' from {np.min(spec.minimum)} to {np.max(spec.maximum)}.'
      )
    return array.astype(spec.dtype)

  try:
    tf.nest.assert_same_structure(spec, actions)
  except (TypeError, ValueError):
    # A list of numbers serves as an array does.
    if tf.nest.is_nested(spec):
      raise ValueError(
          f'{who} gave actions of another structure than {spec}.'
      ) from None
    actions = np.asarray(actions)
  if space is not None:
    actions = gymnasium_spaces.from_zero(space, actions)
  return tf.nest.map_structure(fit, spec, actions)
