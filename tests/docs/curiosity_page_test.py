# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the curiosity that docs/curiosity.md shows."""

import re

import numpy as np
import tensorflow as tf

from rnd_agents import curiosity
from tests import source_tree

_PAGE = source_tree.ROOT / 'docs' / 'curiosity.md'


def test_the_curiosity_of_the_page_counts_visits():
  (code,) = re.findall(
      r'^```python\n(import gin.*?)^```',
      _PAGE.read_text(encoding='utf-8'),
      re.MULTILINE | re.DOTALL,
  )
  namespace = {}
  exec(compile(code, str(_PAGE), 'exec'), namespace)
  counts = namespace['Counts'](None, None, cells_per_unit=10.0)
  # Of the first cell three, one of them not valid; of the second one.
  positions = [[0.1, 0.2], [0.11, 0.19], [0.1, 0.2], [-0.5, 0.2]]
  transitions = curiosity.Transitions(
      next_observation=tf.constant([positions]),
      valid=tf.constant([[True, True, False, True]]),
  )
  np.testing.assert_allclose(counts.bonus(transitions), np.ones([1, 4]))
  counts.update_statistics(transitions)
  expected = [[1 / 3**0.5, 1 / 3**0.5, 1 / 3**0.5, 1 / 2**0.5]]
  np.testing.assert_allclose(counts.bonus(transitions), expected, rtol=1e-6)
