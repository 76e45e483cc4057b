# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learning curves with confidence intervals, from the files of runs.

Needs numpy, absl and, to draw, matplotlib, so that it starts fast and runs on a
machine without TensorFlow.
"""
