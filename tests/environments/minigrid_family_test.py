# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for minigrid_family: what is observed, and the expert."""

import copy
import functools
import re
import sys

import gymnasium
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents import words
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import minigrid_family
from rnd_agents.environments import wrappers

minigrid_wrappers = pytest.importorskip('minigrid.wrappers')

DOOR_KEY = 'MiniGrid-DoorKey-5x5-v0'


def load(**kwargs):
  return minigrid_family.load_minigrid(DOOR_KEY, 2, seed=0, **kwargs)


def test_one_hot_says_what_the_numbers_say():
  numbers, one_hot = load(observation='dict'), load()
  assert set(numbers.observation_spec()) == {'direction', 'image'}
  steps = [numbers.reset()], [one_hot.reset()]
  for action in np.random.RandomState(0).randint(7, size=[40, 2]):
    steps[0].append(numbers.step(action))
    steps[1].append(one_hot.step(action))
  for given, encoded in zip(*steps, strict=True):
    image = given.observation['image']
    # Kinds, colours and states, one after the other.
    expected = np.concatenate(
        [np.eye(n)[image[..., k]] for k, n in enumerate((11, 6, 3))], axis=-1
    )
    np.testing.assert_array_equal(encoded.observation, expected)
    assert encoded.observation.dtype == np.uint8


def test_pixels():
  env = load(observation='pixels', tile_size=5)
  observation = env.reset().observation
  assert observation.shape == (2, 35, 35, 3) and observation.dtype == np.uint8
  numbers = load(observation='dict').reset().observation['image']
  # Cells of equal numbers look alike, others do not. Those out of sight, 0,
  # are grey throughout; the agent's own is at the bottom, in the middle.
  tiles = observation.reshape(2, 7, 5, 7, 5, 3).swapaxes(2, 3)
  looks = {}
  for i in range(2):
    for row in range(7):
      for column in range(7):
        if (row, column) != (6, 3):
          cell = tuple(numbers[i, column, row])
          looks.setdefault(cell, set()).add(tiles[i, row, column].tobytes())
  assert len(looks) >= 4 and all(len(look) == 1 for look in looks.values())
  assert len(set.union(*looks.values())) == len(looks)


@pytest.mark.parametrize(
    ('env_id', 'observation', 'parts'),
    [
        ('MiniGrid-Fetch-5x5-N2-v0', 'one_hot', {'image'}),
        ('MiniGrid-ObstructedMaze-1Dlh-v0', 'pixels', {'image'}),
        ('BabyAI-MiniBossLevel-v0', 'dict', {'image', 'direction'}),
        ('BabyAI-PutNextS5N2-v0', 'one_hot', {'image'}),
    ],
)
def test_words_of_missions(env_id, observation, parts):
  env = minigrid_family.load_minigrid(
      env_id, 2, seed=0, observation=observation, mission='words'
  )
  assert set(env.observation_spec()) == {*parts, 'mission'}
  tasks = [each.unwrapped for each in env.gymnasium_vector_env.envs]
  seen = {}
  for seed in range(10):
    ids = env.reset_with_seeds([seed, seed + 100]).observation['mission']
    for task, row in zip(tasks, ids, strict=True):
      words_ = re.findall(r'[a-z]+|,', task.mission)
      for word, number in zip(words_, row[: len(words_)], strict=True):
        assert number > words.UNKNOWN
        assert seen.setdefault(word, number) == number
      assert not row[len(words_) :].any()
  assert len(set(seen.values())) == len(seen)
  assert env.step([0, 0]).observation['mission'].tolist() == ids.tolist()


def test_the_vocabulary_has_the_words_of_minigrid():
  from minigrid import wrappers as minigrid_wrappers
  from minigrid.envs.babyai.core import verifier

  vocabulary = minigrid_family._VOCABULARY
  known = [
      *minigrid_wrappers.DictObservationSpaceWrapper.get_minigrid_words(),
      *verifier.OBJ_TYPES,
      *verifier.COLOR_NAMES,
      *verifier.LOC_NAMES,
  ]
  for word in known:
    assert vocabulary.encode(word, 1) > words.UNKNOWN
  np.testing.assert_array_equal(
      vocabulary.encode('The teapot', 3),
      [*vocabulary.encode('the', 1), words.UNKNOWN, words.PADDING],
  )
  with pytest.raises(errors.InvalidValue, match='room for 2'):
    vocabulary.encode('go to it', 2)


def test_a_mission_that_is_not_observed_is_mentioned(caplog):
  with caplog.at_level('INFO', logger='absl'):
    load()
    assert 'mission' not in caplog.text  # It is always the same.
    minigrid_family.load_minigrid('BabyAI-GoToLocal-v0', 3, seed=0)
  assert caplog.text.count("load_minigrid.mission = 'words'") == 1


def test_the_id_alone_and_raw():
  env = loaders.load_environment(DOOR_KEY, seed=0)
  np.testing.assert_array_equal(
      env.reset().observation[0], load(seeding=None).reset().observation[0]
  )
  for vectorization in ('sync', 'async'):
    env = loaders.load_environment(
        DOOR_KEY, seed=0, preprocessing=False, vectorization=vectorization
    )
    assert set(env.observation_spec()) == {'direction', 'image'}
    np.testing.assert_array_equal(
        env.reset().observation['image'][0],
        load(observation='dict').reset().observation['image'][0],
    )
    env.close()


