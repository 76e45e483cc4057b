# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run on a disk that fills up."""

import contextlib
import errno
import os
import shutil
import subprocess
import types
from typing import NamedTuple

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import run_files
from rnd_agents.archive import exploration
from rnd_agents.plotting import learning_curves
from rnd_agents.replay import prioritized_replay
from rnd_agents.tracking import loggers
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from rnd_agents.training import metrics_log
from rnd_agents.training import runs
from tests import tiny_runs
from tests.archive import toys


def _train(root_dir, *bindings):
  return tiny_runs.train(
      root_dir, 100, *bindings, settings=tiny_runs.COUNTING_SETTINGS
  )


def test_a_checkpoint_that_never_reached_the_disk_is_named(
    tmp_path, monkeypatch
):
  def fail(folders, number):
    del folders, number
    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

  monkeypatch.setattr(files.NumberedFolders, 'sync', fail)
  with pytest.raises(errors.RunError, match='checkpoint of iteration .*Stale'):
    _train(tmp_path)


@pytest.fixture(name='disk')
def small_disk(tmp_path):
  """A file system of some megabytes."""
  folder = tmp_path / 'disk'
  folder.mkdir()
  mounted = subprocess.run(
      ['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder],
      capture_output=True,
      check=False,
  )
  if mounted.returncode:
    pytest.skip('Mounting a tmpfs needs more rights than these.')
  yield folder
  subprocess.run(['umount', '--lazy', folder], check=True)


@pytest.fixture(name='whole', scope='module')
def _whole(tmp_path_factory):
  """Metrics of a run with room enough."""
  folder = tmp_path_factory.mktemp('whole')
  _train(folder)
  return (folder / 'metrics.csv').read_bytes()


def _fill(disk, free_bytes=0):
  """Leaves no byte, or so many."""
  with open(disk / 'filler', 'wb', buffering=0) as file:
    for size in (4096, 1):
      with contextlib.suppress(OSError):
        while True:
          file.write(b'x' * size)
    file.truncate(file.tell() - free_bytes)


def _save_on_a_nearly_full_disk(disk, monkeypatch):
  save = checkpoints.Checkpoints.save

  def saving(self, iteration, state):
    if iteration == 3:  # Files can be made, and do not become whole.
      _fill(disk, free_bytes=3 * 4096)
    save(self, iteration, state)

  monkeypatch.setattr(checkpoints.Checkpoints, 'save', saving)


def _fill_the_disk_after_a_row(disk, monkeypatch):
  write = metrics_log.MetricsLog.write
  pixels = np.random.default_rng(0).integers(256, size=[1, 20, 20, 3])
  noise = loggers.Picture('train', 'noise', pixels.astype(np.uint8))

  def writing(log, *args):
    write(log, *args)
    _fill(disk)
    for _ in range(10):  # TensorFlow writes now and then, and late.
      log.write_picture(noise, 0)

  monkeypatch.setattr(metrics_log.MetricsLog, 'write', writing)


def _finish_on_a_full_disk(disk, monkeypatch):
  finish = experiment._finish

  def finishing(*args):
    _fill(disk)
    return finish(*args)

  monkeypatch.setattr(experiment, '_finish', finishing)


def test_a_full_disk_stops_the_run_which_goes_on_when_there_is_room(
    disk, whole
):
  root_dir = disk / 'run'
  for fault, policies in (
      (_save_on_a_nearly_full_disk, False),
      (_fill_the_disk_after_a_row, False),
      (_finish_on_a_full_disk, True),
      (_finish_on_a_full_disk, False),
  ):
    with pytest.MonkeyPatch.context() as context:
      fault(disk, context)
      with pytest.raises(errors.RunError) as caught:
        _train(root_dir, f'train_eval.save_policies = {policies}')
    saved, _ = tiny_runs.iterations(root_dir)
    message = str(caught.value)
    assert 'No space left on device' in message
    assert 'The last good checkpoint is' in message
    assert f'iteration_{saved:08d}, of iteration {saved}.' in message
    if fault is _finish_on_a_full_disk:
      assert saved > 3
    else:
      assert saved == 2
    if fault is not _save_on_a_nearly_full_disk:
      assert f'{root_dir} could not be written' in message
    # Nothing of it stays in the folder or in the process.
    (disk / 'filler').unlink()
  assert _train(root_dir).finished
  assert run_files.read_status(root_dir)['state'] == 'finished'
  assert (root_dir / 'metrics.csv').read_bytes() == whole


def test_a_full_disk_leaves_the_replay_of_before(disk):
  class Sequence(NamedTuple):
    numbers: np.ndarray
    is_demonstration: np.ndarray

  spec = Sequence(
      tf.TensorSpec([20_000], tf.float32), tf.TensorSpec([], tf.bool)
  )
  folder = os.fspath(disk / 'replay')
  random = np.random.default_rng(0)
  replay = prioritized_replay.PrioritizedReplay(spec, 9)

  def add():
    numbers = random.random([20_000]).astype(np.float32)
    replay.add(Sequence(numbers[np.newaxis], np.array([False])))

  add()
  state = replay.save(folder)
  for _ in range(8):
    add()
  _fill(disk, free_bytes=200_000)
  with pytest.raises(OSError, match='No space left on device') as caught:
    replay.save(folder)
  # What a run says then.
  assert checkpoints.error_text(caught.value) == 'No space left on device.'
  replay = prioritized_replay.PrioritizedReplay(spec, 9)
  replay.restore(folder, state)
  assert replay.sizes()['agent'] == 1


def _full(*args, **kwargs):
  raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _reads_nothing():
  with open('/no such file', 'rb'):
    pass


def _pipes():
  raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _misses():
  raise errors.MissingFile('There is no a.')


@pytest.mark.parametrize(
    ('work', 'error', 'message'),
    [
        (_full, errors.RunError, 'of x .*No space left on device. All is ke'),
        (_reads_nothing, FileNotFoundError, r"\[Errno 2\] .* '/no such file'"),
        (_pipes, BrokenPipeError, 'Broken pipe'),
        (_misses, errors.MissingFile, 'There is no a.'),
    ],
)
def test_only_an_error_of_the_disk_asks_for_room(work, error, message):
  run = runs.Run(types.SimpleNamespace(root_dir='x'), None, None, None, None)
  run.checkpoints = types.SimpleNamespace(kept=lambda: 'All is kept.')
  with pytest.raises(error, match=message), run.raising_run_errors():
    work()


gin.external_configurable(toys.Drift, 'SmallDrift', module='full_disk_test')


@pytest.mark.parametrize(
    ('owner', 'name'),
    [
        (checkpoints.plain_data, 'dump'),
        (metrics_log.MetricsLog, 'write'),
        (learning_curves, 'plot_archive'),
    ],
    ids=lambda x: getattr(x, '__name__', x),
)
def test_an_exploration_on_a_full_disk(tmp_path, monkeypatch, owner, name):
  gin.parse_config([
      'load_environment.env = @SmallDrift',
      'load_environment.max_episode_steps = 30',
      'explore.num_env_steps = 100',
  ])
  with monkeypatch.context() as context:
    context.setattr(owner, name, _full)
    with pytest.raises(errors.RunError, match='No space left on device'):
      exploration.explore(os.fspath(tmp_path))
  assert run_files.read_status(tmp_path)['state'] == 'failed'
  assert exploration.explore(os.fspath(tmp_path)).finished


def test_a_second_start_on_a_full_disk(tmp_path, monkeypatch):
  gin.parse_config([
      'load_environment.env = @SmallDrift',
      'load_environment.max_episode_steps = 30',
  ])
  exploration.explore(os.fspath(tmp_path), num_env_steps=100)
  monkeypatch.setattr(files, 'replacing', _full)
  with pytest.raises(errors.RunError, match='No space left on device'):
    exploration.explore(os.fspath(tmp_path), num_env_steps=200)


def test_a_folder_that_is_deleted_stops_the_run(tmp_path, monkeypatch):
  root_dir = tmp_path / 'run'
  write = metrics_log.MetricsLog.write

  def writing(log, *args):
    write(log, *args)
    # The thread of checkpoints deletes there at the same time.
    shutil.rmtree(root_dir, ignore_errors=True)

  monkeypatch.setattr(metrics_log.MetricsLog, 'write', writing)
  with pytest.raises(errors.RunError, match=f'{root_dir} .*deleted'):
    _train(root_dir)
  assert not (root_dir / 'run.json').exists()
