# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where chunks lie: the six steps of the documentation, and a slow loop.

sequence_states_test.py looks at what is taken and at the states before it.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.replay import sequences

_GONE = None  # In what follows: padding.


def _cut(num_steps, *args, **kwargs):
  """Chunks as NumPy arrays."""
  return tf.nest.map_structure(
      np.asarray, sequences.cut(num_steps, *args, **kwargs)
  )


def _names(chunks):
  """Steps as x1, x2, ... are called, and None for padding."""
  return [
      [_GONE if gone else step + 1 for step, gone in zip(*row)]
      for row in zip(chunks.steps.tolist(), chunks.is_padding.tolist())
  ]


def _slow_chunks(num_steps, unroll_length, burn_in_length, remainder):
  """Chunks as lists, one step after another."""
  length = num_steps if unroll_length is None else unroll_length
  result = sequences.Chunks([], [], [], [], [])
  start = 0
  while start < num_steps:
    steps = list(range(start, min(start + length, num_steps)))
    start += length
    missing = length - len(steps)
    if missing and remainder == 'drop':
      break
    weights = [1.0] * len(steps) + [0.0] * missing
    if remainder == 'fill':
      weights[len(steps) - 1] += missing
    before = list(range(steps[0] - burn_in_length, steps[0]))
    result.steps.append(steps + [steps[-1]] * missing)
    result.is_padding.append(
        [False] * len(steps) + [remainder == 'pad'] * missing
    )
    result.weights.append(weights)
    result.burn_in.append([max(step, 0) for step in before])
    result.has_burn_in.append(all(step >= 0 for step in before))
  return result


def _assert_chunks(found, expected, length, burn_in_length):
  """Compares with the lists of `_slow_chunks`."""
  np.testing.assert_array_equal(
      found.steps, np.reshape(expected.steps, [-1, length])
  )
  np.testing.assert_array_equal(
      found.is_padding, np.reshape(expected.is_padding, [-1, length])
  )
  np.testing.assert_array_equal(
      found.weights, np.reshape(expected.weights, [-1, length])
  )
  np.testing.assert_array_equal(found.has_burn_in, expected.has_burn_in)
  np.testing.assert_array_equal(
      found.burn_in,
      np.reshape(expected.burn_in, [len(expected.steps), burn_in_length]),
  )
  assert [x.dtype for x in found] == [
      np.int32, np.bool_, np.float32, np.int32, np.bool_
  ]


# ------------------------------------------------------------------------ cut
@pytest.mark.parametrize(
    'num_steps, unroll_length, remainder, expected',
    [
        (6, 4, 'fill', [[1, 2, 3, 4], [5, 6, 6, 6]]),
        (6, 4, 'drop', [[1, 2, 3, 4]]),
        (6, 4, 'pad', [[1, 2, 3, 4], [5, 6, _GONE, _GONE]]),
        (6, 3, 'fill', [[1, 2, 3], [4, 5, 6]]),
        (6, 3, 'drop', [[1, 2, 3], [4, 5, 6]]),
        (6, 3, 'pad', [[1, 2, 3], [4, 5, 6]]),
        (2, 4, 'fill', [[1, 2, 2, 2]]),
        (2, 4, 'drop', []),
        (2, 4, 'pad', [[1, 2, _GONE, _GONE]]),
        (3, 1, 'fill', [[1], [2], [3]]),
        (3, 1, 'drop', [[1], [2], [3]]),
        (3, 1, 'pad', [[1], [2], [3]]),
        (6, None, 'fill', [[1, 2, 3, 4, 5, 6]]),
        (6, None, 'drop', [[1, 2, 3, 4, 5, 6]]),
        (6, None, 'pad', [[1, 2, 3, 4, 5, 6]]),
        (1, None, 'pad', [[1]]),
    ],
)
def test_steps_of_the_documentation(
    num_steps, unroll_length, remainder, expected
):
  chunks = _cut(num_steps, unroll_length, remainder=remainder)
  assert _names(chunks) == expected
  assert chunks.steps.shape == (len(expected), unroll_length or num_steps)


def test_padding_is_the_default_and_stays_in_the_sequence():
  chunks = _cut(6, 4)
  assert _names(chunks)[1] == [5, 6, _GONE, _GONE]
  # What stands behind the padding can be gathered.
  assert chunks.steps.tolist()[1] == [4, 5, 5, 5]


@pytest.mark.parametrize(
    'remainder, expected',
    [
        # x6 stands three times and counts for all three at its own place.
        ('fill', [[1, 1, 1, 1], [1, 3, 0, 0]]),
        ('drop', [[1, 1, 1, 1]]),
        ('pad', [[1, 1, 1, 1], [1, 1, 0, 0]]),
    ],
)
def test_weights(remainder, expected):
  assert _cut(6, 4, remainder=remainder).weights.tolist() == expected
  assert _cut(6, 3, remainder=remainder).weights.tolist() == [[1] * 3] * 2
  assert _cut(6, remainder=remainder).weights.tolist() == [[1] * 6]


