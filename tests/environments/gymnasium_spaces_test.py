# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for gymnasium_spaces."""

from absl import logging
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec

from rnd_agents.environments import gymnasium_spaces


@pytest.mark.parametrize('space, batch, shape, dtype, minimum, maximum', [
    (spaces.Box(0, 255, (2,), np.uint8), [[0, 255]], (2,), np.uint8, 0, 255),
    (spaces.Box(-2, 3, (1,), np.float64), [[0.1]], (1,), np.float32, -2.0,
     3.0),
    (spaces.Box(-2, 3, (1,), np.float16), [[0.5]], (1,), np.float32, -2.0,
     3.0),
    (spaces.Box(-2, 3, (), np.int32), [1], (), np.int32, -2, 3),
    (spaces.Box(-2, 3, (), np.int64), [1], (), np.int64, -2, 3),
    (spaces.Box(-2, 3, (), np.int8), [-1], (), np.int32, -2, 3),
    (spaces.Box(0, 1, (1,), np.bool_), [[True]], (1,), np.uint8, 0, 1),
    (spaces.Discrete(4), [3], (), np.int64, 0, 3),
    (spaces.Discrete(4, start=-2), [1], (), np.int64, -2, 1),
    (spaces.MultiBinary(2), [[1, 0]], (2,), np.int32, 0, 1),
    (spaces.MultiDiscrete([3, 5]), [[2, 4]], (2,), np.int64, [0, 0], [2, 4]),
    (spaces.MultiDiscrete([3, 5], start=[1, 2]), [[3, 6]], (2,), np.int64,
     [1, 2], [3, 6]),
])
def test_observations(space, batch, shape, dtype, minimum, maximum):
  spec, convert = gymnasium_spaces.observation_converter(space)
  assert spec == array_spec.BoundedArraySpec(
      shape, dtype, minimum, maximum, name='observation'
  )
  given = np.array(batch, space.dtype)
  converted = convert(given)
  assert converted.dtype == dtype and not np.shares_memory(converted, given)
  np.testing.assert_array_equal(converted, np.array(batch, dtype))
  array_spec.check_arrays_nest(converted[0], spec)


@pytest.mark.parametrize('space, batch', [
    (spaces.Discrete(6), [0, 6]),
    (spaces.Discrete(6), [0, -1]),
    (spaces.Discrete(6, start=1), [1, 0]),
    (spaces.MultiDiscrete([6, 3]), [[5, 2], [2, 5]]),
    (spaces.MultiBinary(2), [[0, 1], [0, 2]]),
    (spaces.Box(0, 10, (1,), np.uint8), [[10], [11]]),
    (spaces.Box(-3, 3, (1,), np.int64), [[-3], [-4]]),
    (spaces.Box(0, 1, (1,), np.float32), [[1], [500]]),
    # Bytes where there should be shares.
    (spaces.Box(0, 1, (2, 2, 1), np.float64), np.full([2, 2, 2, 1], 255.0)),
])
def test_observations_outside_of_their_space(space, batch):
  _, convert = gymnasium_spaces.observation_converter(space)
  with pytest.raises(ValueError, match="'observation' is .* must be from"):
    convert(np.array(batch))


def test_floats_may_leave_their_space_a_little(monkeypatch):
  lines = []
  monkeypatch.setattr(logging, 'warning', lambda m, *a: lines.append(m % a))
  _, convert = gymnasium_spaces.observation_converter(
      spaces.Box(
          np.array([-1, 0.1, -np.inf]),
          np.array([1, 0.7, np.inf]),
          dtype=np.float64,
      )
  )
  for third in (0, 1e9):  # Rounding; and no bounds.
    convert(np.array([[-1, 0.7 + 1e-7, 0], [1, 0.1 - 1e-7, third]]))
  assert not lines
  for _ in range(3):
    convert(np.array([[0, 0.5, 0], [0, 3.5, 0]]))
  assert lines == [
      "'observation' is 3.5 at index [1], and must be from 0.1 to 0.7, as its"
      ' space says: correct the space, or the environment.'
  ]


