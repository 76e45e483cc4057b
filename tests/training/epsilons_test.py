# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""How often an agent acts at random."""

import numpy as np
import pytest

from rnd_agents.training import epsilons


@pytest.mark.parametrize(
    ('env_steps', 'expected'),
    [(0, 1.0), (2_500, 0.7625), (5_000, 0.525), (10_000, 0.05), (10**9, 0.05)],
)
def test_linear(env_steps, expected):
  np.testing.assert_allclose(
      epsilons.linear_epsilon(env_steps, 3), [expected] * 3, rtol=1e-6
  )


@pytest.mark.parametrize(
    ('env_steps', 'expected'),
    [(0, 0.95), (100_000, 0.381091), (500_000, 0.056064)],
)
def test_exponential(env_steps, expected):
  np.testing.assert_allclose(
      epsilons.exponential_epsilon(env_steps, 2), [expected] * 2, atol=1e-6
  )


def test_ladder_of_eight():
  expected = [
      0.4, 0.16, 0.064, 0.0256, 0.01024, 0.004096, 0.0016384, 0.00065536
  ]
  for env_steps in (0, 10**6):
    np.testing.assert_allclose(
        epsilons.ladder_epsilon(env_steps, 8), expected, rtol=1e-5
    )
