# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for parallel_agents."""

import pickle
import re

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import trajectory as trajectory_lib

from rnd_agents.collecting import collector
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import evaluator
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import sequences

FIRST, MID, LAST = 0, 1, 2


class Relay:
  """A parallel environment, as of PettingZoo, in which agent i ends at ends[i].

  Even agents terminate and odd ones are truncated. An agent sees the start of
  the game, its own number and its step, and gets 1 where its action is its
  number modulo 2, and 100 for its last step.
  """

  def __init__(self, ends=(2, 4, 1), fault=''):
    self.possible_agents = [f'runner_{i}' for i in range(len(ends))]
    self.agents = []
    self._ends = dict(zip(self.possible_agents, ends))
    self._fault = fault
    self._seen = {}

  def observation_space(self, agent):
    if self._fault == 'spaces' and agent == 'runner_1':
      return spaces.Box(0, 9, (3,), np.float32)
    return spaces.Dict(
        start=spaces.Discrete(1000),
        place=spaces.Box(0, 99, (2,), np.float32),
    )

  def action_space(self, agent):
    return spaces.Discrete(2, start=1)

  def reset(self, seed=None, options=None):
    self.agents = self.possible_agents[self._fault == 'late' :]
    self._step = 0
    self._start = int(np.random.default_rng(seed).integers(1000))
    seen = {agent: self._observation(agent) for agent in self.agents}
    return seen, {agent: {} for agent in self.agents}

  def step(self, actions):
    assert list(actions) == self.agents
    self._step += 1
    ends = {a: self._step == self._ends[a] for a in self.agents}
    numbers = {a: self.possible_agents.index(a) for a in self.agents}
    if self._fault == 'lost' and self._step == 2:
      ends.pop('runner_1')
    result = (
        {a: self._observation(a) for a in self.agents},
        {
            a: float(actions[a] - 1 == numbers[a] % 2) + 100 * ends.get(a, 0)
            for a in self.agents
        },
        {a: end and numbers[a] % 2 == 0 for a, end in ends.items()},
        {a: end and numbers[a] % 2 == 1 for a, end in ends.items()},
        {a: dict(is_success=a == 'runner_1') if ends.get(a) else {}
         for a in self.agents},
    )
    self.agents = [a for a in self.agents if not ends.get(a)]
    return result

  def _observation(self, agent):
    number = self.possible_agents.index(agent)
    # The same array at each step, which a place must not keep.
    place = self._seen.setdefault(agent, np.zeros([2], np.float32))
    place[:] = number, self._step
    if self._fault == 'shape':
      place = place[:1]
    return dict(start=self._start, place=place)

  def close(self):
    pass


class Turns(Relay):

  def agent_iter(self):
    """As PettingZoo's environments of turns, whose `step` takes one action."""


def _by_hand(ends, num_steps, action):
  """Rows (step type, reward, discount, step) of an agent of a slow loop."""
  rows = []
  for number, end in enumerate(ends):
    reward = float(action == number % 2)
    game = [(FIRST, 0.0, 1.0, 0)]
    for step in range(1, max(ends) + 1):
      if step < end:
        game.append((MID, reward, 1.0, step))
      elif step == end:
        game.append((LAST, reward + 100, float(number % 2), step))
      else:
        game.append((LAST, 0.0, 1.0, end))
    rows.append((game * num_steps)[:num_steps])
  return rows


