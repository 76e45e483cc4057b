# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of recording demonstrations from the command line."""

import csv
import os
import re
import signal

from absl import flags
import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import environments
from rnd_agents.interchange import minari_data
from rnd_agents.replay import demonstrations
from tests import command_lines
from tests.train import binaries
from tests.train import saved_poles
from train import collect_demos

_LIMIT = 47
_CUE_LOCK = 'rnd_agents/CueLock-v0'
_SCRIPTED = 'rnd_agents.tasks.scripted_experts'
# Of a run, shortened.
_CONFIG = f"""
NeverHeardOf.size = 3
load_environment.env = 'CartPole-v1'
eval/load_environment.max_episode_steps = 7
train/load_environment.max_episode_steps = {_LIMIT}
"""


def _collect(out, *argv):
  gin.clear_config()  # As for a new process.
  return command_lines.call(collect_demos, '--out', out, *argv)


def _table(out):
  with open(f'{out}.csv', newline='', encoding='utf-8') as file:
    rows = list(csv.DictReader(file))
  return [
      (int(row['seed']), float(row['return']), int(row['length_env_steps']))
      for row in rows
  ]


def _returns(episodes):
  # The reward of the boundary is that of a reset.
  return np.array([sum(e.reward[:-1].astype(np.float64)) for e in episodes])


def _lengths(episodes):
  return np.array([len(e.step_type) - 1 for e in episodes])


def _replay(env_id, seed, frames):
  """Plays the actions again; asserts that all came as recorded.

  Returns:
    The return, and whether it terminated.
  """
  env = gymnasium.make(env_id)
  observation, _ = env.reset(seed=seed)
  total = 0.0
  for t, action in enumerate(frames.action[:-1]):
    np.testing.assert_array_equal(frames.observation[t], observation)
    observation, reward, terminated, truncated, _ = env.step(action)
    total += reward
    assert frames.reward[t] == np.float32(reward)
    assert frames.discount[t] == 1.0 - terminated
    assert (frames.step_type[t + 1] == 2) == (terminated or truncated)
  np.testing.assert_array_equal(frames.observation[-1], observation)
  return total, terminated


def test_cue_lock(tmp_path, capsys):
  out = tmp_path / 'demos.tfrecord'
  assert _collect(
      out, '--env', _CUE_LOCK, '--expert', '--episodes=5', '--seed=3',
      '--num_environments=2') == 0
  env = environments.loaders.load_environment(_CUE_LOCK)
  episodes = demonstrations.read_episodes(
      out,
      demonstrations.trajectory_spec(env.observation_spec(), env.action_spec()),
  )
  np.testing.assert_array_equal(_returns(episodes), np.ones(5))
  np.testing.assert_array_equal(_lengths(episodes), 5 * [10])
  for seed, frames in zip(range(3, 8), episodes, strict=True):
    assert _replay(_CUE_LOCK, seed, frames) == (1.0, True)
  # The seeds count: both cues are among them.
  assert {frames.observation[0].argmax() for frames in episodes} == {0, 1}
  assert _table(out) == [(seed, 1.0, 10) for seed in range(3, 8)]
  lines = capsys.readouterr().out.splitlines()
  assert lines[1] == 'seed 4: return 1, 10 steps (2 of 5)'
  assert lines[-1] == (
      '5 demonstrations, mean return 1, best 1 (seed 3), mean length 10:'
      f' {out}')


def test_scripted_mountain_car(tmp_path, capsys):
  out = tmp_path / 'demos'
  assert _collect(
      out, '--env=MountainCar-v0', '--episodes=3',
      f'--expert={_SCRIPTED}:mountain_car') == 0
  episodes = demonstrations.read_episodes(out)
  table = _table(out)
  for seed, frames in enumerate(episodes):
    return_, terminated = _replay('MountainCar-v0', seed, frames)
    assert terminated and return_ > -130
    assert table[seed] == (seed, return_, -return_)
  best = max(table, key=lambda row: row[1])
  assert f'best {best[1]:g} (seed {best[0]})' in capsys.readouterr().out


