# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Wrappers and reward functions that Gymnasium does not have.

For `load_environment.wrappers` and `load_environment.reward_fn`, beside those
of Gymnasium. For example, its RecordEpisodeStatistics inside a wrapper that
changes rewards keeps the returns of episodes raw.
"""

from collections.abc import Sequence
import copy
from typing import Any

import gin
import gymnasium
from gymnasium import spaces
from gymnasium.wrappers import utils
import numpy as np

from rnd_agents import _compat
from rnd_agents import ranges
from rnd_agents.environments import failures


@gin.configurable(module='rnd_agents', denylist=['env'])
class PreviousActionReward(gymnasium.Wrapper):
  """Adds the previous action and reward to the observation.

  Observations become dicts of `observation`, `previous_action` and
  `previous_reward` (float32 [1]). At the start of an episode the reward is 0
  and the action is the one nearest to 0; in a Discrete space, the first. For
  recurrent policies with these inputs (Kapturowski et al., 2019).
  """

  def __init__(self, env: gymnasium.Env):
    super().__init__(env)
    self._no_action = utils.create_zero_array(env.action_space)
    self.observation_space = spaces.Dict({
        'observation': env.observation_space,
        'previous_action': env.action_space,
        'previous_reward': spaces.Box(-np.inf, np.inf, (1,), np.float32),
    })

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    observation, info = self.env.reset(**kwargs)
    return self._with(observation, self._no_action, 0.0), info

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    observation, reward, terminated, truncated, info = self.env.step(action)
    observation = self._with(observation, action, reward)
    return observation, reward, terminated, truncated, info

  def _with(
      self, observation: Any, action: Any, reward: float
  ) -> dict[str, Any]:
    return {
        'observation': observation,
        # The caller may write the next action into the same array.
        'previous_action': copy.deepcopy(action),
        'previous_reward': np.array([reward], np.float32),
    }


@gin.configurable(module='rnd_agents', denylist=['env'])
class ActionRepeat(gymnasium.Wrapper):
  """Repeats each action `num_time_steps` times, or until the episode ends.

  Returns the sum of the rewards and the last observation. Infos have
  `time_steps`, the number of time steps of the episode so far.
  """

  def __init__(self, env: gymnasium.Env, num_time_steps: int):
    super().__init__(env)
    if num_time_steps < 1:
      raise failures.EnvironmentSetupError(
          f'num_time_steps must be at least 1, not {num_time_steps}.'
      )
    self._num_time_steps = num_time_steps
    self._time_steps = 0

  @property
  def frame_skip(self) -> int:
    """Frames of a step: those of each time step, as Atari games have some."""
    return frames_of_step(self.env) * self._num_time_steps

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    self._time_steps = 0
    return self.env.reset(**kwargs)

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    total = 0.0
    for _ in range(self._num_time_steps):
      observation, reward, terminated, truncated, info = self.env.step(action)
      total += reward
      self._time_steps += 1
      if terminated or truncated:
        break
    info = dict(info, time_steps=self._time_steps)
    return observation, total, terminated, truncated, info


@gin.configurable(module='rnd_agents', denylist=['env'])
class SomeEntries(gymnasium.ObservationWrapper):
  """Shows some entries of a flat observation and hides the rest.

  CartPole and MountainCar without their velocities need a memory. `entries` are
  indices of a flat Box, in the order of the new observation.
  """

  def __init__(self, env: gymnasium.Env, entries: Sequence[int]):
    super().__init__(env)
    space = env.observation_space
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
      raise failures.EnvironmentSetupError(
          f'SomeEntries needs a flat Box, not {space}.'
      )
    indices = np.array(entries)
    # Neither booleans, which are a mask, nor fractions.
    if (
        indices.ndim != 1
        or not indices.size
        or indices.dtype.kind not in 'iu'
        or not ((0 <= indices) & (indices < space.shape[0])).all()
    ):
      raise failures.EnvironmentSetupError(
          'SomeEntries.entries must hold indices from 0 to'
          f' {space.shape[0] - 1}, at least one, not {entries!r}.'
      )
    self._entries = indices
    self.observation_space = spaces.Box(
        space.low[self._entries], space.high[self._entries], dtype=space.dtype
    )

  def observation(self, observation: np.ndarray) -> np.ndarray:
    return observation[self._entries]


@gin.configurable(module='rnd_agents', denylist=['env'])
class SomeActions(gymnasium.ActionWrapper):
  """Offers a subset of an environment's discrete actions.

  Every task of MiniGrid has seven actions, many need three. Action i is the
  i-th of `actions`, which belong to a Discrete space.
  """

  def __init__(self, env: gymnasium.Env, actions: Sequence[int]):
    super().__init__(env)
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
      raise failures.EnvironmentSetupError(
          f'SomeActions needs Discrete actions, not {space}.'
      )
    self._actions = [np.int64(action) for action in actions]
    if not self._actions or not all(map(space.contains, self._actions)):
      raise failures.EnvironmentSetupError(
          f'SomeActions.actions must hold actions of {space}, at least one, not'
          f' {tuple(actions)}.'
      )
    self.action_space = spaces.Discrete(len(self._actions))

  def action(self, action: np.int64) -> np.int64:
    return self._actions[action]


class _FirstActions(gymnasium.Wrapper):
  """Takes some actions after each reset, whose rewards nobody gets."""

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    observation, info = self.env.reset(**kwargs)
    for action in self._first_actions():
      observation, _, terminated, truncated, info = self.env.step(action)
      if terminated or truncated:  # Another episode: its seed comes next.
        others = {key: kwargs[key] for key in kwargs if key != 'seed'}
        observation, info = self.env.reset(**others)
    return observation, info

  def _first_actions(self) -> Sequence[Any]:
    raise NotImplementedError


@gin.configurable(module='rnd_agents', denylist=['env'])
class NoopReset(_FirstActions):
  """Begins each episode with 1 to `noop_max` steps that do nothing.

  These steps take the action `noop_action`.
  The seed of an episode determines their number, also where the environment
  leaves the generator of Gymnasium without it.
  """

  def __init__(
      self, env: gymnasium.Env, noop_max: int = 30, noop_action: Any = 0
  ):
    super().__init__(env)
    ranges.check(
        dict(noop_max=ranges.COUNT), dict(noop_max=noop_max), 'NoopReset.'
    )
    _check_actions(env, 'NoopReset.noop_action', [noop_action])
    self._noop_max, self._noop_action = noop_max, noop_action
    self._generator = np.random.default_rng()

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    if kwargs.get('seed') is not None:
      self._generator = np.random.default_rng(kwargs['seed'])
    return super().reset(**kwargs)

  def _first_actions(self) -> Sequence[Any]:
    number = self._generator.integers(1, self._noop_max + 1)
    return [self._noop_action] * int(number)


@gin.configurable(module='rnd_agents', denylist=['env'])
class FireReset(_FirstActions):
  """Begins each episode with actions without which nothing moves.

  For games that wait for FIRE, which is action 1, and then for action 2, as in
  Stable-Baselines3's `FireResetEnv`.
  """

  def __init__(self, env: gymnasium.Env, actions: Sequence[Any] = (1, 2)):
    super().__init__(env)
    _check_actions(env, 'FireReset.actions', actions)
    self._actions = list(actions)

  def _first_actions(self) -> Sequence[Any]:
    return self._actions


def frames_of_step(env: gymnasium.Env) -> int:
  """Returns the `frame_skip` of an environment or its wrappers; 1 without."""
  skips = env.has_wrapper_attr('frame_skip')
  return env.get_wrapper_attr('frame_skip') if skips else 1


def _check_actions(
    env: gymnasium.Env, name: str, actions: Sequence[Any]
) -> None:
  """Raises EnvironmentSetupError for actions outside of the space."""
  if not all(map(env.action_space.contains, actions)):
    raise failures.EnvironmentSetupError(
        f'{name} must be in the action space {env.action_space}, got'
        f' {actions}.'
    )


class InfoWrapper(gymnasium.Wrapper):
  """Adds the entries that `_told` returns to each info."""

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    observation, info = self.env.reset(**kwargs)
    return observation, {**info, **self._told(begins=True)}

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    *step, info = self.env.step(action)
    return *step, {**info, **self._told(begins=False)}

  def _told(self, begins: bool) -> dict[str, Any]:
    raise NotImplementedError


@gin.configurable(module='rnd_agents', denylist=['env'])
class RoomsVisited(InfoWrapper):
  """Adds the room of Montezuma's Revenge to the info.

  Each info has `room`, its number, and `rooms_visited`, the number of rooms
  visited in this episode, with the first. ALE's vector environment does not
  show its RAM: evaluate with vectorization 'sync' or 'async'.
  """

  # RAM address of the agent's room, as in the code of Burda et al., 2018.
  ROOM_ADDRESS = 3

  def __init__(self, env: gymnasium.Env):
    super().__init__(env)
    if not hasattr(env.unwrapped, 'ale'):
      raise failures.EnvironmentSetupError(
          f'RoomsVisited needs an ALE game, not {env}.'
      )
    self._rooms: set[int] = set()

  def _told(self, begins: bool) -> dict[str, Any]:
    if begins:
      self._rooms = set()
    room = int(self.unwrapped.ale.getRAM()[self.ROOM_ADDRESS])
    self._rooms.add(room)
    return {'room': room, 'rooms_visited': len(self._rooms)}


@gin.configurable(module='rnd_agents', denylist=['env'])
class DelayedReward(gymnasium.Wrapper):
  """Pays the rewards of `delay_env_steps` steps together, after the last.

  The end of an episode pays the rest, so returns do not change.
  """

  def __init__(self, env: gymnasium.Env, delay_env_steps: int):
    super().__init__(env)
    if delay_env_steps < 1:
      raise failures.EnvironmentSetupError(
          f'delay_env_steps must be at least 1, not {delay_env_steps}.'
      )
    self._delay_env_steps = delay_env_steps
    self._start()

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    self._start()
    return self.env.reset(**kwargs)

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    observation, reward, terminated, truncated, info = self.env.step(action)
    self._owed += float(reward)
    self._waited += 1
    reward = 0.0
    if self._waited == self._delay_env_steps or terminated or truncated:
      reward = self._owed
      self._start()
    return observation, reward, terminated, truncated, info

  def _start(self) -> None:
    self._owed = 0.0
    self._waited = 0


@gin.configurable(module='rnd_agents', denylist=['env'])
class AgentPosition(InfoWrapper):
  """Adds the agent's cell of MiniGrid to each info: `position`, (x, y).

  The info of a reset also has the `grid_size`, (width, height).
  """

  def __init__(self, env: gymnasium.Env):
    super().__init__(env)
    if not hasattr(env.unwrapped, 'agent_pos'):
      raise failures.EnvironmentSetupError(
          f'AgentPosition needs a MiniGrid task, not {env}.'
      )

  def _told(self, begins: bool) -> dict[str, Any]:
    task = self.unwrapped
    told = {'position': np.array(task.agent_pos, np.int64)}
    if begins:
      told['grid_size'] = np.array([task.width, task.height], np.int64)
    return told


@gin.configurable(module='rnd_agents', denylist=['env'])
class FixedWorld(AgentPosition):
  """Fixes the world of a MiniGrid task; observes where the agent is in it.

  Every episode is reset with `world_seed`, whatever its own seed. Observations
  become uint8 [width * height + 4]: 1 at the agent's cell, row by row from the
  top left one, and at its direction, in MiniGrid's order. Like `AgentPosition`,
  it also adds the `position` to the infos.
  """

  def __init__(self, env: gymnasium.Env, world_seed: int = 0):
    super().__init__(env)
    self._world_seed = world_seed
    num_cells = self.unwrapped.width * self.unwrapped.height
    self.observation_space = spaces.Box(0, 1, (num_cells + 4,), np.uint8)

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    _, info = super().reset(**{**kwargs, 'seed': self._world_seed})
    return self._observation(), info

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    _, reward, terminated, truncated, info = super().step(action)
    return self._observation(), reward, terminated, truncated, info

  def _observation(self) -> np.ndarray:
    task = self.unwrapped
    x, y = task.agent_pos
    observation = np.zeros(self.observation_space.shape, np.uint8)
    observation[[y * task.width + x, task.agent_dir - 4]] = 1
    return observation


class FreshWorld(gymnasium.Wrapper):
  """Gives Gymnasium's BipedalWalker and CarRacing a new world each episode.

  They empty the world of the last episode and fill it again. Box2D then takes
  its bodies in another order, so an episode would depend on earlier ones and
  not on its seed alone. Gymnasium's LunarLander makes a new world by itself,
  see github.com/Farama-Foundation/Gymnasium/issues/728.
  """

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    env = self.unwrapped
    _compat.destroy_world(env)
    # Bodies keep their world alive as long as necessary.
    env.world = type(env.world)(gravity=env.world.gravity)
    return self.env.reset(**kwargs)


@gin.configurable(module='rnd_agents', denylist=['reward'])
def sign_of_reward(reward: np.ndarray) -> np.ndarray:
  """Returns -1, 0 or 1 for each reward, so that all games count alike.

  For `load_environment.reward_fn`. Bind it for training only:
  `train/load_environment.reward_fn = @sign_of_reward`. Returns of episodes are
  always sums of the game's rewards.

  Args:
    reward: Rewards [B].
  """
  return np.sign(reward)
