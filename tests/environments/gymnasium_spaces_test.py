# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for gymnasium_spaces."""

from absl import logging
from gymnasium import spaces
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import array_spec
from tf_agents.specs import tensor_spec

from rnd_agents import errors
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
      "'observation' is 3.5 at index [1], and must be from 0.1 to 0.7:"
      ' correct its space, or what gave it.'
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


@pytest.mark.parametrize('keys, expected', [
    (['agent pos', 'a.b', 'x/y'], ['agent_pos', 'a.b', 'x/y']),
    (['a[0]', '', 'Ünit'], ['a_0_', '_', '_nit']),
    ([0, 1], ['0', '1']),
    ([('a', 1), 'b', 2], ['__a___1_', 'b', '2']),
    (['a b', 'a_b'], None),
    (['a-b', 'a_b'], None),
    (['A', 'a'], None),
    ([1, '1'], None),
])
def test_keys_that_saved_models_cannot_have_are_renamed(keys, expected):
  space = spaces.Dict([(key, spaces.Discrete(9)) for key in keys])
  if expected is None:
    for convert in (
        gymnasium_spaces.observation_converter,
        lambda space: gymnasium_spaces.action_converter(space, 1),
    ):
      with pytest.raises(ValueError, match='Two keys of .*SavedModel'):
        convert(space)
    return
  spec, convert = gymnasium_spaces.observation_converter(space)
  assert sorted(spec) == sorted(expected)
  given = {key: np.array([i]) for i, key in enumerate(keys)}
  converted = convert(given)
  assert converted == dict(zip(expected, given.values()))
  _, convert_action = gymnasium_spaces.action_converter(space, 1)
  assert convert_action(converted) == given
  assert gymnasium_spaces.from_zero(space, given) == converted
  masked = gymnasium_spaces.SpaceWithMask(
      observation=spaces.Tuple([space]),
      action_mask=spaces.Box(0, 1, (2,), np.uint8),
  )
  assert gymnasium_spaces.renamed_keys(
      masked, 'o'
  ) == gymnasium_spaces.renamed_keys(spaces.Tuple([space]), 'o')
  assert gymnasium_spaces.renamed_keys(spaces.Tuple([space]), 'o') == {
      f'o/0/{new}': old for new, old in zip(expected, keys) if new != old
  }


def test_two_paths_that_are_one_name_of_a_saved_model():
  one = spaces.Discrete(2)
  with pytest.raises(ValueError, match='Two keys'):
    gymnasium_spaces.observation_converter(
        spaces.Dict({'a': spaces.Dict({'b': one}), 'a_b': one})
    )


def _box(low, high):
  box = spaces.Box(-1, 1, (2,))
  box.low[0], box.high[0] = low, high
  return box


@pytest.mark.parametrize('space, message', [
    (_box(np.nan, 1), 'bounds that are NaN or crossed'),
    (_box(0, np.nan), 'bounds'),
    (_box(1, -1), 'bounds'),
    (spaces.Dict(a=_box(1, -1)), "'.*/a' has bounds"),
    (spaces.Dict(), 'no part'),
    (spaces.Dict(a=spaces.Tuple([])), "/a' has no part"),
    (spaces.Box(-1, 1, (3, 0)), 'holds no number'),
])
def test_spaces_that_hold_nothing_or_everything(space, message):
  with pytest.raises(ValueError, match=message):
    gymnasium_spaces.observation_converter(space)
  with pytest.raises(ValueError, match=message):
    gymnasium_spaces.action_converter(space, 1)


def test_a_part_without_numbers_is_dropped():
  spec, convert = gymnasium_spaces.observation_converter(
      spaces.Dict(a=spaces.Discrete(2), goal=spaces.Box(-1, 1, (0,)))
  )
  assert list(spec) == ['a']
  assert convert({'a': np.array([1]), 'goal': np.zeros([1, 0])}) == {'a': [1]}


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
  tensor_spec.sample_spec_nest(tensor_spec.from_spec(spec), outer_dims=(4,))


