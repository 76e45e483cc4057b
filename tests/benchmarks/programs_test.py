# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests how benchmarks say what the user can repair."""

from absl.testing import flagsaver
import pytest

from benchmarks import maze_events
from benchmarks import programs


def test_a_missing_policy_is_one_sentence(tmp_path):
  folder = tmp_path / 'policy'
  with flagsaver.as_parsed(env='MiniGrid-Empty-5x5-v0', policy_dir=str(folder)):
    with pytest.raises(SystemExit, match=f'{folder} is not a directory'):
      programs.explaining(maze_events.main)(['maze_events'])


def test_a_fault_of_ours_keeps_its_traceback():
  def main(argv):
    return 1 / len(argv)

  with pytest.raises(ZeroDivisionError):
    programs.explaining(main)([])