@pytest.mark.parametrize('num_steps', [1, 2, 5, 8, 13])
def test_sums_of_the_weights(num_steps):
  # 'fill' changes how often the last step counts, not how much a chunk does.
  filled = _cut(num_steps, 4, remainder='fill')
  np.testing.assert_array_equal(filled.weights.sum(axis=1), 4)
  # Under 'pad' each step counts once, under 'drop' at most.
  for remainder, counted in (('pad', num_steps), ('drop', num_steps // 4 * 4)):
    chunks = _cut(num_steps, 4, remainder=remainder)
    times = np.zeros(num_steps)
    np.add.at(times, chunks.steps, chunks.weights)
    np.testing.assert_array_equal(times, np.arange(num_steps) < counted)


def test_burn_in():
  chunks = _cut(8, 2, burn_in_length=3)
  assert chunks.has_burn_in.tolist() == [False, False, True, True]
  assert chunks.burn_in.tolist()[2:] == [[1, 2, 3], [3, 4, 5]]
  assert chunks.steps.tolist()[2:] == [[4, 5], [6, 7]]
  # Just long enough.
  chunks = _cut(6, 2, burn_in_length=2)
  assert chunks.has_burn_in.tolist() == [False, True, True]
  assert chunks.burn_in.tolist()[1:] == [[0, 1], [2, 3]]
  # All of the steps are learned from none the less.
  assert chunks.weights.tolist() == [[1, 1]] * 3
  assert _cut(6, 2).burn_in.shape == (3, 0)


def test_burn_in_longer_than_the_sequence_can_be_gathered():
  # What a chunk has not got is step 0, never one behind the sequence.
  chunks = _cut(3, 2, burn_in_length=5)
  assert chunks.has_burn_in.tolist() == [False, False]
  assert chunks.burn_in.tolist() == [[0] * 5, [0, 0, 0, 0, 1]]


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
def test_random_lengths_against_a_slow_loop(remainder):
  rng = np.random.default_rng(sequences.REMAINDERS.index(remainder))
  for _ in range(30):
    num_steps = int(rng.integers(1, 20))
    unroll_length = int(rng.integers(1, 9))
    burn_in_length = int(rng.integers(0, 7))
    _assert_chunks(
        _cut(num_steps, unroll_length, burn_in_length, remainder),
        _slow_chunks(num_steps, unroll_length, burn_in_length, remainder),
        unroll_length,
        burn_in_length,
    )
  _assert_chunks(
      _cut(11, None, remainder=remainder),
      _slow_chunks(11, None, 0, remainder),
      11,
      0,
  )


@pytest.mark.parametrize('remainder', sequences.REMAINDERS)
@pytest.mark.parametrize('dtype', [np.int32, np.int64])
def test_length_known_only_to_the_graph(remainder, dtype):
  dtype = tf.as_dtype(dtype)
  for unroll_length, burn_in_length in ((4, 3), (None, 0), (1, 1)):

    def cut(num_steps, length=unroll_length, burn_in=burn_in_length):
      return sequences.cut(num_steps, length, burn_in, remainder)

    cut = tf.function(cut, autograph=False).get_concrete_function(
        tf.TensorSpec([], dtype)
    )
    for num_steps in (1, 4, 6):
      _assert_chunks(
          tf.nest.map_structure(np.asarray, cut(tf.constant(num_steps, dtype))),
          _slow_chunks(num_steps, unroll_length, burn_in_length, remainder),
          unroll_length or num_steps,
          burn_in_length,
      )


def test_lengths_of_numpy():
  # Such as the shape of an array, or one of its entries.
  _assert_chunks(
      _cut(np.int64(6), np.int64(4), np.int64(2)),
      _slow_chunks(6, 4, 2, 'pad'),
      4,
      2,
  )


# ------------------------------------------------------------ check_arguments
@pytest.mark.parametrize(
    'arguments, error, message',
    [
        ({'unroll_length': 0}, ValueError,
         'Owner.unroll_length must be at least 1, got 0.'),
        ({'unroll_length': -3}, ValueError,
         'Owner.unroll_length must be at least 1, got -3.'),
        ({'unroll_length': 4.0}, TypeError,
         'Owner.unroll_length must be an integer number of steps from 1, got'
         ' 4.0.'),
        ({'unroll_length': '4'}, TypeError,
         "Owner.unroll_length must be an integer number of steps from 1, got"
         " '4'."),
        ({'unroll_length': True}, TypeError,
         'Owner.unroll_length must be an integer number of steps from 1, got'
         ' True.'),
        ({'unroll_length': 4, 'burn_in_length': -1}, ValueError,
         'Owner.burn_in_length must be at least 0, got -1.'),
        ({'unroll_length': 4, 'burn_in_length': 1.5}, TypeError,
         'Owner.burn_in_length must be an integer number of steps from 0, got'
         ' 1.5.'),
        ({'unroll_length': 4, 'burn_in_length': None}, TypeError,
         'Owner.burn_in_length must be an integer number of steps from 0, got'
         ' None.'),
        ({'burn_in_length': 2}, ValueError,
         'Owner.burn_in_length=2 needs an unroll_length'),
        ({'unroll_length': 4, 'remainder': 'last'}, ValueError,
         "one of ('fill', 'drop', 'pad'), not 'last'."),
        ({'remainder': None}, ValueError, "'pad'), not None."),
    ],
)
def test_arguments_that_cannot_be(arguments, error, message):
  with pytest.raises(error, match=re.escape(message)):
    sequences.check_arguments(**arguments, owner='Owner')
  # `cut` refuses them too, in its own name.
  with pytest.raises(
      error, match=re.escape(message.replace('Owner.', 'sequences.'))
  ):
    sequences.cut(6, **arguments)


def test_arguments_that_can_be():
  sequences.check_arguments()
  for remainder in ('fill', 'drop', 'pad'):
    sequences.check_arguments(1, 0, remainder)
    sequences.check_arguments(np.int64(4), np.int32(9), remainder)
    sequences.check_arguments(None, 0, remainder)
