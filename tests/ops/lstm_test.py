# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for lstm: outputs and gradients beside a loop of single steps."""

import gc

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import lstm

_BATCH, _STEPS, _FEATURES, _UNITS = 4, 7, 3, 5
_NAMES = ('features', 'kernel', 'recurrent_kernel', 'bias', 'output', 'cell')


def _inputs(seed=0):
  """Arguments of `unroll` of the order of 1; a third of steps reset or hold."""
  rng = np.random.default_rng(seed)
  shapes = (
      [_BATCH, _STEPS, _FEATURES],
      [_FEATURES, 4 * _UNITS],
      [_UNITS, 4 * _UNITS],
      [4 * _UNITS],
      [_BATCH, _UNITS],
      [_BATCH, _UNITS],
  )
  numbers = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
  masks = [rng.random([_BATCH, _STEPS, 1]) < 0.3 for _ in range(2)]
  assert (masks[0] & masks[1]).any()
  # What the outputs are weighed with in a loss.
  upstream = [
      rng.normal(size=shape).astype(np.float32)
      for shape in ([_BATCH, _STEPS, _UNITS], *[[_BATCH, _UNITS]] * 2)
  ]
  return numbers, masks, upstream


def _unroll(*args, **kwargs):
  """`lstm.unroll` of flat arguments, with a flat result."""
  features, *weights, output, cell, resets, holds = args
  outputs, state = lstm.unroll(
      features,
      lstm.Weights(*weights),
      lstm.State(output, cell),
      resets,
      holds,
      **kwargs,
  )
  return outputs, *state


def _step(features, *weights_and_state, **kwargs):
  """`lstm.step` of flat arguments, without resets and holds."""
  weights, state = weights_and_state[:3], weights_and_state[3:]
  never = np.zeros([_BATCH, 1], bool)
  output, state = lstm.step(
      features,
      lstm.Weights(*weights),
      lstm.State(*state),
      never,
      never,
      **kwargs,
  )
  np.testing.assert_array_equal(output, state.output)
  return state


def _slow(
    features, kernel, recurrent_kernel, bias, output, cell, resets, holds,
    product=tf.matmul,
):
  """The equations step by step, in any type."""
  outputs = []
  for t in range(features.shape[1]):
    old = [tf.where(resets[:, t], tf.zeros_like(x), x) for x in (output, cell)]
    sums = product(features[:, t], kernel) + bias
    sums += product(old[0], recurrent_kernel)
    i, f, g, o = tf.split(sums, 4, axis=-1)
    new_cell = tf.sigmoid(f) * old[1] + tf.sigmoid(i) * tf.tanh(g)
    new_output = tf.sigmoid(o) * tf.tanh(new_cell)
    outputs.append(new_output)
    output = tf.where(holds[:, t], old[0], new_output)
    cell = tf.where(holds[:, t], old[1], new_cell)
  return tf.stack(outputs, axis=1), output, cell


def _results_and_gradients(function, numbers, masks, upstream):
  with tf.GradientTape() as tape:
    tape.watch(numbers)
    results = function(*numbers, *masks)
    loss = tf.add_n([
        tf.reduce_sum(result * tf.cast(weight, result.dtype))
        for result, weight in zip(results, upstream, strict=True)
    ])
  return [*results, *tape.gradient(loss, numbers)]


def _expected(numbers, masks, upstream, product=tf.matmul):
  """Results and gradients in float64."""
  return _results_and_gradients(
      lambda *args: _slow(*args, product=product),
      [tf.constant(x, tf.float64) for x in numbers],
      masks,
      upstream,
  )


def _eager(numbers, masks, upstream):
  return _results_and_gradients(_unroll, numbers, masks, upstream)


def _in_a_graph(numbers, masks, upstream):
  return tf.function(_eager, autograph=False)(numbers, masks, upstream)


def _graph_under_a_tape(numbers, masks, upstream):
  unroll = tf.function(_unroll, autograph=False)
  return _results_and_gradients(unroll, numbers, masks, upstream)


def _of_any_length(numbers, masks, upstream):
  """In a graph that knows neither the batch size nor the number of steps."""

  def spec(x, *unknown):
    shape = [None if i in unknown else n for i, n in enumerate(x.shape)]
    return tf.TensorSpec(shape, x.dtype)

  features, *weights, output, cell = numbers
  signature = [
      [spec(features, 0, 1), *map(spec, weights), spec(output, 0),
       spec(cell, 0)],
      [spec(x, 0, 1) for x in masks],
      [spec(upstream[0], 0, 1), *(spec(x, 0) for x in upstream[1:])],
  ]
  run = tf.function(_eager, autograph=False, input_signature=signature)
  return run(numbers, masks, upstream)


