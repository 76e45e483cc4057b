# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapts a Gymnasium vector environment to a batched PyEnvironment.

Gymnasium's NEXT_STEP autoreset is TF-Agents' own protocol: the step after the
last one of an episode ignores the action and returns the first observation of
the next episode. So B environments need one call per step, and no Python loop.
"""

import contextlib
import pickle
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import gymnasium
from gymnasium import vector
import numpy as np
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents.environments import episode_log
from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import lives

_NO_INDICES = np.zeros(0, np.int64)
Episode = episode_log.Episode
RewardFn = Callable[[np.ndarray], np.ndarray]
SUCCESS_KEY = 'is_success'
# (time step, Gymnasium's infos)
StepObserver = Callable[[ts.TimeStep, Dict[str, Any]], None]


class VectorPyEnvironment(py_environment.PyEnvironment):
  """Adapts a `gymnasium.vector.VectorEnv` of B environments.

  Of each environment, a time step is

  * FIRST, reward 0, discount 1, after `reset()` and after a LAST one (the
    action is ignored, the reward belongs to no transition);
  * LAST, discount 0, where it terminated;
  * LAST, discount 1, where it was truncated and did not terminate;
  * MID, discount 1, otherwise;

  and times `life_discount` where a life was lost, if the environment was told
  how to see that (`lives_key`).

  Rewards are float32. Observations are fresh arrays; float64 ones become
  float32, uint8, int32 and int64 stay. Text is dropped.

  Whatever goes wrong inside is an `EnvironmentFailure`, also kept as `failure`:
  TensorFlow reports what its graph called as text only.

  Attributes:
    name: of the environment.
    failure: None, or the EnvironmentFailure that was raised.
  """

  def __init__(
      self,
      vector_env: vector.VectorEnv,
      seed: Optional[int] = None,
      name: str = 'environment',
      seeding: Optional[episode_seeds.EpisodeSeeds] = None,
      reward_fn: Optional[RewardFn] = None,
      success_key: str = SUCCESS_KEY,
      lives_key: Optional[str] = None,
      life_discount: float = 0.0,
  ):
    """Creates a VectorPyEnvironment.

    Args:
      vector_env: with NEXT_STEP autoreset, Gymnasium's default.
      seed: given to the first reset, which seeds environment i with seed + i.
        Later episodes go on with the random streams this starts: they differ,
        and the whole run repeats. None takes entropy from the system.
      name: what to call it, on a picture for example.
      seeding: the schedule of the `SeededEpisodes` that each environment is
        wrapped in; `seed` starts another. None where they are not wrapped so.
      reward_fn: of the rewards float64 [B], gives those of the time steps, [B],
        or [B, R] for a vector of R rewards. Also called once with zeros, for
        the spec.
        Returns of episodes are sums without it.
      success_key: of the infos, whether an episode that ends was a success.
      lives_key: of the infos, how many lives are left. Where one is lost the
        episode goes on. None counts no lives.
      life_discount: what a lost life leaves of the discount; 0 for nothing, as
        of a termination.

    Raises:
      EnvironmentSetupError: `vector_env` is no VectorEnv, it resets otherwise,
        or a space has no spec.
    """
    # PyEnvironment's own auto reset would reset all B when all are LAST, which
    # the vector environment does by itself.
    super().__init__(handle_auto_reset=False)
    _check_vector_env(vector_env)
    self.name = name
    self.failure = None
    self._vector_env = vector_env
    self._is_seeded = seeding is not None
    self._reward_fn = reward_fn
    self._num_envs = vector_env.num_envs
    self._reward_shape = ()
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
    # Copied at each step, which is faster than making them.
    self._all_mid = np.full(self._num_envs, ts.StepType.MID, np.int32)
    self._all_one = np.ones(self._num_envs, np.float32)
    self._next_seed = None
    self.seed(seed)
    self._infos = {}
    self._episodes = episode_log.EpisodeLog(
        self._num_envs, success_key, seeding
    )
    self._lives = lives.create(lives_key, life_discount, self._num_envs)
    self._step_observers = []
    self._busy_since = None
    self._restored = None  # A time step that the next reset returns.
    self._ended_indices = _NO_INDICES  # Of environments, in the step before.

  @property
  def batched(self) -> bool:
    return True

  @property
  def batch_size(self) -> int:
    return self._num_envs

  @property
  def gymnasium_vector_env(self) -> vector.VectorEnv:
    """The adapted environment. Stepping it directly breaks the adapter."""
    return self._vector_env

  def observation_spec(self) -> types.NestedArraySpec:
    return self._observation_spec

  def action_spec(self) -> types.NestedArraySpec:
    return self._action_spec

  def reward_spec(self) -> types.NestedArraySpec:
    return array_spec.ArraySpec(self._reward_shape, np.float32, 'reward')

  def seed(self, seed: Optional[types.Seed]) -> Optional[int]:
    """Stores the seed that the next `reset()` uses, and returns it.

    Args:
      seed: as in the constructor; where `SeededEpisodes` seed, they begin
        `episode_seeds.stream(seed)`. None leaves the random streams alone.

    Raises:
      ValueError: `seed` is negative.
    """
    self._next_seed = None if seed is None else episode_seeds.checked_seed(seed)
    return self._next_seed

  def reset_with_seeds(self, seeds: Sequence[int]) -> ts.TimeStep:
    """Resets environment i with `seeds[i]`, to evaluate on a fixed list.

    The first episode of each environment depends on its seed only; those that
    follow it go on with the stream.

    Args:
      seeds: B seeds.

    Returns:
      The first time step.

    Raises:
      EnvironmentSetupError: not B non-negative seeds, or the environment
        takes no list.
    """
    if len(seeds) != self._num_envs:
      raise failures.EnvironmentSetupError(
          f'reset_with_seeds needs {self._num_envs} seeds, one an environment, '
          f'and got {len(seeds)}.'
      )
    seeds = [episode_seeds.checked_seed(seed) for seed in seeds]
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

  def pop_episodes(self) -> List[Episode]:
    """Returns the episodes finished since the last call, oldest first.

    Of more than 100,000 the oldest are lost. An episode that a reset
    cut short is not among them.
    """
    return self._episodes.pop()

  def running_returns(self) -> np.ndarray:
    """Returns the sums of rewards of the running episodes, float64 [B].

    Of the rewards as the environment gave them; 0 where an episode has ended.
    """
    return self._episodes.running_returns.copy()

  def add_step_observer(self, observer: StepObserver) -> None:
    """Calls `observer(time_step, infos)` after each reset and each step."""
    self._step_observers.append(observer)

  def busy_since(self) -> Optional[Tuple[int, float]]:
    """Returns since when the environment has been at work, for a watchdog.

    While inside a reset or a step, the identifier of the thread and the
    `time.monotonic()` at which it went in; else None.
    """
    return self._busy_since

  def get_state(self) -> Dict[str, Any]:
    """Returns what `set_state` needs to continue from here, picklable.

    The running episodes, the current time step and the episodes that were not
    popped. An episode is saved as its seed and actions, so that the size grows
    with its length.

    Raises:
      EnvironmentFailure: the environment raised.
      NotImplementedError: the vector environment cannot be saved.
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

  def set_state(self, state: Dict[str, Any]) -> None:
    """Restores `state`: what follows is what would have followed it.

    The next `reset()` begins no new episodes: it returns the saved time step.

    Args:
      state: of `get_state` of an environment made with the same arguments.

    Raises:
      EnvironmentFailure: the environment raised.
      StateNotRestored: a replayed episode differs from what it was.
      ValueError: the state is of another number of environments.
    """
    state = _copied(state)
    time_step = state['time_step']
    if len(time_step.step_type) != self._num_envs:
      raise errors.InvalidValue(
          f'The saved state is of {len(time_step.step_type)} environments, and '
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
    """Returns Gymnasium's infos of the last step or reset: a dict of arrays."""
    return self._infos

  def render(self, mode: str = 'rgb_array') -> Optional[np.ndarray]:
    """Returns the frames of all environments, uint8 [B, height, width, 3].

    Args:
      mode: 'rgb_array', or 'human' for environments made to show themselves.

    Raises:
      EnvironmentSetupError: the environment was made for another render mode.
    """
    if self._vector_env.render_mode != mode:
      raise failures.EnvironmentSetupError(
          f'Cannot render as {mode!r}: the environment was made with '
          f'render_mode={self._vector_env.render_mode!r}. Pass '
          f"env_kwargs={{'render_mode': {mode!r}}} when you load it."
      )
    frames = self._vector_env.render()
    return np.stack(frames) if mode == 'rgb_array' else None

  def close(self) -> None:
    self._vector_env.close()

  def _reset(self):
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

  def _start_schedule(self, schedule):
    self._vector_env.call('start_schedule', schedule)
    self._episodes.start_schedule(schedule)

  def _forget_running(self):
    """Requires a reset next, which will be the first one of the schedule."""
    self._restored = self._current_time_step = None
    # Some environments may already follow the schedule that was to be restored,
    # and those of dead workers cannot be reached.
    if self._is_seeded:
      with contextlib.suppress(Exception):
        self._start_schedule(self._episodes.schedule)

  def _raw_reset(self, seed):
    """Returns the converted observation and the infos."""
    observation, infos = self._vector_env.reset(seed=seed)
    return self._convert_observation(observation), infos

  def _raw_step(self, action):
    """Steps the vector environment; adds the reward of the time step."""
    observation, reward, terminated, truncated, infos = self._vector_env.step(
        action
    )
    observation = self._convert_observation(observation)
    raw_reward = np.array(reward, np.float64)  # [B], a copy.
    self._check_shape('reward', raw_reward)
    reward = raw_reward.astype(np.float32)
    gymnasium_spaces.check_finite(reward, 'reward')
    if self._reward_fn is not None:
      # A copy: it may write into what it gets, and returns are of the raw ones.
      reward = np.array(self._reward_fn(raw_reward.copy()), np.float32)
      self._check_shape('reward of reward_fn', reward, self._reward_shape)
      gymnasium_spaces.check_finite(reward, 'reward')
    return observation, raw_reward, reward, terminated, truncated, infos

  def _check_shape(self, name, array, shape=()):
    expected = (self._num_envs, *shape)
    if array.shape != expected:
      raise errors.InvalidValue(
          f'the {name} must be one number an environment, {list(expected)},'
          f' and has shape {list(array.shape)}'
      )

  def _inside(self, doing, function, *args):
    """Calls `function`; what it raises becomes an EnvironmentFailure."""
    self._busy_since = (threading.get_ident(), time.monotonic())
    try:
      return function(*args)
    except (failures.StateNotRestored, NotImplementedError):
      raise
    except Exception as error:
      failure = error
      if not isinstance(error, failures.EnvironmentFailure):
        misshaped = _failure_of_shape(self._vector_env)
        failure = misshaped or failures.failure_of(error, doing)
      failure.environment_name = self.name
      index = failure.environment_index
      goes_on = index is not None and index not in self._ended_indices
      if doing == 'step' and goes_on and failure.episode_step is None:
        failure.episode_step = failures.episode_step(
            *self._episodes.next_step(index)
        )
      self.failure = failure
      if failure is error:
        raise
      raise failure from error
    finally:
      self._busy_since = None

  def _observed(self, time_step):
    """Shows `time_step` to the observers and returns it."""
    for observer in self._step_observers:
      observer(time_step, self._infos)
    return time_step

  def _step(self, action):
    self._restored = None
    observation, raw_reward, reward, terminated, truncated, self._infos = (
        self._inside('step', self._raw_step, self._convert_action(action))
    )
    step_type = self._all_mid.copy()
    discount = self._all_one.copy()
    ended = np.logical_or(terminated, truncated)
    first = self._ended_indices
    if first.size:
      # What the autoreset step claims of reward and end is of no transition.
      reward[first] = raw_reward[first] = 0.0
      ended[first] = False
      step_type[first] = ts.StepType.FIRST
    self._episodes.add(raw_reward)
    self._episodes.begin(first.tolist())
    self._ended_indices = last = ended.nonzero()[0]
    if last.size:
      step_type[last] = ts.StepType.LAST
      discount[last] = 1.0 - np.asarray(terminated)[last]
      self._episodes.finish(last.tolist(), terminated, self._infos)
    self._discount_lives(step_type, discount)
    return self._observed(
        ts.TimeStep(step_type, reward, discount, observation)
    )

  def _discount_lives(self, step_type, discount):
    """Lowers the discounts [B] of steps that lost a life."""
    if self._lives:
      is_first = step_type == ts.StepType.FIRST
      discount *= self._inside(
          'step', self._lives.discounts, self._infos, is_first
      )


def _copied(state):
  """Returns a deep copy of a picklable state, faster than copy.deepcopy."""
  return pickle.loads(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))


