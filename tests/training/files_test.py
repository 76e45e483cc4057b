# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files that are there whole or not at all."""

import os

import pytest

from rnd_agents.training import files


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
