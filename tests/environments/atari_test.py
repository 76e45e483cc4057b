# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for atari."""

import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.environments import atari
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import wrappers
from tests import source_tree

pytest.importorskip('ale_py')

MONTEZUMA = 'ALE/MontezumaRevenge-v5'


def ale_seed(seed):
  """What a single ALE environment makes of `seed`; its vector takes it as is.

  Both cast to int32, and the vector environment takes a negative number for
  none, so that not every seed has a counterpart.
  """
  words = np.random.SeedSequence(seed).generate_state(2)
  number = int(words[1].astype(np.int32))
  assert number >= 0
  return number


class UnseededAfterTheFirst(gymnasium.Wrapper):
  """As AtariVectorEnv does, which seeds a run and not each episode."""

  is_first = True

  def reset(self, *, seed=None, options=None):
    seed, self.is_first = (seed if self.is_first else None), False
    return self.env.reset(seed=seed, options=options)


@pytest.mark.parametrize(
    'game, seed, settings',
    [
        ('MontezumaRevenge', 4, dict(lives_key='lives')),
        ('MontezumaRevenge', 4, dict(terminal_on_life_loss=True)),
        ('Qbert', 6, {}),
    ],
)
def test_single_and_vector_pipelines_are_bit_identical(game, seed, settings):
  # A limit of 400 steps, so that there are ends of both kinds.
  settings = dict(settings, max_num_frames_per_episode=1_600)
  single = atari.load_atari(game, wrappers=[UnseededAfterTheFirst], **settings)
  many = atari.load_atari(game, vectorization='vector_entry_point', **settings)
  assert single.observation_spec() == many.observation_spec()
  assert single.action_spec() == many.action_spec()
  one = single.reset_with_seeds([seed])
  other = many.reset_with_seeds([ale_seed(seed)])
  np.testing.assert_array_equal(one.observation, other.observation)
  num_actions = single.action_spec().maximum + 1
  lives_lost = 0
  for action in np.random.RandomState(0).randint(num_actions, size=[1_300, 1]):
    one, other = single.step(action), many.step(action)
    lives_lost += (~one.is_last() & (one.discount == 0)).item()
    for a, b in zip(one, other, strict=True):
      np.testing.assert_array_equal(a, b)
    assert other.observation.flags.c_contiguous
  episodes, others = single.pop_episodes(), many.pop_episodes()
  assert len(episodes) >= 3
  assert [e[:5] for e in episodes] == [e[:5] for e in others]
  assert {e.terminated for e in episodes} == {True, False}
  assert others[0].seed == ale_seed(seed) and others[1].seed is None
  # Of six a game, those before the last.
  assert lives_lost > 9 if 'lives_key' in settings else lives_lost == 0
  if game == 'Qbert':
    # Rewards are raw: the least score of Q*bert is 25.
    assert max(e.return_ for e in episodes) >= 25


def test_observations():
  env = atari.load_atari('Pong', seed=0)
  frames = [env.reset().observation[0]]
  assert frames[0].shape == (84, 84, 4) and frames[0].dtype == np.uint8
  assert not frames[0][..., :3].any()
  for _ in range(9):
    frames.append(env.step(np.array([2])).observation[0])
  for before, after in zip(frames, frames[1:]):
    np.testing.assert_array_equal(after[..., :3], before[..., 1:])
  assert frames[-1][..., 3].any()


@pytest.mark.parametrize('vectorization', ['sync', 'vector_entry_point'])
def test_the_frame_limit_is_a_truncation(vectorization):
  env = atari.load_atari(
      'MontezumaRevenge',
      2,
      seed=0,
      vectorization=vectorization,
      max_num_frames_per_episode=120,
  )
  env.reset()
  for _ in range(30):
    time_step = env.step(np.zeros(2, int))
  np.testing.assert_array_equal(time_step.step_type, [2, 2])
  np.testing.assert_array_equal(time_step.discount, [1, 1])
  for episode in env.pop_episodes():
    assert episode[1:4] == (0.0, 30, False)


