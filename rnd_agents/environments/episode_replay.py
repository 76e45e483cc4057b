# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Saves running episodes as seeds and actions, and replays them.

`SeededEpisodes` does so for one environment, `save_running` and
`restore_running` for a vector environment.
"""

from collections.abc import Sequence
import copy
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import interface

# Longer episodes are not saved: with a task without an end every checkpoint
# would be larger than the last one and take longer to replay.
MAX_REPLAYED_STEPS = 50_000
# So many actions are stacked at a time, so that a checkpoint stacks only those
# since then and an episode of any length is saved as fast as a short one.
_STACKED_STEPS = 1_000
# The kind of a saved state that consists of seeds and actions.
_REPLAYED = 'single environments'
# Their `step` returns the reward of the environment inside.
_KEEP_REWARDS = (
    gymnasium.Wrapper,
    gymnasium.ObservationWrapper,
    gymnasium.ActionWrapper,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
    gymnasium.wrappers.RecordEpisodeStatistics,
    gymnasium.wrappers.TimeLimit,
)
_DETERMINISM = (
    ' After reset(seed=...) the episode must depend on the seed and the actions'
    ' alone: on no random numbers of other sources and on no earlier episodes.'
)


def reward_bounds_of(env: gymnasium.Env | None) -> tuple[float, float]:
  """Returns the `reward_range` that an environment tells, or infinities.

  Where a wrapper may change rewards the range of what it wraps means nothing.
  For None, infinities.
  """
  while isinstance(env, gymnasium.Wrapper):
    if all(type(env).step is not each.step for each in _KEEP_REWARDS):
      return -np.inf, np.inf
    env = env.env
  try:
    low, high = map(float, getattr(env, 'reward_range', ()))
  except (TypeError, ValueError):  # None, or bounds of several rewards.
    return -np.inf, np.inf
  # Rewards are float32; some environments write the largest float64.
  largest = float(np.finfo(np.float32).max)
  if not low <= high or low > largest or high < -largest:
    return -np.inf, np.inf
  return (
      low if low >= -largest else -np.inf,
      high if high <= largest else np.inf,
  )


class SeededEpisodes(gymnasium.Wrapper):
  """Seeds every episode from a schedule and records its actions for a replay.

  The outermost wrapper of each environment of a batch. Seed and actions repeat
  an episode if the environment draws only random numbers that `reset(seed=...)`
  seeds, and if no episode depends on earlier ones. A wrapper with a memory
  longer than an episode, such as a running mean of observations, cannot be
  replayed.

  Errors of the environment become `EnvironmentFailure`, which worker processes
  can send to their parent.
  """

  def __init__(
      self,
      env: gymnasium.Env,
      seeds: episode_seeds.EpisodeSeeds,
      environment_index: int = 0,
      num_environments: int = 1,
      checks_observations: bool = False,
  ):
    """Creates a SeededEpisodes.

    Args:
      env: One of B environments.
      seeds: The schedule of seeds.
      environment_index: Its index.
      num_environments: B.
      checks_observations: Whether to refuse observations that cannot be stacked
        in their space, as for shared memory, which cuts 0.5 to an integer.
    """
    super().__init__(env)
    self._checks_observations = checks_observations
    self._casts_integers = False  # In the episode that runs.
    self._environment_index = environment_index
    self._num_environments = num_environments
    # Iterating over a batch of other spaces gives views, not numbers.
    self._is_discrete = isinstance(env.action_space, spaces.Discrete)
    if self._is_discrete:
      # The smallest type for the largest action; negative ones need the
      # space's own type.
      space = env.action_space
      self._packed_dtype = (
          np.min_scalar_type(int(space.start + space.n - 1))
          if space.start >= 0
          else space.dtype
      )
    self._resets_next = False
    self.start_schedule(seeds)
    self._start_episode(None, None)

  def start_schedule(self, seeds: episode_seeds.EpisodeSeeds) -> None:
    """Makes the next reset the first one of `seeds`."""
    self._seeds = seeds
    self._episode_index = -1

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[Any, dict[str, Any]]:
    """Starts the next episode of the schedule.

    Args:
      seed: Seed of this episode; replaces that of the schedule, which is
        skipped.
      options: Options of the environment's reset.

    Raises:
      EnvironmentFailure: If the environment raised an error.
    """
    self._episode_index += 1
    if seed is None:
      seed = self._seeds.seed_of(
          self._environment_index, self._num_environments, self._episode_index
      )
    self._start_episode(seed, options)
    try:
      result = interface.checked_reset(
          self.env, self.env.reset(seed=seed, options=options)
      )
      if self._checks_observations:
        self._check(result[0])
      self._casts_integers = self._check_integers(result[0])
      return result
    except BaseException as error:
      raise self._failure_of(error, 'reset') from error

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """Steps the environment.

    Args:
      action: The action. Ignored if an episode that had ended was just
        restored: then the step begins the next one, as in a vector environment.

    Raises:
      EnvironmentFailure: If the environment raised an error.
    """
    if self._resets_next:
      observation, info = self.reset()
      return observation, 0.0, False, False, info
    self._length += 1
    if self._length > MAX_REPLAYED_STEPS:
      self._chunks.clear()
      self._actions.clear()
    else:
      self._actions.append(
          int(action) if self._is_discrete else copy.deepcopy(action)
      )
      if len(self._actions) == _STACKED_STEPS:
        self._chunks.append(self._stacked(self._actions))
        self._actions.clear()
    try:
      step = self.env.step(action)
      # Here and not in a function, since it runs at each step.
      if not (
          type(step) is tuple
          and len(step) == 5
          and type(step[1]) in interface.NUMBERS
          and (step[2] is False or type(step[2]) in interface.FLAGS)
          and (step[3] is False or type(step[3]) in interface.FLAGS)
          and type(step[4]) is dict
      ):
        step = interface.checked_step(self.env, step)
      if self._checks_observations:
        self._check(step[0])
      if self._casts_integers:
        self._check_integers(step[0])
      self._ended = step[2] or step[3]
      return step
    except BaseException as error:
      failure = self._failure_of(error, 'step')
      failure.episode_step = failures.episode_step(self._length, self._seed)
      raise failure from error

  def _check(self, observation: Any) -> None:
    failure = failures.failure_of_observation(
        self.observation_space, observation, self._environment_index
    )
    if failure is not None:
      raise failure

  def _check_integers(self, observation: Any) -> bool:
    """Refuses integers that are cut in a batch; returns whether any could be.

    Looked at in each reset: steps of an environment have the types of its
    resets.
    """
    try:
      is_cut = gymnasium_spaces.has_cut_integers(
          self.observation_space, observation
      )
    except Exception:  # Of another structure, which joining a batch refuses.
      return False
    if is_cut:
      raise failures.EnvironmentFailure(
          f'its observation {observation} is not in its space'
          f' {self.observation_space}, whose type cannot hold it.',
          environment_index=self._environment_index,
      )
    return is_cut is not None

  def _failure_of(
      self, error: BaseException, method: str
  ) -> failures.EnvironmentFailure:
    if failures.is_of_user(error):
      raise error
    return interface.failure_with_advice(
        error, method, self.env, self._environment_index
    )

  def reward_bounds(self) -> tuple[float, float]:
    """Returns the bounds of its rewards, as `reward_bounds_of`."""
    return reward_bounds_of(self.env)

  def call_if_among(self, indices: Sequence[int], name: str) -> Any:
    """Calls a method of the environment if its index is among `indices`.

    A vector environment calls a method of all or of none.
    """
    if self._environment_index not in indices:
      return None
    return self.get_wrapper_attr(name)()

  def get_episode_state(self) -> dict[str, Any]:
    """Returns a picklable state for `set_episode_state`.

    A dict of `seed`, `options`, `episode_index`, `actions` (a list of pairs of
    a number and so many stacked actions; None for more than
    MAX_REPLAYED_STEPS), `ended` and `schedule` of the running episode.
    """
    return {
        'seed': self._seed,
        'options': self._options,
        'episode_index': self._episode_index,
        'actions': self._all_actions(),
        'ended': bool(self._ended),
        'schedule': self._seeds,
    }

  def set_episode_state(self, state: dict[str, Any]) -> Any:
    """Replays the episode of `state` and returns its latest observation.

    Args:
      state: State from `get_episode_state`, also of another instance.

    Raises:
      EnvironmentFailure: If the environment raised an error.
      StateNotRestored: If the episode ends at another step than it did.
    """
    if state['actions'] is None:
      raise failures.StateNotRestored(
          f'Environment {self._environment_index}: the episode had more than'
          f' {MAX_REPLAYED_STEPS:,} steps, too many to replay.'
      )
    observation, _ = self.reset(seed=state['seed'], options=state['options'])
    for length, chunk in state['actions']:
      if self._is_discrete:
        chunk = chunk.astype(self.action_space.dtype)
      space = vector.utils.batch_space(self.action_space, length)
      for action in vector.utils.iterate(space, chunk):
        if self._ended:
          raise self._not_restored('earlier than')
        observation = self.step(action)[0]
    if self._ended != state['ended']:
      raise self._not_restored('not where')
    self._episode_index = state['episode_index']
    self._seeds = state['schedule']
    self._resets_next = state['ended']
    return observation

  def restore_episode(self, states: Sequence[dict[str, Any]]) -> Any:
    """Replays the episode of this environment from the states of a batch.

    Args:
      states: States from `get_episode_state` of all environments.

    Returns:
      The latest observation, or a StateNotRestored: raising it would end a
      worker process.
    """
    try:
      return self.set_episode_state(states[self._environment_index])
    except (failures.StateNotRestored, failures.EnvironmentFailure) as error:
      return failures.StateNotRestored(str(error))

  def _start_episode(
      self, seed: int | None, options: dict[str, Any] | None
  ) -> None:
    self._seed = seed
    self._options = options
    # Pairs of a number and so many stacked actions, and the actions since.
    self._chunks: list[tuple[int, Any]] = []
    self._actions: list[Any] = []
    self._length = 0
    self._ended = False
    self._resets_next = False

  def _all_actions(self) -> list[tuple[int, Any]] | None:
    if self._length > MAX_REPLAYED_STEPS:
      return None
    if not self._actions:
      return list(self._chunks)
    return [*self._chunks, self._stacked(self._actions)]

  def _stacked(self, actions: list[Any]) -> tuple[int, Any]:
    length = len(actions)
    if self._is_discrete:  # A tenth of the time and space.
      return length, np.array(actions, self._packed_dtype)
    return length, vector.utils.concatenate(
        self.action_space,
        actions,
        vector.utils.create_empty_array(self.action_space, length),
    )

  def _not_restored(self, where: str) -> failures.StateNotRestored:
    return failures.StateNotRestored(
        f'Environment {self._environment_index}: replayed from its seed'
        f' {self._seed}, the episode ends {where} it did.{_DETERMINISM}'
    )


def save_running(vector_env: vector.VectorEnv, is_seeded: bool) -> Any:
  """Returns a picklable state of a vector environment's running episodes.

  Args:
    vector_env: The vector environment.
    is_seeded: Whether its environments are wrapped in `SeededEpisodes`.

  Raises:
    NotImplementedError: If they can be neither replayed nor saved.
  """
  if is_seeded:
    return _REPLAYED, list(vector_env.call('get_episode_state'))
  get_state = getattr(vector_env, 'get_state', None)
  if get_state is None:
    raise NotImplementedError(
        f'The episodes of {type(vector_env.unwrapped).__name__} cannot be'
        ' saved: it has no get_state() and set_state(). A resumed run must'
        " begin new ones, or use vectorization='sync' or 'async', which"
        ' replay them.'
    )
  return type(vector_env.unwrapped).__name__, get_state()


def restore_running(
    vector_env: vector.VectorEnv, is_seeded: bool, state: Any
) -> Any:
  """Restores the episodes of `save_running`.

  Args:
    vector_env: The vector environment.
    is_seeded: Whether its environments are wrapped in `SeededEpisodes`.
    state: State from `save_running`.

  Returns:
    The latest observations, batched; None if the vector environment's own
    `set_state` does not return them.

  Raises:
    StateNotRestored: If a replayed episode differs, or another kind of vector
      environment saved the state.
  """
  saved_kind, state = state
  kind = _REPLAYED if is_seeded else type(vector_env.unwrapped).__name__
  if saved_kind != kind:
    raise failures.StateNotRestored(
        f'It was saved by {saved_kind}, and this is {kind}: load_environment.'
        'vectorization was another one.'
    )
  if not is_seeded:
    return vector_env.set_state(state)
  # Afterwards the vector environment does not begin new episodes by itself.
  vector_env.reset()
  observations = vector_env.call('restore_episode', state)
  for observation in observations:
    if isinstance(observation, failures.StateNotRestored):
      raise observation
  space = vector_env.single_observation_space
  return vector.utils.concatenate(
      space,
      observations,
      vector.utils.create_empty_array(space, vector_env.num_envs),
  )


def check_restored(
    saved: types.NestedArray, restored: types.NestedArray
) -> None:
  """Raises StateNotRestored unless two batches of observations are equal."""
  tf.nest.assert_same_structure(saved, restored)
  for one, other in zip(tf.nest.flatten(saved), tf.nest.flatten(restored)):
    for i, (row, other_row) in enumerate(zip(one, other, strict=True)):
      if not np.array_equal(row, other_row):
        raise failures.StateNotRestored(
            f'Environment {i}: replayed from its seed, the episode shows'
            f' another observation than it did.{_DETERMINISM}'
        )
