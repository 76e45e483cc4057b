# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets environments draw pictures on machines without a screen."""

import contextlib
import ctypes
import functools
import glob
import os
import sys

# Where distributions keep the driver of Mesa that draws without a GPU, in
# versions before and after 24.2.
_MESA_DRIVERS = tuple(
    f'{folder}/{name}'
    for folder in ('/usr/lib/*-linux-gnu', '/usr/lib64', '/usr/lib')
    for name in ('dri/swrast_dri.so', 'libgallium-*.so')
)


def prepare() -> None:
  """Prepares this process for an environment that draws.

  A video has no sound, and MuJoCo draws with EGL where there is no screen.
  Variables of the environment that are set already are kept.
  """
  # pygame would look for a sound card and complain.
  os.environ.setdefault('SDL_AUDIODRIVER', 'dummy')
  if sys.platform != 'linux':
    return
  if 'DISPLAY' not in os.environ:
    os.environ.setdefault('MUJOCO_GL', 'egl')
  _load_mesa()


@functools.cache
def _load_mesa() -> None:
  """Loads Mesa's driver so that it calls the LLVM that it was built with.

  TensorFlow 2.21 shows all its symbols to libraries that are loaded after it,
  those of its own LLVM among them, and a driver that calls these ends the
  process at the first picture.
  """
  for pattern in _MESA_DRIVERS:
    for path in glob.glob(pattern):
      # The driver of another architecture cannot be loaded, nor is it used.
      with contextlib.suppress(OSError):
        ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_DEEPBIND)
