# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of playing with a saved policy from the command line."""

import csv
import sys

from absl import flags
import gin
import gymnasium
import pytest

from tests import command_lines
from tests.train import binaries
from tests.train import saved_poles
from train import evaluate

_LIMIT = 40
# Of a run, shortened: most of it is unknown to this program.
_CONFIG = f"""
# Parameters for NeverHeardOf:
# ==============================================================================
NeverHeardOf.agent_class = @NorOfThis
NeverHeardOf.size = 3

# Parameters for eval/load_environment:
# ==============================================================================
eval/load_environment.env = 'CartPole-v1'
eval/load_environment.max_episode_steps = {_LIMIT}
train/load_environment.env = 'MountainCar-v0'
"""


def _length(seed):
  return saved_poles.play(seed, _LIMIT)


@pytest.fixture(name='run', scope='module')
def _run(tmp_path_factory):
  return saved_poles.save(tmp_path_factory.mktemp('run'), _CONFIG)


def _evaluate(run, *argv):
  return command_lines.call(
      evaluate, '--policy_dir', run / 'policies' / 'policy', *argv
  )


def test_each_episode_is_that_of_its_seed(run, tmp_path, capsys):
  path = tmp_path / 'new' / 'episodes.csv'
  assert _evaluate(
      run, '--episodes', '18', '--seed', '3', '--csv', str(path)) == 0
  expected = {seed: _length(seed) for seed in range(3, 21)}
  assert len({length for length, _ in expected.values()}) > 3
  with open(path, newline='', encoding='utf-8') as file:
    rows = list(csv.DictReader(file))
  assert {
      int(row['seed']): (int(row['length_env_steps']), int(row['terminated']))
      for row in rows
  } == expected
  for row in rows:
    assert float(row['return']) == int(row['length_env_steps'])
    assert int(row['truncated']) == 1 - int(row['terminated'])
    assert row['success'] == row['rooms'] == ''
  lines = capsys.readouterr().out.splitlines()
  assert lines[0].split() == [
      'seed', 'return', 'length_env_steps', 'terminated', 'truncated']
  length, fell = expected[3]
  assert lines[1].split() == [
      '3', str(length), str(length), str(fell), str(1 - fell)]
  mean = sum(length for length, _ in expected.values()) / 18
  assert f'return_mean: {mean:.6g}' in lines


class TwoPoles:
  """A game of two agents, each with a CartPole, from one seed."""

  possible_agents = ['a', 'b']
  num_open = most_open = 0

  def __init__(self):
    TwoPoles.num_open += 1
    TwoPoles.most_open = max(TwoPoles.most_open, TwoPoles.num_open)
    self._envs = {
        agent: gymnasium.make('CartPole-v1', max_episode_steps=_LIMIT)
        for agent in self.possible_agents
    }

  def observation_space(self, agent):
    return self._envs[agent].observation_space

  def action_space(self, agent):
    return self._envs[agent].action_space

  def reset(self, seed=None, options=None):
    found = {a: env.reset(seed=seed) for a, env in self._envs.items()}
    return tuple({a: x[i] for a, x in found.items()} for i in range(2))

  def step(self, actions):
    found = {a: self._envs[a].step(action) for a, action in actions.items()}
    return tuple({a: x[i] for a, x in found.items()} for i in range(5))

  def close(self):
    TwoPoles.num_open -= 1


def test_episodes_of_several_agents_have_the_seed_of_their_game(run, tmp_path):
  path = tmp_path / 'episodes.csv'
  assert _evaluate(
      run, '--episodes=5', '--seed=3', f'--env={__name__}:TwoPoles', '--csv',
      path, '--gin_bindings=load_environment.num_agents = 2') == 0
  with open(path, newline='', encoding='utf-8') as file:
    rows = list(csv.DictReader(file))
  found = [(int(row['seed']), int(row['length_env_steps'])) for row in rows]
  assert found == [(seed, _length(seed)[0]) for seed in (3, 3, 5, 5, 7)]
  assert len(set(found)) == 3


