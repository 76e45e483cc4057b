# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the folder of a run."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import types

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents import run_files
from rnd_agents.training import run_directory
from tests import tiny_runs


def test_unwritable_folder_is_refused_by_name(tmp_path):
  (tmp_path / 'file').write_text('')
  with pytest.raises(
      errors.SetupError, match='root_dir=.*file/run .*Not a directory'
  ):
    with run_directory.locked(str(tmp_path / 'file' / 'run')):
      pass


@pytest.mark.parametrize('name', ['a[0]', 'a\\b'])
def test_folders_from_which_tensorflow_restores_nothing(tmp_path, name):
  prefix = str(tmp_path / name / 'variables')
  tf.train.Checkpoint(x=tf.Variable(0.0)).write(prefix)
  with pytest.raises(tf.errors.NotFoundError):
    tf.train.load_checkpoint(prefix)
  with pytest.raises(errors.SetupError, match='bracket or a backslash'):
    with run_directory.locked(str(tmp_path / name)):
      pass


@pytest.fixture(name='no_wait')
def _no_wait(monkeypatch):
  monkeypatch.setattr(run_directory, '_LOCK_WAIT_S', 0.0)


@pytest.mark.usefixtures('no_wait')
def test_second_one_at_the_folder_is_refused_and_told_who_has_it(tmp_path):
  with run_directory.locked(tmp_path):
    with pytest.raises(errors.SetupError, match=f'in use .*{os.getpid()} '):
      with run_directory.locked(tmp_path):
        pass
  with run_directory.locked(tmp_path):  # It was given back.
    pass


