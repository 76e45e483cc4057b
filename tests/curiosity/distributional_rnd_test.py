# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for DRND, against a loop over its targets."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from tests.curiosity import random_rollouts


@pytest.fixture
def drnd():
  tf.keras.utils.set_random_seed(0)
  return curiosity.create_drnd(*random_rollouts.SPECS, num_targets=3)


def _transitions(seed):
  (rollout, *_) = random_rollouts.cut(random_rollouts.rows(seed))
  return curiosity.Transitions.of_trajectory(rollout)


def _outputs(drnd, place):
  """(prediction [F], targets [N, F]) for one observation, in float64."""
  whitened = drnd.seen.whiten(tf.constant(place[np.newaxis]))
  nets = [drnd.rnd_network, *drnd.target_rnd_networks]
  prediction, *targets = (
      net(whitened)[0].numpy()[0].astype(np.float64) for net in nets
  )
  return prediction, np.array(targets)


@pytest.mark.parametrize('in_graph', [False, True])
def test_bonus_equals_a_loop(drnd, in_graph):
  drnd.update_statistics(_transitions(1))  # Whitens.
  transitions = _transitions(0)
  bonus_of = drnd.bonus
  if in_graph:
    bonus_of = tf.function(bonus_of, autograph=False)
  bonus = bonus_of(transitions).numpy()
  for b, t, _, _, place in random_rollouts.by_environment(transitions):
    prediction, targets = _outputs(drnd, place)
    wanted = 0.0
    for j, f in enumerate(prediction):
      mu = targets[:, j].mean()
      spread = (targets[:, j] ** 2).mean() - mu**2
      share = min(max(abs(f**2 - mu**2) / spread, 1e-6), 1.0)
      wanted += 0.95 * (f - mu) ** 2 + 0.05 * np.sqrt(share)
    np.testing.assert_allclose(bonus[b, t], wanted, rtol=1e-3)
  flat = transitions.flatten()
  np.testing.assert_allclose(
      drnd.bonus(flat, drnd.constants(flat)), bonus.reshape(-1), rtol=1e-5
  )


def test_each_visit_draws_a_target_and_the_loss_is_its_error(drnd):
  transitions = _transitions(0).flatten()
  drawn = set()
  for _ in range(2):
    constants = drnd.constants(transitions)
    loss = drnd.loss(transitions, constants=constants).numpy()
    squares = []
    for i in np.where(transitions.valid)[0]:
      prediction, targets = _outputs(
          drnd, transitions.next_observation[i].numpy()
      )
      distances = np.abs(targets - constants.drawn[i]).max(axis=-1)
      drawn.add((i, int(distances.argmin())))
      assert distances.min() < 1e-5
      squares.append(np.mean((prediction - constants.drawn[i]) ** 2))
    np.testing.assert_allclose(loss, np.mean(squares), rtol=1e-4)
  assert {n for _, n in drawn} == {0, 1, 2}
  assert len(drawn) > len(squares)  # Not the same ones the second time.


def test_the_bonus_of_a_mean_of_n_draws_falls_with_n(drnd):
  """What the second term is for: it counts visits of what is known."""
  place = _transitions(0).next_observation[0, 0].numpy()
  _, targets = _outputs(drnd, place)
  rng = np.random.default_rng(0)
  terms = []
  for n in (1, 4, 16, 64):
    draws = rng.integers(3, size=[2000, n])
    f = targets[draws].mean(axis=1)  # [2000, F].
    mu, square = targets.mean(axis=0), (targets**2).mean(axis=0)
    # (B - mu^2) / n, the claim of the class, in the mean over predictors.
    terms.append(np.mean((f**2 - mu**2) / (square - mu**2)))
  np.testing.assert_allclose(terms, [1, 1 / 4, 1 / 16, 1 / 64], atol=0.05)


def test_refuses_targets_without_a_spread(drnd):
  net, target = drnd.rnd_network, drnd.target_rnd_networks[0]
  spec = random_rollouts.OBSERVATION_SPEC
  for targets in ([target], [target, target]):
    with pytest.raises(errors.InvalidValue, match='2 target networks'):
      curiosity.DistributionalRND(spec, net, targets)
