# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for Adam in one kernel a variable: steps as by hand, and by Keras."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.agents import optimizers
from tests.agents import slow_r2d3

_START = np.array([[0.5, -1.0], [2.0, 0.0]], np.float32)


def _gradients(step):
  return np.random.RandomState(step).normal(size=[2, 2]) * 10.0 ** (step % 4)


def _variables_after_five_steps(optimizer, graph):
  """The variable after each of five steps, [5, 2, 2]."""
  variable = tf.Variable(_START)
  optimizers.build(optimizer, [variable])

  def step(gradient):
    optimizers.apply(optimizer, [gradient], [variable])

  step = tf.function(step, autograph=False) if graph else step
  after = []
  for i in range(5):
    step(tf.constant(_gradients(i), tf.float32))
    after.append(variable.numpy())
  return np.array(after)


@pytest.mark.parametrize('graph', [False, True])
@pytest.mark.parametrize('weight_decay', [None, 0.5])
def test_adam_equals_a_slow_one(graph, weight_decay):
  adam = optimizers.Adam(0.1, epsilon=1e-3, weight_decay=weight_decay)
  slow = slow_r2d3.Adam(0.1, 1e-3)
  expected, x = [], _START.astype(float)
  for i in range(5):
    # Decoupled (Loshchilov and Hutter, 2019): not part of the moments.
    x = x * (1 - 0.1 * (weight_decay or 0)) + slow.step(0, _gradients(i))
    expected.append(x)
  np.testing.assert_allclose(
      _variables_after_five_steps(adam, graph), expected, rtol=1e-5, atol=1e-6
  )


@pytest.mark.parametrize(
    ('keras', 'weight_decay'),
    [(tf.keras.optimizers.Adam, None), (tf.keras.optimizers.AdamW, 0.5)],
)
def test_adam_goes_on_from_a_checkpoint_of_kerass(
    keras, weight_decay, tmp_path
):
  def train(optimizer, variable, steps):
    optimizers.build(optimizer, [variable])
    for i in steps:
      gradient = tf.constant(_gradients(i), tf.float32)
      optimizers.apply(optimizer, [gradient], [variable])

  theirs, variable = keras(0.1, weight_decay=weight_decay), tf.Variable(_START)
  train(theirs, variable, range(3))
  saved = tf.train.Checkpoint(o=theirs, v=variable).write(str(tmp_path / 'c'))
  train(theirs, variable, range(3, 6))

  ours = optimizers.Adam(0.1, weight_decay=weight_decay)
  restored = tf.Variable(tf.zeros([2, 2]))
  optimizers.build(ours, [restored])
  status = tf.train.Checkpoint(o=ours, v=restored).read(saved)
  status.assert_consumed()
  train(ours, restored, range(3, 6))
  np.testing.assert_allclose(restored, variable, rtol=1e-5, atol=1e-5)


def test_adam_of_rows_that_were_looked_up():
  results = []
  for make in (optimizers.Adam, tf.keras.optimizers.Adam):
    table = tf.Variable(_START)
    optimizer = make(0.1)
    optimizers.build(optimizer, [table])
    with tf.GradientTape() as tape:
      loss = tf.reduce_sum(tf.gather(table, [1, 1]) ** 2)
    gradient = tape.gradient(loss, table)
    assert isinstance(gradient, tf.IndexedSlices)
    optimizers.apply(optimizer, [gradient], [table])
    results.append(table.numpy())
  np.testing.assert_allclose(*results, rtol=1e-6)
  np.testing.assert_allclose(results[0][1], [1.9, 0.0], rtol=1e-5)
