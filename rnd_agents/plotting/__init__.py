# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Learning curves with confidence intervals, from the files a run leaves.

Needs numpy and, to draw, matplotlib; nothing else of the project, so that it
starts fast and runs on a machine without TensorFlow.
"""
