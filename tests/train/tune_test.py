# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of train.tune."""

import os
import sys

import gin
import pytest

from rnd_agents import errors
from rnd_agents.training import gin_files
from tests import command_lines
from tests import tiny_runs
from tests.train import binaries
from train import run_processes
from train import study
from train import tune

_BINDINGS = [
    'train_eval.num_env_steps = 128',
    'train_eval.warm_up_env_steps = 64',
    'train_eval.num_environments = 4',
    'OnPolicyTraining.rollout_length = 16',
    'train_eval.num_eval_episodes = 2',
    'train_eval.record_video = False',
    'train_eval.save_policies = False',
]


def test_space():
  assert tune.parse_space(
      '# Where to search.\n'
      'a.b = log_uniform(1e-5, 1e-3)  # Small.\n\n'
      "x/c.d=choice((64, 64), @e, '#f')\n"
      'MACRO = integer(1, 8)\n'
  ) == {
      'a.b': ('log_uniform', ['1e-5', '1e-3']),
      'x/c.d': ('choice', ['(64, 64)', '@e', "'#f'"]),
      'MACRO': ('integer', ['1', '8']),
  }


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'no setting'),
        ('a.b = 3', 'NAME = KIND'),
        ('a.b = normal(0, 1)', 'one of uniform'),
        ('a.b = choice()', 'NAME = KIND'),
        ('a.b = choice(1, 2)\na.b = choice(3)', 'a.b twice'),
    ],
)
def test_bad_spaces(text, message):
  with pytest.raises(errors.InvalidValue, match=message):
    tune.parse_space(text)


@pytest.mark.parametrize(
    'line',
    [
        'a.b = uniform(2, 1)',
        'a.b = log_uniform(0, 1)',
        'a.b = integer(1)',
        'a.b = integer(1, many)',
        'a.b = integer(0.5, 2)',
    ],
)
def test_bad_ranges(line):
  pytest.importorskip('optuna')
  with pytest.raises(errors.InvalidValue, match='a.b = '):
    study.distributions(tune.parse_space(line))


def test_each_value_is_tried_and_the_schedule_stays():
  space = tune.parse_space('train_eval.num_environments = choice(4, 8)')
  paths, schedule = tune.read_experiment(
      ['cartpole'], ['train_eval.num_env_steps = 128'], space)
  assert [os.path.basename(path) for path in paths][:1] == ['cartpole.gin']
  assert schedule.num_env_steps == 128
  assert schedule.stop_at_success_rate is None
  for line, message in [
      ('train_eval.num_env_steps = integer(100, 200)', 'equal steps'),
      ('train_eval.num_environments = choice(4, x)', 'x needs a sign'),
      ('train_eval.sead = integer(1, 2)', 'sead'),
  ]:
    with pytest.raises(errors.UserError, match=message):
      tune.read_experiment(['cartpole'], [], tune.parse_space(line))


def test_without_optuna_one_sentence_says_how_to_install_it(
    tmp_path, monkeypatch, capsys
):
  monkeypatch.setitem(sys.modules, 'optuna', None)
  assert command_lines.call(tune, '--gin_file=cartpole', '--space=x') == 2
  error = capsys.readouterr().err.strip()
  assert 'pip install "rnd_agents[tune]"' in error
  assert '\n' not in error


class _Forked:
  """Runs of train_eval in processes that have TensorFlow imported."""

  description = ''

  def __init__(self, num_jobs):
    del num_jobs

  def start(self, command, log):
    os.makedirs(os.path.dirname(log))
    log = os.path.abspath(log)
    process = tiny_runs.context().Process(
        target=binaries.run_module,
        args=(os.getcwd(), [log, log], 'train.train_eval', command[3:]))
    process.start()
    process.wait = lambda: process.join() or process.exitcode
    return process


def test_a_real_study(tmp_path, monkeypatch):
  optuna = pytest.importorskip('optuna')
  context = tiny_runs.context()
  monkeypatch.setattr(tune.multiprocessing, 'get_context', lambda _: context)
  monkeypatch.setattr(run_processes, 'LocalRuns', _Forked)
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'space.txt').write_text(
      'RNDPPOAgent.num_epochs = integer(1, 3)\n'
      'create_rnd_ppo_agent.learning_rate = log_uniform(1e-4, 1e-2)\n')
  argv = [
      '--gin_file=cartpole', '--space=space.txt', '--seeds=3', '--trials=1',
      *(f'--gin_bindings={binding}' for binding in _BINDINGS)]
  assert command_lines.call(tune, *argv) == 0
  folder = tmp_path / 'runs' / 'cartpole_study'
  loaded = optuna.load_study(
      study_name=folder.name, storage=f'sqlite:///{folder}/study.db')
  (trial,) = loaded.trials
  run = folder / 'trial_0000' / 'seed_3'
  rows = tiny_runs.rows(run, 'eval')
  assert trial.value == float(rows[-1]['return_mean']) >= 8
  assert trial.intermediate_values == {128: trial.value}
  operative = (run / 'operative_config.gin').read_text()
  for name, value in trial.params.items():
    assert f'{name} = {value}' in operative
  assert command_lines.call(tune, *argv) == 0  # Nothing is left to do.
  with gin_files.parsed([str(folder / 'best.gin')]) as paths:
    assert len(paths) > 1
    for name, value in trial.params.items():
      assert gin.query_parameter(name) == value