def test_unbounded_boxes():
  spec, _ = gymnasium_spaces.observation_converter(
      spaces.Box(np.array([-np.inf, -1e300]), np.array([np.inf, 1e300]),
                 dtype=np.float64)
  )
  # ArraySpec itself turns infinite bounds into the greatest numbers.
  greatest = np.finfo(np.float32).max
  np.testing.assert_array_equal(spec.minimum, -greatest)
  np.testing.assert_array_equal(spec.maximum, greatest)


def test_an_overflow_in_the_cast_is_not_let_through():
  _, convert = gymnasium_spaces.observation_converter(
      spaces.Box(-np.inf, np.inf, (1,), np.float64)
  )
  with np.errstate(over='ignore'):
    with pytest.raises(ValueError, match='Environment 1'):
      convert(np.array([[0.0], [1e300]]))


def nested_space():
  return spaces.Dict({
      'b': spaces.Discrete(3),
      'a': spaces.Tuple([
          spaces.Text(5),
          spaces.Box(0, 1, (2,), np.float64),
          spaces.Dict(x=spaces.MultiBinary(1), note=spaces.Text(3)),
      ]),
      'mission': spaces.Text(9),
  })


def test_nested_observations_without_their_text(monkeypatch):
  lines = []
  monkeypatch.setattr(logging, 'info', lambda m, *a: lines.append(m % a))
  spec, convert = gymnasium_spaces.observation_converter(nested_space())
  names = tf.nest.map_structure(lambda s: s.name, spec)
  assert names == {
      'b': 'observation/b',
      'a': ('observation/a/1', {'x': 'observation/a/2/x'}),
  }
  assert sorted(line.split(' ')[0] for line in lines) == [
      'observation/a/0', 'observation/a/2/note', 'observation/mission'
  ]
  note = np.array([['p', 'q']], object)
  converted = convert({
      'b': np.array([1, 2]),
      'a': (
          note,
          np.array([[0.25, 0.5], [0.75, 1]]),
          {'x': np.array([[0], [1]], np.int8), 'note': note},
      ),
      'mission': note,
  })
  tf.nest.assert_same_structure(converted, spec)
  np.testing.assert_array_equal(converted['b'], [1, 2])
  np.testing.assert_array_equal(converted['a'][0], [[0.25, 0.5], [0.75, 1]])
  np.testing.assert_array_equal(converted['a'][1]['x'], [[0], [1]])
  assert len(lines) == 3  # Said when made, not at each step.


def test_nothing_but_text():
  with pytest.raises(ValueError, match='text only'):
    gymnasium_spaces.observation_converter(spaces.Text(3))
  with pytest.raises(ValueError, match="'observation' has no part"):
    gymnasium_spaces.observation_converter(spaces.Dict(m=spaces.Text(3)))


def test_unsupported_spaces_are_named():
  space = spaces.Dict(
      a=spaces.Discrete(2), words=spaces.Sequence(spaces.Discrete(2))
  )
  with pytest.raises(ValueError, match="'observation/words' is a Sequence"):
    gymnasium_spaces.observation_converter(space)
  with pytest.raises(ValueError, match="'action/words' is a Sequence"):
    gymnasium_spaces.action_converter(space, 1)
  with pytest.raises(ValueError, match="'action' is a Text"):
    gymnasium_spaces.action_converter(spaces.Text(2), 1)


def test_discrete_actions_count_from_zero_in_the_spec():
  spec, convert = gymnasium_spaces.action_converter(
      spaces.Discrete(3, start=4), 2
  )
  assert spec == array_spec.BoundedArraySpec((), np.int64, 0, 2, name='action')
  for action in (np.array([0, 2], np.int32), tf.constant([0, 2])):
    converted = convert(action)
    np.testing.assert_array_equal(converted, [4, 6])
    assert converted.dtype == np.int64


