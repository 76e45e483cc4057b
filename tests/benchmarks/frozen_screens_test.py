# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/frozen_screens.py counts."""

import numpy as np

from benchmarks import frozen_screens


def test_repeats_of_the_same_environment_only():
  # Two environments; screens of two pixels.
  screens = np.array(
      [
          [[[1, 2]], [[5, 5]]],
          [[[1, 2]], [[1, 2]]],
          [[[1, 3]], [[1, 2]]],
          [[[1, 3]], [[5, 5]]],
      ]
  )
  np.testing.assert_array_equal(
      frozen_screens.repeats(screens),
      [[False, False], [True, False], [False, True], [True, False]],
  )


def test_a_death_takes_the_repeats_that_end_with_it():
  same = np.array([0, 1, 1, 0, 1, 1, 0, 1, 1, 0], bool)[:, None]
  deaths = np.array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0], bool)[:, None]
  np.testing.assert_array_equal(
      frozen_screens.stands_still_before(same, deaths)[:, 0],
      np.array([0, 0, 0, 0, 1, 1, 0, 0, 0, 0], bool),
  )


def test_a_death_on_a_repeat_takes_none_after_it():
  same = np.array([0, 1, 1, 1, 1], bool)[:, None]
  deaths = np.array([0, 0, 1, 0, 0], bool)[:, None]
  # The step of the death shows the old screen, and is not of those before it.
  np.testing.assert_array_equal(
      frozen_screens.stands_still_before(same, deaths)[:, 0],
      np.array([0, 1, 0, 0, 0], bool),
  )