def _rows(env, num_steps, action, is_first=True):
  steps = [env.reset()] if is_first else []
  while len(steps) < num_steps:
    steps.append(env.step(np.full([env.batch_size], action)))
  return [
      [
          (*(x[b] for x in s[:3]), s.observation['place'][b])
          for s in steps
      ]
      for b in range(env.batch_size)
  ], np.stack([s.observation['start'] for s in steps], axis=1)


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
def test_places_are_played_as_each_agent_by_hand(vectorization):
  ends = (2, 4, 1)
  arguments = dict(
      num_environments=6, seed=3, num_agents=3, vectorization=vectorization
  )
  env = loaders.load_environment(Relay, **arguments)
  assert env.action_spec().maximum == 1 and env.batch_size == 6
  found, starts = _rows(env, 8, action=1)
  for b in range(6):
    expected = _by_hand(ends, 8, 1)[b % 3]
    assert [row[:3] for row in found[b]] == [row[:3] for row in expected]
    np.testing.assert_array_equal(
        [row[3] for row in found[b]], [(b % 3, row[3]) for row in expected]
    )
  # A game has one start, another each time, and not that of the other game.
  assert (starts[:3] == starts[0]).all() and (starts[3:] == starts[3]).all()
  assert len(set(starts[::3, ::5].flatten().tolist())) == 4
  episodes = env.pop_episodes()
  # Of the first game, and what has ended of the second after 8 rows.
  outcomes = [(100.0, 2, True, False), (104.0, 4, False, True),
              (100.0, 1, True, False)]
  assert [(e.environment_index, *e[1:5]) for e in episodes] == [
      (b, *outcomes[b % 3]) for b in (2, 5, 0, 3, 1, 4, 2, 5, 0, 3)
  ]
  # In the middle of a game in which some wait.
  state = pickle.loads(pickle.dumps(env.get_state()))
  following, starts = _rows(env, 9, 0, is_first=False)
  env.close()
  other = loaders.load_environment(Relay, **{**arguments, 'seed': 9})
  other.set_state(state)
  restored, restored_starts = _rows(other, 10, 0)
  assert str(restored) == str(
      [[before[-1], *after] for before, after in zip(found, following)]
  )
  np.testing.assert_array_equal(restored_starts[:, 1:], starts)
  other.close()


def test_a_game_keeps_to_its_part_of_a_schedule_of_seeds():
  def starts(*seeds, **more):
    env = loaders.load_environment(
        Relay, seeding=episode_seeds.cycle(seeds), num_agents=3, **more
    )
    first = env.reset().observation['start']
    env.begin_other_episodes(9)
    return np.stack([first, env.reset().observation['start']])

  found = starts(4, 5, 6, 7, num_environments=6)
  np.testing.assert_array_equal(
      starts(5, 7, num_environments=3), found[:, 3:]
  )
  part = starts(
      4, 5, 6, 7, num_environments=3, first_place=3, num_places=6
  )
  np.testing.assert_array_equal(part, found[:, 3:])


def test_a_time_limit_cuts_those_that_play_and_seeds_are_of_games():
  env = loaders.load_environment(
      Relay, 4, num_agents=2, env_kwargs=dict(ends=(1, 9)), max_episode_steps=3
  )
  assert env.reset_with_seeds([7, 0, 7, 1]).observation['start'].std() == 0
  steps = [env.step(np.zeros(4, np.int64)) for _ in range(4)]
  assert [s.step_type[:2].tolist() for s in steps] == [
      [LAST, MID], [LAST, MID], [LAST, LAST], [FIRST, FIRST]
  ]
  assert steps[2].discount[1] == 1 and not env.pop_episodes()[-1].terminated


@pytest.mark.parametrize(
    'make, arguments, expected',
    [
        (Relay, dict(), 'num_agents = 3'),
        (Relay, dict(num_agents=1), 'num_agents = 3'),
        (Relay, dict(num_agents=3, num_environments=4), 'not a multiple'),
        (Relay, dict(num_agents=0), 'from 1'),
        (Relay, dict(num_agents=3, env_kwargs=dict(fault='spaces')), 'equal'),
        (Relay, dict(num_agents=3, lives_key='lives'), 'lives_key'),
        (Relay, dict(num_agents=3, action_repeat=2), 'wrappers'),
        (Relay, dict(num_agents=3, vectorization='envpool'), 'vector env'),
        (Turns, dict(num_agents=3), 'parallel_env'),
        ('CartPole-v1', dict(num_agents=3), 'callable'),
        (lambda: gymnasium.make('CartPole-v1'), dict(num_agents=3), 'leave it'),
    ],
)
def test_what_is_no_game_of_so_many_agents_is_refused(
    make, arguments, expected
):
  arguments.setdefault('num_environments', 3)
  with pytest.raises(ValueError, match=expected):
    loaders.load_environment(make, **arguments)


