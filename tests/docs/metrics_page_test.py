# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of docs/metrics.md literally."""

import sys
import types

from rnd_agents import run_files
from tests import tiny_runs
from tests.docs import pages


def test_the_callback_stops_the_run(tmp_path, monkeypatch):
  code, bindings = [
      block.code
      for block in pages.blocks('docs/metrics.md')
      if block.comment.get('file') or 'import my_module' in block.code
  ]
  module = types.ModuleType('my_module')
  monkeypatch.setitem(sys.modules, 'my_module', module)
  exec(code, vars(module))
  path = tmp_path / 'mine.gin'
  path.write_text(bindings)
  outcome = tiny_runs.train(
      tmp_path / 'run',
      64 * 5,
      'StopAtReturn.least_return = -1e9',
      settings=tiny_runs.PPO_SETTINGS,
      files=[str(path)],
  )
  assert not outcome.finished and outcome.env_steps < 64 * 5
  assert 'the return' in run_files.read_status(tmp_path / 'run')['message']