@pytest.mark.parametrize(('num_environments', 'most'), [(2, 1), (4, 2)])
def test_so_many_environments_as_bound(run, num_environments, most):
  TwoPoles.most_open = 0
  assert _evaluate(
      run, '--episodes=6', f'--env={__name__}:TwoPoles',
      '--gin_bindings=load_environment.num_agents = 2',
      f'--gin_bindings=load_environment.num_environments = {num_environments}',
  ) == 0
  assert (TwoPoles.num_open, TwoPoles.most_open) == (0, most)


def test_env_and_bindings_win_over_the_run(run, capsys):
  assert _evaluate(
      run, '--episodes', '1', '--env', 'CartPole-v0',
      '--gin_bindings', 'load_environment.max_episode_steps = 2') == 0
  assert capsys.readouterr().out.splitlines()[1].split()[1] == '2'


# The record has each setting in the scope, where gin prefers it.
@pytest.mark.parametrize(
    ('bindings', 'length'),
    [
        (['load_environment.max_episode_steps = 3'], 3),
        (['eval/load_environment.max_episode_steps = 4'], 4),
        (
            [
                'eval/load_environment.max_episode_steps = 4',
                'load_environment.max_episode_steps = 3',
            ],
            4,
        ),
        (['rnd_agents.load_environment.max_episode_steps = 5'], 5),
        (['train/load_environment.max_episode_steps = 2'], None),
        (["load_environment.env = 'CartPole-v0'"], None),
    ],
)
def test_bindings_win_over_the_record(run, capsys, bindings, length):
  more = [f'--gin_bindings={binding}' for binding in bindings]
  assert _evaluate(run, '--episodes', '1', '--seed', '3', *more) == 0
  row = capsys.readouterr().out.splitlines()[1].split()
  assert row[1] == str(length or _length(3)[0])


def test_another_environment_wins_over_the_record(run, capsys):
  assert _evaluate(
      run, '--episodes', '1',
      '--gin_bindings', "load_environment.env = 'Acrobot-v1'") != 0
  assert 'policy' in capsys.readouterr().err


@pytest.mark.parametrize('scope', ['', 'eval/'])
def test_bindings_of_the_scope_hold_with_env_too(run, capsys, scope):
  assert _evaluate(
      run, '--episodes', '1', '--env', 'CartPole-v1', '--gin_bindings',
      f'{scope}load_environment.max_episode_steps = 3', '--gin_bindings',
      'train/load_environment.max_episode_steps = 2') == 0
  assert capsys.readouterr().out.splitlines()[1].split()[1] == '3'


_SHORT_POLE = """
import gin
import gymnasium
from gymnasium.envs.classic_control import cartpole

@gin.configurable
class {name}(cartpole.CartPoleEnv):

  def __init__(self, max_steps=30, **kwargs):
    super().__init__(**kwargs)
    self._max_steps = max_steps

  def reset(self, **kwargs):
    self._steps = 0
    return super().reset(**kwargs)

  def step(self, action):
    self._steps += 1
    observation, reward, terminated, _, info = super().step(action)
    return observation, reward, terminated, self._steps == self._max_steps, info

@gin.configurable
class {name}Halved(gymnasium.RewardWrapper):

  def reward(self, reward):
    return reward / 2

gymnasium.register('{name}-v0', entry_point={name})
"""


def _with_config(run, folder, config):
  """Another run of the same policy, with other settings."""
  (folder / 'policies').mkdir()
  (folder / 'policies' / 'policy').symlink_to(run / 'policies' / 'policy')
  (folder / 'operative_config.gin').write_text(config)
  return folder


@pytest.mark.parametrize('env', ["'short_poles:{}-v0'", '%THE_ENV'])
def test_bindings_of_the_environments_own_module_hold(
    run, tmp_path, monkeypatch, capsys, env
):
  name = 'MacroPole' if env.startswith('%') else 'ShortPole'
  monkeypatch.syspath_prepend(str(tmp_path))
  monkeypatch.delitem(sys.modules, 'short_poles', raising=False)
  (tmp_path / 'short_poles.py').write_text(_SHORT_POLE.format(name=name))
  _with_config(run, tmp_path, f"""
THE_ENV = 'short_poles:{name}-v0'
eval/load_environment.env = {env.format(name)}
eval/load_environment.wrappers = [@{name}Halved]
eval/{name}.max_steps = 5
""")
  assert _evaluate(tmp_path, '--episodes', '1') == 0
  row = capsys.readouterr().out.splitlines()[1].split()
  assert row[:3] == ['0', '2.5', '5']  # seed, return, length_env_steps