@pytest.mark.parametrize('argv, length', [
    ((), 7), (('--gin_scope=eval',), 5), (('--gin_scope=other',), 9)
])
def test_bindings_of_the_scope_hold_with_env_too(tmp_path, argv, length):
  out = tmp_path / 'demos'
  assert _collect(
      out, '--env=MountainCar-v0', '--episodes=1',
      f'--expert={_SCRIPTED}:mountain_car', *(
          f'--gin_bindings={scope}load_environment.max_episode_steps = {limit}'
          for scope, limit in (('', 9), ('train/', 7), ('eval/', 5))
      ), *argv) == 0
  assert _table(out) == [(0, -length, length)]


def test_deep_sea_of_a_gin_file(tmp_path):
  out = tmp_path / 'demos'
  assert _collect(
      out, '--gin_file=deep_sea.gin', '--gin_bindings=DEEP_SEA_SIZE = 7',
      '--episodes=2', f'--expert={_SCRIPTED}:deep_sea') == 0
  for frames in demonstrations.read_episodes(out):
    assert frames.observation.shape == (8, 7, 7)
    np.testing.assert_allclose(frames.reward[-2], 1 - 0.01 / 7, rtol=1e-6)
    assert _returns([frames])[0] == pytest.approx(0.99)


def test_door_key(tmp_path):
  pytest.importorskip('minigrid')
  out = tmp_path / 'demos'
  assert _collect(
      out, '--env=MiniGrid-DoorKey-5x5-v0', '--episodes=4', '--expert',
      '--gin_bindings=load_environment.wrappers = [@MiniGridExpert]') == 0
  episodes = demonstrations.read_episodes(out)
  assert _returns(episodes).min() > 0.9
  assert episodes[0].observation.shape[1:] == (7, 7, 20)


def _length(seed):
  return saved_poles.play(seed, _LIMIT)[0]


@pytest.fixture(name='policy_dir', scope='module')
def _policy_dir(tmp_path_factory):
  run = saved_poles.save(tmp_path_factory.mktemp('run'), _CONFIG)
  return run / 'policies' / 'policy'


def test_saved_policy_in_the_environment_of_its_training(policy_dir, tmp_path):
  out = tmp_path / 'new' / 'demos'
  assert _collect(
      out, '--policy_dir', policy_dir, '--episodes=9', '--seed=2') == 0
  lengths = [_length(seed) for seed in range(2, 11)]
  assert max(lengths) == _LIMIT and len(set(lengths)) > 3
  episodes = demonstrations.read_episodes(out)
  np.testing.assert_array_equal(_lengths(episodes), lengths)
  np.testing.assert_array_equal(_returns(episodes), lengths)
  for frames in episodes:
    np.testing.assert_array_equal(
        frames.action[:-1], frames.observation[:-1, 2] > 0)
    assert frames.discount[-2] == (len(frames.action) == _LIMIT + 1)


def test_only_good_ones(policy_dir, tmp_path, capsys):
  lengths = {seed: _length(seed) for seed in range(24)}
  least = float(np.sort(list(lengths.values()))[12])
  good = [seed for seed, length in lengths.items() if length >= least][:5]
  assert good != list(range(5))
  out = tmp_path / 'demos'
  argv = ['--policy_dir', policy_dir, f'--min_return={least}']
  assert _collect(out, *argv, '--episodes=5') == 0
  assert _table(out) == [(seed, lengths[seed], lengths[seed]) for seed in good]
  np.testing.assert_array_equal(
      _lengths(demonstrations.read_episodes(out)),
      [lengths[seed] for seed in good])
  assert 'too low' in capsys.readouterr().out
  # Not enough of them.
  few = tmp_path / 'few'
  attempts = good[1] + 1
  assert _collect(few, *argv, f'--max_attempts={attempts}') == 1
  assert [row[0] for row in _table(few)] == good[:2]
  assert '2 of 20 demonstrations' in capsys.readouterr().err
  none = tmp_path / 'none'
  assert _collect(
      none, '--policy_dir', policy_dir, '--min_return=1000', '--episodes=2',
      '--max_attempts=3') == 1
  assert 'no file was written' in capsys.readouterr().err
  assert sorted(os.listdir(tmp_path)) == sorted(
      f'{name}{end}' for name in ('demos', 'few') for end in
      ('', '.csv', '.json', '.spec'))


