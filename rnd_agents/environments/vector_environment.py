# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A Gymnasium vector environment as one batched TF-Agents PyEnvironment.

Gymnasium's NEXT_STEP autoreset is TF-Agents' own protocol: the step after the
last one of an episode ignores the action and returns the first observation of
the next episode. So B environments need one call per step, and no Python loop.
"""

import collections
from typing import Any, List, NamedTuple, Optional, Sequence

import gymnasium
from gymnasium import vector
import numpy as np
from tf_agents.environments import py_environment
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents.environments import gymnasium_spaces

# Finished episodes kept for `pop_episodes`: a program that never asks for them
# must not run out of memory.
MAX_KEPT_EPISODES = 100_000


class Episode(NamedTuple):
  """One finished episode.

  Attributes:
    environment_index: which of the B environments played it.
    return_: sum of the rewards as the environment gave them, undiscounted.
    length_env_steps: number of transitions.
    terminated: False if a time limit cut it.
    success: `is_success` of the last step's info; None where it has none.
  """

  environment_index: int
  return_: float
  length_env_steps: int
  terminated: bool
  success: Optional[bool]


class VectorPyEnvironment(py_environment.PyEnvironment):
  """Adapts a `gymnasium.vector.VectorEnv` of B environments.

  Of each environment, a time step is

  * FIRST, reward 0, discount 1, after `reset()` and after a LAST one (the
    action is ignored, the reward belongs to no transition);
  * LAST, discount 0, where it terminated;
  * LAST, discount 1, where it was truncated and did not terminate;
  * MID, discount 1, otherwise.

  Rewards are float32. Observations are fresh arrays; float64 ones become
  float32, uint8, int32 and int64 stay. Text is dropped.
  """

  def __init__(
      self,
      vector_env: vector.VectorEnv,
      seed: Optional[int] = None,
      name: str = 'environment',
  ):
    """Creates a VectorPyEnvironment.

    Args:
      vector_env: with NEXT_STEP autoreset, Gymnasium's default.
      seed: given to the first reset, which seeds environment i with seed + i.
        Later episodes go on with the random streams this starts: they differ,
        and the whole run repeats. None takes entropy from the system.
      name: what to call it, on a picture for example.

    Raises:
      TypeError: `vector_env` is no VectorEnv.
      ValueError: it resets otherwise, or a space has no spec.
    """
    # PyEnvironment's own auto reset would reset all B when all are LAST, which
    # the vector environment does by itself.
    super().__init__(handle_auto_reset=False)
    _check_vector_env(vector_env)
    self.name = name
    self._vector_env = vector_env
    self._num_envs = vector_env.num_envs
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
    self._episodes = collections.deque(maxlen=MAX_KEPT_EPISODES)
    self._start_episodes()

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

  def seed(self, seed: Optional[types.Seed]) -> Optional[int]:
    """Stores the seed that the next `reset()` uses, and returns it.

    Args:
      seed: as in the constructor; None leaves the random streams alone.

    Raises:
      ValueError: `seed` is negative.
    """
    self._next_seed = None if seed is None else _checked_seed(seed)
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
      ValueError: not B non-negative seeds, or the environment takes no list.
    """
    if len(seeds) != self._num_envs:
      raise ValueError(
          f'reset_with_seeds needs {self._num_envs} seeds, one an environment, '
          f'and got {len(seeds)}.'
      )
    seeds = [_checked_seed(seed) for seed in seeds]
    first_error = None
    # Gymnasium's vector environments take a list, ALE's an array.
    for form in (seeds, np.array(seeds)):
      self._next_seed = form
      try:
        return self.reset()
      except (TypeError, gymnasium.error.Error) as error:
        first_error = first_error or error
    raise ValueError(
        f'{self._vector_env} did not reset with a list of seeds. Those of '
        "vectorization='sync' and 'async' do."
    ) from first_error

  def pop_episodes(self) -> List[Episode]:
    """Returns the episodes finished since the last call, oldest first.

    Of more than MAX_KEPT_EPISODES the oldest are lost. An episode that a reset
    cut short is not among them.
    """
    episodes = list(self._episodes)
    self._episodes.clear()
    return episodes

  def get_info(self) -> Any:
    """Returns Gymnasium's infos of the last step or reset: a dict of arrays."""
    return self._infos

  def render(self, mode: str = 'rgb_array') -> Optional[np.ndarray]:
    """Returns the frames of all environments, uint8 [B, height, width, 3].

    Args:
      mode: 'rgb_array', or 'human' for environments made to show themselves.

    Raises:
      ValueError: the environment was made for another render mode.
    """
    if self._vector_env.render_mode != mode:
      raise ValueError(
          f'Cannot render as {mode!r}: the environment was made with '
          f'render_mode={self._vector_env.render_mode!r}. Pass '
          f"env_kwargs={{'render_mode': {mode!r}}} when you load it."
      )
    frames = self._vector_env.render()
    return np.stack(frames) if mode == 'rgb_array' else None

  def close(self) -> None:
    self._vector_env.close()

  def _start_episodes(self):
    """Forgets the running episodes of all environments."""
    self._ended = np.zeros(self._num_envs, np.bool_)  # In the step before.
    self._returns = np.zeros(self._num_envs, np.float64)
    self._lengths = np.zeros(self._num_envs, np.int64)

  def _reset(self):
    seed, self._next_seed = self._next_seed, None
    observation, self._infos = self._vector_env.reset(seed=seed)
    self._start_episodes()
    return ts.TimeStep(
        step_type=np.full(self._num_envs, ts.StepType.FIRST, np.int32),
        reward=np.zeros(self._num_envs, np.float32),
        discount=self._all_one.copy(),
        observation=self._convert_observation(observation),
    )

  def _step(self, action):
    observation, reward, terminated, truncated, self._infos = (
        self._vector_env.step(self._convert_action(action))
    )
    observation = self._convert_observation(observation)
    raw_reward = np.array(reward, np.float64)  # [B], a copy.
    reward = raw_reward.astype(np.float32)
    gymnasium_spaces.check_finite(reward, 'reward')
    step_type = self._all_mid.copy()
    discount = self._all_one.copy()
    ended = np.logical_or(terminated, truncated)

    first = self._ended
    self._lengths += 1
    if first.any():
      step_type[first] = ts.StepType.FIRST
      reward[first] = raw_reward[first] = 0.0
      ended &= ~first
      self._lengths[first] = 0
    self._returns += raw_reward
    if ended.any():
      terminated = np.logical_and(terminated, ended)
      step_type[ended] = ts.StepType.LAST
      discount[terminated] = 0.0
      self._record_episodes(ended, terminated)
    self._ended = ended
    return ts.TimeStep(step_type, reward, discount, observation)

  def _record_episodes(self, ended, terminated):
    """Keeps what is known of the episodes that end with this step, bool [B]."""
    success = self._infos.get('is_success')
    # Gymnasium marks with an underscore which environments gave the key.
    known = self._infos.get('_is_success', ended)
    for i in np.flatnonzero(ended):
      self._episodes.append(
          Episode(
              environment_index=int(i),
              return_=float(self._returns[i]),
              length_env_steps=int(self._lengths[i]),
              terminated=bool(terminated[i]),
              success=None
              if success is None or not known[i]
              else bool(success[i]),
          )
      )
    self._returns[ended] = 0.0


def _check_vector_env(vector_env):
  """Raises unless it is a vector environment that resets at the next step."""
  if not isinstance(vector_env, vector.VectorEnv):
    raise TypeError(
        'VectorPyEnvironment needs a gymnasium.vector.VectorEnv, not '
        f'{type(vector_env).__name__}. For a gymnasium.Env, use '
        'loaders.load_environment(lambda: env).'
    )
  # Of the two places that name the mode, the metadata of SyncVectorEnv is the
  # dict of the environment's class, which a later vector of it overwrites.
  mode = getattr(
      vector_env.unwrapped,
      'autoreset_mode',
      vector_env.metadata.get('autoreset_mode'),
  )
  if mode != vector.AutoresetMode.NEXT_STEP:
    raise ValueError(
        f'{vector_env} has autoreset mode {mode}, which would lose the last '
        'observation of an episode. Make it with autoreset_mode='
        'gymnasium.vector.AutoresetMode.NEXT_STEP.'
    )


def _checked_seed(seed):
  if seed < 0:
    raise ValueError(f'Seeds are not negative; got {seed}.')
  return int(seed)
