# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Binaries."""

import os
import platform

from train import streams

streams.open_closed()
# Before TensorFlow loads: by itself it leaves oneDNN off on CPUs without
# AVX512-VNNI, where convolutions take 1.4 to 2.4 times as long without it
# (docs/atari.md, "Speed"). A user's own setting wins.
if platform.machine() in ('x86_64', 'AMD64'):
  os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '1')
