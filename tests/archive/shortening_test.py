# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that detours are taken out, where they are detours."""

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import returning
from rnd_agents.archive import shortening
from tests.archive import toys

_GOAL = 6


class Line(gymnasium.Env):
  """A line from 0 to 6 with a coin at 2, worth 5, and 10 at the end.

  Actions are one to the left and one to the right. The key is the place, so
  that it does not tell whether the coin was taken.
  """

  observation_space = spaces.Box(-9.0, 9.0, (1,), np.float64)
  action_space = spaces.Discrete(2)

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.place, self.has_coin = 0, False
    return np.array([0.0]), {}

  def step(self, action):
    self.place += 2 * int(action) - 1
    reward = 10.0 if self.place == _GOAL else 0.0
    if self.place == -2 and not self.has_coin:
      self.has_coin, reward = True, 5.0
    ended = self.place == _GOAL
    return np.array([float(self.place)]), reward, ended, False, {}


def _place(observation, env):
  del env
  return int(observation[0])


class Door(Line):
  """A line with a door at 3 that opens to who has been at -1, for no reward."""

  steps_at_the_door = 0

  def reset(self, *, seed=None, options=None):
    self.has_key = False
    return super().reset(seed=seed)

  def step(self, action):
    self.has_key |= self.place == -1
    if self.place == 2 and int(action) == 1 and not self.has_key:
      Door.steps_at_the_door += 1
      return np.array([2.0]), 0.0, False, False, {}
    return super().step(action)


def _with(*trajectories, task=Line):
  """An explorer whose archive was offered trajectories of 0 and 1."""
  explorer = toys.explorer(toys.singles(task, 1), key_fn=_place)
  explorer.begin()
  (env,) = toys.singles(task, 1)
  for trajectory in trajectories:
    env.reset(seed=7)
    node, score, pending = 0, 0.0, []
    for t, letter in enumerate(trajectory):
      observation, reward, ended, _, _ = env.step(int(letter))
      score += reward
      pending.append(int(letter))
      found = explorer.archive.offer(
          0,
          archive_lib.ENDED if ended else int(observation[0]),
          node,
          bytes(pending),
          score,
          t + 1,
      )
      if found is not None:
        node, pending = found, []
  return explorer


def _best(explorer, max_env_steps=1000):
  best = shortening.best_trajectory(
      explorer.returner, explorer.archive, 0, max_env_steps
  )
  return ''.join(map(str, best.actions)), best


def test_circles_are_left_out():
  text, best = _best(_with('10' * 3 + '1101' + '0110' + '1' * 4))
  assert text == '1' * _GOAL
  assert best.keys == [0, 1, 2, 3, 4, 5, None]
  assert best.scores == [0.0] * _GOAL + [10.0]


def test_shorter_ways_of_the_archive_are_taken():
  explorer = _with('101101101', '1' * 4)  # To 3 with circles; straight to 4.
  # As if the goal had been found with the circles before the short way was.
  detour = '1011011' + '0110' + '1' * 3
  explorer.archive.offer(
      0, archive_lib.ENDED, 0, bytes(map(int, detour)), 10.0, 14
  )
  assert _best(explorer)[0] == '1' * _GOAL


def test_a_detour_for_a_coin_stays():
  text, best = _best(_with('0100' + '1' * 8))
  assert text == '00' + '1' * 8  # All but the first step back.
  assert best.scores[-1] == 15.0


@pytest.mark.parametrize('uses_snapshots', [False, True])
def test_a_way_that_leaves_the_cells_is_given_up(uses_snapshots):
  # The archive has a short way to 2, from where the rest needs the key.
  explorer = _with('11', '0' + '1' * 3 + '01' * 3 + '1' * 4, task=Door)
  explorer.returner.uses_snapshots = uses_snapshots
  Door.steps_at_the_door = 0
  text, best = _best(explorer)
  assert text == '0' + '1' * 7
  assert best.keys == [0, -1, 0, 1, 2, 3, 4, 5, None]
  # One a way: straight on from the beginning, and by the archive's to 2.
  assert Door.steps_at_the_door == 2


def test_what_snapshots_are_there_decides_nothing():
  # A way of the archive that does not lead on, then one that does.
  explorer = _with('11', '0' + '1' * 3 + '01' * 3 + '1' * 4, task=Door)
  found = set()
  for max_env_steps in range(30):
    explorer.returner._kept.clear()
    text, _ = _best(explorer, max_env_steps)  # Keeps snapshots.
    assert _best(explorer, max_env_steps)[0] == text
    found.add(text)
  assert len(found) > 1


@pytest.mark.parametrize(('column', 'wrong'), [('score', 30.0), ('length', 1)])
def test_a_score_that_its_actions_do_not_reach(column, wrong):
  explorer = _with('1' * _GOAL)
  best = explorer.archive.best(0)
  explorer.archive.column(column)[best] += wrong
  with pytest.raises(returning.NotPutBack, match='played again'):
    _best(explorer)


def test_no_step_too_many():
  long = '10' * 20 + '1' * _GOAL
  assert _best(_with(long), max_env_steps=0)[0] == long
  state = _with(long)
  before = state.archive.get_state()
  assert len(_best(state, max_env_steps=1)[0]) == _GOAL  # The first try.
  for name, array in state.archive.get_state().items():
    np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize('seed', range(3))
def test_random_ways_become_the_shortest(seed):
  rng = np.random.default_rng(seed)
  walk, place = '', 0
  while place != _GOAL:
    walk += str(rng.integers(2))
    place += 2 * int(walk[-1]) - 1
  coin = -2 in np.cumsum([2 * int(letter) - 1 for letter in walk])
  text, best = _best(_with(walk), 100_000)
  # The way to the coin and from there, or straight on.
  assert len(text) == (10 if coin else 6) <= len(walk)
  assert best.scores[-1] == (15.0 if coin else 10.0)
