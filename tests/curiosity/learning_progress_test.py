# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for LPM: against a list of errors, and on noise beside a skill."""

import gin
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents import curiosity
from rnd_agents import errors
from tests.curiosity import random_rollouts

of_trajectory = curiosity.Transitions.of_trajectory


def _rollouts(seed):
  return map(of_trajectory, random_rollouts.cut(random_rollouts.rows(seed)))


@pytest.mark.parametrize('pays_progress', [True, False])
def test_bonus_and_loss_equal_a_list_of_errors(pays_progress):
  tf.keras.utils.set_random_seed(0)
  gin.bind_parameter('LearningProgress.pays_progress', pays_progress)
  gin.bind_parameter('LearningProgress.eta', 0.5)
  gin.bind_parameter('LearningProgress.queue_size', 40)
  lpm = curiosity.create_lpm(*random_rollouts.SPECS)
  update = tf.function(lpm.update_statistics, autograph=False)
  sign = 1 if pays_progress else -1
  queue = []  # (observation, action, error), as of its time.
  for transitions in _rollouts(0):
    error = lpm.error.bonus(transitions).numpy()
    bonus = lpm.bonus(transitions).numpy()
    logs = np.log([e for *_, e in queue[-40:]] or [1])
    for b, t, _, place, _ in random_rollouts.by_environment(transitions):
      expected = error[b, t]
      if queue:
        output = _h(lpm, place, transitions.action[b, t])
        expected = np.exp(logs.mean() + (logs.std() + 1e-3) * output)
      np.testing.assert_allclose(
          bonus[b, t], sign * (0.5 * expected - error[b, t]), rtol=1e-3
      )
    rows = sorted(
        random_rollouts.by_environment(transitions), key=lambda row: row[1::-1]
    )
    queue += [
        (place, transitions.action[b, t].numpy(), error[b, t])
        for b, t, _, place, _ in rows
    ]
    update(transitions)
    held = min(len(queue), 40)
    np.testing.assert_allclose(
        np.sort(lpm._queue._log_errors[:held]),
        np.sort(np.log([e for *_, e in queue[-40:]])),
        rtol=1e-4,
    )
  assert len(queue) > 60
  # Of a long minibatch, each entry is a like share.
  flat = transitions.flatten()
  many = tf.nest.map_structure(
      lambda x: None if x is None else tf.repeat(x, 200, axis=0), flat
  )
  own = lpm.loss(many) - lpm.error.loss(many)
  logs = np.log([e for *_, e in queue[-40:]])
  wanted = [
      (_h(lpm, place, action) - (np.log(e) - logs.mean()) / (logs.std() + 1e-3))
      ** 2
      for place, action, e in queue[-40:]
  ]
  np.testing.assert_allclose(own, np.mean(wanted), rtol=0.1)


def _h(lpm, place, action):
  """Output of h; whitened as now, which these rollouts hardly change."""
  features, _ = lpm._features(lpm._seen.whiten(place[np.newaxis]))
  inputs = np.append(features.numpy()[0], np.eye(3)[int(action)])
  return lpm._layers(inputs[np.newaxis].astype(np.float32)).numpy()[0, 0]


def test_noise_stops_paying_and_a_skill_pays_while_it_is_learned():
  """One action shows noise, the other a world that can be predicted.

  ICM's forward model is the error, on features that do not learn.
  """
  tf.keras.utils.set_random_seed(0)
  gin.bind_parameter('IntrinsicCuriosityModule.forward_loss_share', 1.0)
  gin.bind_parameter('LearningProgress.queue_size', 1_000)
  lpm = curiosity.create_lpm(*random_rollouts.SPECS, curiosity.create_icm)
  frozen = {v.ref() for v in lpm.error.model.trainable_variables}
  variables = [v for v in lpm.trainable_variables if v.ref() not in frozen]
  optimizer = tf.keras.optimizers.legacy.Adam(3e-3)
  rng = np.random.default_rng(0)

  @tf.function(autograph=False)
  def step(flat):
    with tf.GradientTape() as tape:
      loss = lpm.loss(flat)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

  paid, error = [], []
  for _ in range(25):
    observation = rng.normal(size=[8, 17, 3]).astype(np.float32)
    action = rng.integers(2, size=[8, 16])
    is_noise = action == 0
    following = np.where(
        is_noise[..., np.newaxis],
        rng.normal(size=[8, 16, 3]),
        -observation[:, :-1],
    ).astype(np.float32)
    transitions = curiosity.Transitions(
        tf.constant(following),
        tf.ones([8, 16], tf.bool),
        tf.constant(observation[:, :-1]),
        tf.constant(action),
        tf.ones([8, 16], tf.bool),  # So that rows need not follow each other.
    )._replace(is_first=tf.ones([8, 16], tf.bool))
    flat = transitions.flatten()
    bonus, e = lpm.bonus(flat).numpy(), lpm.error.bonus(flat).numpy()
    noise = is_noise.reshape(-1)
    paid.append((bonus[noise].mean(), bonus[~noise].mean()))
    error.append((e[noise].mean(), e[~noise].mean()))
    lpm.update_statistics(flat)
    for _ in range(8):
      step(flat)
  (noise, skill), (noise_error, skill_error) = np.array(paid).T, error[-1]
  assert noise_error > 5 * skill_error  # What ICM alone would pay.
  # While it is learned the skill pays most. Noise pays less than nothing: the
  # exponential of the mean of logs is below the mean.
  assert skill[4:15].mean() > 0 > noise[4:15].mean()
  assert -0.5 * noise_error < noise[-5:].mean() < 0


@pytest.mark.parametrize(
    ('error_fn', 'word'),
    [
        (curiosity.create_e3b, 'LearningProgress.error'),  # By the episode.
        (curiosity.create_counts, 'CountBonus'),
        (
            lambda *specs: curiosity.Product(
                [curiosity.create_rnd(*specs), curiosity.create_counts(*specs)]
            ),
            'CountBonus',
        ),
    ],
)
def test_refuses_what_is_no_error_of_prediction(error_fn, word):
  with pytest.raises(errors.InvalidValue, match=word):
    curiosity.create_lpm(*random_rollouts.SPECS, error_fn)


def test_a_text_does_not_decide_what_is_paid():
  with pytest.raises(errors.InvalidType, match='Progress.pays_progress .*True'):
    curiosity.LearningProgress(
        random_rollouts.SPECS[0].observation,
        random_rollouts.SPECS[1],
        curiosity.create_rnd(*random_rollouts.SPECS),
        pays_progress='False',
    )
