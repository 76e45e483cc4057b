# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files and folders that are there whole or not at all."""

import os
import shutil

import pytest

from rnd_agents import files


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
  path = tmp_path / 'file'
  path.write_text('old')
  with files.replacing(path) as file:
    file.write('new')
    file.flush()
    assert path.read_text() == 'old'
  assert path.read_text() == 'new'
  assert os.listdir(tmp_path) == ['file']


def test_a_block_that_raises_changes_nothing(tmp_path):
  path = tmp_path / 'file'
  path.write_text('old')
  with pytest.raises(RuntimeError, match='half'):
    with files.replacing(path) as file:
      file.write('new')
      raise RuntimeError('half')
  assert path.read_text() == 'old'
  assert os.listdir(tmp_path) == ['file']


def test_bytes(tmp_path):
  with files.replacing(tmp_path / 'file', 'wb') as file:
    file.write(b'\x00\x01')
  assert (tmp_path / 'file').read_bytes() == b'\x00\x01'


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
  events = []
  fsync, replace = os.fsync, os.replace
  monkeypatch.setattr(
      os, 'fsync', lambda file: events.append('sync') or fsync(file)
  )
  monkeypatch.setattr(
      os, 'replace', lambda *paths: events.append('name') or replace(*paths)
  )
  with files.replacing(tmp_path / 'file') as file:
    file.write('new')
  assert events == ['sync', 'name']


def test_the_old_folder_stays_until_the_new_one_is_whole(tmp_path):
  path = tmp_path / 'folder'
  for number in range(2):
    with files.replacing_folder(os.fspath(path)) as aside:
      (tmp_path / aside / f'file_{number}').touch()
      assert path.exists() == bool(number)
    assert os.listdir(path) == [f'file_{number}']
  # After a kill.
  (tmp_path / 'folder.new').mkdir()
  (tmp_path / 'folder.new' / 'half').touch()
  (tmp_path / 'folder.old').mkdir()
  with pytest.raises(RuntimeError, match='half'):
    with files.replacing_folder(os.fspath(path)) as aside:
      assert not os.listdir(aside)
      raise RuntimeError('half')
  assert os.listdir(path) == ['file_1']
  with files.replacing_folder(os.fspath(path)):
    pass
  assert not os.listdir(path)
  assert os.listdir(tmp_path) == ['folder']


def _folders(tmp_path, numbers):
  """Folders of two files each."""
  folders = files.NumberedFolders(tmp_path, 'step')
  for number in numbers:
    aside = folders.aside()
    for name in ('a', 'b'):
      with open(os.path.join(aside, name), 'w', encoding='utf-8') as file:
        file.write(f'{number}')
    folders.publish(number)
  return folders


def test_folders_are_found_by_their_numbers(tmp_path):
  folders = _folders(tmp_path, [9, 10, 100_000_000])
  assert folders.numbers() == [9, 10, 100_000_000]
  for name in ('step_1.old', 'other_00000003', '.step_00000004', 'step_x'):
    (tmp_path / name).mkdir()
  assert folders.numbers() == [9, 10, 100_000_000]
  assert (tmp_path / 'step_00000010' / 'a').read_text() == '10'
  assert files.NumberedFolders(tmp_path / 'none', 'step').numbers() == []


def test_the_newest_stay(tmp_path):
  folders = _folders(tmp_path, range(6))
  folders.prune(3)
  assert folders.numbers() == [3, 4, 5]
  folders.prune(9)
  assert folders.numbers() == [3, 4, 5]
  folders.remove(1)  # Is not there.
  folders.remove(4)
  assert sorted(os.listdir(tmp_path)) == ['step_00000003', 'step_00000005']


def test_a_kill_while_a_folder_is_deleted_leaves_no_half(tmp_path, monkeypatch):
  folders = _folders(tmp_path, range(3))

  def die(folder, ignore_errors=False):
    del ignore_errors
    if os.path.isdir(folder):
      os.remove(os.path.join(folder, 'a'))
      raise KeyboardInterrupt  # As good as a kill: nothing more is done.

  with monkeypatch.context() as context:
    context.setattr(shutil, 'rmtree', die)
    with pytest.raises(KeyboardInterrupt):
      folders.prune(1)
  for number in folders.numbers():
    assert sorted(os.listdir(folders.path(number))) == ['a', 'b']
  folders.prune(1)
  assert os.listdir(tmp_path) == ['step_00000002']


def test_all_of_a_folder_is_brought_to_the_disk(tmp_path, monkeypatch):
  folders = _folders(tmp_path, [1])
  (tmp_path / 'step_00000001' / 'deeper').mkdir()
  (tmp_path / 'step_00000001' / 'deeper' / 'c').touch()
  synced = []
  monkeypatch.setattr(
      os,
      'fsync',
      lambda descriptor: synced.append(
          os.readlink(f'/proc/self/fd/{descriptor}')
      ),
  )
  folders.sync(1)
  assert set(synced) == {str(path) for path in tmp_path.rglob('*')} | {
      str(tmp_path)
  }
