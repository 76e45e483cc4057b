# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests how benchmarks say what the user can repair."""

import pytest

from benchmarks import programs
from rnd_agents.evaluation import saved_policy


def test_a_missing_policy_is_one_sentence(tmp_path):
  # No benchmark that has flags: those of one process are all programs'.
  def main(argv):
    saved_policy.SavedPolicy(argv[1])

  folder = str(tmp_path / 'policy')
  with pytest.raises(SystemExit, match=f'{folder} is not a directory'):
    programs.explaining(main)(['program', folder])


def test_a_fault_of_ours_keeps_its_traceback():
  def main(argv):
    return 1 / len(argv)

  with pytest.raises(ZeroDivisionError):
    programs.explaining(main)([])