_calls = []


def push_and_interrupt(observation):
  """MountainCar's expert, for 300 steps."""
  _calls.append(0)
  if len(_calls) == 300:
    os.kill(os.getpid(), signal.SIGINT)
  return np.where(observation[:, 1] < 0, 0, 2)


def test_ctrl_c_keeps_what_is_complete(tmp_path, capsys):
  _calls.clear()
  out = tmp_path / 'demos'
  assert _collect(
      out, '--env=MountainCar-v0', '--episodes=20', '--num_environments=1',
      f'--expert={__name__}:push_and_interrupt') == 1
  assert len(_calls) == 300  # Two of some 120 steps, and a part of the third.
  episodes = demonstrations.read_episodes(out)
  assert len(episodes) == 2 == len(_table(out))
  for seed, frames in enumerate(episodes):
    assert _replay('MountainCar-v0', seed, frames)[1]
  assert '2 of 20 demonstrations: stopped' in capsys.readouterr().err


_KILLER = """
import os, signal
import numpy as np
calls = []
def play(observation):
  calls.append(0)
  if len(calls) == 300:
    os.kill(os.getpid(), signal.SIGKILL)
  return np.where(observation[:, 1] < 0, 0, 2)
"""


def test_a_kill_leaves_what_can_be_read(tmp_path):
  (tmp_path / 'killer.py').write_text(_KILLER)
  result = binaries.run(
      tmp_path, 'train.collect_demos', '--env=MountainCar-v0',
      '--expert=killer:play', '--num_environments=1', '--out=demos',
  )
  assert result.returncode == -signal.SIGKILL, result.stderr
  lines = result.stdout.splitlines()
  assert len(lines) == 2 and lines[1].startswith('seed 1: return -1')
  out = tmp_path / 'demos'
  with pytest.raises(demonstrations.DemonstrationError, match='was killed'):
    demonstrations.read_episodes(out)
  assert _collect(tmp_path / 'whole', f'--salvage={out}.partial') == 0
  episodes = demonstrations.read_episodes(tmp_path / 'whole')
  assert len(episodes) == 2
  record = demonstrations.Record.read(tmp_path / 'whole')
  assert record.environment['load_environment.env'] == "'MountainCar-v0'"
  for seed, frames in enumerate(episodes):
    assert _replay('MountainCar-v0', seed, frames)[1]
  # The next one does not write over it.
  with pytest.raises(flags.Error, match='demos.partial exists'):
    _collect(out, '--env=MountainCar-v0', '--expert')


def take_0(observation):
  """Of a dict."""
  return np.zeros(len(observation['start']), np.int64)


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('--env=CartPole-v1', '--expert'), 'has no expert_action()'),
        (('--env=CartPole-v1', '--expert=nowhere:f'), "module named 'nowhere'"),
        (('--env=CartPole-v1', '--expert=os:sep'), "no function 'sep'"),
        (('--env=CartPol-v1', '--expert'), "environment 'CartPol-v1'"),
        (('--gin_file=deep_see', '--expert'), 'Did you mean deep_sea'),
        (('--policy_dir=nowhere',), 'nowhere is not a directory'),
        ((f'--env={_CUE_LOCK}', '--expert', '--keep_network_state'),
         'has no memory'),
        (('--env=tests.environments.parallel_agents_test:Relay',
          f'--expert={__name__}:take_0', '--num_environments=6',
          '--gin_bindings=load_environment.num_agents = 3'), 'num_agents'),
        ((f'--env={_CUE_LOCK}', '--expert',
          '--gin_bindings=load_environment.num_environments = 2'),
         'give --num_environments'),
    ],
)
def test_mistakes_end_with_one_sentence(tmp_path, capsys, argv, message):
  assert _collect(tmp_path / 'demos', *argv) == 1
  error = capsys.readouterr().err.strip().splitlines()[-1]
  assert error.startswith('collect_demos: ') and message in error
  assert not os.listdir(tmp_path)