@pytest.mark.parametrize('vectorization', ['sync', 'vector_entry_point'])
def test_a_lost_life_ends_the_episode_and_the_next_is_a_new_game(vectorization):
  env = atari.load_atari(
      'MontezumaRevenge',
      seed=0,
      vectorization=vectorization,
      terminal_on_life_loss=True,
  )
  rng = np.random.RandomState(0)
  time_step = env.reset()
  ends = 0
  while ends < 3:
    assert env.get_info()['lives'].tolist() == [5 if time_step.is_last() else 6]
    ends += time_step.is_last()[0]
    assert time_step.discount[0] == 1 - time_step.is_last()[0]
    time_step = env.step(rng.randint(18, size=1))


def test_defaults_of_the_paper():
  env = loaders.load_environment(MONTEZUMA)
  ale = env.gymnasium_vector_env.envs[0].unwrapped.ale
  assert ale.getFloat('repeat_action_probability') == 0.25
  assert ale.getInt('max_num_frames_per_episode') == 18_000
  env = loaders.load_environment(MONTEZUMA, max_episode_steps=100)
  ale = env.gymnasium_vector_env.envs[0].unwrapped.ale
  assert ale.getInt('max_num_frames_per_episode') == 400


def test_raw_ids_stay_gymnasiums():
  env = loaders.load_environment(
      MONTEZUMA, env_kwargs={'obs_type': 'ram'}, preprocessing=False
  )
  assert env.observation_spec().shape == (128,)


@pytest.mark.parametrize('env, message', [
    ('PongNoFrameskip-v4', "gives raw frames.*'ALE/Pong-v5'"),
    ('Pong-v4', "gives raw frames.*'ALE/Pong-v5'"),
    ('ale_py:MontezumaRevenge-v0', "frames.*'ALE/MontezumaRevenge-v5'"),
    (lambda: gymnasium.make('PongNoFrameskip-v4'), "frames.*'ALE/Pong-v5'"),
    (lambda: sys.modules['ale_py'].env.AtariEnv('pong'), 'gives raw frames'),
    ('BreakoutDeterministic-v4', "load 'ALE/Breakout-v5'"),
    ('Pong-ram-v4', "load 'ALE/Pong-v5'.*'obs_type': 'ram'"),
    ('MontezumaRevenge-v5', "load 'ALE/MontezumaRevenge-v5'"),
])
def test_games_of_other_names_are_refused(env, message):
  with pytest.raises(failures.EnvironmentSetupError, match=message):
    loaders.load_environment(env)


def test_games_with_wrappers_of_the_users_own():
  def make():
    env = gymnasium.make('PongNoFrameskip-v4')
    return gymnasium.wrappers.AtariPreprocessing(env)

  env = loaders.load_environment(make)
  assert env.observation_spec().shape == (84, 84)
  env = loaders.load_environment('Pong-v4', preprocessing=False)
  assert env.observation_spec().shape == (210, 160, 3)


def test_rooms_in_montezuma():
  env = atari.load_atari('MontezumaRevenge', 2, seed=0,
                         wrappers=[wrappers.RoomsVisited])
  env.reset()
  infos = env.get_info()
  # The first room of the first level.
  np.testing.assert_array_equal(infos['room'], [1, 1])
  np.testing.assert_array_equal(infos['rooms_visited'], [1, 1])
  ale = env.gymnasium_vector_env.envs[1].unwrapped.ale
  for room, visited in ((1, 1), (2, 2), (1, 2), (7, 3)):
    ale.setRAM(3, room)
    env.step(np.zeros(2, int))
    infos = env.get_info()
    assert infos['room'][0] == 1 and infos['rooms_visited'][0] == 1
    assert infos['room'][1] == room and infos['rooms_visited'][1] == visited
  env.reset()
  assert env.get_info()['rooms_visited'][1] == 1