@pytest.mark.parametrize('config', [
    """
import no_such.module_here
eval/load_environment.env = 'CartPole-v1'
eval/load_environment.wrappers = [@no_such.module_here.Wrapper]
""",
    "eval/load_environment.env = 'no_such.module_here:Pole-v0'",
])
def test_a_module_of_the_run_that_is_not_found(run, tmp_path, capsys, config):
  _with_config(run, tmp_path, config)
  assert _evaluate(tmp_path, '--episodes', '1') == 1
  error = capsys.readouterr().err
  assert 'no_such.module_here' in error
  assert "No module named 'no_such'" in error
  assert 'PYTHONPATH' in error


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('eval/load_environment.removed', '1'),
        ('OnPolicyTraining.num_learners', '1'),
    ],
)
def test_parameters_of_an_earlier_version_are_left_out(
    run, tmp_path, caplog, name, value
):
  _with_config(run, tmp_path, f'{_CONFIG}\n{name} = {value}\n')
  assert _evaluate(tmp_path, '--episodes', '1') == 0
  assert f'Leaving out {name} = {value}' in caplog.text
  assert gin.query_parameter('eval/load_environment.max_episode_steps') == 40
  # Configurables of other programs are no news.
  assert 'NeverHeardOf' not in caplog.text


def test_video_of_the_best_in_a_fresh_process(run, tmp_path):
  imageio_ffmpeg = pytest.importorskip('imageio_ffmpeg')
  best = max(range(4), key=lambda seed: _length(seed)[0])
  length = _length(best)[0]
  result = binaries.run(
      tmp_path, 'train.evaluate', '--episodes=4', '--video=best.mp4',
      f'--policy_dir={run / "policies" / "policy"}',
  )
  assert result.returncode == 0, result.stderr
  assert result.stdout.endswith(
      f'Video of seed {best}, return {length}, {length} steps: best.mp4\n'
  )
  frames, _ = imageio_ffmpeg.count_frames_and_secs(tmp_path / 'best.mp4')
  assert frames == length + 1


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('--env', 'Acrobot-v1'), 'Acrobot-v1: its observation is float32 [4]'),
        (('--env', 'CartPol-v1'), "'CartPol-v1'"),
        (('--gin_bindings', 'load_environment.envv = 1'), "'envv'"),
        (('--policy_dir', 'nowhere'), 'nowhere is not a directory'),
    ],
)
def test_mistakes_end_with_one_sentence(run, capsys, argv, message):
  assert _evaluate(run, '--episodes', '2', *argv) == 1
  error = capsys.readouterr().err.strip()
  assert error.startswith('evaluate: ')
  assert message in error
  assert '\n' not in error


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (('--episodes', '0'), '--episodes=0'),
        (('--seed', '-1'), '--seed=-1'),
        (('--video', 'a.gif'), 'a.gif.*.mp4'),
    ],
)
def test_wrong_flags(run, argv, message):
  with pytest.raises(flags.Error, match=message):
    _evaluate(run, *argv)


def test_a_table_of_something_else_stays(run, tmp_path):
  path = tmp_path / 'metrics.csv'
  path.write_text('phase,iteration,env_steps\ntrain,1,128\n')
  for out in (path, tmp_path):
    with pytest.raises(flags.Error, match='holds something else'):
      _evaluate(run, '--csv', out)
  assert path.read_text() == 'phase,iteration,env_steps\ntrain,1,128\n'


def test_a_table_of_an_earlier_evaluation_is_written_anew(run, tmp_path):
  path = str(tmp_path / 'episodes.csv')
  for episodes in (2, 1):
    gin.clear_config()  # Each is a program of its own.
    assert _evaluate(run, '--episodes', str(episodes), '--csv', path) == 0
    with open(path, encoding='utf-8') as file:
      assert len(file.readlines()) == 1 + episodes


def test_without_the_run_the_environment_is_asked_for(run, tmp_path, capsys):
  policies = tmp_path / 'policies'
  policies.mkdir()
  (policies / 'policy').symlink_to(run / 'policies' / 'policy')
  assert command_lines.call(evaluate, '--policy_dir', policies / 'policy') == 1
  assert '--env=ID' in capsys.readouterr().err
