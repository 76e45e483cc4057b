# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Resuming a folder from elsewhere runs nothing that is written in it."""

import io
import json
import os
import pickle
import shutil
import zlib

import gin
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.archive import exploration
from rnd_agents.training import gin_files
from tests import tiny_runs


class _Program:
  """Is pickled as a call."""

  def __init__(self, function, *arguments):
    self._call = function, arguments

  def __reduce__(self):
    return self._call


def _programs(marker):
  """Pickles, of which each makes a file when it is read."""
  make = f'open({os.fspath(marker)!r}, "w").close()'
  return {
      'os.system': pickle.dumps(_Program(os.system, f'touch {marker}')),
      'inside': pickle.dumps(
          _Program(pickle.loads, pickle.dumps(_Program(exec, make)))
      ),
  }


def _array_file(marker):
  """A file of `np.savez` with an array that is a program."""
  file = io.BytesIO()
  program = _Program(os.system, f'touch {marker}')
  np.savez(file, version=np.array([program], object))
  return file.getvalue()


def _train(root_dir, num_env_steps):
  tiny_runs.train(
      root_dir, num_env_steps, settings=tiny_runs.COUNTING_SETTINGS
  )


def _explore(root_dir, num_env_steps):
  gin.clear_config()
  gin_files.parse(
      ['explore_deep_sea.gin'],
      ['DEEP_SEA_SIZE = 7', f'explore.num_env_steps = {num_env_steps}'],
  )
  exploration.explore(os.fspath(root_dir), seed=1)


@pytest.fixture(name='started', scope='module', params=[_train, _explore])
def fixture_started(tmp_path_factory, request):
  """What continues a run, and the folder of a run to copy."""
  root_dir = tmp_path_factory.mktemp('started')
  request.param(root_dir, 60)
  return request.param, root_dir


# `plain_data_test.py` has more programs.
@pytest.mark.parametrize(
    ('name', 'kind'), [('state.pickle', 'os.system'), ('state.bin', 'inside')]
)
def test_a_checkpoint_that_is_a_program(started, tmp_path, kind, name):
  proceed, original = started
  root_dir, marker = tmp_path / 'run', tmp_path / 'marker'
  shutil.copytree(original, root_dir)
  program = _programs(marker)[kind]
  for manifest in root_dir.glob('checkpoints/iteration_*/manifest.json'):
    manifest.with_name('state.bin').unlink(missing_ok=True)
    manifest.with_name(name).write_bytes(program)
    files = json.loads(manifest.read_text())
    files.pop('state.bin', None)
    files[name] = dict(size=len(program), crc32=zlib.crc32(program))
    manifest.write_text(json.dumps(files))
  with pytest.raises(errors.SetupError, match='checkpoints'):
    proceed(root_dir, 320)
  assert not marker.exists()


def test_a_replay_that_is_a_program(tmp_path):
  marker = tmp_path / 'marker'
  settings = tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS)
  tiny_runs.train(tmp_path / 'run', 120, settings=settings)
  segments = [*tmp_path.glob('run/checkpoints/replay/*.npz')]
  assert segments
  for program in (_array_file(marker), _programs(marker)['os.system']):
    for segment in segments:
      segment.write_bytes(program)
    with pytest.raises(errors.SetupError, match='part of the replay'):
      tiny_runs.train(tmp_path / 'run', 240, settings=settings)
    assert not marker.exists()
