# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for my_way_home, beside the game of the package `vizdoom`."""

import functools
import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.environments import check
from rnd_agents.environments import loaders
from rnd_agents.tasks import my_way_home

vizdoom = pytest.importorskip('vizdoom')

# As the package's own map gives them; the vest lies at (1040, -352).
_BEFORE_THE_VEST = (1040, -250)
_DOWN = 270  # A heading in degrees.


@pytest.fixture(name='make')
def _make():
  """Makes environments, and closes them after the test."""
  made = []

  def make(*args, **kwargs):
    made.append(my_way_home.MyWayHome(*args, **kwargs))
    return made[-1]

  yield make
  for env in made:
    env.close()


def _where(env):
  """Returns x, y and the heading."""
  return list(env._game.get_state().game_variables)


def _place(env, place, heading):
  """Puts the player somewhere."""
  env._game.send_game_command('warp {} {}'.format(*place))
  env._game.make_action([0, 0, 0, 0], 1)
  env._game.make_action([0, 0, 0, _where(env)[2] - heading], 1)


def _play(env, num_steps, seed=4):
  """Returns what each step returned, with the resets after the ends."""
  actions = np.random.default_rng(0).choice([0, 1, 1, 1, 2, 3], num_steps)
  told = [env.reset(seed=seed)]
  for action in actions:
    told.append(env.step(action))
    if told[-1][2] or told[-1][3]:
      told.append(env.reset())
  return told


def _games_of(process):
  """Returns the numbers of the games that a process has started."""
  # Not all that run: other tests have theirs at the same time.
  command = ['pgrep', '-x', 'vizdoom', '-P', str(process.pid)]
  found = subprocess.run(command, stdout=subprocess.PIPE, check=False)
  return [int(number) for number in found.stdout.split()]


def _have_ended(games):
  """Returns whether games end within a minute."""
  for _ in range(600):
    if not any(os.path.exists(f'/proc/{game}') for game in games):
      return True
    time.sleep(0.1)
  return False


@pytest.mark.parametrize(
    # Measured by playing the maps of Pathak et al., 2017.
    ('start', 'x', 'y', 'least', 'largest'),
    [('sparse', 240, -176, 0, 3), ('very_sparse', 544, -672, 177, 183)],
)
def test_starts_are_those_of_the_authors(make, start, x, y, least, largest):
  env = make(start)
  headings = []
  for seed in range(8):
    env.reset(seed=seed)
    where = _where(env)
    assert where[:2] == pytest.approx([x, y], abs=1e-3)
    headings.append(where[2])
  # The game has 2^16 headings.
  assert all(least - 0.01 < heading < largest + 0.01 for heading in headings)
  assert len({round(heading) for heading in headings}) > 1


def test_random_starts_are_those_of_the_map(make):
  env = make('random')
  game = vizdoom.DoomGame()
  game.load_config(os.path.join(vizdoom.scenarios_path, 'my_way_home.cfg'))
  game.set_available_game_variables([
      vizdoom.GameVariable.POSITION_X,
      vizdoom.GameVariable.POSITION_Y,
      vizdoom.GameVariable.ANGLE,
  ])
  game.set_window_visible(False)
  game.set_doom_config_path(os.devnull)
  game.init()
  starts = []
  for seed in range(5):
    env.reset(seed=seed)
    game.set_seed(seed)
    game.new_episode()
    starts.append(list(game.get_state().game_variables))
    assert _where(env) == starts[-1]
  game.close()
  assert len({tuple(start) for start in starts}) > 3


def test_observations_are_means_of_pixels_the_newest_last(make):
  env = make(stack_size=3, render_mode='rgb_array')
  frames = [np.zeros([40, 40]), np.zeros([40, 40])]
  told = env.reset(seed=0)
  for action in (1, 2, 1, 3):
    picture = env.render()
    assert picture.shape == (120, 160, 3) and picture.std() > 5
    frames.append(np.zeros([40, 40]))
    for i in range(40):
      for j in range(40):
        block = picture[3 * i : 3 * i + 3, 4 * j : 4 * j + 4, 1]
        frames[-1][i, j] = int(block.sum(dtype=int) / 12)
    np.testing.assert_array_equal(told[0], np.stack(frames[-3:], axis=-1))
    told = env.step(action)


def test_actions_walk_and_turn(make):
  env = make()
  env.reset(seed=0)
  # The game keeps walking and turning for a moment after the last step.
  x, y, heading = _where(env)
  env.step(0)
  assert _where(env) == [x, y, heading]
  for _ in range(4):
    env.step(1)
  ahead = _where(env)
  assert ahead[0] > x + 20 and ahead[1] == pytest.approx(y, abs=5)
  for action, sign in ((2, 1), (3, -1)):
    env.reset(seed=0)
    for _ in range(4):
      env.step(action)
    turned = (_where(env)[2] - heading + 180) % 360 - 180
    assert 20 < sign * turned < 60


def test_the_vest_ends_an_episode_and_pays(make):
  env = make(max_steps=40)
  env.reset(seed=1)
  _place(env, _BEFORE_THE_VEST, _DOWN)
  told = [env.step(1)]
  while not told[-1][2] and len(told) < 30:
    told.append(env.step(1))
  assert [each[1] for each in told] == [0.0] * (len(told) - 1) + [1.0]
  assert told[-1][2:4] == (True, False)
  assert env.reset()[0][..., :3].max() == 0


