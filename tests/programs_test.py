# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for programs."""

import importlib
import os
import subprocess
import sys

from absl import app
import pytest

from rnd_agents import errors
from rnd_agents import programs

_PROGRAM = """
import atexit
from rnd_agents import programs

class Graph:  # It refers to itself, as graphs do.
  def __init__(self):
    self.graph = self
    self.log = open('log.txt', 'w')  # Nobody closes it.
  def __del__(self):
    print('taken apart')

kept = Graph()

def main(argv):
  atexit.register(print, 'at exit')
  kept.log.write('logged')
  return 3

programs.run_program(main)
"""


def test_a_program_ends_without_taking_graphs_apart(tmp_path):
  path = tmp_path / 'program.py'
  path.write_text(_PROGRAM, encoding='utf-8')
  result = subprocess.run(
      [sys.executable, path],
      cwd=tmp_path,
      capture_output=True,
      text=True,
      check=False,
  )
  assert (result.returncode, result.stderr) == (3, '')
  assert result.stdout == 'at exit\n'
  assert (tmp_path / 'log.txt').read_text(encoding='utf-8') == 'logged'


def _failing(error):
  @programs.explaining('tool', FileNotFoundError, status=2)
  def main(argv):
    """Fails."""
    assert argv == ['tool']
    raise error

  return main


@pytest.mark.parametrize(
    ('error', 'message'),
    [
        (errors.InvalidValue('a must be 1.'), 'tool: a must be 1.\n'),
        (
            errors.GinError("no 'b'.\n  In call to configurable 'c'"),
            "tool: no 'b'.\n",
        ),
        (
            FileNotFoundError(2, 'Not found', 'd'),
            "tool: [Errno 2] Not found: 'd'\n",
        ),
    ],
)
def test_errors_of_the_user_are_one_sentence(error, message, capsys):
  main = _failing(error)
  assert main(['tool']) == 2
  assert capsys.readouterr() == ('', message)
  assert main.__doc__ == 'Fails.'


@pytest.mark.parametrize('error', [ValueError('ours'), PermissionError('ours')])
def test_other_errors_keep_their_traceback(error):
  with pytest.raises(type(error), match='ours'):
    _failing(error)(['tool'])


@pytest.mark.parametrize(
    'name',
    [
        'collect_demos', 'evaluate', 'explore', 'share', 'sweep', 'train_eval',
        'tune',
    ],
)  # yapf: disable
def test_words_that_are_not_flags_are_refused(name, monkeypatch):
  monkeypatch.setenv('TF_CPP_MIN_LOG_LEVEL', '')  # So that it comes back.
  monkeypatch.delenv('TF_CPP_MIN_LOG_LEVEL')
  program = importlib.import_module(f'train.{name}')
  with pytest.raises(app.UsageError, match='^Not a flag: --x y$'):
    program.main([name, '--x', 'y'], None)
  assert 'TF_CPP_MIN_LOG_LEVEL' not in os.environ
  programs.begin([name])
  assert os.environ['TF_CPP_MIN_LOG_LEVEL'] == '3'


def test_a_log_level_that_the_user_sets_stays(monkeypatch):
  monkeypatch.setenv('TF_CPP_MIN_LOG_LEVEL', '0')
  programs.begin(['train_eval'])
  assert os.environ['TF_CPP_MIN_LOG_LEVEL'] == '0'
