# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests the labels of Crafter's pictures against what actions do."""

import numpy as np
import pytest

pytest.importorskip('crafter')

from benchmarks import crafter_pictures
from rnd_agents.tasks import crafter

_SAPLING, _WOOD = 4, 5  # Of the items.


def test_labels_say_what_the_next_action_changes():
  env = crafter.Crafter()
  do, place = map(env.action_names.index, ('do', 'place_plant'))
  env.reset(seed=3)
  rng = np.random.default_rng(0)
  wood, saplings, placed = set(), set(), set()
  for _ in range(2000):
    action = rng.choice([1, 2, 3, 4, do, do, do, place])
    told = (action, crafter_pictures.facing(env))
    counts = crafter_pictures.item_counts(env)
    _, _, terminated, truncated, _ = env.step(action)
    change = crafter_pictures.item_counts(env) - counts
    if change[_WOOD] > 0:
      wood.add(told)
    if change[_SAPLING] > 0:
      saplings.add(told)
    if change[_SAPLING] < 0:
      placed.add(told)
    if terminated or truncated:
      env.reset()
  assert wood == {(do, 'tree')}
  assert saplings == {(do, 'grass')}
  assert placed == {(place, 'grass')}
