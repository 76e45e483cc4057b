# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ETD: against loops, and distances that are learned on a ring."""

import types

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents.agents import replay_agent
from rnd_agents.curiosity import temporal_distance
from tests.curiosity import random_rollouts

of_trajectory = curiosity.Transitions.of_trajectory


def _distance(x, y):
  (x1, x2), (y1, y2) = np.split(x, 2), np.split(y, 2)
  return max(0, (x1 - y1).max()) + np.sqrt(((x2 - y2) ** 2).sum())


@pytest.fixture
def etd():
  tf.keras.utils.set_random_seed(0)
  gin.bind_parameter('TemporalDistance.num_features', 6)
  gin.bind_parameter('TemporalDistance.num_pairs', 5)
  gin.bind_parameter('TemporalDistance.max_rows', 4)
  return curiosity.create_etd(*random_rollouts.SPECS)


@pytest.mark.parametrize('in_graph', [False, True])
def test_bonus_is_the_distance_to_the_nearest_of_the_episode(etd, in_graph):
  bonus_of, update = etd.bonus, etd.update_statistics
  if in_graph:
    bonus_of, update = (
        tf.function(x, autograph=False) for x in (bonus_of, update)
    )

  def features(place):
    return etd._features(place[np.newaxis]).numpy()[0].astype(np.float64)

  remembered = {}
  for rollout in random_rollouts.cut(random_rollouts.rows(5)):
    transitions = of_trajectory(rollout)
    bonus = bonus_of(transitions).numpy()
    within = {b: [] for b in range(len(bonus))}  # Of this rollout.
    for b, t, begins, place, following in random_rollouts.by_environment(
        transitions
    ):
      if begins:
        remembered[b], within[b] = [], [features(place)]
      y = features(following)
      expected = min(_distance(x, y) for x in remembered[b] + within[b])
      np.testing.assert_allclose(bonus[b, t], expected, rtol=1e-3, atol=1e-5)
      within[b].append(y)
    for b, rows in within.items():
      remembered[b] = (remembered[b] + rows)[-4:]
    update(transitions)


def test_loss_contrasts_pairs_that_are_spread(etd):
  (rollout, *_) = random_rollouts.cut(random_rollouts.rows(6))
  transitions = of_trajectory(rollout)
  after = etd.constants(transitions)
  flat = transitions.flatten()
  weights = np.random.default_rng(0).integers(3, size=flat.valid.shape) / 2
  loss = etd.loss(flat, weights, curiosity.Transitions(after).flatten()[0])
  used = np.where(flat.valid & (weights > 0))[0]
  rows = used[[len(used) * i // 5 for i in range(5)]]
  assert rows[-1] > used[4]
  x = etd._features(flat.observation).numpy()[rows]
  y = etd._features(after).numpy().reshape(-1, 6)[rows]
  c = etd._potential(y).numpy()[:, 0]
  logits = np.array(
      [[c[j] - _distance(x[i], y[j]) for j in range(5)] for i in range(5)]
  )

  def log_softmax(z):
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))

  errors = -np.diag(log_softmax(logits)) - np.diag(log_softmax(logits.T))
  np.testing.assert_allclose(loss, np.mean(errors * weights[rows]), rtol=1e-4)


def test_each_replayed_sequence_is_learned_from(etd):
  transitions = of_trajectory(random_rollouts.rows(9))
  flat = transitions.flatten()
  num_environments, length = transitions.valid.shape

  def changed(b):
    factor = np.ones([num_environments, length, 1], np.float32)
    factor[b] = 1.5
    observation = flat.observation * np.reshape(factor, [-1, 1])
    return flat._replace(observation=observation)

  after = etd.constants(transitions)
  after = curiosity.Transitions(after).flatten()[0]
  before = etd.loss(flat, constants=after)
  for b in range(num_environments):
    assert abs(etd.loss(changed(b), constants=after) - before) > 1e-4