@pytest.mark.parametrize('fault', ['late', 'lost', 'shape'])
def test_a_game_that_breaks_its_promises_fails(fault):
  env = loaders.load_environment(
      Relay, 3, num_agents=3, env_kwargs=dict(fault=fault)
  )
  with pytest.raises(
      failures.EnvironmentFailure,
      match=re.compile('runner_[01].*(reset|space)', re.DOTALL),
  ):
    env.reset()
    for _ in range(3):
      env.step(np.zeros(3, np.int64))


def test_a_replay_has_the_rows_of_each_agent_without_its_waiting():
  env = loaders.load_environment(Relay, 3, seed=1, num_agents=3)
  steps = [env.reset()]
  for t in range(12):
    steps.append(env.step(np.full([3], t % 2)))
  rows = trajectory_lib.Trajectory(
      step_type=np.stack([s.step_type for s in steps[:-1]], 1),
      observation=np.stack([s.observation['place'] for s in steps[:-1]], 1),
      action=np.tile(np.arange(12) % 2, [3, 1]),
      policy_info=(),
      next_step_type=np.stack([s.step_type for s in steps[1:]], 1),
      reward=np.stack([s.reward for s in steps[1:]], 1),
      discount=np.stack([s.discount for s in steps[1:]], 1),
  )
  is_new = collector.Rollout(rows, 0, ()).is_new
  # Agents end at 2, 4 and 1: games of five rows have 3, 5 and 2 of them.
  assert is_new.sum(axis=1).tolist() == [3 + 3 + 2, 12, 2 + 2 + 2]
  settings = sequences.SequenceSettings(2, 1, 1, 'fill')
  found, alone = [], []
  episode_cutter.EpisodeCutter(settings, found.append)(rows, mask=is_new)
  for b in range(3):
    kept = tf.nest.map_structure(lambda x, b=b: x[b][is_new[b]][None], rows)
    kept.next_step_type[kept.step_type == LAST] = FIRST
    episode_cutter.EpisodeCutter(settings, alone.append)(kept)

  def flat(parts):
    return sorted(
        str(tf.nest.map_structure(lambda x, i=i: x[i].tolist(), part))
        for part in parts
        for i in range(len(part.is_demonstration))
    )

  assert flat(found) == flat(alone)


class Ones(actors.Actor):
  """Takes action 1."""

  def initial_state(self, batch_size):
    return ()

  def act(self, time_step, state, indices):
    return np.ones(len(time_step.reward), np.int64), state


def test_an_evaluation_plays_each_agent_once_a_game():
  env = loaders.load_environment(Relay, 6, num_agents=3)
  played = list(
      evaluator.play(env, Ones(), range(9), keep_time_steps=True)
  )
  assert [p.episode.return_ for p in played] == [100, 104, 100] * 3
  assert [len(p.time_steps.reward) for p in played] == [3, 5, 2] * 3
  starts = [p.time_steps.observation['start'][0] for p in played]
  expected = [np.random.default_rng(s).integers(1000) for s in (0, 3, 6)]
  assert starts == np.repeat(expected, 3).tolist()
  assert [p.episode.seed for p in played] == np.repeat([0, 3, 6], 3).tolist()
  # Also of episodes that are cut, of a game with a place to spare, and where
  # the evaluator has no part.
  for max_steps in (None, 1):
    played = list(evaluator.play(env, Ones(), range(4, 9), max_steps=max_steps))
    assert [p.episode.seed for p in played] == [4, 4, 4, 7, 7]
  env.reset_with_seeds(range(20, 26))
  for _ in range(4):
    env.step(np.ones(6, np.int64))
  seeds = {e.environment_index: e.seed for e in env.pop_episodes()}
  assert [seeds[i] for i in range(6)] == [20, 20, 20, 23, 23, 23]
