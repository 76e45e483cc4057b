# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for curiosities made of others, against their parts."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from tests.curiosity import random_rollouts


class Mean(curiosity.Curiosity):
  """Pays the mean of the next observation's squares, times a variable."""

  def __init__(self, factor):
    super().__init__(discount_factor=0.9)
    self._factor = tf.Variable(factor)
    self.num_rollouts = 0

  @property
  def trainable_variables(self):
    return (self._factor,)

  def bonus(self, transitions, constants=None):
    squares = tf.reduce_mean(tf.square(transitions.next_observation), -1)
    return self._factor * squares

  def constants(self, transitions):
    return tf.ones(tf.shape(transitions.is_first))

  def loss(self, transitions, weights=None, constants=None):
    return self._factor * tf.reduce_sum(constants)

  def update_statistics(self, transitions):
    self.num_rollouts += 1


class Squared(Mean):
  """Pays factor times the square of the mean of squares."""

  def bonus(self, transitions, constants=None):
    squares = tf.reduce_mean(tf.square(transitions.next_observation), -1)
    return self._factor * tf.square(squares)


def _rollouts():
  rows = random_rollouts.rows(0)
  return [
      curiosity.Transitions.of_trajectory(rollout)
      for rollout in random_rollouts.cut(rows)
  ]


def _squares(transitions):
  return np.square(transitions.next_observation).mean(axis=-1)


def test_product():
  parts = [Mean(2.0), Mean(3.0)]
  product = curiosity.Product(parts)
  transitions = _rollouts()[0]
  np.testing.assert_allclose(
      product.bonus(transitions), 6 * _squares(transitions) ** 2, rtol=1e-5
  )
  flat = transitions.flatten()
  num = flat.is_first.shape[0]
  assert product.loss(flat, constants=product.constants(flat)) == 5 * num
  assert product.trainable_variables == [part._factor for part in parts]
  product.update_statistics(transitions)
  assert [part.num_rollouts for part in parts] == [1, 1]


def test_sum_divides_each_part_by_its_own_scale():
  parts = [Mean(2.0), Mean(500.0)]
  alone = [Mean(2.0), Mean(500.0)]
  both = curiosity.Sum(parts, weights=[1.0, 0.25])
  for transitions in _rollouts():
    bonus = both.bonus(transitions)
    both.update_return_statistics(bonus, transitions.valid)
    wanted = 0
    for module, weight in zip(alone, (1.0, 0.25), strict=True):
      raw = module.bonus(transitions)
      module.update_return_statistics(raw, transitions.valid)
      wanted += weight * module.normalize_bonus(raw)
    np.testing.assert_allclose(both.normalize_bonus(bonus), wanted, rtol=1e-6)
  # The scales cancel, so that both parts count.
  np.testing.assert_allclose(
      both.normalize_bonus(bonus),
      1.25 * alone[0].normalize_bonus(alone[0].bonus(transitions)),
      rtol=1e-4,
  )


def test_sum_in_replayed_experience():
  both = curiosity.Sum([Mean(1.0), Mean(4.0)])
  alone = Mean(1.0)
  for transitions in _rollouts():
    for t in range(transitions.is_first.shape[1]):
      step = tf.nest.map_structure(
          lambda x, t=t: None if x is None else x[:, t], transitions
      )
      both.watch(step)
      alone.watch(step)
  flat = transitions.flatten()._replace(episodic=((), ()))
  np.testing.assert_allclose(
      both.rewards(flat), 2 * alone.rewards(flat), rtol=1e-5
  )


def _by_row(watcher, transitions):
  """Shows transitions [B, T] to a curiosity, one of each environment a time."""
  for t in range(transitions.is_first.shape[1]):
    watcher.watch(
        tf.nest.map_structure(
            lambda x, t=t: None if x is None else x[:, t], transitions
        )
    )


@pytest.mark.parametrize('num_environments', [1, 3])
@pytest.mark.parametrize('first_visits_only', [False, True])
def test_a_product_in_novel_d_in_replayed_experience(
    num_environments, first_visits_only
):
  def novel_d(novelty):
    return curiosity.NovelD(novelty, first_visits_only=first_visits_only)

  made = novel_d(curiosity.Product([Mean(2.0), Mean(3.0)]))
  alone = novel_d(Squared(6.0))
  for transitions in _rollouts():
    rows = tf.nest.map_structure(
        lambda x: None if x is None else x[:num_environments], transitions
    )
    _by_row(made, rows)
    _by_row(alone, rows)
  flat = rows.flatten()
  if first_visits_only:
    flat = flat._replace(episodic=tf.ones_like(flat.is_first, tf.float32))
  np.testing.assert_allclose(made.rewards(flat), alone.rewards(flat), rtol=1e-5)


@pytest.mark.parametrize('in_graph', [False, True])
def test_bounded_factor(in_graph):
  factor = curiosity.BoundedFactor(Mean(1.0), bound=1.5)
  run = tf.function if in_graph else lambda function: function
  bonus_of, update = run(factor.bonus), run(factor.update_statistics)
  seen = []
  for transitions in _rollouts():
    update(transitions)
    seen.append(_squares(transitions)[transitions.valid.numpy()])
    bonus = _squares(transitions)
    mean, deviation = np.concatenate(seen).mean(), np.concatenate(seen).std()
    wanted = np.clip(1 + (bonus - mean) / deviation, 1, 1.5)
    np.testing.assert_allclose(bonus_of(transitions), wanted, rtol=1e-3)
  assert {1.0, 1.5} < set(np.round(wanted.ravel(), 6))


def _sum():
  return curiosity.Sum([Mean(1.0), Mean(2.0)])


@pytest.mark.parametrize(
    'make, message',
    [
        (lambda: curiosity.Sum([Mean(1.0)], weights=[1, 2]), '1 numbers'),
        (lambda: curiosity.Sum([Mean(1.0)], weights=2.0), '1 numbers.*got 2.0'),
        (lambda: curiosity.Product([None]), 'NoneType'),
        (lambda: curiosity.Product([Mean(1.0), _sum()]), 'Product.*a Sum has'),
        (lambda: curiosity.Sum([_sum()]), 'Sum.*a Sum has'),
        (lambda: curiosity.BoundedFactor(_sum()), 'BoundedFactor.*a Sum has'),
        (lambda: curiosity.NovelD(_sum()), 'NovelD.*a Sum has'),
        (lambda: curiosity.BoundedFactor(Mean(1.0), bound=1), 'above 1'),
        (lambda: curiosity.create_sum(None, None, ()), 'list of functions'),
        (
            lambda: curiosity.create_product(None, None, curiosity.create_rnd),
            'create_product.curiosity_fns',
        ),
    ],
)
def test_bad_arguments(make, message):
  with pytest.raises(errors.UserError, match=message):
    make()
