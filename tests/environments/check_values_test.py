# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for checks.values: one value at a time."""

from gymnasium import spaces
import numpy as np
import pytest

from rnd_agents.environments.checks import rules
from rnd_agents.environments.checks import values

_BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
_IMAGE = spaces.Box(0, 255, (2, 2), np.uint8)
_UNEVEN = spaces.Box(
    np.array([0.0, -5.0], np.float32), np.array([1.0, np.inf], np.float32)
)
_DISCRETE = spaces.Discrete(3, start=-1)
_MULTI = spaces.MultiDiscrete([2, 3])
_BINARY = spaces.MultiBinary(2)
_TUPLE = spaces.Tuple([_BOX, _DISCRETE])
_NESTED = spaces.Dict(a=_BOX, b=spaces.Dict(c=_TUPLE, text=spaces.Text(9)))


def _f32(*numbers):
  return np.array(numbers, np.float32)


@pytest.mark.parametrize('space, observation', [
    (_BOX, _f32(-1, 1)),
    (_IMAGE, np.array([[0, 255], [3, 4]], np.uint8)),
    (_UNEVEN, _f32(0, 1e30)),
    (_DISCRETE, -1),
    (_DISCRETE, np.int64(1)),
    (_DISCRETE, np.array(0)),
    (_MULTI, np.array([1, 2])),
    (_BINARY, np.array([1, 0], np.int8)),
    (_TUPLE, (_f32(0, 0), 1)),
    (_NESTED, {'a': _f32(0, 0), 'b': {'c': (_f32(0, 0), 0), 'text': 3}}),
    (spaces.Text(3), None),  # Is dropped.
])
def test_good_observations(space, observation):
  findings = rules.Findings()
  values.check_observation(observation, space, 'now', findings)
  assert findings.list() == []


@pytest.mark.parametrize('space, observation, found', [
    (_BOX, np.array([0.0, 0.0]), [
        ('dtype', 'observation has dtype float64, and its space float32.')]),
    (_BOX, _f32(0, 0, 0), [
        ('shape', 'observation has shape (3,), and its space (2,).')]),
    (_BOX, np.zeros([2, 1]), [
        ('dtype', 'observation has dtype float64, and its space float32.'),
        ('shape', 'observation has shape (2, 1), and its space (2,).')]),
    (_BOX, _f32(0, 1.5), [
        ('bounds', 'observation is 1.5 at index (1,), outside of [-1.0, 1.0].'),
    ]),
    (_UNEVEN, _f32(0.5, -6), [
        ('bounds', 'observation is -6.0 at index (1,), outside of [-5.0, inf].')
    ]),
    (_BOX, _f32(0, np.nan), [
        ('finite', 'observation is nan at index (1,).')]),
    (_UNEVEN, _f32(0, np.inf), [  # Within the bounds.
        ('finite', 'observation is inf at index (1,).')]),
    (_BOX, [0.0, 0.0], [
        ('structure', 'observation is a list, no NumPy array.')]),
    (_BOX, None, [('structure', 'observation is None, no NumPy array.')]),
    (_IMAGE, np.zeros([2, 2], np.int64), [
        ('dtype', 'observation has dtype int64, and its space uint8.')]),
    (_DISCRETE, 2, [
        ('bounds', 'observation is 2, and its space goes from -1 to 1.')]),
    (_DISCRETE, -2, [
        ('bounds', 'observation is -2, and its space goes from -1 to 1.')]),
    (_DISCRETE, np.array([0]), [
        ('shape', 'observation has shape (1,), and its space is one integer.')
    ]),
    (_DISCRETE, np.array(0.0), [
        ('dtype', 'observation has dtype float64, no integer.')]),
    (_DISCRETE, 0.0, [('structure', 'observation is a float, no integer.')]),
    (_DISCRETE, True, [('structure', 'observation is a bool, no integer.')]),
    (_MULTI, np.array([0, 3]), [
        ('bounds', 'observation is 3 at index (1,), outside of [0, 2].')]),
    (_MULTI, np.array([0.0, 1.0]), [
        ('dtype', 'observation has dtype float64, no integer.')]),
    (_BINARY, np.array([0, 2], np.int8), [
        ('bounds', 'observation is 2 at index (1,), outside of [0, 1].')]),
    (_TUPLE, [_f32(0, 0), 1], [
        ('structure', 'observation is a list, not a tuple.')]),
    (_TUPLE, (_f32(0, 0),), [
        ('structure', 'observation has 1 parts, and its space 2.')]),
    (_TUPLE, (_f32(0, 9), 5), [
        ('bounds', 'observation/0 is 9.0 at index (1,), outside of '
                   '[-1.0, 1.0].'),
        ('bounds', 'observation/1 is 5, and its space goes from -1 to 1.')]),
    (_NESTED, _f32(0, 0), [
        ('structure', 'observation is an array of shape (2,), not a dict.')]),
    (_NESTED, {'a': _f32(0, 0)}, [
        ('structure', "observation has the keys ['a'], and its space "
                      "['a', 'b'].")]),
    (_NESTED, {'a': _f32(0, 0), 'b': {'c': 3, 'text': ''}}, [
        ('structure', 'observation/b/c is an int, not a tuple.')]),
])
def test_bad_observations(space, observation, found):
  findings = rules.Findings()
  values.check_observation(observation, space, 'now', findings)
  assert [(f.rule, f.what) for f in findings.list()] == [
      (f'observation-{rule}', f'now: {what}') for rule, what in found
  ]