def _check_vector_env(vector_env):
  """Raises EnvironmentSetupError unless it resets at the next step."""
  if not isinstance(vector_env, vector.VectorEnv):
    raise failures.EnvironmentSetupError(
        'VectorPyEnvironment needs a gymnasium.vector.VectorEnv, not '
        f'{type(vector_env).__name__}. For a gymnasium.Env, use '
        'single_environment.from_gymnasium(env).'
    )
  # Of the two places that name the mode, the metadata of SyncVectorEnv is the
  # dict of the environment's class, which a later vector of it overwrites.
  mode = getattr(
      vector_env.unwrapped,
      'autoreset_mode',
      vector_env.metadata.get('autoreset_mode'),
  )
  if mode != vector.AutoresetMode.NEXT_STEP:
    raise failures.EnvironmentSetupError(
        f'{vector_env} has autoreset mode {mode}, which would lose the last '
        'observation of an episode. Make it with autoreset_mode='
        'gymnasium.vector.AutoresetMode.NEXT_STEP.'
    )


def _failure_of_shape(vector_env):
  """Returns a failure naming the first observation that fits no batch."""
  space = vector_env.single_observation_space
  # SyncVectorEnv's, which stack() has just refused.
  latest = getattr(vector_env.unwrapped, '_env_obs', ())
  for i, observation in enumerate(latest):
    if observation is None:
      continue
    try:
      vector.utils.concatenate(
          space, [observation], vector.utils.create_empty_array(space, 1)
      )
    except Exception:  # NumPy's errors, KeyError, AttributeError ...
      return failures.EnvironmentFailure(
          f'its observation of type {type(observation).__name__} and shape '
          f'{np.shape(observation)} is not in its space {space}.',
          environment_index=i,
      )
  return None
