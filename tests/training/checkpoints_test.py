# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the snapshots of a run."""

import os

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents.training import checkpoints


class _Run:
  """Two variables and their snapshots."""

  def __init__(self, folder, shape=(2,), **arguments):
    self.weights = tf.Variable(tf.zeros(shape), name='weights')
    self.steps = tf.Variable(0, dtype=tf.int64)
    self.snapshots = checkpoints.Checkpoints(
        os.fspath(folder), weights=self.weights, steps=self.steps, **arguments
    )

  def save(self, iteration):
    self.weights.assign(tf.fill(self.weights.shape, float(iteration)))
    self.steps.assign(10 * iteration)
    self.snapshots.save(iteration, {'row': np.arange(iteration)})


def _fail(descriptor):
  raise OSError


def test_newest_snapshot_comes_back_whole(tmp_path):
  run = _Run(tmp_path)
  for iteration in (1, 2, 3):
    run.save(iteration)
  again = _Run(tmp_path)
  snapshot = again.snapshots.find()
  assert snapshot.iteration == 3
  np.testing.assert_array_equal(snapshot.state['row'], [0, 1, 2])
  again.snapshots.restore(snapshot)
  np.testing.assert_array_equal(again.weights, [3.0, 3.0])
  assert again.steps.numpy() == 30


def test_only_the_last_ones_stay(tmp_path):
  run = _Run(tmp_path, max_to_keep=2)
  for iteration in (1, 2, 9, 10):
    run.save(iteration)
  run.snapshots.wait()
  assert run.snapshots.iterations() == [9, 10]
  assert sorted(os.listdir(tmp_path)) == [
      'iteration_00000009', 'iteration_00000010'
  ]


def test_the_new_one_is_on_the_disk_before_an_old_one_goes(
    tmp_path, monkeypatch
):
  run = _Run(tmp_path, max_to_keep=1)
  run.save(1)
  run.snapshots.wait()
  with monkeypatch.context() as context, pytest.raises(OSError):
    context.setattr(os, 'fsync', _fail)
    run.save(2)
    run.snapshots.wait()
  assert run.snapshots.iterations() == [1, 2]


@pytest.mark.parametrize('killed_at', [1, 2])
def test_an_iteration_that_is_saved_again_is_never_missing(
    tmp_path, monkeypatch, killed_at
):
  run = _Run(tmp_path)
  run.snapshots.save(0, 'first')
  run.snapshots.wait()
  renames = []

  def replace(source, target):
    renames.append(target)
    if len(renames) == killed_at:
      raise KeyboardInterrupt  # As good as a kill: nothing more is done.
    return rename(source, target)

  rename = os.replace
  with monkeypatch.context() as context:
    context.setattr(os, 'replace', replace)
    with pytest.raises(KeyboardInterrupt):
      run.snapshots.save(0, 'second')
  assert _Run(tmp_path).snapshots.find().state == 'first'
  again = _Run(tmp_path)
  again.snapshots.save(0, 'third')
  again.snapshots.wait()
  assert _Run(tmp_path).snapshots.find().state == 'third'
  assert os.listdir(tmp_path) == ['iteration_00000000']


def _truncate(path):
  with open(path, 'r+b') as file:
    file.truncate(os.path.getsize(path) - 1)


def _flip_a_bit(path):
  with open(path, 'r+b') as file:
    first = file.read(1)
    file.seek(0)
    file.write(bytes([first[0] ^ 1]))


@pytest.mark.parametrize('harm', [_truncate, _flip_a_bit, os.remove])
@pytest.mark.parametrize(
    'name', ['variables.index', 'variables.data', 'state.bin', 'manifest']
)
def test_a_damaged_newest_one_is_skipped_and_named(
    tmp_path, caplog, name, harm
):
  run = _Run(tmp_path)
  run.save(1)
  run.save(2)
  newest = run.snapshots.path(2)
  harmed = [file for file in os.listdir(newest) if file.startswith(name)]
  harm(os.path.join(newest, harmed[0]))
  assert run.snapshots.find().iteration == 1
  assert f'{newest} is damaged' in caplog.text


def test_what_a_damaged_one_was_to_replace_is_taken(tmp_path, monkeypatch):
  run = _Run(tmp_path)
  run.snapshots.save(0, 'first')
  run.snapshots.wait()
  # The power goes before the next one, of the same iteration, is on the disk.
  with monkeypatch.context() as context, pytest.raises(OSError):
    context.setattr(os, 'fsync', _fail)
    run.snapshots.save(0, 'second')
    run.snapshots.wait()
  _truncate(os.path.join(run.snapshots.path(0), 'variables.index'))

  again = _Run(tmp_path)
  snapshot = again.snapshots.find()
  assert (snapshot.iteration, snapshot.state) == (0, 'first')
  again.snapshots.restore(snapshot)
  again.save(1)
  again.snapshots.wait()
  assert sorted(os.listdir(tmp_path)) == [
      'iteration_00000000', 'iteration_00000001'
  ]


