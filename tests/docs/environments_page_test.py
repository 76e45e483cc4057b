# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of pages of docs/; compares tables with the code."""

import importlib.util
import re
import sys

import gymnasium
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents.environments import environment_rules
from tests import source_tree
from tests.environments import check_test

_PAGE = source_tree.ROOT / 'docs' / 'environments.md'
_TEXT = _PAGE.read_text(encoding='utf-8')
# A block that is run has a comment before it: `file: NAME`, `run`,
# `run if MODULE`, `run: OLD is NEW`.
_BLOCKS = re.findall(
    r'^<!-- (file|run)(?: if (\w+))?(?:: (.+?))? -->\n```python\n(.*?)^```',
    _TEXT,
    re.MULTILINE | re.DOTALL,
)


def _titles():
  return [f'{i}: {code.strip().splitlines()[-1]}' for i, (_, _, _, code)
          in enumerate(_BLOCKS)]


@pytest.fixture(name='in_a_folder_with_the_files')
def _in_a_folder_with_the_files(tmp_path, monkeypatch):
  """What a reader has after copying the blocks that are files."""
  # What an installed package registers stays: no second import brings it back.
  if importlib.util.find_spec('minigrid'):
    importlib.import_module('minigrid')
  before = set(gymnasium.registry)
  for kind, _, name, code in _BLOCKS:
    if kind == 'file':
      (tmp_path / name).write_text(code)
  monkeypatch.chdir(tmp_path)
  monkeypatch.syspath_prepend(str(tmp_path))
  yield tmp_path
  for name in set(gymnasium.registry) - before:
    del gymnasium.registry[name]
  for path in tmp_path.glob('*.py'):
    sys.modules.pop(path.stem, None)


def _run(code):
  namespace = {'__name__': '__main__'}
  exec(compile(code, str(_PAGE), 'exec'), namespace)
  return namespace


@pytest.mark.parametrize('block', _BLOCKS, ids=_titles())
def test_block(block, in_a_folder_with_the_files, capsys):
  kind, module, argument, code = block
  if module and importlib.util.find_spec(module) is None:
    pytest.skip(f'{module} is not installed.')
  if argument and kind == 'run':
    old, new = argument.split(' is ')
    assert old in code
    code = code.replace(old, new)
  _run(code)
  if 'record_episode' in code:
    recording = in_a_folder_with_the_files / 'corridor.mp4'
    assert recording.stat().st_size > 1_000
    out = capsys.readouterr().out
    assert out.startswith('0 faults, 0 warnings, 0 notes; 5 episodes of ')
    # As long as the episode: until the far end, or the time limit.
    return_, steps = re.search(r'recorded: (\S+) in (\d+) steps', out).groups()
    assert (return_, int(steps) < 100) in [('1.0', True), ('0.0', False)]


def test_there_are_blocks():
  kinds = [kind for kind, _, _, _ in _BLOCKS]
  assert kinds.count('file') == 1 and kinds.count('run') >= 6
  # None is overlooked for a comment that is not understood.
  assert len(kinds) == len(re.findall(r'^```python$', _TEXT, re.MULTILINE))


def test_the_printed_report_is_the_one_shown(
    in_a_folder_with_the_files, capsys
):
  (code,) = [code for _, _, _, code in _BLOCKS if 'class Broken' in code]
  _run(code)
  shown = _TEXT.split('\nprints\n\n```\n')[1].split('\n```')[0]
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
  passed = sum(row[3] for row in table)
  text = ' '.join(_TEXT.split())
  assert f'it passes {passed} of {len(table)}; each is caught here.' in text


def test_links_and_files():
  anchors = {
      re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')
      for title in re.findall(r'^## (.+)$', _TEXT, re.MULTILINE)
  }
  links = re.findall(r'\]\(#([^)]+)\)', _TEXT)
  assert set(links) <= anchors and len(links) >= len(anchors)
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
  (code,) = [code for kind, _, _, code in _BLOCKS if kind == 'file']
  env = _run(code)['Corridor']()
  for seed in range(5):
    observation, _ = env.reset(seed=seed)
    start = int(np.argmax(observation))
    rewards = []
    terminated = False
    while not terminated:
      _, reward, terminated, _, info = env.step(1)
      rewards.append(reward)
    assert rewards == [0.0] * (8 - start) + [1.0] and info['is_success']


_CURIOSITY = source_tree.ROOT / 'docs' / 'curiosity.md'


def test_the_curiosity_of_the_page_counts_visits():
  (code,) = re.findall(
      r'^```python\n(import gin.*?)^```',
      _CURIOSITY.read_text(encoding='utf-8'),
      re.MULTILINE | re.DOTALL,
  )
  namespace = {}
  exec(compile(code, str(_CURIOSITY), 'exec'), namespace)
  counts = namespace['Counts'](None, None, cells_per_unit=10.0)
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
