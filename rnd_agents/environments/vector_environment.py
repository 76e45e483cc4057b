# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapts a Gymnasium vector environment to a batched PyEnvironment.

Gymnasium's NEXT_STEP autoreset is the protocol of TF-Agents: the step after the
last one of an episode ignores the action and returns the first observation of
the next episode. So B environments need one call per step and no Python loop.
"""

from collections.abc import Callable, Sequence
import contextlib
import inspect
import pickle
import time
from typing import Any

import gymnasium
from gymnasium import vector
import numpy as np
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents.environments import envpool_family
from rnd_agents.environments import episode_log
from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import lives
from rnd_agents.environments import parallel_agents
from rnd_agents.environments import watchdog
from rnd_agents.environments import wrappers

_NO_INDICES = np.zeros(0, np.int64)
RewardFn = Callable[[np.ndarray], np.ndarray]
SUCCESS_KEY = 'is_success'
# (time step, Gymnasium's infos)
StepObserver = Callable[[ts.TimeStep, dict[str, Any]], None]


class VectorPyEnvironment(py_environment.PyEnvironment):
  """Adapts a `gymnasium.vector.VectorEnv` of B environments.

  The time step of an environment is

  * FIRST, reward 0, discount 1, after `reset()` and after a LAST one (the
    action is ignored, the reward belongs to no transition);
  * LAST, discount 0, where it terminated;
  * LAST, discount 1, where it was truncated and did not terminate;
  * MID, discount 1, otherwise.

  An agent that ended before its game has further LAST ones until the next game
  begins (`parallel_agents.AgentsVectorEnv`): padding, which nothing learns.

  With `lives_key`, the discount is multiplied by `life_discount` where a life
  was lost.

  Rewards are float32. Observations are new arrays; float64 ones become float32,
  uint8, int32 and int64 do not change. Text is dropped.

  Any error inside becomes an `EnvironmentFailure`, which is also kept as
  `failure`: TensorFlow reports errors in functions of its graph as text only.

  Attributes:
    name: Name of the environment.
    failure: The EnvironmentFailure that was raised, else None.
  """

  def __init__(
      self,
      vector_env: vector.VectorEnv,
      seed: int | None = None,
      name: str = 'environment',
      seeding: episode_seeds.EpisodeSeeds | None = None,
      reward_fn: RewardFn | None = None,
      success_key: str = SUCCESS_KEY,
      lives_key: str | None = None,
      life_discount: float = 0.0,
      info_keys: Sequence[str] = (),
  ):
    """Creates a VectorPyEnvironment.

    Args:
      vector_env: Vector environment with NEXT_STEP autoreset, Gymnasium's
        default.
      seed: Seed of the first reset, which seeds environment i with seed + i.
        Later episodes continue its random streams: they differ, and the whole
        run repeats. None takes entropy from the system.
      name: Name of the environment, for messages and pictures.
      seeding: Schedule of the `SeededEpisodes` in which each environment is
        wrapped; `seed` starts another. None if they are not wrapped so.
      reward_fn: Function from the rewards of the environments, float64 [B], to
        those of the time steps, [B], or [B, R] for a vector of R rewards. Also
        called once with zeros, for the spec. Returns of episodes are sums
        without it.
      success_key: Key of the infos that says whether an episode was a success.
      lives_key: Key of the infos with the number of lives left. The episode
        continues when one is lost. None for no lives.
      life_discount: Factor on the discount where a life is lost; 0 as for a
        termination.
      info_keys: Keys of the infos whose numbers, at the end of an episode, are
        recorded as `Episode.info`.

    Raises:
      EnvironmentSetupError: If `vector_env` is not a VectorEnv, it has another
        autoreset, or a space has no spec.
      InvalidType: If `reward_fn` is not a function.
    """
    # PyEnvironment's auto reset would reset all B when all are LAST; the vector
    # environment resets by itself.
    super().__init__(handle_auto_reset=False)
    _check_vector_env(vector_env)
    self.name = name
    self.failure: failures.EnvironmentFailure | None = None
    self._vector_env = vector_env
    self._is_seeded = seeding is not None
    self._reward_fn = reward_fn
    self._num_envs = vector_env.num_envs
    self._reward_shape: tuple[int, ...] = ()
    if not (reward_fn is None or callable(reward_fn)):
      raise errors.InvalidType(
          f'reward_fn must be a function, or None, got {reward_fn!r}.'
      )
    if reward_fn is not None:
      shape = np.shape(reward_fn(np.zeros(self._num_envs)))
      if len(shape) == 2:
        self._reward_shape = shape[1:]
    self._observation_spec, self._convert_observation = (
        gymnasium_spaces.observation_converter(
            vector_env.single_observation_space
        )
    )
    self._action_spec, self._convert_action = gymnasium_spaces.action_converter(
        vector_env.single_action_space, self._num_envs
    )
    self._reward_bounds = (-np.inf, np.inf)
    if reward_fn is None and self._is_seeded:
      self._reward_bounds = vector_env.call('reward_bounds')[0]
    elif reward_fn is None and isinstance(
        vector_env, envpool_family.PoolVectorEnv
    ):
      self._reward_bounds = vector_env.reward_bounds
    elif reward_fn is not None and (
        inspect.unwrap(reward_fn) is inspect.unwrap(wrappers.sign_of_reward)
    ):
      self._reward_bounds = (-1.0, 1.0)
    # Copied at each step, which is faster than making them.
    self._all_mid = np.full(self._num_envs, ts.StepType.MID, np.int32)
    self._all_one = np.ones(self._num_envs, np.float32)
    self._waiting = np.zeros(self._num_envs, np.bool_)
    if isinstance(vector_env, parallel_agents.AgentsVectorEnv):
      self._waiting = vector_env.waiting
    self._next_seed: Any = None  # A seed, or one for each environment.
    self.seed(seed)
    self._infos: dict[str, Any] = {}
    self._episodes = episode_log.EpisodeLog(
        self._num_envs, success_key, seeding, info_keys
    )
    self._lives = lives.create_lives(lives_key, life_discount, self._num_envs)
    self._step_observers: list[StepObserver] = []
    self._restored = None  # A time step that the next reset returns.
    self._ended_indices = _NO_INDICES  # Of environments, in the step before.
    self._step_time_s = 0.0

  @property
  def batched(self) -> bool:
    return True

  @property
  def batch_size(self) -> int:
    return self._num_envs

  @property
  def gymnasium_vector_env(self) -> vector.VectorEnv:
    """Adapted vector environment. Stepping it directly breaks the adapter."""
    return self._vector_env

  def observation_spec(self) -> types.NestedArraySpec:
    return self._observation_spec

  def action_spec(self) -> types.NestedArraySpec:
    return self._action_spec

  def reward_spec(self) -> types.NestedArraySpec:
    low, high = self._reward_bounds
    if np.isinf([low, high]).all():
      return array_spec.ArraySpec(self._reward_shape, np.float32, 'reward')
    # A FIRST step has a reward of 0.
    return array_spec.BoundedArraySpec(
        self._reward_shape, np.float32, min(low, 0.0), max(high, 0.0), 'reward'
    )

  def seed(self, seed: types.Seed | None) -> int | None:
    """Stores the seed that the next `reset()` uses, and returns it.

    Args:
      seed: As in the constructor; `SeededEpisodes` begin
        `episode_seeds.stream(seed)`. None continues the random streams.
    """
    self._next_seed = None if seed is None else episode_seeds.checked_seed(seed)
    return self._next_seed

  def begin_other_episodes(self, seed: int) -> None:
    """Makes the next reset begin episodes that no stream has played yet.

    A schedule of seeds that are not a stream's stays: a run that trains on a
    list of worlds must not leave it.

    Args:
      seed: As for `seed`, where there is no such schedule.
    """
    schedule = self._episodes.schedule
    if isinstance(self._vector_env, parallel_agents.AgentsVectorEnv):
      schedule = self._vector_env.schedule
    if episode_seeds.is_stream(schedule):
      self.seed(seed)

  def reset_with_seeds(self, seeds: Sequence[int]) -> ts.TimeStep:
    """Resets environment i with `seeds[i]`, to evaluate on a fixed list.

    The first episode of each environment depends on its seed only; later ones
    continue the random stream.

    Args:
      seeds: B seeds; of agents that share a game, that of the first counts.

    Returns:
      The first time step.

    Raises:
      EnvironmentSetupError: If there are not B non-negative seeds, or the
        environment does not take a list of seeds.
    """
    if len(seeds) != self._num_envs:
      raise failures.EnvironmentSetupError(
          f'reset_with_seeds needs {self._num_envs} seeds, one for each'
          f' environment, and got {len(seeds)}.'
      )
    seeds = [episode_seeds.checked_seed(seed) for seed in seeds]
    seeds = self.seeds_of_episodes(seeds)
    if self._is_seeded:
      self._next_seed = seeds
      return self.reset()
    first_error = None
    # Gymnasium's vector environments take a list, ALE's an array.
    for form in (seeds, np.array(seeds)):
      self._next_seed = form
      try:
        return self.reset()
      except failures.EnvironmentFailure as failure:
        if not isinstance(
            failure.__cause__, (TypeError, gymnasium.error.Error)
        ):
          raise
        self.failure = None
        first_error = first_error or failure.__cause__
    raise failures.EnvironmentSetupError(
        f'{self._vector_env} did not reset with a list of seeds. Those of '
        "vectorization='sync' and 'async' do."
    ) from first_error

  def seeds_of_episodes(self, seeds: Sequence[int]) -> list[int]:
    """Returns the seeds of the episodes that `reset_with_seeds` begins.

    They are those given, but for agents that share a game.

    Args:
      seeds: B seeds.
    """
    if isinstance(self._vector_env, parallel_agents.AgentsVectorEnv):
      return self._vector_env.seeds_of_places(seeds)
    return list(seeds)

  def pop_episodes(self) -> list[episode_log.Episode]:
    """Returns the episodes finished since the last call, oldest first.

    At most the newest 100,000. Episodes that a reset ended are left out.
    """
    return self._episodes.pop()

  def pop_step_time_s(self) -> float:
    """Returns the seconds spent in steps since the last call."""
    step_time_s, self._step_time_s = self._step_time_s, 0.0
    return step_time_s

  def paid(self, rewards: np.ndarray) -> np.ndarray:
    """Returns rewards [T] of one environment as its time steps have them.

    Args:
      rewards: The environment's own rewards, float64.
    """
    if self._reward_fn is None:
      return rewards
    return np.array([self._reward_fn(np.array([each]))[0] for each in rewards])

  def running_returns(self) -> np.ndarray:
    """Returns the sums of rewards of the running episodes, float64 [B].

    They are sums of the environment's own rewards, without `reward_fn`; 0 where
    an episode has ended.
    """
    return self._episodes.running_returns.copy()

  def add_step_observer(self, observer: StepObserver) -> None:
    """Calls `observer(time_step, infos)` after each reset and each step."""
    self._step_observers.append(observer)

  def get_state(self) -> dict[str, Any]:
    """Returns a picklable state from which `set_state` continues.

    It has the running episodes, the current time step and the episodes that
    were not popped. Each episode is saved as its seed and actions, so the size
    grows with its length.

    Raises:
      EnvironmentFailure: If the environment raised an error.
      NotImplementedError: If the vector environment cannot be saved.
    """
    if self._current_time_step is None:
      self.reset()
    lives_left = {'lives': self._lives.left} if self._lives else {}
    return _copied({
        'time_step': self._current_time_step,
        'ended_indices': self._ended_indices,
        'next_seed': self._next_seed,
        'episodes': self._episodes.get_state(),
        **lives_left,
        'running': self._inside(
            'get_state',
            episode_replay.save_running,
            self._vector_env,
            self._is_seeded,
        ),
    })

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores a state: the environments continue as they would have.

    The next `reset()` does not begin new episodes: it returns the saved time
    step.

    Args:
      state: State from `get_state` of an environment made with the same
        arguments.

    Raises:
      EnvironmentFailure: If the environment raised an error.
      StateNotRestored: If a replayed episode differs from the saved one.
      InvalidValue: If the state has another number of environments.
    """
    state = _copied(state)
    time_step = state['time_step']
    if len(time_step.step_type) != self._num_envs:
      raise errors.InvalidValue(
          f'The saved state has {len(time_step.step_type)} environments, and '
          f'there are {self._num_envs}.'
      )
    try:
      observation = self._inside(
          'set_state',
          episode_replay.restore_running,
          self._vector_env,
          self._is_seeded,
          state['running'],
      )
      if observation is not None:
        episode_replay.check_restored(
            time_step.observation, self._convert_observation(observation)
        )
    except Exception:
      self._forget_running()
      raise
    self._ended_indices = state['ended_indices']
    self._next_seed = state['next_seed']
    self._episodes.set_state(state['episodes'])
    if self._lives:
      self._lives.left = state['lives']
    self._infos = {}
    self._restored = self._current_time_step = time_step

  def get_info(self) -> Any:
    """Returns Gymnasium's infos of the last step or reset, a dict of arrays."""
    return self._infos

  def render(self, mode: str = 'rgb_array') -> np.ndarray | None:
    """Returns the frames of all environments, uint8 [B, height, width, 3].

    Args:
      mode: 'rgb_array', or 'human' for environments with a window.

    Raises:
      EnvironmentFailure: If the environment raised an error.
      EnvironmentSetupError: If the environment has another render mode.
    """
    if self._vector_env.render_mode != mode:
      raise failures.EnvironmentSetupError(
          f'Cannot render as {mode!r}: the environment was made with '
          f'render_mode={self._vector_env.render_mode!r}. Pass '
          f"env_kwargs={{'render_mode': {mode!r}}} when you load it."
      )
    frames = self._inside('render', self._vector_env.render)
    return np.stack(frames) if mode == 'rgb_array' else None

  def close(self) -> None:
    with watchdog.Inside(self.name, 'close'):
      self._vector_env.close()

  def _reset(self) -> ts.TimeStep:
    if self._restored is not None and self._next_seed is None:
      time_step, self._restored = self._restored, None
      return time_step
    self._restored = None
    seed, self._next_seed = self._next_seed, None
    if self._is_seeded and isinstance(seed, int):
      self._inside(
          'reset', self._start_schedule, episode_seeds.new_stream(seed)
      )
      seed = None
    observation, self._infos = self._inside('reset', self._raw_reset, seed)
    self._ended_indices = _NO_INDICES
    self._episodes.start(None if isinstance(seed, int) else seed)
    step_type = np.full(self._num_envs, ts.StepType.FIRST, np.int32)
    discount = self._all_one.copy()
    self._discount_lives(step_type, discount)
    return self._observed(
        ts.TimeStep(
            step_type=step_type,
            reward=np.zeros([self._num_envs, *self._reward_shape], np.float32),
            discount=discount,
            observation=observation,
        )
    )

  def _start_schedule(self, schedule: episode_seeds.EpisodeSeeds) -> None:
    self._vector_env.call('start_schedule', schedule)
    self._episodes.start_schedule(schedule)

  def _forget_running(self) -> None:
    """Discards the episodes; the next reset is the first of the schedule."""
    self._restored = self._current_time_step = None
    # Some environments may already follow the schedule that was to be restored,
    # and those of dead workers cannot be reached.
    schedule = self._episodes.schedule
    if schedule is not None:
      with contextlib.suppress(Exception):
        self._start_schedule(schedule)

  def _raw_reset(self, seed: Any) -> tuple[types.NestedArray, dict[str, Any]]:
    """Returns the converted observation and the infos."""
    observation, infos = self._vector_env.reset(seed=seed)
    return self._convert_observation(observation), _checked_infos(infos)

  def _raw_step(self, action: Any) -> tuple[Any, ...]:
    """Steps the vector environment; returns raw reward and reward, too."""
    observation, reward, terminated, truncated, infos = self._vector_env.step(
        action
    )
    observation = self._convert_observation(observation)
    if not self._is_seeded:  # `SeededEpisodes` has checked them.
      self._check_step(
          reward=reward, terminated=terminated, truncated=truncated
      )
      infos = _checked_infos(infos)
    raw_reward = np.array(reward, np.float64)  # [B], a copy.
    reward = raw_reward.astype(np.float32)
    gymnasium_spaces.check_finite_batch(reward, 'reward')
    if self._reward_fn is not None:
      # A copy: the function may write into it, and returns need raw rewards.
      reward = np.array(self._reward_fn(raw_reward.copy()), np.float32)
      self._check_shape('reward of reward_fn', reward, self._reward_shape)
      gymnasium_spaces.check_finite_batch(reward, 'reward')
    return observation, raw_reward, reward, terminated, truncated, infos

  def _check_step(self, **values: Any) -> None:
    """Raises InvalidValue for values of a step that mean nothing."""
    for name, value in values.items():
      array = np.asarray(value)
      self._check_shape(name, array)
      if array.dtype.kind not in ('fiub' if name == 'reward' else 'biu'):
        raise errors.InvalidValue(
            f'{name} must hold {"numbers" if name == "reward" else "booleans"},'
            f' and its dtype is {array.dtype}'
        )

  def _check_shape(
      self, name: str, array: np.ndarray, shape: tuple[int, ...] = ()
  ) -> None:
    expected = (self._num_envs, *shape)
    if array.shape != expected:
      raise errors.InvalidValue(
          f'{name} must be one number for each environment, of shape'
          f' {list(expected)}, and has shape {list(array.shape)}'
      )

  def _inside(
      self, doing: str, function: Callable[..., Any], *args: Any
  ) -> Any:
    """Calls a function; turns its errors into EnvironmentFailure."""
    try:
      with watchdog.Inside(self.name, doing):
        return function(*args)
    except (failures.StateNotRestored, NotImplementedError):
      raise
    except BaseException as error:
      if failures.is_of_user(error):
        raise
      if isinstance(error, failures.EnvironmentFailure):
        failure = error
      else:
        misshaped = _failure_of_shape(self._vector_env)
        failure = misshaped or failures.failure_of(error, doing)
      failure.environment_name = self.name
      index = failure.environment_index
      if (
          doing == 'step'
          and index is not None
          and index not in self._ended_indices
          and failure.episode_step is None
      ):
        failure.episode_step = failures.episode_step(
            *self._episodes.next_step(index)
        )
      self.failure = failure
      if failure is error:
        raise
      raise failure from error

  def _observed(self, time_step: ts.TimeStep) -> ts.TimeStep:
    """Calls the observers with a time step and returns it."""
    for observer in self._step_observers:
      observer(time_step, self._infos)
    return time_step

  def _step(self, action: Any) -> ts.TimeStep:
    begun_s = time.perf_counter()
    self._restored = None
    observation, raw_reward, reward, terminated, truncated, self._infos = (
        self._inside('step', self._raw_step, self._convert_action(action))
    )
    step_type = self._all_mid.copy()
    discount = self._all_one.copy()
    ended = np.logical_or(terminated, truncated)
    first, waiting = self._ended_indices, _NO_INDICES
    if first.size:
      # Reward and end of an autoreset step belong to no transition.
      reward[first] = raw_reward[first] = 0.0
      ended[first] = False
      waits = self._waiting[first]
      first, waiting = first[~waits], first[waits]
      step_type[first] = ts.StepType.FIRST
      step_type[waiting] = ts.StepType.LAST
    self._episodes.add(raw_reward)
    self._episodes.begin(first.tolist())
    last = ended.nonzero()[0]
    self._ended_indices = np.concatenate([last, waiting])
    if last.size:
      step_type[last] = ts.StepType.LAST
      discount[last] = 1.0 - np.asarray(terminated)[last]
      self._episodes.finish(last.tolist(), terminated, self._infos)
    self._discount_lives(step_type, discount)
    self._step_time_s += time.perf_counter() - begun_s
    return self._observed(ts.TimeStep(step_type, reward, discount, observation))

  def _discount_lives(
      self, step_type: np.ndarray, discount: np.ndarray
  ) -> None:
    """Lowers the discounts [B] of steps that lost a life."""
    if self._lives:
      is_first = step_type == ts.StepType.FIRST
      discount *= self._inside(
          'step', self._lives.discounts, self._infos, is_first
      )


