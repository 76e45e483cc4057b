# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of pages of docs/; compares tables with the code."""

import importlib
import re

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents.environments import environment_rules
from tests import source_tree
from tests.docs import pages
from tests.environments import check_test

_NAME = 'docs/environments.md'
_TEXT = (source_tree.ROOT / _NAME).read_text(encoding='utf-8')
_BLOCKS = pages.blocks(_NAME)


@pytest.fixture(name='in_a_folder_with_the_files')
def _in_a_folder_with_the_files(tmp_path, monkeypatch):
  """What a reader has after copying the blocks that are files."""
  registered = pages.registered()
  pages.write_files(_NAME, tmp_path, monkeypatch)
  yield
  pages.forget_files(tmp_path, registered)


def test_the_printed_report_is_the_one_shown(
    in_a_folder_with_the_files, capsys
):
  (code,) = [block.code for block in _BLOCKS if 'class Broken' in block.code]
  pages.run_python(code, _NAME)
  shown = _TEXT.split('\nprints\n\n```text\n')[1].split('\n```')[0]
  assert capsys.readouterr().out.strip() == shown


def test_the_table_of_rules():
  rows = re.findall(
      r'^\| `([\w-]+)` \| (fault|warning|note) \| .+ \| (.+) \|$', _TEXT, re.M
  )
  assert rows == [
      (name, *rule) for name, rule in environment_rules.RULES.items()
  ]


def test_what_gymnasiums_own_check_passes():
  table = check_test.TABLE
  # The page counts for Gymnasium before 1.4.
  passed = sum(row[3] or row[0] == 'BuffersInTurn' for row in table)
  text = ' '.join(_TEXT.split())
  assert f'it passes {passed} of {len(table)}; each is caught here.' in text


def test_files_exist():
  for path in re.findall(
      r'`((?:tests|benchmarks|gin_configs|examples)/[\w/.]+)`', _TEXT
  ):
    assert (source_tree.ROOT / path).exists(), path


def test_tables_are_tables():
  for block in re.findall(r'(?:^\|.*\n)+', _TEXT, re.MULTILINE):
    columns = {
        len(re.findall(r'(?<!\\)\|', line)) for line in block.splitlines()
    }
    assert len(columns) == 1, block


def test_the_example_can_be_solved(in_a_folder_with_the_files):
  # Nine steps to the right from the first cell, less from the next two.
  (code,) = [
      block.code
      for block in _BLOCKS
      if block.comment.get('file') == 'corridor.py'
  ]
  env = pages.run_python(code, _NAME)['Corridor']()
  for seed in range(5):
    observation, _ = env.reset(seed=seed)
    start = int(np.argmax(observation))
    rewards = []
    terminated = False
    while not terminated:
      _, reward, terminated, _, info = env.step(1)
      rewards.append(reward)
    assert rewards == [0.0] * (8 - start) + [1.0] and info['is_success']


def test_the_curiosity_of_the_page_counts_visits(tmp_path, monkeypatch):
  pages.write_files('docs/curiosity.md', tmp_path, monkeypatch)
  module = importlib.import_module('counts')
  counts = module.Counts(None, None, cells_per_unit=10.0)
  pages.forget_files(tmp_path, pages.registered())
  # Of the first cell three, one of them not valid; of the second one.
  positions = [[0.1, 0.2], [0.11, 0.19], [0.1, 0.2], [-0.5, 0.2]]
  transitions = curiosity.Transitions(
      next_observation=tf.constant([positions]),
      valid=tf.constant([[True, True, False, True]]),
  )
  np.testing.assert_allclose(counts.bonus(transitions), np.ones([1, 4]))
  counts.update_statistics(transitions)
  expected = [[1 / 3**0.5, 1 / 3**0.5, 1 / 3**0.5, 1 / 2**0.5]]
  np.testing.assert_allclose(counts.bonus(transitions), expected, rtol=1e-6)