@pytest.mark.parametrize('vectorization', ['sync', 'vector_entry_point'])
def test_signs_are_what_is_trained_on_and_returns_stay_raw(vectorization):
  env = atari.load_atari(
      'Qbert',
      4,
      seed=0,
      vectorization=vectorization,
      max_episode_steps=250,
      reward_fn=wrappers.sign_of_reward,
  )
  env.reset()
  seen = set()
  for action in np.random.RandomState(0).randint(6, size=[250, 4]):
    seen |= set(env.step(action).reward.tolist())
  assert seen == {0.0, 1.0}
  returns = [episode.return_ for episode in env.pop_episodes()]
  assert len(returns) >= 4 and max(returns) >= 100
  assert all(return_ % 25 == 0 for return_ in returns)


@pytest.mark.parametrize('kwargs, message', [
    (dict(game='Montezuma'), "Unknown Atari game 'Montezuma'"),
    (dict(game='ALE/Pong-v4'), 'Unknown Atari game'),
    (dict(game='Pong', vectorization='vector_entry_point',
          wrappers=[wrappers.RoomsVisited]), 'seeding are for'),
    (dict(game='Pong', vectorization='vector_entry_point',
          render_mode='rgb_array'), 'does not render'),
    (dict(game='Pong', num_environments=0), 'an integer from 1, got 0'),
    (dict(game='Pong', repeat_action_probability=2.0),
     'repeat_action_probability .*got 2.0'),
    (dict(game='Pong', frame_skip=0), 'frame_skip .* integer from 1'),
    (dict(game='Pong', screen_size=0, vectorization='vector_entry_point'),
     'screen_size .*got 0'),
    (dict(game='Pong', stack_size=0, vectorization='vector_entry_point'),
     'stack_size .*got 0'),
    (dict(game='Pong', max_num_frames_per_episode=-5),
     'max_num_frames_per_episode .*got -5'),
    (dict(game='Pong', max_episode_steps=0), 'from 1, got 0'),
    (dict(game='Pong', noop_max=-1), 'noop_max .* from 0, got -1'),
    (dict(game='Pong', max_episode_steps='9'), "max_episode_steps .*got '9'"),
    (dict(game='Pong', terminal_on_life_loss='False'),
     "terminal_on_life_loss must be True or False, got 'False'"),
    (dict(game='Pong', full_action_space=None),
     'full_action_space must be True or False, got None'),
])
def test_bad_arguments(kwargs, message):
  with pytest.raises(errors.UserError, match=message):
    atari.load_atari(**kwargs)


def test_env_kwargs_are_settings_of_the_loader():
  with pytest.raises(
      failures.EnvironmentSetupError, match='load_atari does not .*frameskip'
  ):
    loaders.load_environment(MONTEZUMA, env_kwargs={'frameskip': 2})
  env = loaders.load_environment(MONTEZUMA, env_kwargs={'screen_size': 40})
  assert env.observation_spec().shape == (40, 40, 4)


def test_opencv_not_installed(monkeypatch):
  monkeypatch.setitem(sys.modules, 'cv2', None)
  with pytest.raises(
      failures.MissingPackageError, match=r'Here: pip .*"rnd_agents\[atari'
  ):
    atari.load_atari('Pong')


def test_ale_not_installed(monkeypatch):
  monkeypatch.setitem(sys.modules, 'ale_py', None)
  with pytest.raises(ImportError, match=r'pip install "rnd_agents\[atari\]"'):
    atari.load_atari('Pong')


_PROGRAM = """
from rnd_agents import programs
from rnd_agents.environments import loaders

def main(argv):
  env = loaders.load_environment(
      'ALE/Pong-v5', num_environments=2, vectorization=argv[1]
  )
  env.graph = env  # It refers to itself, as graphs do.
  env.close()

programs.run_program(main)
"""


@pytest.mark.parametrize('vectorization', ['sync', 'vector_entry_point'])
def test_a_program_does_not_end_in_a_report_of_leaks(tmp_path, vectorization):
  path = tmp_path / 'program.py'
  path.write_text(_PROGRAM, encoding='utf-8')
  result = subprocess.run(
      [sys.executable, path, vectorization],
      env=dict(os.environ, PYTHONPATH=str(source_tree.ROOT)),
      capture_output=True,
      text=True,
      check=False,
  )
  assert result.returncode == 0
  assert 'leaked' not in result.stderr
