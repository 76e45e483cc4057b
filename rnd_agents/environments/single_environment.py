# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapts one environment that already exists to an unbatched PyEnvironment."""

from typing import Any

import gymnasium
import numpy as np
import tensorflow as tf
from tf_agents.environments import gym_wrapper
from tf_agents.environments import wrappers
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import infos
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization


def from_gymnasium(
    env: gymnasium.Env,
    seed: int | None = None,
    seeding: episode_seeds.EpisodeSeeds | None = None,
    name: str | None = None,
) -> 'SinglePyEnvironment':
  """Adapts a single `gymnasium.Env`.

  To train on several copies, which is faster, call `load_environment` with a
  function that makes them.

  Args:
    env: The environment.
    seed: Seed from which the seeds of all episodes are drawn; None takes
      entropy from the system.
    seeding: A schedule of `episode_seeds`; replaces `stream(seed)`.
    name: Name of the environment; None for its id or its class.

  Returns:
    An unbatched PyEnvironment.

  Raises:
    EnvironmentSetupError: If `env` is not a `gymnasium.Env`, or a space has no
      spec.
  """
  if not isinstance(env, gymnasium.Env):
    raise failures.EnvironmentSetupError(
        f'from_gymnasium needs a gymnasium.Env, not {type(env).__name__}. Use'
        ' from_old_gym for the old gym, load_environment for callables and ids,'
        ' VectorPyEnvironment for vector environments.'
    )
  episode_seeds.check_schedule(seeding)
  if name is None:
    name = getattr(env.spec, 'id', None) or type(env.unwrapped).__name__
  return SinglePyEnvironment(
      vectorization.make_batch(
          lambda: env,
          vectorization.default_name(name),
          seed=seed,
          seeding=seeding,
      ),
      env,
  )


def from_old_gym(
    env: str | Any, discount: float = 1.0
) -> 'OldGymPyEnvironment':
  """Adapts an environment of the old Gym, whose `step` returns four values.

  Where Gym's TimeLimit cut an episode, the last discount is `discount`, not 0
  as in TF-Agents' own wrapper.

  Args:
    env: A `gym.Env`, or the id of one.
    discount: Discount of each step but a terminal one.

  Returns:
    An unbatched PyEnvironment.

  Raises:
    EnvironmentSetupError: If `env` is one of Gymnasium.
  """
  if isinstance(env, str):
    import gym  # pylint: disable=import-outside-toplevel

    env = gym.make(env)
  if isinstance(env, gymnasium.Env):
    raise failures.EnvironmentSetupError(
        f'from_old_gym needs an environment of the old gym, and {env} is one of'
        ' Gymnasium: use from_gymnasium.'
    )
  return OldGymPyEnvironment(env, discount=discount)


class OldGymPyEnvironment(gym_wrapper.GymWrapper):
  """TF-Agents' GymWrapper with time limits as truncations.

  Observations pass the checks of `gymnasium_spaces.observation_converter`.
  """

  def __init__(self, gym_env: Any, discount: types.Float = 1.0):
    super().__init__(gym_env, discount, match_obs_space_dtype=False)
    self._convert = tf.nest.map_structure(
        gymnasium_spaces.array_converter, self.observation_spec()
    )

  def _reset(self) -> ts.TimeStep:
    return self._checked('reset', super()._reset())

  def _checked(self, doing: str, time_step: ts.TimeStep) -> ts.TimeStep:
    """Returns a time step whose observation has the types of its spec."""
    try:
      observation = _mapped(self._convert, time_step.observation)
    except ValueError as error:
      failure = failures.failure_of(error, doing)
      failure.environment_index = None
      failure.environment_name = type(self.gym.unwrapped).__name__
      raise failure from error
    return time_step._replace(observation=observation)

  def _step(self, action: Any) -> ts.TimeStep:
    time_step = self._checked('step', super()._step(np.asarray(action)))
    if time_step.is_last() and self.get_info().get('TimeLimit.truncated'):
      time_step = ts.truncation(
          time_step.observation, time_step.reward, self._discount
      )
    return time_step


class SinglePyEnvironment(wrappers.PyEnvironmentBaseWrapper):
  """A VectorPyEnvironment of one, without its batch axis.

  Its methods are those of `VectorPyEnvironment`.

  Attributes:
    gym: The adapted environment. Stepping it directly breaks the adapter.
  """

  def __init__(
      self,
      batched_env: vector_environment.VectorPyEnvironment,
      env: gymnasium.Env | None = None,
  ):
    super().__init__(batched_env)
    self.gym = env

  @property
  def batched(self) -> bool:
    return False

  @property
  def batch_size(self) -> None:
    return None

  def get_info(self) -> dict[str, Any]:
    """Returns Gymnasium's info of the last step or reset."""
    return infos.of_one(self._env.get_info(), 0)

  def set_state(self, state: dict[str, Any]) -> None:
    self._env.set_state(state)
    self._current_time_step = _first(self._env.current_time_step())

  def render(self, mode: str = 'rgb_array') -> np.ndarray | None:
    """Returns the rendered frame, uint8 [height, width, 3]."""
    frames = self._env.render(mode)
    return None if frames is None else frames[0]

  def _reset(self) -> ts.TimeStep:
    return _first(self._env.reset())

  def _step(self, action: Any) -> ts.TimeStep:
    action = tf.nest.map_structure(lambda a: np.asarray(a)[np.newaxis], action)
    return _first(self._env.step(action))


def _mapped(convert: Any, observation: Any) -> types.NestedArray:
  """Converts an observation, whose lists are arrays, by a nest of functions."""
  if isinstance(convert, dict):
    return type(convert)(
        (key, _mapped(part, observation[key])) for key, part in convert.items()
    )
  if isinstance(convert, tuple):
    return tuple(map(_mapped, convert, observation))
  return convert(np.asarray(observation)[np.newaxis])[0]


def _first(time_step: ts.TimeStep) -> ts.TimeStep:
  return tf.nest.map_structure(lambda array: array[0], time_step)
