# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights are drawn alike in every run, whichever tests ran before."""

import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def _same_weights():
  tf.random.set_seed(1)
