# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents of a game that share one policy: each is a place of the batch.

A game is a parallel environment of PettingZoo: all of its A agents act at once,
and they have equal spaces. `ParallelGame` makes one Gymnasium environment of
it, which is stepped, seeded and saved as all others; `AgentsVectorEnv` makes A
places of each game.
"""

from collections.abc import Sequence
import copy
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium import vector
import numpy as np
from tf_agents.typing import types
import tree

from rnd_agents import ranges
from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import infos as infos_lib
from rnd_agents.environments import interface

# What becomes of an agent in a step: it ends at most once.
_PLAYS, _TERMINATED, _TRUNCATED, _WAITS = range(4)


def is_game(env: Any) -> bool:
  """Returns whether an object is an environment of PettingZoo, or like one."""
  return not isinstance(env, gymnasium.Env) and hasattr(env, 'possible_agents')


def check_arguments(
    num_agents: int, num_environments: int, **others: Any
) -> None:
  """Raises EnvironmentSetupError for arguments that do not fit together."""
  ranges.check(
      dict(num_agents=ranges.COUNT),
      dict(num_agents=num_agents),
      'load_environment.',
  )
  if num_environments % num_agents:
    raise failures.EnvironmentSetupError(
        f'{num_environments} environments are not a multiple of the'
        f' {num_agents} places that a game takes (load_environment.num_agents).'
        ' In a run they are train_eval.num_environments, of each shard, and'
        ' train_eval.num_eval_episodes.'
    )
  for name, value in others.items():
    if value:
      raise failures.EnvironmentSetupError(
          f'load_environment.{name} is for environments of one agent: leave it'
          ' out, and wrap the parallel environment where the callable makes it.'
      )


def _name_of(game: Any) -> str:
  """Returns the name of a game, which wrappers of PettingZoo pass on."""
  metadata = getattr(game, 'metadata', None) or {}
  return str(metadata.get('name', type(game).__name__))


class ParallelGame(gymnasium.Env):
  """A game of A agents as one environment.

  Actions are tuples with one for each agent, in the order of `possible_agents`.
  Observations are dicts of `agents`, a tuple; `rewards` [A]; and `fates` [A],
  what has become of each agent. An agent that ended early keeps its last
  observation; its actions are ignored. The episode ends with the last agent.
  """

  def __init__(self, game: Any, num_agents: int | None):
    """Adapts a game.

    Args:
      game: The parallel environment.
      num_agents: A, as the user said it.

    Raises:
      EnvironmentSetupError: If it is not a parallel environment of so many
        agents with equal spaces.
    """
    name = _name_of(game)
    if not is_game(game):
      raise failures.EnvironmentSetupError(
          'load_environment.num_agents is for parallel environments of'
          f' PettingZoo, and this is {name}: leave it out.'
      )
    if hasattr(game, 'agent_iter'):
      raise failures.EnvironmentSetupError(
          f'{name} is an environment of turns (AEC): load its parallel_env, or'
          ' convert it by pettingzoo.utils.aec_to_parallel.'
      )
    self._agents = list(game.possible_agents)
    if num_agents != len(self._agents):
      raise failures.EnvironmentSetupError(
          f'{name} has {len(self._agents)} agents, which share the policy: set'
          f' load_environment.num_agents = {len(self._agents)}, not'
          f' {num_agents}.'
      )
    of_agents = [
        (game.observation_space(agent), game.action_space(agent))
        for agent in self._agents
    ]
    for agent, found in zip(self._agents, of_agents):
      if found != of_agents[0]:
        raise failures.EnvironmentSetupError(
            'Agents that share a policy have equal spaces, and those of'
            f' {agent!r} of {name}, {found}, are not those of'
            f' {self._agents[0]!r}, {of_agents[0]}: pad them, as by'
            ' pad_observations_v0 and pad_action_space_v0 of SuperSuit.'
        )
    self._game = game
    self._space, action_space = of_agents[0]
    self.action_space = spaces.Tuple([action_space] * num_agents)
    self.observation_space = spaces.Dict(
        agents=spaces.Tuple([self._space] * num_agents),
        rewards=spaces.Box(-np.inf, np.inf, (num_agents,), np.float64),
        fates=spaces.Box(_PLAYS, _WAITS, (num_agents,), np.uint8),
    )
    self.metadata = {'render_modes': [], **getattr(game, 'metadata', {})}
    self.render_mode = getattr(game, 'render_mode', None)

  def reset(
      self, *, seed: int | None = None, options: dict[str, Any] | None = None
  ) -> tuple[Any, dict[str, Any]]:
    observations, infos = interface.checked_reset(
        self, self._game.reset(seed=seed, options=options)
    )
    self._observations = {
        agent: self._of(agent, observations, 'reset') for agent in self._agents
    }
    self._check(self._agents)
    self._is_over = dict.fromkeys(self._agents, False)
    rewards = np.zeros(len(self._agents))
    return self._observation(rewards, rewards), self._info(infos)

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    playing = [agent for agent in self._agents if not self._is_over[agent]]
    actions = dict(zip(self._agents, action, strict=True))
    results = self._game.step({agent: actions[agent] for agent in playing})
    if not isinstance(results, tuple) or len(results) != 5:
      raise failures.EnvironmentFailure(
          'step of a parallel environment must return (observations, rewards,'
          ' terminations, truncations, infos), each a dict of agents.'
      )
    rewards = dict.fromkeys(self._agents, 0.0)
    fates = dict.fromkeys(self._agents, _WAITS)
    for agent in playing:
      self._observations[agent], rewards[agent], terminated, truncated, _ = (
          interface.checked_step(
              self,
              (*(self._of(agent, each, 'step') for each in results[:4]), {}),
          )
      )
      self._is_over[agent] = terminated or truncated
      fates[agent] = (
          _TERMINATED if terminated else _TRUNCATED if truncated else _PLAYS
      )
    self._check(playing)
    for agent in playing:
      if self._is_over[agent]:  # The game may write into it.
        self._observations[agent] = copy.deepcopy(self._observations[agent])
    observation = self._observation(
        list(rewards.values()), list(fates.values())
    )
    info = self._info({agent: results[4].get(agent) for agent in playing})
    is_over = all(self._is_over.values())
    return observation, float(sum(rewards.values())), is_over, False, info

  def render(self) -> Any:
    return self._game.render()

  def close(self) -> None:
    self._game.close()

  def _of(self, agent: Any, values: Any, method: str) -> Any:
    if not isinstance(values, dict) or agent not in values:
      raise failures.EnvironmentFailure(
          f'{method} of {_name_of(self._game)} returned nothing for agent'
          f' {agent!r}: all of possible_agents play from the reset to their own'
          ' termination or truncation.'
      )
    return values[agent]

  def _check(self, agents: Sequence[Any]) -> None:
    """Raises EnvironmentFailure for an observation not in its space."""
    for agent in agents:
      failure = failures.failure_of_observation(
          self._space, self._observations[agent], 0
      )
      if failure is not None:
        raise failures.EnvironmentFailure(f'{agent!r}: {failure.what}')

  def _observation(self, rewards: Any, fates: Any) -> dict[str, Any]:
    return dict(
        agents=tuple(self._observations.values()),
        rewards=np.array(rewards, np.float64),
        fates=np.array(fates, np.uint8),
    )

  def _info(self, infos: dict[Any, Any]) -> dict[str, Any]:
    return {
        str(i): infos[agent]
        for i, agent in enumerate(self._agents)
        if infos.get(agent)
    }


class AgentsVectorEnv(vector.VectorEnv):
  """Places [G * A] for the agents of G games, one game after the other.

  The agents of a game begin together. In a place whose agent has ended, and
  whose game has not, `waiting` is True, and nothing is to be learned.

  Attributes:
    waiting: Booleans [G * A] of the newest step; the array stays the same.
    schedule: Schedule of the seeds with which the games were made.
  """

  def __init__(
      self,
      games: vector.VectorEnv,
      num_agents: int,
      schedule: episode_seeds.EpisodeSeeds | None = None,
  ):
    """Adapts a vector environment of `SeededEpisodes` of `ParallelGame`s."""
    self.schedule = schedule
    self._games = games
    self._num_agents = num_agents
    self.num_envs = games.num_envs * num_agents
    # Of `spaces.Tuple`.
    self.single_observation_space = games.single_observation_space['agents'][0]
    self.single_action_space = games.single_action_space[0]
    self.observation_space, self.action_space = (
        vector.utils.batch_space(space, self.num_envs)
        for space in (self.single_observation_space, self.single_action_space)
    )
    self.metadata = dict(
        games.metadata, autoreset_mode=vector.AutoresetMode.NEXT_STEP
    )
    self.render_mode = games.render_mode
    self.waiting = np.zeros(self.num_envs, np.bool_)

  def reset(
      self,
      *,
      seed: int | Sequence[int] | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[Any, dict[str, Any]]:
    """Resets all games; a list of seeds has one a place, the first counts."""
    if isinstance(seed, int):
      schedule = episode_seeds.new_stream(seed)
      self._games.call('start_schedule', schedule)
      seed = None
    elif seed is not None:
      seed = [int(each) for each in seed[:: self._num_agents]]
    batch, infos = self._games.reset(seed=seed, options=options)
    self.waiting[:] = False
    return self._observed(batch), self._told(infos)

  def step(self, actions: Any) -> tuple[Any, ...]:
    of_games = tree.map_structure(self._by_game, actions)
    batch, _, _, truncated, infos = self._games.step(
        tuple(
            tree.map_structure(lambda x, i=i: x[:, i], of_games)
            for i in range(self._num_agents)
        )
    )
    fates = batch['fates'].reshape(-1)
    # At a time limit around the game, all that play are cut.
    cut = np.repeat(truncated, self._num_agents) & (fates == _PLAYS)
    self.waiting[:] = fates == _WAITS
    return (
        self._observed(batch),
        batch['rewards'].reshape(-1),
        fates == _TERMINATED,
        cut | (fates == _TRUNCATED),
        self._told(infos),
    )

  def seeds_of_places(self, seeds: Sequence[int]) -> list[int]:
    """Returns the seed of its game for each place of those given to `reset`."""
    return [seeds[i - i % self._num_agents] for i in range(len(seeds))]

  def render(self) -> tuple[Any, ...]:
    """Returns the frame of its game for each place."""
    frames = self._games.render() or ()
    return tuple(frame for frame in frames for _ in range(self._num_agents))

  def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Calls a method of each game."""
    return self._games.call(name, *args, **kwargs)

  def close_extras(self, **kwargs: Any) -> None:
    self._games.close(**kwargs)

  def get_state(self) -> Any:
    """Returns a picklable state of the running games."""
    return episode_replay.save_running(self._games, is_seeded=True)

  def set_state(self, state: Any) -> types.NestedArray:
    """Replays the games of a state; returns the latest observations."""
    return self._observed(
        episode_replay.restore_running(self._games, True, state)
    )

  def _by_game(self, x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, self._num_agents, *x.shape[1:])

  def _observed(self, batch: dict[str, Any]) -> types.NestedArray:
    def join(*of_agents: np.ndarray) -> np.ndarray:
      joined = np.stack(of_agents, axis=1)
      return joined.reshape(-1, *joined.shape[2:])

    return tree.map_structure(join, *batch['agents'])

  def _told(self, infos: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for i in range(self._num_agents) if infos else ():
      for game in np.flatnonzero(infos.get(f'_{i}', ())).tolist():
        infos_lib.add_info(
            told,
            infos_lib.of_one(infos[str(i)], game),
            game * self._num_agents + i,
            self.num_envs,
        )
    return told
