# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for memory_tasks: whole trees of episodes, played for both cues."""

import functools
import itertools

import gin
import gymnasium
import numpy as np
import pytest

from rnd_agents.environments import check
from rnd_agents.environments import loaders
from rnd_agents.tasks import memory_tasks
from tests.environments import known

NORTH, EAST, SOUTH, WEST = range(4)
# RandomState(0).randint(4, size=8), written down.
CODE = (0, 3, 1, 0, 3, 3, 3, 3)
CORRIDOR, JUNCTION = [1, 0, 1], [0, 1, 0]
ALL = (memory_tasks.Recall, memory_tasks.TMaze, memory_tasks.CueLock)


@pytest.fixture(name='seeds', scope='module')
def _seeds():
  """A seed for each of the two cues, told by the first observation."""
  env = memory_tasks.Recall()
  seeds = {int(env.reset(seed=s)[0].argmax()): s for s in range(20)}
  assert sorted(seeds) == [0, 1]
  return seeds


def play(env, seed, policy):
  """Plays an episode; `policy` gets the observation and the time.

  Returns:
    Observations, rewards, the last (terminated, truncated), all infos.
  """
  observation, info = env.reset(seed=seed)
  observations, rewards, infos = [observation], [], [info]
  ended = False
  while not ended:
    action = policy(observation, len(rewards))
    observation, reward, terminated, truncated, info = env.step(action)
    observations.append(observation)
    rewards.append(reward)
    infos.append(info)
    ended = terminated or truncated
  return observations, rewards, (terminated, truncated), infos


def play_expert(env, seed):
  return play(env, seed, lambda *_: env.expert_action())


def play_actions(env, seed, actions):
  return play(env, seed, lambda _, t: actions[t])


@pytest.mark.parametrize('cue', [0, 1])
@pytest.mark.parametrize('delay', [0, 1, 10])
def test_recall_shows_a_cue_blanks_and_the_question(seeds, cue, delay):
  env = memory_tasks.Recall(delay)
  cue_seen = np.eye(4)[cue]
  expected = [cue_seen] + [[0, 0, 1, 0]] * delay + [[0, 0, 0, 1]] + [[0] * 4]
  for answer in (0, 1):
    # What is done before the question is of no account.
    for before in (0, 1):
      actions = [before] * (delay + 1) + [answer]
      observations, rewards, ends, infos = play_actions(
          env, seeds[cue], actions
      )
      np.testing.assert_array_equal(observations, expected)
      pay = 1.0 if answer == cue else -1.0
      assert rewards == [0.0] * (delay + 1) + [pay]
      assert ends == (True, False)
      assert infos == [{}] * (delay + 2) + [{'is_success': answer == cue}]
  assert len(rewards) == delay + 2


@pytest.mark.parametrize('cue', [0, 1])
def test_the_table_of_tmaze(seeds, cue):
  right, wrong = ((NORTH, SOUTH), (SOUTH, NORTH))[cue]
  sign = ([0, 1, 1], [1, 1, 0])[cue]
  env = memory_tasks.TMaze(length=2, limit_env_steps=20)
  # (action, what is then observed, reward)
  tour = [
      (WEST, CORRIDOR, -0.1),  # The wall; the sign is gone.
      (NORTH, CORRIDOR, -0.1),
      (SOUTH, CORRIDOR, -0.1),
      (EAST, CORRIDOR, 0.0),
      (WEST, CORRIDOR, -0.1),  # Back where the sign was.
      (EAST, CORRIDOR, 0.0),
      (NORTH, CORRIDOR, -0.1),
      (EAST, JUNCTION, 0.0),
      (EAST, JUNCTION, -0.1),  # The wall again.
      (WEST, CORRIDOR, -0.1),
      (EAST, JUNCTION, 0.0),
  ]
  for turn, reward in ((right, 4.0), (wrong, -0.1)):
    steps = tour + [(turn, [0, 0, 0], reward)]
    observations, rewards, ends, infos = play_actions(
        env, seeds[cue], [action for action, _, _ in steps]
    )
    np.testing.assert_array_equal(
        observations, [sign] + [seen for _, seen, _ in steps]
    )
    assert rewards == [reward for _, _, reward in steps]
    assert ends == (True, False)
    assert infos == [{}] * 12 + [{'is_success': turn == right}]