@pytest.mark.parametrize('low, high, dtype', [
    (-1, 1, np.int32), (3, 9, np.int64), (-100, 100, np.int8),
    ([2, -7], [4, 7], np.int16), (5, 250, np.uint8), (0, 255, np.uint8),
    (2**31 - 3, 2**31 - 1, np.int32), (-(2**62), -(2**62) + 9, np.int64),
])
def test_integer_boxes_count_from_zero_in_the_spec(low, high, dtype):
  low, high = (np.broadcast_to(np.array(x, dtype), 2) for x in (low, high))
  space = spaces.Box(low, high, dtype=dtype)
  spec, convert = gymnasium_spaces.action_converter(space, 1)
  assert np.all(spec.minimum == 0) and spec.dtype in (np.int32, np.int64)
  for bound, its in ((spec.minimum, low), (spec.maximum, high)):
    action = np.broadcast_to(bound, (1, 2))
    given = convert(action)
    assert space.contains(given[0])
    np.testing.assert_array_equal(given[0], np.broadcast_to(its, 2))
    np.testing.assert_array_equal(
        gymnasium_spaces.from_zero(space, given), action
    )


@pytest.mark.parametrize('low, high, dtype', [
    (-(2**31), 2**31 - 1, np.int32), (-(2**62), 2**62, np.int64),
])
def test_integer_boxes_of_too_many_values(low, high, dtype):
  with pytest.raises(errors.InvalidValue, match='TransformAction'):
    gymnasium_spaces.action_converter(spaces.Box(low, high, (3,), dtype), 1)


_INF = np.inf


@pytest.mark.parametrize('low, high, expected', [
    (-_INF, _INF, (-1, 1)),
    (0, _INF, (0, 2)),
    (-_INF, -50, (-150, -50)),
    (5, _INF, (5, 15)),
    (0, 2e6, (0, 2e6)),
    (-1e12, 1e12, (-1e12, 1e12)),
    ([-_INF, 0, -3], [_INF, 4, _INF], ([-1, 0, -3], [1, 4, 3])),
])
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_only_infinite_bounds_are_replaced(low, high, expected, dtype):
  low, high = (np.atleast_1d(np.array(x, dtype)) for x in (low, high))
  space = spaces.Dict(a=spaces.Box(low, high, dtype=dtype))
  specs, convert = gymnasium_spaces.action_converter(space, 1)
  spec = specs['a']
  np.testing.assert_allclose(
      [spec.minimum, spec.maximum], expected, rtol=1e-6
  )
  far = np.full((1, *space['a'].shape), 1e30, np.float32)
  for bound, beyond in zip(expected, (-far, far)):
    given = convert({'a': beyond})['a']
    np.testing.assert_allclose(
        given, np.broadcast_to(bound, given.shape), rtol=1e-6
    )
    assert space['a'].contains(given[0])


def test_the_range_in_place_of_infinite_bounds_is_said_once(caplog):
  caplog.set_level('INFO', logger='absl')
  for _ in range(3):
    gymnasium_spaces.action_converter(spaces.Box(-7, np.inf, (2,)), 1, 'force')
  (line,) = [x for x in caplog.messages if "'force'" in x]
  assert '-7.0 to 7.0' in line


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
    (spaces.Discrete(3), [0, -1], "1: 'action' is -1, .* from 0 to 2:"),
    (spaces.Discrete(3, start=5), [0, 3], "1: 'action' is 3, .* from 0 to 2:"),
    (spaces.Discrete(3), np.uint8([255, 0]), "0: 'action' is 255, "),
    (spaces.MultiDiscrete([3, 5]), [[2, 4], [3, 4]],
     r"1: 'action' is 3 at index \[0\], .* from 0 to 2:"),
    (spaces.MultiBinary(2), [[0, 1], [2, 1]],
     r"1: 'action' is 2 at index \[0\], "),
    (spaces.Box(-2, 3, (1,), np.int8), [[5], [6]], ' from 0 to 5:'),
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