def test_multi_discrete_actions_count_from_zero_in_the_spec():
  spec, convert = gymnasium_spaces.action_converter(
      spaces.MultiDiscrete([3, 5], start=[1, -2]), 1
  )
  np.testing.assert_array_equal(spec.minimum, [0, 0])
  np.testing.assert_array_equal(spec.maximum, [2, 4])
  np.testing.assert_array_equal(convert(np.array([[2, 0]])), [[3, -2]])


def test_continuous_actions_are_clipped_to_the_space():
  _, convert = gymnasium_spaces.action_converter(
      spaces.Box(np.float32([-1, 0]), np.float32([1, 9])), 2
  )
  np.testing.assert_array_equal(
      convert(np.float32([[-3, 4], [0.5, 11]])), [[-1, 4], [0.5, 9]]
  )


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_integers_are_clipped_where_fractions_may_stand(dtype):
  space = spaces.Box(-1.5, 2, (1,), dtype)
  _, convert = gymnasium_spaces.action_converter(space, 3)
  actions = convert(np.array([[-50], [1], [50]]))
  np.testing.assert_array_equal(actions, [[-1.5], [1], [2]])
  assert actions.dtype == dtype


@pytest.mark.parametrize('space, action, message', [
    (spaces.Discrete(3), [0, -1], "1: 'action' is -1, .* from 0 to 2.$"),
    (spaces.Discrete(3, start=5), [0, 3], "1: 'action' is 3, .* from 0 to 2.$"),
    (spaces.Discrete(3), np.uint8([255, 0]), "0: 'action' is 255, "),
    (spaces.MultiDiscrete([3, 5]), [[2, 4], [3, 4]],
     r"1: 'action' is \[3 4\], .* from \[0 0\] to \[2 4\].$"),
    (spaces.MultiBinary(2), [[0, 1], [2, 1]], r"1: 'action' is \[2 1\], "),
    (spaces.Box(-2, 3, (1,), np.int8), [[3], [-3]], ' from -2 to 3.$'),
    (spaces.Dict(kind=spaces.Discrete(2)), {'kind': [0, 2]}, "'action/kind'"),
])
def test_integers_out_of_range_are_refused(space, action, message):
  _, convert = gymnasium_spaces.action_converter(space, 2)
  with pytest.raises(ValueError, match=message):
    convert(action)


def test_nested_actions_go_back_in_the_dtypes_of_the_space():
  space = spaces.Dict(
      kind=spaces.Discrete(2),
      parameters=spaces.Tuple([
          spaces.Box(-1, 1, (2,), np.float64), spaces.MultiBinary(1)
      ]),
  )
  spec, convert = gymnasium_spaces.action_converter(space, 1)
  assert tf.nest.map_structure(lambda s: s.dtype, spec) == {
      'kind': np.int64, 'parameters': (np.float32, np.int32)
  }
  converted = convert({
      'kind': tf.constant([1]),
      'parameters': (tf.constant([[0.5, -1.0]]), np.array([[1]])),
  })
  assert converted['kind'] == [1] and converted['kind'].dtype == np.int64
  box, binary = converted['parameters']
  np.testing.assert_array_equal(box, [[0.5, -1.0]])
  assert box.dtype == np.float64 and binary.dtype == np.int8 and binary == [[1]]


def test_bounds_of_float64_actions_lie_within_the_space():
  # float32(0.1) is greater than 0.1, and float32(-0.1) is less than -0.1.
  space = spaces.Box(-0.1, 0.1, (1,), np.float64)
  spec, convert = gymnasium_spaces.action_converter(space, 1)
  for bound in (spec.minimum, spec.maximum):
    action = convert(np.full([1, 1], bound, np.float32))
    assert space.contains(action[0])
    np.testing.assert_allclose(abs(action[0]), 0.1, rtol=1e-6)


def test_an_action_that_is_not_finite():
  _, convert = gymnasium_spaces.action_converter(spaces.Box(-1, 1, (2,)), 2)
  with pytest.raises(ValueError, match=r"1: 'action' is nan at index \(0,\)"):
    convert(np.array([[0, 0], [np.nan, 0]], np.float32))