@pytest.mark.parametrize(
    'run', [_eager, _in_a_graph, _graph_under_a_tape, _of_any_length]
)
def test_results_and_gradients_beside_a_slow_loop(run):
  numbers, masks, upstream = _inputs()
  found = run([tf.constant(x) for x in numbers], masks, upstream)
  expected = _expected(numbers, masks, upstream)
  names = ('outputs', 'last output', 'last cell', *_NAMES)
  for name, x, y in zip(names, found, expected, strict=True):
    assert np.abs(y).max() > 0.1
    np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=name)


def test_gradient_of_one_result_alone():
  """Gradients of the others are missing, and count as 0."""
  numbers, masks, upstream = _inputs(1)
  for which in range(3):

    def one(*args, function=_unroll, which=which):
      return [function(*args)[which]]

    found = _results_and_gradients(
        one, [tf.constant(x) for x in numbers], masks, [upstream[which]]
    )
    expected = _results_and_gradients(
        lambda *args: one(*args, function=_slow),  # pylint: disable=cell-var-from-loop
        [tf.constant(x, tf.float64) for x in numbers],
        masks,
        [upstream[which]],
    )
    for x, y in zip(found, expected, strict=True):
      np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_step_is_a_sequence_of_one_step():
  numbers, _, _ = _inputs(2)
  features = numbers[0][:, 0]
  found = _step(features, *numbers[1:])
  never = np.zeros([_BATCH, 1, 1], bool)
  expected = _slow(
      *(tf.constant(x, tf.float64) for x in (features[:, None], *numbers[1:])),
      never,
      never,
  )
  for x, y in zip(found, expected[1:], strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def _rounded(x):
  return tf.cast(tf.cast(x, tf.bfloat16), tf.float64)


@tf.custom_gradient
def _rounded_product(x, weights):
  """A product whose factors and result have the 8 bits of bfloat16."""
  x, weights = _rounded(x), _rounded(weights)

  def gradient(upstream):
    upstream = _rounded(upstream)
    return (
        _rounded(tf.matmul(upstream, weights, transpose_b=True)),
        tf.matmul(x, upstream, transpose_a=True),
    )

  return _rounded(tf.matmul(x, weights)), gradient


def test_bfloat16_rounds_products_alone():
  numbers, masks, upstream = _inputs(3)
  found = _results_and_gradients(
      lambda *args: _unroll(*args, compute_dtype=tf.bfloat16),
      [tf.constant(x) for x in numbers],
      masks,
      upstream,
  )
  rounded = _expected(numbers, masks, upstream, _rounded_product)
  exact = _expected(numbers, masks, upstream)
  for x, y, z in zip(found, rounded, exact, strict=True):
    assert x.dtype == tf.float32
    x, y, z = (np.asarray(each, np.float64) for each in (x, y, z))
    size = np.abs(z).max()
    # As far from the exact result as rounding makes it, and no further.
    assert 1e-4 < np.abs(x - z).max() / size < 0.03
    assert np.abs(x - y).max() / size < 0.01
  output, cell = _step(
      numbers[0][:, 0], *numbers[1:], compute_dtype=tf.bfloat16
  )
  never = np.zeros([_BATCH, 1, 1], bool)
  expected = _slow(
      numbers[0][:, :1].astype(np.float64),
      *(tf.constant(x, tf.float64) for x in numbers[1:]),
      never,
      never,
      product=_rounded_product,
  )
  np.testing.assert_allclose(output, expected[1], atol=5e-3)
  np.testing.assert_allclose(cell, expected[2], atol=5e-3)


def test_no_graph_is_kept():
  """As `tf.custom_gradient` would: it registers a name for each graph."""
  numbers, masks, upstream = _inputs()

  def num_graphs():
    _in_a_graph([tf.constant(x) for x in numbers], masks, upstream)
    gc.collect()
    return sum(isinstance(x, tf.Graph) for x in gc.get_objects())

  # Graphs of earlier tests can take more than one collection to leave.
  *_, first = [num_graphs() for _ in range(3)]
  assert [num_graphs() for _ in range(3)] == [first] * 3