def test_the_time_limit_of_tmaze_is_a_truncation(seeds):
  env = memory_tasks.TMaze(length=3, limit_env_steps=4)
  observations, rewards, ends, infos = play_actions(
      env, seeds[0], [EAST, EAST, EAST, EAST]
  )
  assert ends == (False, True) and infos[-1] == {'is_success': False}
  assert rewards == [0.0, 0.0, 0.0, -0.1]
  # Where it stands: the value goes on from there.
  np.testing.assert_array_equal(observations[-1], JUNCTION)
  # What ends the task at the last moment is no truncation.
  for turn, reward in ((NORTH, 4.0), (SOUTH, -0.1)):
    _, rewards, ends, infos = play_actions(
        env, seeds[0], [EAST, EAST, EAST, turn]
    )
    assert rewards[-1] == reward and ends == (True, False)
  # 40 steps without a word.
  _, rewards, ends, _ = play(memory_tasks.TMaze(), seeds[1], lambda *_: WEST)
  assert rewards == [-0.1] * 40 and ends == (False, True)
  # The discounts that an agent is given.
  for actions, discount in (([EAST] * 4, 1.0), ([EAST] * 3 + [NORTH], 0.0)):
    batch = loaders.load_environment(
        memory_tasks.TMaze, env_kwargs={'length': 3, 'limit_env_steps': 4}
    )
    batch.reset()
    steps = [batch.step(np.array([action])) for action in actions]
    assert [s.step_type.item() for s in steps] == [
        known.MID, known.MID, known.MID, known.LAST
    ]
    assert [s.discount.item() for s in steps] == [1.0, 1.0, 1.0, discount]
    (episode,) = batch.pop_episodes()
    assert episode.success is (episode.return_ == 4.0)


@pytest.mark.parametrize('cue', [0, 1])
def test_cue_lock_opens_to_its_code(seeds, cue):
  env = memory_tasks.CueLock()
  assert env.code == CODE
  for answer in range(4):
    observations, rewards, ends, infos = play_actions(
        env, seeds[cue], (2, *CODE, answer)  # The first is of no account.
    )
    expected = np.zeros([11, 11])
    expected[0, cue] = 1
    expected[np.arange(1, 10), np.arange(2, 11)] = 1
    np.testing.assert_array_equal(observations, expected)
    success = (answer in (0, 2)) == (cue == 0)
    assert rewards == [0.0] * 9 + [1.0 if success else 0.0]
    assert ends == (True, False)
    assert infos == [{}] * 10 + [{'is_success': success}]
  # Any error ends it, with nothing.
  for position, symbol in enumerate(CODE):
    for error in set(range(4)) - {symbol}:
      _, rewards, ends, infos = play_actions(
          env, seeds[cue], (0, *CODE[:position], error)
      )
      assert rewards == [0.0] * (position + 2)
      assert ends == (True, False) and infos[-1] == {'is_success': False}


def test_random_success_of_cue_lock(seeds):
  # All sequences of actions; those that end early stand for their rest. Of
  # the default, `test_cue_lock_opens_to_its_code` has each step.
  num_symbols, code_length = 3, 2
  env = memory_tasks.CueLock(num_symbols, code_length)
  successes = [
      play_actions(env, seed, actions)[3][-1]['is_success']
      for seed in seeds.values()
      for actions in itertools.product(range(3), repeat=code_length + 2)
  ]
  assert len(successes) == 2 * 3**4
  assert np.mean(successes) == 3.0**-2 / 2


@pytest.mark.parametrize('make, length, best', [
    (memory_tasks.Recall, 12, 1.0),
    (functools.partial(memory_tasks.Recall, delay_env_steps=0), 2, 1.0),
    (memory_tasks.TMaze, 11, 4.0),
    (functools.partial(memory_tasks.TMaze, length=39), 40, 4.0),
    (memory_tasks.CueLock, 10, 1.0),
    (functools.partial(memory_tasks.CueLock, 5, 3, 7), 5, 1.0),
])
def test_the_expert(seeds, make, length, best):
  env = make()
  for seed in (*seeds.values(), 100, 101):
    _, rewards, ends, infos = play_expert(env, seed)
    assert len(rewards) == length and sum(rewards) == best
    assert ends == (True, False) and infos[-1] == {'is_success': True}
    assert env.expert_action() == 0  # Any would do.