@pytest.mark.parametrize('reward, found', [
    (1, None),
    (-1.5, None),
    (np.float32(1), None),
    (np.float64(1), None),
    (np.int64(3), None),
    (3e38, None),
    (np.array(1.0), ('type', 'an array of shape (), no number')),
    (np.array([1.0]), ('type', 'an array of shape (1,), no number')),
    (True, ('type', 'a bool, no number')),
    (np.bool_(True), ('type', 'a bool_, no number')),
    (None, ('type', 'None, no number')),
    ('1', ('type', 'a str, no number')),
    (1j, ('type', 'a complex, no number')),
    (float('nan'), ('finite', 'nan')),
    (np.float32(np.inf), ('finite', 'inf')),
    (-4e38, ('finite', '-4e+38')),  # Infinite as float32.
])
def test_rewards(reward, found):
  findings = rules.Findings()
  values.check_reward(reward, 'now', findings)
  expected = []
  if found:
    expected = [(f'reward-{found[0]}', f'now: the reward is {found[1]}.')]
  assert [(f.rule, f.what) for f in findings.list()] == expected


@pytest.mark.parametrize('flag, kind', [
    (False, None),
    (np.bool_(True), None),
    (0, 'an int'),
    (None, 'None'),
    (np.array(True), 'an array of shape ()'),
])
def test_flags(flag, kind):
  findings = rules.Findings()
  values.check_flag(flag, 'truncated', 'now', findings)
  assert [f.what for f in findings.list()] == (
      [f'now: truncated is {kind}, no bool.'] if kind else []
  )


@pytest.mark.parametrize('first, second, same', [
    (1, 1, True),
    (1, 2, False),
    (float('nan'), float('nan'), True),
    (float('nan'), 1.0, False),
    ('a', 'a', True),
    ('a', 'b', False),
    (_f32(1, np.nan), _f32(1, np.nan), True),
    (_f32(1, np.nan), _f32(1, 2), False),
    (_f32(1, 2), _f32(1, 3), False),
    (_f32(1, 2), _f32(1, 2, 3), False),
    (_f32(1, 1), _f32(1), False),  # Not by broadcasting.
    (np.array([1, 2]), np.array([1, 2]), True),
])
def test_equal(first, second, same):
  assert values.equal(first, second) is same


def test_leaves():
  nest = {'b': (1, [2, 'x']), 'a': {'c': None}}
  assert list(values.leaves(nest)) == [
      ('observation/a/c', None),
      ('observation/b/0', 1),
      ('observation/b/1/0', 2),
      ('observation/b/1/1', 'x'),
  ]


def test_findings_are_counted_by_rule_and_subject():
  findings = rules.Findings(accept=['time-limit'])
  for subject in ('x', 'y', 'x', 'x'):
    findings.add('reward-type', f'of {subject}.', subject)
  findings.add('time-limit', 'Twenty.')
  findings.add('close', 'No.')
  assert [(f.rule, f.what, f.level) for f in findings.list()] == [
      ('reward-type', 'of x. (3 times in all.)', 'fault'),
      ('reward-type', 'of y.', 'fault'),
      ('close', 'No.', 'fault'),
      ('time-limit', 'Twenty.', 'note'),
  ]
  assert findings.has('close') and not findings.has('raises')
  with pytest.raises(KeyError):
    findings.add('no-such-rule', '')