def test_an_end_by_time_is_a_truncation_with_a_picture(make):
  env = make(max_steps=3)
  env.reset(seed=0)
  told = [env.step(2) for _ in range(3)]
  assert [each[2:4] for each in told] == [(False, False)] * 2 + [(False, True)]
  assert [each[1] for each in told] == [0.0] * 3
  assert np.any(told[-1][0][..., 3] != told[-1][0][..., 2])


def test_squares_are_counted_once(make):
  env = make()
  env.reset(seed=0)
  squares = set()
  for action in [1] * 12 + [2] * 14 + [1] * 14:
    info = env.step(action)[4]
    x, y, _ = _where(env)
    squares.add((x // 64, y // 64))
    # (240, -176) lies in (3, -3).
    assert info == {'squares_visited': len(squares | {(3, -3)})}
  assert len(squares) > 4
  assert env.reset()[1] == {'squares_visited': 1}


@pytest.mark.parametrize('start', ['sparse', 'random'])
def test_an_episode_depends_on_its_seed_and_actions_alone(make, start):
  envs = make(start, max_steps=30), make(start, max_steps=30)
  envs[1].reset(seed=9)
  envs[1].step(1)
  first, second = (_play(env, 100) for env in envs)
  for told, again in zip(first, second, strict=True):
    np.testing.assert_equal(told, again)
  resets = [told[0] for told in first if len(told) == 2]
  assert any(np.any(other != resets[0]) for other in resets[1:])
  # Without a seed the first is drawn from the system.
  unseeded = [make(start).reset()[0] for _ in range(4)]
  assert any(np.any(other != unseeded[0]) for other in unseeded[1:])


def test_wrong_arguments_are_refused():
  for arguments in (
      dict(start='near'),
      dict(max_steps=0),
      dict(stack_size=1.5),
      dict(render_mode='human'),
  ):
    with pytest.raises(errors.InvalidValue, match=next(iter(arguments))):
      my_way_home.MyWayHome(**arguments)
  with pytest.raises(errors.InvalidType, match='max_steps'):
    my_way_home.MyWayHome(max_steps='525')


def test_the_checker_finds_no_fault():
  report = check.check_environment(
      functools.partial(my_way_home.MyWayHome, max_steps=50),
      max_steps=200,
      tries_agent=False,
  )
  assert not report.findings


def test_a_restored_batch_continues_its_episodes():
  def load():
    return loaders.load_environment(
        'rnd_agents/MyWayHome-v0',
        2,
        seed=0,
        env_kwargs=dict(max_steps=25),
        info_keys=('squares_visited',),
    )

  played, other = load(), load()
  played.reset()
  actions = np.random.default_rng(0).integers(4, size=[60, 2])
  for action in actions[:35]:
    played.step(action)
  other.set_state(played.get_state())
  np.testing.assert_array_equal(
      other.reset().observation, played.current_time_step().observation
  )
  for action in actions[35:]:
    expected, got = played.step(action), other.step(action)
    np.testing.assert_array_equal(got.observation, expected.observation)
    np.testing.assert_array_equal(got.step_type, expected.step_type)
  infos = [episode.info['squares_visited'] for episode in played.pop_episodes()]
  assert len(infos) == 4 and all(1 <= squares <= 10 for squares in infos)
  played.close()
  other.close()


def _start(script, folder):
  """Starts a script in a folder and in a session of its own."""
  root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
  return subprocess.Popen(
      [sys.executable, '-c', script],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      cwd=folder,
      env=dict(os.environ, PYTHONPATH=root),
      start_new_session=True,
  )


def test_a_process_that_is_killed_leaves_no_game(tmp_path):
  script = (
      'from rnd_agents.tasks import my_way_home;'
      'kept = [my_way_home.MyWayHome() for _ in range(2)];'
      'print(flush=True); input()'
  )
  with _start(script, tmp_path) as process:
    process.stdout.readline()
    games = _games_of(process)
    assert len(games) == 2
    process.kill()
  assert _have_ended(games)
  assert not os.listdir(tmp_path)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stop_that_all_processes_hear_of_leaves_the_game(tmp_path, number):
  script = (
      'import signal, time;'
      'from rnd_agents.tasks import my_way_home;'
      'heard = [];'
      f'signal.signal({int(number)}, lambda *_: heard.append(1));'
      'env = my_way_home.MyWayHome(); env.reset(); print(flush=True);'
      'exec("while not heard: time.sleep(0.01)"); time.sleep(1);'
      '[env.step(1) for _ in range(200)]; env.close()'
  )
  with _start(script, tmp_path) as process:
    process.stdout.readline()
    games = _games_of(process)
    assert len(games) == 1
    os.killpg(process.pid, number)
    assert process.wait(timeout=120) == 0
  assert _have_ended(games)


def test_is_registered():
  with gymnasium.make('rnd_agents/MyWayHome-v0', start='very_sparse') as env:
    assert env.observation_space.shape == (40, 40, 4)
    assert env.unwrapped._start == 'very_sparse'
