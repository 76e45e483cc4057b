# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The optimizers of the experiment with an unseen screen."""

import gin
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from benchmarks import surprise_agents
from rnd_agents import agents
from tests.agents import agent_test_utils


def test_clips_at_multiples_of_the_running_median():
  """Against Adam on gradients that a loop has clipped."""
  window, factor = 5, 3.0
  rng = np.random.default_rng(0)
  gradients = rng.standard_normal([30, 4]).astype(np.float32)
  gradients[[8, 20]] *= 1000
  norms, clipped, num_clipped = [np.inf] * window, [], 0
  for gradient in gradients:
    bound = factor * np.median(norms[-window:])
    norm = np.linalg.norm(gradient)
    num_clipped += norm > bound
    clipped.append(gradient * min(1.0, bound / norm))
    norms.append(norm)
  assert num_clipped == 2
  # Two variables: the norm is that of all.
  ours = [tf.Variable(tf.zeros([2])) for _ in range(2)]
  theirs = [tf.Variable(tf.zeros([2])) for _ in range(2)]
  optimizer = surprise_agents.RelativelyClippedAdam(0.1, factor, window)
  adam = tf.keras.optimizers.Adam(0.1)
  optimizer.build(ours)
  step = tf.function(
      lambda g: optimizer.apply_gradients(zip(tf.split(g, 2), ours))
  )
  for gradient, expected in zip(gradients, clipped):
    step(tf.constant(gradient))
    adam.apply_gradients(zip(tf.split(tf.constant(expected), 2), theirs))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def _optimizer(*bindings):
  gin.clear_config()
  gin.parse_config(bindings)
  try:
    agent = agents.create_rnd_ppo_agent(
        ts.time_step_spec(agent_test_utils.FLAT), agent_test_utils.DISCRETE
    )
  finally:
    gin.clear_config()
  return agent.optimizers[0]


def test_agents():
  name = 'create_rnd_ppo_agent.agent_class'
  rate = 'create_rnd_ppo_agent.learning_rate = 0.25'
  optimizer = _optimizer(rate, f'{name} = @RelativeClipping')
  assert isinstance(optimizer, surprise_agents.RelativelyClippedAdam)
  assert (float(optimizer.learning_rate), optimizer.epsilon) == (0.25, 1e-8)
  assert optimizer.beta_2 == 0.999
  assert _optimizer(f'{name} = @ShortMemory').beta_2 == 0.99
