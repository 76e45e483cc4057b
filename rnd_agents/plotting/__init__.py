# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws learning curves with confidence intervals from the files of runs.

It needs NumPy, absl and, for drawing, matplotlib, so that it starts fast and
runs on a machine without TensorFlow.
"""
