# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run on a disk that fills up."""

import contextlib
import os
import subprocess

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.replay import prioritized_replay
from rnd_agents.replay import sequences
from rnd_agents.training import checkpoints
from rnd_agents.training import gin_files
from rnd_agents.training import metrics_log
from rnd_agents.training import run
from rnd_agents.training import trainer
from tests.training import tiny_runs


@pytest.fixture(name='disk')
def small_disk(tmp_path):
  """A file system of less than half a megabyte."""
  folder = tmp_path / 'disk'
  folder.mkdir()
  mounted = subprocess.run(
      ['mount', '-t', 'tmpfs', '-o', 'size=448k', 'tmpfs', folder],
      capture_output=True,
      check=False,
  )
  if mounted.returncode:
    pytest.skip('Mounting a tmpfs needs more rights than these.')
  yield folder
  subprocess.run(['umount', '--lazy', folder], check=True)


def _fill(disk):
  """Leaves no byte."""
  for size in (4096, 1):
    with open(disk / f'filler{size}', 'wb', buffering=0) as file:
      with contextlib.suppress(OSError):
        while True:
          file.write(b'x' * size)


def _train(root_dir, num_env_steps):
  gin.clear_config()
  gin_files.parse(
      [],
      (*tiny_runs.SETTINGS, f'train_eval.num_env_steps = {num_env_steps}'),
  )
  return trainer.train_eval(os.fspath(root_dir), seed=5)


def test_a_full_disk_stops_the_run_which_goes_on_when_there_is_room(
    disk, tmp_path
):
  root_dir = disk / 'run'
  with pytest.raises(errors.RunError, match='No space left on') as caught:
    _train(root_dir, 10**9)
  assert 'The last good checkpoint is' in str(caught.value)
  saved, _ = tiny_runs.iterations(root_dir)
  assert f'iteration_{saved:08d}, of iteration {saved}.' in str(caught.value)
  subprocess.run(['mount', '-o', 'remount,size=64m', disk], check=True)
  num_env_steps = 64 * (saved + 12)
  assert _train(root_dir, num_env_steps).finished
  assert run_files.read_status(root_dir)['state'] == 'finished'
  _train(tmp_path / 'whole', num_env_steps)
  assert (root_dir / 'metrics.csv').read_text() == (
      tmp_path / 'whole' / 'metrics.csv'
  ).read_text()


@pytest.mark.parametrize('where', ['policies', 'events'])
def test_a_full_disk_is_named_wherever_tensorflow_meets_it(
    disk, tmp_path, monkeypatch, where
):
  subprocess.run(['mount', '-o', 'remount,size=8m', disk], check=True)
  finish, write = run._finish, metrics_log.MetricsLog.write

  def finish_on_a_full_disk(*args):
    _fill(disk)
    return finish(*args)

  def write_and_fill_the_disk(log, *args):
    write(log, *args)
    _fill(disk)
    for _ in range(10):  # TensorFlow writes now and then, and late.
      log.write_settings({'a': 'b' * 1_000}, 0)

  if where == 'policies':
    monkeypatch.setattr(run, '_finish', finish_on_a_full_disk)
  else:
    monkeypatch.setattr(
        metrics_log.MetricsLog, 'write', write_and_fill_the_disk
    )
  with pytest.raises(errors.RunError) as caught:
    _train(disk / 'run', 300)
  assert str(caught.value).startswith(
      f'A file of {disk}/run could not be written: No space left on device. The'
      ' last good checkpoint is '
  )
  # And nothing of it stays in the process.
  monkeypatch.undo()
  assert _train(tmp_path, 300).finished


def test_a_full_disk_leaves_the_replay_of_before(disk):
  pytest.importorskip('reverb')
  spec = sequences.sequence_spec(
      trajectory.Trajectory(
          step_type=tf.TensorSpec([], tf.int32),
          observation=tf.TensorSpec([10_000], tf.float32),
          action=tf.TensorSpec([], tf.int64),
          policy_info=(),
          next_step_type=tf.TensorSpec([], tf.int32),
          reward=tf.TensorSpec([], tf.float32),
          discount=tf.TensorSpec([], tf.float32),
      ),
      sequences.SequenceSettings(1),
  )
  folder = os.fspath(disk / 'replay')
  random = np.random.default_rng(0)

  def add():
    sequence = tf.nest.map_structure(
        lambda leaf: random.random(leaf.shape).astype(
            leaf.dtype.as_numpy_dtype
        ),
        spec,
    )
    replay.add(sequence._replace(is_demonstration=np.bool_(False)))

  replay = prioritized_replay.PrioritizedReplay(spec, 9, checkpoint_dir=folder)
  add()
  replay.checkpoint()
  for _ in range(8):
    add()
  with pytest.raises(OSError, match='No space left on device') as caught:
    replay.checkpoint()
  # What a run says then.
  assert checkpoints.reason(caught.value) == 'No space left on device.'
  replay.close()
  replay = prioritized_replay.PrioritizedReplay(spec, 9, checkpoint_dir=folder)
  assert replay.sizes()['agent'] == 1
  replay.close()