def _checked_infos(infos: Any) -> dict[str, Any]:
  """Returns the infos of a vector environment; raises unless a dict."""
  if not isinstance(infos, dict):
    raise failures.EnvironmentFailure(
        "its infos must be a dict of arrays, as of Gymnasium's vector"
        f' environments, and are of type {type(infos).__name__}.'
    )
  return infos


def _copied(state: Any) -> Any:
  """Returns a deep copy of a picklable state, faster than copy.deepcopy."""
  return pickle.loads(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))


def _check_vector_env(vector_env: vector.VectorEnv) -> None:
  """Raises EnvironmentSetupError unless autoreset is NEXT_STEP."""
  if not isinstance(vector_env, vector.VectorEnv):
    raise failures.EnvironmentSetupError(
        'VectorPyEnvironment needs a gymnasium.vector.VectorEnv, not '
        f'{type(vector_env).__name__}. For a gymnasium.Env, use '
        'single_environment.from_gymnasium(env).'
    )
  mode = _compat.autoreset_mode(vector_env)
  if mode != vector.AutoresetMode.NEXT_STEP:
    raise failures.EnvironmentSetupError(
        f'{vector_env} has autoreset mode {mode}, which would lose the last '
        'observation of an episode. Make it with autoreset_mode='
        'gymnasium.vector.AutoresetMode.NEXT_STEP.'
    )


def _failure_of_shape(
    vector_env: vector.VectorEnv
) -> failures.EnvironmentFailure | None:
  """Returns a failure that names the first observation not in its space."""
  space = vector_env.single_observation_space
  # SyncVectorEnv's, which stack() has just refused.
  for i, observation in enumerate(_compat.latest_observations(vector_env)):
    failure = observation is not None and failures.failure_of_observation(
        space, observation, i
    )
    if failure:
      return failure
  return None
