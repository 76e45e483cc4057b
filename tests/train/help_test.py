# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""`--help` of each program names its flags, without loading TensorFlow."""

import os
import re
import subprocess
import sys

from absl import flags
import pytest

from rnd_agents.plotting import __main__ as plotting
from tests import source_tree
from train import collect_demos
from train import evaluate
from train import explore
from train import sweep

_TRAINING_FLAGS = [
    'gin_bindings',
    'gin_file',
    'ray_address',
    'root_dir',
    'seed',
    'workers',
]


def _names(program):
  values = flags.FlagValues()
  program.define_flags(values)
  return sorted(values)


@pytest.mark.parametrize(('module', 'names'), [
    ('train.train_eval', _TRAINING_FLAGS),
    ('train.explore', _names(explore)),
    ('train.evaluate', _names(evaluate)),
    ('train.collect_demos', _names(collect_demos)),
    ('train.sweep', _names(sweep)),
    ('rnd_agents.plotting', _names(plotting)),
])
def test_help(tmp_path, module, names):
  result = subprocess.run(
      [sys.executable, '-X', 'importtime', '-m', module, '--help'],
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
