# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for bonuses by counts, against a dictionary."""

import collections

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from tests.curiosity import random_rollouts


@pytest.fixture(autouse=True)
def _settings():
  gin.bind_parameter('CountBonus.exponent', 0.75)
  gin.bind_parameter('CountBonus.num_buckets', 1000)


@pytest.mark.parametrize('by_sign', [False, True])
def test_equals_a_dictionary_of_visits(by_sign):
  if by_sign:
    gin.bind_parameter('CountBonus.key_fn', lambda x: x > 0)
  counts = curiosity.create_counts(*random_rollouts.SPECS)
  update = tf.function(counts.update_statistics, autograph=False)
  visits = collections.Counter()
  for rollout in random_rollouts.cut(random_rollouts.rows(0)):
    transitions = curiosity.Transitions.of_trajectory(rollout)
    bonus = counts.bonus(transitions).numpy()
    np.testing.assert_array_equal(
        counts.bonus(transitions.flatten()), bonus.reshape(-1)
    )
    keys = {
        (b, t): tuple(place > 0 if by_sign else place)
        for b, t, _, _, place in random_rollouts.by_environment(transitions)
    }
    for (b, t), key in keys.items():
      np.testing.assert_allclose(
          bonus[b, t], (visits[key] + 1) ** -0.75, rtol=1e-6
      )
    visits.update(keys.values())
    update(transitions)
  assert min(visits.values()) > 5


def test_random_steps_before_training_are_not_visits():
  counts = curiosity.create_counts(*random_rollouts.SPECS)
  counts.update_observation_statistics(tf.zeros([4, 3]))
  bonus = counts.bonus(curiosity.Transitions(tf.zeros([1, 3])))
  np.testing.assert_array_equal(bonus, [1.0])


def test_refuses_an_exponent_of_0():
  gin.bind_parameter('CountBonus.exponent', 0.0)
  with pytest.raises(errors.InvalidValue, match='CountBonus.exponent'):
    curiosity.create_counts(*random_rollouts.SPECS)