def test_a_damaged_one_is_gone_once_another_is_restored(tmp_path):
  run = _Run(tmp_path, max_to_keep=2)
  run.save(1)
  run.save(2)
  run.snapshots.wait()
  os.remove(os.path.join(run.snapshots.path(2), 'manifest.json'))
  run.snapshots.restore(run.snapshots.find())
  assert run.snapshots.iterations() == [1]
  assert 'iteration_00000001, of iteration 1' in run.snapshots.kept()


@pytest.mark.parametrize('content', ['[]', 'null', '{}', '', '3'])
def test_a_manifest_of_another_kind_is_damage(tmp_path, caplog, content):
  run = _Run(tmp_path)
  run.save(1)
  run.save(2)
  newest = run.snapshots.path(2)
  with open(os.path.join(newest, 'manifest.json'), 'w') as file:
    file.write(content)
  assert run.snapshots.find().iteration == 1
  assert f'{newest} is damaged' in caplog.text


class _RunWithParts(_Run):
  """Each snapshot needs the part 'all' and one of its own."""

  def __init__(self, folder):
    super().__init__(folder, max_to_keep=2)
    self.parts = self.snapshots.parts('parts')
    os.makedirs(self.parts.folder, exist_ok=True)

  def path(self, name):
    return os.path.join(self.parts.folder, name)

  def save(self, iteration):
    self.snapshots.wait()
    self.parts.needed = {}
    for name in ('all', f'of_{iteration}'):
      with open(self.path(name), 'w') as file:
        file.write(name)
      self.parts.needed[name] = files.fingerprint(self.path(name))
    super().save(iteration)


def test_parts_stay_as_long_as_a_snapshot_needs_them(tmp_path):
  run = _RunWithParts(tmp_path)
  for iteration in (1, 2, 3):
    run.save(iteration)
  run.snapshots.wait()
  assert sorted(os.listdir(run.parts.folder)) == ['all', 'of_2', 'of_3']


@pytest.mark.parametrize('harm', [_truncate, _flip_a_bit, os.remove])
def test_without_its_parts_a_snapshot_is_damaged(tmp_path, caplog, harm):
  run = _RunWithParts(tmp_path)
  for iteration in (1, 2):
    run.save(iteration)
  harm(run.path('of_2'))
  assert run.snapshots.find().iteration == 1
  assert 'parts/of_2' in caplog.text
  harm(run.path('all'))  # Whoever reads it has to know.
  assert run.snapshots.find().iteration == 2


def test_if_all_are_damaged_nothing_begins_anew(tmp_path):
  run = _Run(tmp_path)
  run.save(1)
  os.remove(os.path.join(run.snapshots.path(1), 'state.bin'))
  with pytest.raises(errors.SetupError, match='All 1 checkpoints in .*damaged'):
    run.snapshots.find()


def test_what_a_kill_left_half_written_is_no_snapshot(tmp_path):
  run = _Run(tmp_path)
  run.save(1)
  run.snapshots.wait()
  os.rename(run.snapshots.path(1), tmp_path / '.being_written')
  assert run.snapshots.find() is None
  run.save(2)
  run.snapshots.wait()
  assert os.listdir(tmp_path) == ['iteration_00000002']


def test_other_variables_are_named(tmp_path):
  _Run(tmp_path, shape=(2,)).save(1)
  other = _Run(tmp_path, shape=(3,))
  with pytest.raises(
      errors.SetupError, match=r'weights .*\[2\] there and \[3\] here'
  ):
    other.snapshots.restore(other.snapshots.find())


def test_missing_and_additional_variables_are_named(tmp_path):
  _Run(tmp_path).save(1)
  fewer = checkpoints.Checkpoints(
      os.fspath(tmp_path), steps=tf.Variable(0, dtype=tf.int64)
  )
  with pytest.raises(errors.SetupError, match='weights is only there'):
    fewer.restore(fewer.find())
  more = _Run(tmp_path, offset=tf.Variable(1.0))
  with pytest.raises(errors.SetupError, match='offset is only here'):
    more.snapshots.restore(more.snapshots.find())


def test_a_disk_that_refuses_is_reported_with_what_was_kept(tmp_path):
  run = _Run(tmp_path)
  run.save(1)
  # A file in the place of the folder that is written to.
  (tmp_path / '.being_written').write_text('')
  with pytest.raises(
      errors.RunError, match='iteration 2 .*File exists.*iteration_00000001'
  ):
    run.save(2)
  assert run.snapshots.iterations() == [1]
