# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the way through MiniGrid's rooms."""

import copy

import gymnasium
import pytest

from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_tasks

pytest.importorskip('minigrid')


def _make(env_id, **kwargs):
  env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
  return minigrid_tasks.MiniGridExpert(env)


def _length(env, seed):
  """Of the expert's episode; asserts that it succeeds."""
  env.reset(seed=seed)
  for length in range(1, 200):
    _, reward, terminated, truncated, _ = env.step(env.expert_action())
    if terminated or truncated:
      assert terminated and reward > 0
      assert env.expert_action() == 0
      return length
  raise AssertionError('No end.')


def _shortest(env, seed):
  """Length of a shortest episode, by trying all in the environment itself."""
  env.reset(seed=seed)
  frontier, seen = [env.unwrapped], set()
  for length in range(1, 60):
    following = []
    for state in frontier:
      for action in range(6):
        after = copy.deepcopy(state)
        _, reward, _, _, _ = after.step(action)
        if reward > 0:
          return length
        key = (
            tuple(after.agent_pos), after.agent_dir, after.carrying is None,
            after.grid.encode().tobytes(),
        )
        if key not in seen:
          seen.add(key)
          following.append(after)
    frontier = following
  raise AssertionError('No way.')


def test_door_key_is_always_solved():
  env = loaders.load_environment(
      'MiniGrid-DoorKey-5x5-v0', 20, wrappers=[minigrid_tasks.MiniGridExpert]
  )
  env.reset_with_seeds(range(20))
  episodes = {}
  for _ in range(40):
    env.step(list(env.gymnasium_vector_env.call('expert_action')))
    for episode in env.pop_episodes():
      episodes.setdefault(episode.environment_index, episode)
  assert len(episodes) == 20
  # 1 less 0.9 of the share of MiniGrid's own limit that was used.
  for episode in episodes.values():
    assert episode.terminated
    assert episode.return_ == pytest.approx(
        1 - 0.9 * episode.length_env_steps / 250
    )


@pytest.mark.parametrize('seed', [0, 3])
def test_no_way_is_shorter(seed):
  env = _make('MiniGrid-DoorKey-5x5-v0')
  assert _length(env, seed) == _shortest(env, seed)


@pytest.mark.parametrize(
    'env_id',
    ['MiniGrid-DoorKey-8x8-v0', 'MiniGrid-FourRooms-v0',
     'MiniGrid-LavaCrossingS9N2-v0', 'MiniGrid-MultiRoom-N4-S5-v0'],
)
def test_other_rooms(env_id):
  env = _make(env_id)
  lengths = [_length(env, seed) for seed in range(5)]
  assert len(set(lengths)) > 1


def test_a_plan_can_begin_anywhere():
  # After a detour of random actions, which drops, picks up, opens and shuts.
  env = _make('MiniGrid-DoorKey-5x5-v0')
  states = set()
  for seed in range(12):
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(60):
      _, _, ended, _, _ = env.step(env.action_space.sample())
      if ended:
        env.reset(seed=seed)
    grid = env.unwrapped
    states.add((
        grid.carrying is not None,
        any(
            cell is not None and cell.type == 'door' and cell.is_open
            for cell in grid.grid.grid
        ),
    ))
    for _ in range(40):
      _, reward, terminated, _, _ = env.step(env.expert_action())
      if terminated:
        break
    assert reward > 0
  assert len(states) >= 3


def test_a_key_in_the_way_is_picked_up():
  from minigrid.core import world_object  # pylint: disable=import-outside-toplevel

  env = _make('MiniGrid-Empty-5x5-v0')
  env.reset(seed=0)
  env.unwrapped.grid.set(1, 2, world_object.Wall())
  env.unwrapped.grid.set(2, 1, world_object.Key('red'))
  actions, terminated = [], False
  while not terminated and len(actions) < 20:
    actions.append(env.expert_action())
    _, _, terminated, _, _ = env.step(actions[-1])
  assert terminated
  assert actions == [3, 2, 2, 1, 2, 2]  # Takes it, on, on, turns, on, on.


def test_where_there_is_no_way():
  env = _make('MiniGrid-KeyCorridorS3R1-v0')  # Asks for a ball.
  env.reset(seed=0)
  with pytest.raises(ValueError, match='no way to a goal'):
    env.expert_action()
