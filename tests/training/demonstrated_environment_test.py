# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a run takes the demonstrations of its own environment only."""

import logging
import os
from unittest import mock

import gin
import pytest

from rnd_agents import errors
from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.replay import demonstrations
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from tests import command_lines
from tests import tiny_runs
from train import collect_demos

_DEEP_SEA = (
    '--gin_file=deep_sea.gin',
    '--expert=rnd_agents.tasks.scripted_experts:deep_sea',
)
_OTHER_MAP = (
    "load_environment.env_kwargs = {'size': 20, 'mapping_seed': 43}",
    'deep_sea.mapping_seed = 43',
)
_ALLOWED = 'ReplayTraining.allowed_demonstration_differences = '


def _collect(out, *argv, bindings=()):
  gin.clear_config()  # As for a new process.
  bindings = [f'--gin_bindings={binding}' for binding in bindings]
  assert command_lines.call(
      collect_demos, '--out', out, '--episodes=1', *argv, *bindings) == 0
  return os.fspath(out)


def _read(path, gin_file, *bindings):
  """Episodes as a run of the gin file reads them."""
  gin.clear_config()
  gin_files.parse(
      [gin_file], [*bindings, f'ReplayTraining.demonstrations = {path!r}']
  )
  with gin.config_scope('train'):
    environment = loaders.load_environment(num_environments=1)
  try:
    training = experiment.Experiment('').training
    return training.read_demonstrations(local.specs_of(environment))
  finally:
    environment.close()


@pytest.mark.parametrize(
    ('argv', 'gin_file'),
    [
        (_DEEP_SEA, 'deep_sea_r2d3.gin'),  # By its own vector environment.
        (('--gin_file=cue_lock_r2d3.gin', '--expert'), 'cue_lock_r2d3.gin'),
        (('--gin_file=door_key_r2d3.gin', '--expert'), 'door_key_r2d3.gin'),
    ],
)
def test_shipped_experiments(tmp_path, caplog, monkeypatch, argv, gin_file):
  if 'door_key' in gin_file:
    pytest.importorskip('minigrid')
  path = _collect(tmp_path / 'demos', *argv)
  with monkeypatch.context() as patch:
    read_record = mock.Mock(wraps=demonstrations.Record.read)
    patch.setattr(demonstrations.Record, 'read', read_record)
    assert len(_read(path, gin_file)) == 1
  read_record.assert_called_once_with(path)
  warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
  # All of it is checked.
  assert not [r for r in warnings if 'demos' in r.getMessage()]


def test_another_map(tmp_path):
  path = _collect(tmp_path / 'demos', *_DEEP_SEA, bindings=_OTHER_MAP)
  with pytest.raises(errors.UserError) as error:
    _read(path, 'deep_sea_r2d3.gin')
  for words in (
      f'ReplayTraining.demonstrations: {path} ',
      "load_environment.env_kwargs was {'mapping_seed': 43, 'size': 20} and is"
      " now {'mapping_seed': 42,",
      f"{_ALLOWED}['load_environment.env_kwargs']",
  ):
    assert words in str(error.value)
  with pytest.raises(errors.UserError, match='another environment'):
    tiny_runs.train(
        tmp_path / 'run',
        100_000,
        f"ReplayTraining.demonstrations = '{path}'",
        settings=tiny_runs.FAST,
        files=['deep_sea_r2d3.gin'],
    )
  # As the message says.
  allowed = _ALLOWED + "['load_environment.env_kwargs']"
  assert len(_read(path, 'deep_sea_r2d3.gin', allowed)) == 1
  with pytest.raises(errors.UserError, match='load_environment.size'):
    _read(path, 'deep_sea_r2d3.gin', _ALLOWED + "['load_environment.size']")
  # What changes no experience; the order of a dict.
  assert len(_read(
      path,
      'deep_sea_r2d3.gin',
      "load_environment.env_kwargs = {'mapping_seed': 43, 'size': 20}",
      "load_environment.vectorization = 'async'",
  )) == 1


@pytest.mark.parametrize(
    ('bindings', 'name'),
    [
        (['CueLock.code_seed = 1'], 'CueLock.code_seed'),  # By its default.
        (
            ['load_environment.reward_fn = @sign_of_reward'],
            'load_environment.reward_fn',
        ),
    ],
)
def test_another_argument(tmp_path, bindings, name):
  argv = ('--gin_file=cue_lock_r2d3.gin', '--expert')
  path = _collect(tmp_path / 'demos', *argv, bindings=bindings)
  with pytest.raises(errors.UserError, match=f' {name} was'):
    _read(path, 'cue_lock_r2d3.gin')
  assert len(_read(path, 'cue_lock_r2d3.gin', *bindings)) == 1


def test_several_files(tmp_path):
  paths = [
      _collect(tmp_path / str(i), *_DEEP_SEA, f'--seed={i}', bindings=bindings)
      for i, bindings in enumerate([(), (), _OTHER_MAP])
  ]
  episodes = _read(paths[:2], 'deep_sea_r2d3.gin')
  assert len(episodes) == 2
  assert all(each.reward.sum() > 0.9 for each in episodes)
  with pytest.raises(errors.UserError, match=paths[2]):
    _read(paths, 'deep_sea_r2d3.gin')


def test_another_environment_by_a_flag(tmp_path):
  path = _collect(tmp_path / 'demos', '--env=rnd_agents/Recall-v0', '--expert')
  with pytest.raises(
      errors.UserError, match=r"env was 'rnd_agents/Recall-v0' and is now @CueL"
  ):
    _read(path, 'cue_lock_r2d3.gin')


@pytest.mark.parametrize(
    ('file', 'message'),
    [('', 'is a directory'), ('/none', 'no file .*train.collect_demos')],
)
def test_messages_name_the_setting(tmp_path, file, message):
  with pytest.raises(
      errors.UserError, match=f'^ReplayTraining.demonstrations: .*{message}'
  ):
    _read(f'{tmp_path}{file}', 'cue_lock_r2d3.gin')
