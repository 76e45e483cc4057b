# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What programs do before TensorFlow loads: `--help`, and oneDNN on."""

import os
import platform
import re
import subprocess
import sys

from absl import flags
import pytest

from rnd_agents import programs
from rnd_agents.plotting import __main__ as plotting
from tests import source_tree
from train import collect_demos
from train import evaluate
from train import explore
from train import share
from train import sweep
from train import train_eval
from train import tune


def _names(program):
  values = flags.FlagValues()
  program.define_flags(values)
  return sorted(values)


@pytest.mark.parametrize(('module', 'names'), [
    ('train.train_eval', _names(train_eval)),
    ('train.explore', _names(explore)),
    ('train.evaluate', _names(evaluate)),
    ('train.collect_demos', _names(collect_demos)),
    ('train.share', _names(share)),
    ('train.sweep', _names(sweep)),
    ('train.tune', _names(tune)),
    ('rnd_agents.plotting', _names(plotting)),
])
def test_help(tmp_path, module, names):
  # Installed commands and sweeps start programs so, wherever they are.
  (tmp_path / 'train.py').write_text('raise SystemExit("not ours")')
  start = programs.command(module)
  if module == 'rnd_agents.plotting':
    start = (sys.executable, '-m', module)
  result = subprocess.run(
      [start[0], '-X', 'importtime', *start[1:], '--help'],
      cwd=tmp_path,
      env=dict(os.environ, PYTHONPATH=str(source_tree.ROOT)),
      capture_output=True,
      text=True,
      check=False,
      timeout=60,
  )
  text, _, listed = result.stdout.partition('\nflags:\n')
  assert module in text
  found = re.findall(r'^  --(?:\[no\])?([\w-]+):', listed, re.MULTILINE)
  assert sorted(found) == names
  assert len(names) >= 4
  imported = {line.split()[-1] for line in result.stderr.splitlines()}
  assert 'absl.flags' in imported
  assert not imported & {'tensorflow', 'tf_agents', 'gymnasium'}


_TELL = (
    'import sys, train, os;'
    ' print("tensorflow" in sys.modules,'
    ' os.environ.get("TF_ENABLE_ONEDNN_OPTS"))'
)


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='oneDNN of x86.')
@pytest.mark.parametrize(('given', 'used'), [(None, '1'), ('0', '0')])
def test_a_setting_of_the_user_wins(given, used):
  environ = dict(os.environ)
  environ.pop('TF_ENABLE_ONEDNN_OPTS', None)
  if given is not None:
    environ['TF_ENABLE_ONEDNN_OPTS'] = given
  output = subprocess.run(
      [sys.executable, '-c', _TELL],
      env=environ,
      capture_output=True,
      text=True,
      check=True,
  ).stdout
  assert output.split() == ['False', used]