def test_one_that_ends_is_waited_for(tmp_path, caplog, monkeypatch):
  events = []

  def hold():
    with run_directory.locked(tmp_path):
      is_held.set()
      assert is_waited_for.wait(60)
      events.append('released')

  def sleep(seconds):
    is_waited_for.set()
    time.sleep(seconds)

  is_held, is_waited_for = threading.Event(), threading.Event()
  clock = types.SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
  monkeypatch.setattr(run_directory, 'time', clock)
  thread = threading.Thread(target=hold)
  thread.start()
  assert is_held.wait(60)
  with caplog.at_level('INFO', logger='absl'):
    with run_directory.locked(tmp_path):
      events.append('locked')
  thread.join()
  assert events == ['released', 'locked']
  words = f'{tmp_path} is in use by process {os.getpid()} on'
  assert [words in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.usefixtures('no_wait')
def test_a_killed_process_gives_the_lock_back(tmp_path):
  # Only what the lock needs: TensorFlow would take seconds to import.
  program = (
      'import fcntl, os, signal, sys\n'
      f'file = open({os.fspath(tmp_path / ".lock")!r}, "a+")\n'
      'fcntl.flock(file, fcntl.LOCK_EX)\n'
      'print("locked", flush=True)\n'
      'signal.pause()\n'
  )
  process = subprocess.Popen(
      [sys.executable, '-c', program], stdout=subprocess.PIPE, text=True
  )
  assert process.stdout.readline() == 'locked\n'
  with pytest.raises(errors.SetupError, match='in use by another process'):
    with run_directory.locked(tmp_path):
      pass
  process.kill()
  process.wait()
  with run_directory.locked(tmp_path):
    pass


def _hold_the_lock_with_a_worker(root_dir):
  with run_directory.locked(root_dir):
    worker = multiprocessing.get_context('fork').Process(
        target=_tell_and_wait, args=(root_dir,)
    )
    worker.start()
    worker.join()


def _tell_and_wait(root_dir):
  # By now it has let go of what it inherited.
  with open(os.path.join(root_dir, 'pid'), 'w', encoding='utf-8') as file:
    file.write(f'{os.getpid()}.')
  time.sleep(600)


@pytest.mark.usefixtures('no_wait')
def test_a_worker_of_a_killed_process_does_not_keep_the_lock(tmp_path):
  process = tiny_runs.context().Process(
      target=_hold_the_lock_with_a_worker, args=(os.fspath(tmp_path),)
  )
  process.start()
  pid = tmp_path / 'pid'
  deadline_s = time.monotonic() + 60
  while not (pid.exists() and pid.read_text().endswith('.')):
    assert time.monotonic() < deadline_s
    time.sleep(0.05)
  with pytest.raises(errors.SetupError, match=f'process {process.pid} on'):
    with run_directory.locked(tmp_path):
      pass
  process.kill()
  process.join()
  worker = int(pid.read_text()[:-1])
  try:
    with run_directory.locked(tmp_path):
      os.kill(worker, 0)  # It is alive.
  finally:
    os.kill(worker, signal.SIGKILL)


@pytest.mark.usefixtures('no_wait')
def test_runs_that_are_set_aside_stay_whole(tmp_path):
  root_dir = tmp_path / 'seed_0'
  run_directory.set_aside(str(root_dir))  # There is none.
  for text in ('first', 'second'):
    run_directory.set_aside(str(root_dir))
    (root_dir / 'train').mkdir()
    (root_dir / 'train' / 'events').write_text(text)
    (root_dir / 'run.json').touch()
  run_directory.set_aside(str(root_dir))
  assert sorted(os.listdir(root_dir)) == ['.lock', 'earlier']
  for number, text in ((1, 'first'), (2, 'second')):
    path = root_dir / 'earlier' / str(number) / 'train' / 'events'
    assert path.read_text() == text
  (root_dir / 'run.json').touch()
  with pytest.raises(errors.SetupError, match='not the folder of a run'):
    run_directory.set_aside(str(tmp_path))  # The folder of several runs.
  assert sorted(os.listdir(tmp_path)) == ['.lock', 'seed_0']
  with run_directory.locked(str(root_dir)):
    with pytest.raises(errors.SetupError, match='in use'):
      run_directory.set_aside(str(root_dir))
  assert (root_dir / 'run.json').exists()


def test_record_names_versions_settings_and_command(tmp_path, monkeypatch):
  monkeypatch.setenv('TF_ENABLE_ONEDNN_OPTS', '0')
  gin.clear_config()
  gin.bind_parameter('GRUCore.units', 5)
  networks.GRUCore()
  array_spec.ArraySpec([], np.float32, name='x')  # Gin has nothing to say.
  run_directory.record_run(tmp_path, {'a.b': '1'}, seed=7)
  record = run_files.read_run_record(tmp_path)
  assert record['seed'] == 7
  assert record['settings'] == {'a.b': '1'}
  assert record['command'][1:] == sys.argv
  assert record['tf_enable_onednn_opts'] == '0'
  assert record['packages']['tensorflow'] == tf.__version__
  settings = (tmp_path / 'operative_config.gin').read_text()
  assert 'GRUCore.units = 5' in settings and 'ArraySpec' not in settings
  gin.clear_config()


def test_starts_come_from_the_checkpoint_if_the_record_was_changed(
    tmp_path, caplog
):
  def record(changes, saved):
    text = run_directory.record_run(tmp_path, {}, changes, saved)
    starts = run_files.read_run_record(tmp_path)['starts']
    return text, [each['changes'] for each in starts]

  saved, _ = record(['a'], None)
  newer, starts = record(['b'], saved)
  assert starts == [['a'], ['b']]
  # The second start was killed before it saved.
  assert record(['c'], saved)[1] == [['a'], ['b'], ['c']]
  assert not caplog.records
  path = tmp_path / 'run.json'
  for content in ('', 'null', newer.replace('"a"', '"x"')):
    path.write_text(content)
    assert record(['d'], newer)[1] == [['a'], ['b'], ['d']]
    assert f'{path} has changed' in caplog.text
    caplog.clear()


@pytest.mark.parametrize('content', [{'settings': None}, {'starts': 3}])
def test_a_record_of_other_values_before_the_first_checkpoint(
    tmp_path, content
):
  (tmp_path / 'run.json').write_text(json.dumps(content))
  run_directory.record_run(tmp_path, {})
  assert len(run_files.read_run_record(tmp_path)['starts']) == 1


def test_status_is_what_was_written_last(tmp_path):
  assert run_files.read_status(tmp_path) == {}
  run_directory.write_status(tmp_path, 'running', env_steps=3)
  run_directory.write_status(tmp_path, 'failed', env_steps=4, message='why')
  status = run_files.read_status(tmp_path)
  assert (status['state'], status['env_steps'], status['message']) == (
      'failed', 4, 'why'
  )
