# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for pictures on machines without a screen."""

import ctypes.util
import os
import subprocess
import sys

import pytest

from rnd_agents.environments import headless

# The exit status is all that is left of a process that a driver ends.
_DRAWS = """
import tensorflow
from rnd_agents.environments import loaders
environment = loaders.load_environment(
    'HalfCheetah-v5', 1, env_kwargs={'render_mode': 'rgb_array'}
)
environment.reset()
print('deviation', environment.render()[0].std())
"""


@pytest.mark.skipif(
    sys.platform != 'linux' or ctypes.util.find_library('EGL') is None,
    reason='without EGL nothing is drawn',
)
def test_mujoco_draws_beside_tensorflow():
  pytest.importorskip('mujoco')
  variables = {
      name: value
      for name, value in os.environ.items()
      if name not in ('DISPLAY', 'MUJOCO_GL')
  }
  result = subprocess.run(
      [sys.executable, '-c', _DRAWS],
      env=variables,
      capture_output=True,
      text=True,
      check=False,
  )
  assert result.returncode == 0, result.stderr[-2_000:]
  # A picture of one color has none.
  assert float(result.stdout.split()[-1]) > 10.0


@pytest.mark.parametrize(
    'platform, display, expected',
    [
        ('linux', None, 'egl'),
        ('linux', ':0', None),
        ('darwin', None, None),  # MuJoCo has no EGL there.
    ],
)
def test_mujoco_draws_with_egl_without_a_screen(
    monkeypatch, platform, display, expected
):
  for name in ('DISPLAY', 'MUJOCO_GL', 'SDL_AUDIODRIVER'):
    monkeypatch.setenv(name, '')  # So that it is restored.
    monkeypatch.delenv(name)
  if display is not None:
    monkeypatch.setenv('DISPLAY', display)
  monkeypatch.setattr(sys, 'platform', platform)
  headless.prepare()
  assert os.environ.get('MUJOCO_GL') == expected
  assert os.environ['SDL_AUDIODRIVER'] == 'dummy'


def test_variables_that_are_set_are_kept(monkeypatch):
  monkeypatch.delenv('DISPLAY', raising=False)
  monkeypatch.setenv('MUJOCO_GL', 'osmesa')
  monkeypatch.setenv('SDL_AUDIODRIVER', 'alsa')
  headless.prepare()
  assert os.environ['MUJOCO_GL'] == 'osmesa'
  assert os.environ['SDL_AUDIODRIVER'] == 'alsa'
