# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of another form are refused: the form has a number."""

import functools
import zlib

import gin
import pytest

from rnd_agents import errors
from rnd_agents import plain_data
from rnd_agents.archive import exploration
from rnd_agents.training import gin_files
from rnd_agents.training import runs
from tests import tiny_runs


def _train_r2d3(root_dir):
  tiny_runs.prepare(root_dir, 120, settings=tiny_runs.R2D3_SETTINGS)


def _explore(root_dir):
  gin.clear_config()
  gin_files.parse(['explore_deep_sea.gin'], ['explore.num_env_steps = 100'])
  exploration.explore(str(root_dir))


# (function that runs, checksum of the names in a checkpoint's state).
_RUNS = {
    'RND-PPO': (lambda root_dir: tiny_runs.train(root_dir, 160), 1890767441),
    'R2D3': (_train_r2d3, 3194292881),
    'exploration': (_explore, 3055711047),
}


def _names(state, path=''):
  """Yields the names in a nest, such as 'collector/shards/env_steps'."""
  if isinstance(state, dict):
    for name, value in state.items():
      yield f'{path}/{name}'
      yield from _names(value, f'{path}/{name}')
  elif isinstance(state, (list, tuple)):
    for value in state:
      yield from _names(value, path)


@pytest.fixture(name='folders', scope='module')
def _folders(tmp_path_factory):
  """Gives the folder of a run of a kind, which is made once."""

  @functools.cache
  def folder(kind):
    root_dir = tmp_path_factory.mktemp('run')
    perform, _ = _RUNS[kind]
    perform(root_dir)
    return root_dir

  return folder


@pytest.mark.parametrize('kind', _RUNS)
def test_a_state_of_another_form_has_another_version(folders, kind):
  _, checksum = _RUNS[kind]
  *_, newest = sorted(folders(kind).glob('checkpoints/iteration_*/state.bin'))
  with open(newest, 'rb') as file:
    names = '\n'.join(sorted(set(_names(plain_data.load(file)))))
  assert (runs.STATE_VERSION, zlib.crc32(names.encode())) == (14, checksum), (
      'What checkpoints hold has changed, so that those of before cannot be'
      ' resumed: raise runs.STATE_VERSION, or their users see a traceback. Then'
      f' change the numbers here. The names now:\n{names}'
  )


def test_a_checkpoint_of_another_version_is_refused(folders, monkeypatch):
  root_dir = folders('RND-PPO')
  before = (root_dir / 'metrics.csv').read_bytes()
  monkeypatch.setattr(runs, 'STATE_VERSION', runs.STATE_VERSION + 1)
  with pytest.raises(errors.SetupError, match='another version'):
    tiny_runs.train(root_dir, 320)
  assert (root_dir / 'metrics.csv').read_bytes() == before
