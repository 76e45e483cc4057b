# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for value_rescaling: worked numbers and what h is defined by."""

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.ops import q_learning
from tests import tensors
from tests.ops import q_sequences

_X = np.array([-300.0, -1.0, 0.0, 0.5, 1.0, 10.0, 100.0, 1000.0])
_H = {
    1e-3: [
        -16.649352, -0.415214, 0, 0.225245, 0.415214, 2.326625, 9.149876,
        31.638584,
    ],
    1e-2: [
        -19.349352, -0.424214, 0, 0.229745, 0.424214, 2.416625, 10.049876,
        40.638584,
    ],
}  # fmt: skip
_INVERSE = {
    1e-3: [
        -58705.584017, -2.988057, 0, 1.246263, 2.988057, 117.430323,
        8546.626307, 382518.440027,
    ],
    1e-2: [
        -17044.252992, -2.885416, 0, 1.213735, 2.885416, 99.166725,
        3874.582413, 73068.609147,
    ],
}  # fmt: skip
_BOTH = pytest.mark.parametrize('epsilon', [1e-3, 1e-2])


@_BOTH
@tensors.in_every_mode
def test_worked_numbers(run, epsilon):
  np.testing.assert_allclose(
      run(lambda x: q_learning.rescale(x, epsilon), _X),
      _H[epsilon],
      atol=6e-7,
  )
  np.testing.assert_allclose(
      run(lambda x: q_learning.inverse_rescale(x, epsilon), _X),
      _INVERSE[epsilon],
      atol=6e-7,
  )


def test_epsilon_of_the_paper_is_the_default():
  np.testing.assert_allclose(
      tensors.eager(q_learning.rescale, _X), _H[1e-3], atol=6e-7
  )
  np.testing.assert_allclose(
      tensors.eager(q_learning.inverse_rescale, _X),
      _INVERSE[1e-3],
      atol=6e-7,
  )


@_BOTH
def test_equals_the_papers_form(epsilon):
  x = np.random.default_rng(0).normal(size=1000) * 10
  expected = [q_sequences.textbook_h(v, epsilon) for v in x]
  np.testing.assert_allclose(
      tensors.eager(lambda v: q_learning.rescale(v, epsilon), x),
      expected,
      rtol=1e-12,
      atol=1e-13,
  )
  expected = [q_sequences.textbook_inverse_h(v, epsilon) for v in x]
  np.testing.assert_allclose(
      tensors.eager(lambda v: q_learning.inverse_rescale(v, epsilon), x),
      expected,
      rtol=1e-9,
      atol=1e-9,
  )


@pytest.mark.parametrize('epsilon', [0.0, 1e-3, 1e-2])
@tensors.in_every_mode
def test_there_and_back_in_float32(run, epsilon):
  x = np.float32(np.logspace(-30, 6, 2001))
  x = np.concatenate([-x, [0], x]).astype(np.float32)

  def there_and_back(v):
    v = q_learning.rescale(v, epsilon)
    return q_learning.inverse_rescale(v, epsilon)

  result = run(there_and_back, x)
  assert result.dtype == np.float32
  np.testing.assert_allclose(result, x, rtol=1e-6, atol=0)


def test_slopes():
  # h'(x) = 1 / (2 sqrt(|x| + 1)) + epsilon, and that of h^-1 is 1 over it.
  x = np.array([-8.0, -1e-3, 0.0, 3.0, 99.0])
  slope = 0.5 / np.sqrt(np.abs(x) + 1) + 0.01
  [found] = tensors.gradient(lambda v: q_learning.rescale(v, 0.01), x)
  np.testing.assert_allclose(found, slope)
  y = tensors.eager(lambda v: q_learning.rescale(v, 0.01), x)
  [found] = tensors.gradient(
      lambda v: q_learning.inverse_rescale(v, 0.01), y
  )
  np.testing.assert_allclose(found, 1 / slope)


def test_negative_epsilon():
  for fn in (q_learning.rescale, q_learning.inverse_rescale):
    with pytest.raises(ValueError, match='at least 0, got -0.1'):
      fn(tf.ones([1]), -0.1)
