# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Binaries turn oneDNN on before TensorFlow loads."""

import os
import platform
import subprocess
import sys

import pytest

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