def test_time_limit_and_positions():
  env = load(env_kwargs={'max_steps': 9}, wrappers=[wrappers.AgentPosition])
  env.reset()
  np.testing.assert_array_equal(env.get_info()['grid_size'], [[5, 5]] * 2)
  cells = [e.unwrapped for e in env.gymnasium_vector_env.envs]
  turns = np.full(2, 0)
  forward = np.full(2, 2)
  for t in range(9):
    positions = env.get_info()['position']
    np.testing.assert_array_equal(positions, [c.agent_pos for c in cells])
    time_step = env.step(turns if t % 3 else forward)
  np.testing.assert_array_equal(time_step.step_type, [2, 2])
  np.testing.assert_array_equal(time_step.discount, [1, 1])
  assert {e[2:4] for e in env.pop_episodes()} == {(9, False)}
  env = load(max_episode_steps=4)
  env.reset()
  for _ in range(4):
    time_step = env.step(turns)
  np.testing.assert_array_equal(time_step.step_type, [2, 2])


def test_a_fixed_world_and_where_the_agent_is():
  def four_rooms(world_seed):
    env = loaders.load_environment(
        'MiniGrid-FourRooms-v0',
        3,
        seed=world_seed + 1,
        preprocessing=False,
        env_kwargs={'max_steps': 30},
        wrappers=[
            functools.partial(wrappers.FixedWorld, world_seed=world_seed)
        ],
    )
    time_step = env.reset()
    tasks = [each.unwrapped for each in env.gymnasium_vector_env.envs]
    worlds = set()
    generator = np.random.RandomState(0)
    for _ in range(100):
      expected = np.zeros([3, 19, 19]), np.zeros([3, 4])
      for i, task in enumerate(tasks):
        x, y = task.agent_pos
        expected[0][i, y, x] = expected[1][i, task.agent_dir] = 1
        worlds.add(task.grid.encode().tobytes())
      np.testing.assert_array_equal(
          time_step.observation,
          np.concatenate([expected[0].reshape(3, 361), expected[1]], axis=1),
      )
      np.testing.assert_array_equal(
          env.get_info()['position'], [task.agent_pos for task in tasks]
      )
      if time_step.is_first().all():
        # Everyone begins alike, in each of the four episodes.
        assert len(np.unique(time_step.observation, axis=0)) == 1
      time_step = env.step(generator.choice([0, 1, 2, 2], 3))
    assert len(env.pop_episodes()) == 9
    return worlds

  first, second = four_rooms(0), four_rooms(1)
  assert len(first) == len(second) == 1 and first != second


def test_bad_arguments(monkeypatch):
  with pytest.raises(ValueError, match="observation must be one of .*'pixels'"):
    load(observation='rgb')
  with pytest.raises(ValueError, match="mission must be one of .*'words'"):
    load(mission='text')
  with pytest.raises(ValueError, match='has no vector environment'):
    load(vectorization='vector_entry_point')
  with pytest.raises(failures.EnvironmentSetupError, match="take {'sise': 3}"):
    load(env_kwargs={'sise': 3})
  monkeypatch.setitem(sys.modules, 'minigrid', None)
  with pytest.raises(ImportError, match=r'install "rnd_agents\[minigrid\]"'):
    load()


def _make(env_id, **kwargs):
  env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
  return minigrid_family.MiniGridExpert(env)


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
      DOOR_KEY, 20, wrappers=[minigrid_family.MiniGridExpert]
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
  env = _make(DOOR_KEY)
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
  env = _make(DOOR_KEY)
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
  from minigrid.core import world_object

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


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        (dict(tile_size=0), 'load_minigrid.tile_size .*from 1, got 0'),
        (dict(observation='pixels', tile_size=-8), 'tile_size .*got -8'),
        (dict(observation='pixels', tile_size='8'), "tile_size .*got '8'"),
        (
            dict(env_kwargs=dict(agent_view_size=4)),
            'env_kwargs: agent_view_size must be an odd integer from 3, got 4',
        ),
        (dict(env_kwargs=dict(agent_view_size=1)), 'agent_view_size .*got 1'),
    ],
)
def test_sizes_of_views_that_there_are_not(settings, words):
  with pytest.raises(errors.UserError, match=words):
    load(**settings)


def _wrappers_of_minigrid():
  for name, kind in vars(minigrid_wrappers).items():
    if getattr(kind, '__module__', '') == 'minigrid.wrappers' and issubclass(
        kind, gymnasium.Wrapper
    ):
      arguments = {
          'NoDeath': dict(no_death_types=('lava',)),
          'ViewSizeWrapper': dict(agent_view_size=5),
      }.get(name, {})
      yield pytest.param(functools.partial(kind, **arguments), id=name)


@pytest.mark.parametrize('wrapper', _wrappers_of_minigrid())
def test_wrappers_of_minigrid_work_or_are_refused_by_name(wrapper):
  for observation in ('dict', 'one_hot'):
    try:
      env = load(observation=observation, wrappers=[wrapper])
    except failures.EnvironmentSetupError as error:
      assert observation == 'one_hot'
      assert wrapper.func.__name__ in str(error)
      assert 'load_environment.preprocessing = False' in str(error)
    else:
      env.reset()
      env.step(np.zeros(2, np.int64))
