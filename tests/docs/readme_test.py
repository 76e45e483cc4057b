# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python code of README literally, in the folder of a run."""

import re
import subprocess
import sys

import pytest

from tests import source_tree
from tests import tiny_runs

_BLOCKS = re.findall(
    r'^```python\n(.*?)^```',
    (source_tree.ROOT / 'README.md').read_text(encoding='utf-8'),
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(name='folder', scope='module')
def _folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp('readme')
  tiny_runs.train(
      folder / 'runs/mountain_car/seed_0',
      128,
      "load_environment.env = 'MountainCar-v0'",
      'train_eval.save_policies = True',
  )
  return folder


def test_readme_runs(folder):
  code = '\n'.join(_BLOCKS)  # Each as a script would import TensorFlow again.
  ran = subprocess.run(
      [sys.executable, '-c', code], cwd=folder, capture_output=True, text=True
  )
  assert ran.returncode == 0, ran.stderr
  assert re.search(r'tf.Tensor\(\[[012]\], shape=\(1,\)', ran.stdout)