class PlansNothing:
  """Forgets MountainCar's velocity where its second episodes begin."""

  def __init__(self):
    self.num_begun = 0

  def __call__(self, observation, time_step):
    self.num_begun += int(np.sum(time_step.is_first()))
    if self.num_begun > 1:
      return {}['velocity']
    return np.where(observation[:, 1] < 0, 0, 2)


def test_an_error_of_the_expert_says_where(tmp_path, capsys):
  out = tmp_path / 'demos'
  assert _collect(
      out, '--env=MountainCar-v0', '--episodes=3', '--num_environments=1',
      f'--expert={__name__}:PlansNothing', '--seed=5') == 1
  lines = capsys.readouterr().err.splitlines()
  (start,) = [
      i for i, line in enumerate(lines)
      if re.match("collect_demos: PlansNothing .*'velocity'.* 1 .* 6.", line)
  ]
  lines = lines[start:]
  assert lines[1] == 'Traceback (most recent call last):'
  assert 'in __call__' in lines[2] and "return {}['velocity']" in lines[3]
  assert lines[-1] == "KeyError: 'velocity'" and len(lines) < 7
  # What was complete is left.
  assert _collect(tmp_path / 'whole', f'--salvage={out}.partial') == 0
  (frames,) = demonstrations.read_episodes(tmp_path / 'whole')
  assert _replay('MountainCar-v0', 5, frames)[1]


def test_no_way_says_where(tmp_path, capsys):
  pytest.importorskip('minigrid')
  assert _collect(
      tmp_path / 'demos', '--env=MiniGrid-KeyCorridorS3R1-v0', '--expert',
      '--gin_bindings=load_environment.wrappers = [@MiniGridExpert]',
      '--num_environments=2') == 1
  error = capsys.readouterr().err.strip().splitlines()[-1]
  assert re.match(
      'collect_demos: .*MiniGrid-KeyCorridorS3R1-v0: .*no way.* 1 .*0, 1.$',
      error,
  )


def test_a_file_that_cannot_be_written(tmp_path, capsys):
  (tmp_path / 'file').write_text('')
  out = tmp_path / 'file' / 'demos'
  assert _collect(out, f'--env={_CUE_LOCK}', '--expert') == 1
  error = capsys.readouterr().err.strip().splitlines()[-1]
  assert error.startswith(f'collect_demos: {tmp_path}/file')
  assert error.endswith('is not a directory')


def test_a_policy_of_another_environment(policy_dir, tmp_path, capsys):
  assert _collect(
      tmp_path / 'a', '--policy_dir', policy_dir, '--env=Acrobot-v1') == 1
  assert 'The policy does not fit Acrobot-v1' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('--expert',), '--expert needs an environment'),
        (('--env=CartPole-v1',), 'Exactly one of'),
        (('--policy_dir=a', '--expert'), 'Exactly one of'),
        (('--policy_dir=a', '--episodes=0'), '0 is not a positive integer'),
        (('--policy_dir=a', '--seed=-1'), '-1 is not a non-negative integer'),
        (('--policy_dir=a', '--max_attempts=9'), 'no effect without --min_ret'),
        (('--salvage=a', '--env=CartPole-v1'), 'no effect with --salvage'),
        (('--salvage=a', '--out=/tmp'), '/tmp is a folder'),
    ],
)
def test_wrong_flags(tmp_path, argv, message):
  with pytest.raises(flags.Error, match=message):
    _collect(tmp_path / 'demos', *argv)


def test_a_data_set_of_minari_has_the_episodes_of_a_file(tmp_path, monkeypatch):
  pytest.importorskip('minari')
  pytest.importorskip('h5py')
  monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path / 'datasets'))
  file, name = tmp_path / 'demos', 'minari:cue/lock-v0'
  more = f'--env={_CUE_LOCK}', '--expert', '--episodes=3', '--seed=5'
  assert _collect(file, *more) == 0 and _collect(name, *more) == 0
  assert _collect(name, *more) == 1  # It exists.
  settings = []
  read = minari_data.read_data_set(
      name, demonstrations.read_spec(file), settings.append
  )
  assert settings == [demonstrations.Record.read(file).environment]
  expected = demonstrations.read_episodes(file)
  for episode, other in zip(expected, read, strict=True):
    tf.nest.map_structure(np.testing.assert_array_equal, episode, other)