@pytest.mark.parametrize('env', [
    memory_tasks.Recall(2),
    memory_tasks.TMaze(length=2, limit_env_steps=5),
    memory_tasks.CueLock(num_symbols=3, code_length=2),
])
def test_nothing_beats_the_expert(seeds, env):
  num_actions = int(env.action_space.n)
  length = {2: 4, 3: 4, 4: 5}[num_actions]
  for seed in seeds.values():
    returns = {
        tuple(actions): sum(play_actions(env, seed, actions)[1])
        for actions in itertools.product(range(num_actions), repeat=length)
    }
    assert sum(play_expert(env, seed)[1]) == max(returns.values())


def _look_up(table, observation, _):
  return table[tuple(observation)]


def _memoryless(env, seeds):
  """Plays all policies of the last observation alone, for both cues.

  Returns:
    The successes [P, 2] of all P, bool, and their returns [P, 2].
  """
  seen = set()
  for seed in seeds.values():
    seen |= {tuple(o) for o in play_expert(env, seed)[0][:-1]}
  seen = sorted(seen)
  successes, returns = [], []
  for actions in itertools.product(
      range(int(env.action_space.n)), repeat=len(seen)
  ):
    table = dict(zip(seen, actions, strict=True))
    policy = functools.partial(_look_up, table)
    played = [play(env, seeds[cue], policy) for cue in (0, 1)]
    successes.append([infos[-1]['is_success'] for _, _, _, infos in played])
    returns.append([sum(rewards) for _, rewards, _, _ in played])
  return np.array(successes), np.array(returns)


def test_without_a_memory_one_in_two(seeds):
  successes, returns = _memoryless(memory_tasks.Recall(3), seeds)
  assert successes.shape == (2**4, 2)
  np.testing.assert_array_equal(successes.sum(axis=1), np.ones(16))
  np.testing.assert_array_equal(returns.sum(axis=1), np.zeros(16))

  successes, returns = _memoryless(memory_tasks.TMaze(3, 6), seeds)
  assert successes.shape == (4**4, 2)
  assert successes.sum(axis=1).max() == 1
  # The best do nothing wrong but the one turn.
  assert returns.mean(axis=1).max() == pytest.approx((4.0 - 0.1) / 2)

  # Two cues, two places of the code and the question.
  successes, returns = _memoryless(memory_tasks.CueLock(3, 2), seeds)
  assert successes.shape == (3**5, 2)
  opens = successes.any(axis=1)
  assert opens.sum() == 3**5 / 3**2
  np.testing.assert_array_equal(successes[opens].sum(axis=1), np.ones(27))
  np.testing.assert_array_equal(returns, successes)


@pytest.mark.parametrize('make, length', [
    (functools.partial(memory_tasks.Recall, 10), 12),
    (memory_tasks.TMaze, 45),
    (memory_tasks.CueLock, 10),
])
def test_the_cue_shows_at_the_start_only(seeds, make, length):
  rng = np.random.RandomState(0)
  env = make()
  num_actions = int(env.action_space.n)
  num_steps = 0
  for i in range(40):
    actions = rng.randint(num_actions, size=length)
    if isinstance(env, memory_tasks.CueLock):  # Nearly all its way, mostly.
      actions[1 : 1 + i % 9] = CODE[: i % 9]
    elif i % 2:  # East, with some steps aside.
      actions[: rng.randint(1, 20)] = EAST % num_actions
    runs = []
    for cue in (0, 1):
      observation, info = env.reset(seed=seeds[cue])
      assert info == {}
      run = [observation.tobytes()]
      for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
          run.append(observation.tobytes())
          break
        run.append((observation.tobytes(), reward, str(info)))
      runs.append(run)
    assert runs[0][0] != runs[1][0]
    # Rewards and infos too; those of the last step tell who was right.
    assert runs[0][1:] == runs[1][1:]
    num_steps += len(runs[0]) - 1
  assert num_steps > 40 * 4  # These were not all short.


@pytest.mark.parametrize('make', ALL)
def test_seeds(make):
  env, other = make(), make()
  firsts = [env.reset(seed=s)[0].tobytes() for s in range(64)]
  assert [other.reset(seed=s)[0].tobytes() for s in range(64)] == firsts
  # Of 64 fair coins, within four deviations.
  assert abs(firsts.count(firsts[0]) - 32) <= 16
  # The stream goes on without a seed, and repeats from one.
  env.reset(seed=5)
  stream = [env.reset()[0].tobytes() for _ in range(64)]
  assert abs(stream.count(firsts[0]) - 32) <= 16
  other.reset(seed=5)
  assert [other.reset()[0].tobytes() for _ in range(64)] == stream