def test_without_a_valid_pair_nothing_is_learned(etd):
  flat = of_trajectory(random_rollouts.rows(9)).flatten()
  nothing = flat._replace(valid=tf.zeros_like(flat.valid))
  variables = list(etd.trainable_variables)
  with tf.GradientTape() as tape:
    loss = etd.loss(nothing, constants=flat.next_observation)
  gradients = tape.gradient(
      loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
  )
  assert loss == 0 and not any(np.any(each) for each in gradients)


def test_pairs_are_of_one_episode(etd):
  """Observations count the steps of their episode, and name it."""
  rows = random_rollouts.rows(7, num_rows=60)
  number = np.cumsum(rows.step_type == 0, axis=1) * 1000
  place = number + np.arange(60) + np.arange(4)[:, np.newaxis] * 10**5
  observation = tf.repeat(tf.cast(place, tf.float32)[..., tf.newaxis], 3, -1)
  transitions = of_trajectory(rows.replace(observation=observation))
  differences = []
  for _ in range(20):
    after = etd.constants(transitions)
    steps = (after - transitions.observation).numpy()[..., 0]
    differences.append(steps[transitions.valid.numpy()])
  differences = np.array(differences)
  assert differences.min() == 1
  assert differences.max() < 60  # Another episode is 1,000 away.
  left = temporal_distance.num_steps_left(
      transitions.valid, transitions.is_first
  ).numpy()
  longest = differences.max(axis=0)
  assert (longest <= left[transitions.valid.numpy()]).all()
  assert (longest == left[transitions.valid.numpy()]).mean() > 0.5


def test_replayed_sequences_are_pairs_of_more_than_one_step(etd):
  rows = random_rollouts.rows(8)
  agent = types.SimpleNamespace(_curiosity=etd)
  replayed = replay_agent.ReplayAgent._replayed_transitions(agent, rows)
  transitions, after = replayed
  valid = transitions.valid.numpy()
  differs = (after != transitions.next_observation).numpy().any(axis=-1)
  assert differs[valid].mean() > 0.3


def test_steps_are_geometric_up_to_the_end():
  draws = (np.arange(100_000) + 0.5) / 100_000
  for maximum in (1, 5, 200):
    steps = temporal_distance.truncated_geometric(
        tf.constant(draws, tf.float32), tf.fill([100_000], maximum), 0.9
    ).numpy()
    wanted = 0.9 ** np.arange(1, maximum + 1)
    shares = np.bincount(steps, minlength=maximum + 1)[1:] / 100_000
    np.testing.assert_allclose(shares, wanted / wanted.sum(), atol=2e-4)
  none = temporal_distance.truncated_geometric(0.5, tf.constant(0), 0.9)
  assert none == 0


def test_learns_how_far_two_places_of_a_ring_are():
  """A walk goes around a ring of 12 places: near ones are few steps away."""
  tf.keras.utils.set_random_seed(0)
  gin.bind_parameter('TemporalDistance.pair_discount_factor', 0.7)
  etd = curiosity.TemporalDistance(tf.TensorSpec([12], tf.float32))
  optimizer = tf.keras.optimizers.legacy.Adam(3e-3)
  variables = etd.trainable_variables

  @tf.function(autograph=False)
  def step(transitions):
    constants = curiosity.Transitions(etd.constants(transitions)).flatten()[0]
    with tf.GradientTape() as tape:
      loss = etd.loss(transitions.flatten(), constants=constants)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

  rng = np.random.default_rng(0)
  for _ in range(150):
    places = (rng.integers(12, size=[16, 1]) + np.arange(17)) % 12
    rows = tf.one_hot(places, 12)
    true = tf.ones([16, 16], tf.bool)
    step(
        curiosity.Transitions(
            rows[:, 1:], true, rows[:, :-1], tf.zeros([16, 16]), ~true
        )
    )
  features = etd._features(tf.eye(12))
  distances = temporal_distance.distances(features, features).numpy().T
  by_steps = [
      np.mean([distances[i, (i + k) % 12] for i in range(12)])
      for k in range(1, 9)
  ]
  assert (np.diff(by_steps[:6]) > 0).all()
  # The ring has a direction: one step back is far.
  backwards = np.mean([distances[i, (i - 1) % 12] for i in range(12)])
  assert backwards > 2 * by_steps[0]
