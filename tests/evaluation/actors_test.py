# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of actors that need no environment."""

import numpy as np

from rnd_agents.evaluation import actors


class _Counting:
  """Counts the steps since the beginning in its state."""

  def __init__(self):
    self.step_types = []

  def initial_state(self, batch_size):
    return np.zeros(batch_size, np.int64)

  def act(self, time_step, state, wanted=None):
    self.step_types.append(time_step.step_type.tolist())
    return time_step.observation[:, 0] + state, state + 10


def test_observations_alone_carry_the_state_until_reset():
  inner = _Counting()
  actor = actors.ObservationActor(inner)
  seen = np.array([[1], [2]])
  np.testing.assert_array_equal(actor(seen), [1, 2])
  np.testing.assert_array_equal(actor(seen), [11, 12])
  actor.reset()
  np.testing.assert_array_equal(actor(seen), [1, 2])
  assert inner.step_types == [[0, 0], [1, 1], [0, 0]]