def test_the_code_comes_from_its_seed_only():
  make = memory_tasks.CueLock
  env = make(code_seed=1)
  code = env.code
  env.reset(seed=3)
  assert env.code == code == make(code_seed=1).code
  # RandomState(1).randint(4, size=8), written down.
  assert code == (1, 3, 0, 0, 3, 1, 3, 1)
  assert len(make(code_length=50, num_symbols=6).code) == 50
  assert set(make(code_length=50, num_symbols=6).code) == set(range(6))


@pytest.mark.parametrize('vectorization', ['sync', 'async'])
@pytest.mark.parametrize('name', ['Recall', 'TMaze', 'CueLock'])
def test_the_expert_of_a_batch_from_gin(name, vectorization):
  settings = {
      'Recall': 'Recall.delay_env_steps = 3',
      'TMaze': 'TMaze.length = 4',
      'CueLock': 'CueLock.code_length = 3',
  }[name]
  gin.parse_config(f"""
      load_environment.env = @{name}
      load_environment.seed = 0
      load_environment.vectorization = '{vectorization}'
      {settings}
  """)
  env = loaders.load_environment(num_environments=4)
  env.reset()
  for _ in range(2 * 6):  # Two episodes of 5 steps and their resets.
    env.step(np.array(env.gymnasium_vector_env.call('expert_action')))
  episodes = env.pop_episodes()
  env.close()
  best = 4.0 if name == 'TMaze' else 1.0
  assert [e[1:5] for e in episodes] == [(best, 5, True, True)] * 8


@pytest.mark.parametrize('make, findings', [
    # Its end is no limit, and the checker cannot know.
    (memory_tasks.Recall, ['time-limit']),
    (memory_tasks.TMaze, []),
    (functools.partial(memory_tasks.TMaze, length=1), []),
    (memory_tasks.CueLock, []),
    (functools.partial(memory_tasks.CueLock, num_symbols=2, code_length=1), []),
])
def test_the_checker(make, findings):
  report = check.check_environment(
      make, num_episodes=20, max_steps=800, tries_agent=False
  )
  assert [found.rule for found in report.findings] == findings
  assert report.left_out == []


def test_returned_observations_are_the_callers(seeds):
  env = memory_tasks.Recall(1, render_mode='rgb_array')
  observation, _ = env.reset(seed=seeds[1])
  observation[:] = 7
  frame = env.render()  # 16 pixels a cell: the second is white.
  assert frame.shape == (16, 64, 3) and frame.dtype == np.uint8
  np.testing.assert_array_equal(frame[5, 8::16, 1], [0, 255, 0, 0])
  assert memory_tasks.Recall().render() is None


@pytest.mark.parametrize('make, message', [
    (lambda: memory_tasks.Recall(-1), 'delay_env_steps .*not -1'),
    (lambda: memory_tasks.Recall(1.5), 'integer, at least 0, not 1.5'),
    (lambda: memory_tasks.TMaze(0), 'length .* at least 1, not 0'),
    (lambda: memory_tasks.TMaze(40), 'limit_env_steps .* 41, not 40'),
    (lambda: memory_tasks.TMaze(2, None), 'limit_env_steps .* 3, not None'),
    (lambda: memory_tasks.CueLock(1), 'num_symbols .* at least 2, not 1'),
    (lambda: memory_tasks.CueLock(4, 0), 'code_length .* at least 1, not 0'),
    (lambda: memory_tasks.CueLock(code_seed=None), 'code_seed .* not None'),
    (lambda: memory_tasks.Recall(render_mode='human'), "not 'human'"),
])
def test_bad_arguments(make, message):
  with pytest.raises(ValueError, match=message):
    make()


@pytest.mark.parametrize('make', ALL)
def test_misuse(make):
  env = make(render_mode='rgb_array')
  for early in (lambda: env.step(0), env.expert_action, env.render):
    with pytest.raises(gymnasium.error.ResetNeeded):
      early()
  env.reset(seed=0)
  for bad in (-1, int(env.action_space.n), 0.5, None):
    with pytest.raises(gymnasium.error.InvalidAction, match='is needed'):
      env.step(bad)
  play_expert(env, 0)
  assert not env.render().any()
  with pytest.raises(gymnasium.error.ResetNeeded):
    env.step(0)
