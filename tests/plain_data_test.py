# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""States come back as they were, and files from elsewhere run nothing."""

import collections
import decimal
import fractions
import io
import json
import math
import pickle
import re
import sys

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents import errors
from rnd_agents import plain_data
from tests import source_tree


class Pair(collections.namedtuple('Pair', ['left', 'right'])):
  """A NamedTuple that says when it is called."""

  def __new__(cls, left, right):
    raise AssertionError('A file has called this class.')


class Outer:
  """Holds another class."""

  Inner = collections.namedtuple('Inner', ['a'])
  Inner.__module__, Inner.__qualname__ = __name__, 'Outer.Inner'


class _File(io.BytesIO):
  name = 'some/state.bin'


def _dumped(value):
  file = _File()
  plain_data.dump(value, file)
  return file.getvalue()


def _again(value):
  return plain_data.load(_File(_dumped(value)))


def _forged(structure, data=b''):
  return _File(json.dumps(structure).encode() + b'\n' + data)


@pytest.mark.parametrize(
    'value',
    [
        None,
        True,
        2**127 + 1,
        -0.0,
        0.1 + 0.2,
        math.inf,
        'x\n"\ud800\u00e4',
        b'',
        b'\x00\n\xff',
        [],
        [(), (1,), [2]],
        {'tuple': [1]},
        {1: 'a', (2, None): {'b': ()}, 'c': b'd'},
        {3},
        frozenset({1}),
        collections.deque([1, 2], maxlen=5),
        Outer.Inner(a=[1]),
        tuple.__new__(Pair, (1, {'x': 2})),
    ],
    ids=repr,
)
def test_values_come_back(value):
  again = _again(value)
  assert again == value and type(again) is type(value)
  assert repr(again) == repr(value)  # The types inside, and the sign of 0.
  assert getattr(again, 'maxlen', None) == getattr(value, 'maxlen', None)


@pytest.mark.parametrize(
    'value',
    [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::2],
        np.zeros((0, 3), np.float32),
        np.array(2.5, '>f8'),
        np.array([[True], [False]]),
        np.array(['a', 'bcd', '']),
        np.array([np.nan, -0.0], np.float16),
        np.array(['2026-01-01'], 'datetime64[D]'),
        tf.constant([1.5, -2.0], tf.bfloat16).numpy(),
        np.float32(0.1),
        np.int64(-1),
        np.bool_(True),
        np.str_(''),
        tf.constant(1.5, tf.bfloat16).numpy(),
    ],
    ids=lambda value: f'{value.dtype} {value.shape}',
)
def test_arrays_come_back_in_their_order_of_memory(value):
  again = _again({'x': [value]})['x'][0]
  assert type(again) is type(value)
  assert again.dtype == value.dtype and again.shape == value.shape
  assert again.tobytes() == value.tobytes()
  assert again.flags.fnc == value.flags.fnc
  if isinstance(again, np.ndarray):
    assert again.flags.writeable and again.flags.owndata


def test_a_time_step_comes_back():
  step = ts.restart(np.float32([1, 2]), batch_size=1)
  step = tf.nest.map_structure(np.asarray, step)
  again = _again(step)
  tf.nest.assert_same_structure(again, step)
  assert isinstance(again, ts.TimeStep) and again.is_first().all()


def test_what_a_module_wraps_comes_back_plain():
  module = tf.Module()
  module.value = dict(a=(1, ts.StepType.FIRST), b=dict(c=np.ones(2)))
  assert type(module.value) is not dict
  found = _again(module.value)
  assert type(found) is dict and type(found['b']) is dict
  assert type(found['a']) is tuple
  np.testing.assert_array_equal(found['b']['c'], [1, 1])


def test_a_generator_continues():
  generator = np.random.default_rng(3)
  generator.integers(5, dtype=np.int32)  # Leaves half of a draw.
  again = _again(generator)
  np.testing.assert_array_equal(
      again.integers(100, size=9, dtype=np.int32),
      generator.integers(100, size=9, dtype=np.int32),
  )


def test_what_is_packed_comes_back():
  value = [np.arange(10_000), b'a' * 10_000, 'b']
  file = _File()
  plain_data.dump(value, file, packs=True)
  assert len(file.getvalue()) < len(_dumped(value)) / 4
  file.seek(0)
  assert _dumped(plain_data.load(file)) == _dumped(value)


def test_the_format_is_not_numpys():
  # Written by hand; NumPy 1 and 2 read it, whichever wrote it.
  file = _forged({'array': ['<f4', [2], 'C', [1, 8]]}, b'x\0\0\x80?\0\0\0@')
  np.testing.assert_array_equal(plain_data.load(file), np.float32([1, 2]))


@pytest.mark.parametrize(
    'value',
    [
        fractions.Fraction(1, 2),
        {'x': [decimal.Decimal(1)]},
        print,
        int,
        np.array([None]),
        np.zeros(2, [('a', 'f4')]),
        np.ma.masked_array([1]),
        np.random.RandomState(0),
        np.random.Generator(np.random.MT19937(0)),
        collections.namedtuple('Local', ['a'])(1),
        collections.OrderedDict(a=1),
        tf.constant(1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused_before_anything_is_written(value):
  file = _File()
  with pytest.raises(errors.InvalidType, match='not plain data'):
    plain_data.dump([1, value], file)
  assert not file.getvalue()


@pytest.mark.parametrize(
    'structure',
    [
        {'named': ['subprocess', 'Popen', [['true']]]},
        {'named': ['builtins', 'eval', ['1']]},
        {'named': ['os', 'system', ['true']]},
        {'named': ['os', 'stat_result', [[0] * 10]]},
        {'named': ['no_such_module', 'Pair', [1, 2]]},
        {'named': [__name__, 'Pair', [1]]},
        {'named': [__name__, 'Pair.__new__', [1, 2]]},
        {'named': [__name__, None, [1, 2]]},
        {'named': [['x'], 'Pair', [1, 2]]},
        {'array': ['O', [1], 'C', [0, 8]]},
        {'array': ['i4,O', [1], 'C', [0, 8]]},
        {'array': [['O'], [1], 'C', [0, 8]]},
        {'array': ['<f8', [2], 'C', [0, 8]]},
        {'array': ['<f8', [-1], 'C', [0, 8]]},
        {'array': ['<f8', [2**40, 2**40], 'C', [0, 8]]},
        {'array': ['V0', [2**31], 'C', [0, 8]]},
        {'array': ['<f8', [1], 'C', [8, 8]]},
        {'array': ['<f8', [1], 'C', [-8, 8]]},
        {'bytes': [0, 9]},
        {'bytes': [4, -4]},
        {'scalar': ['O', [0, 8]]},
        {'generator': {'dict': [['bit_generator', 'MT19937']]}},
        {'dict': [[[], 1]]},
        {'pickle': 'cos\nsystem\n'},
        {'tuple': [1], 'list': [1]},
        {},
    ],
    ids=json.dumps,
)
def test_forged_structures_are_refused(structure):
  with pytest.raises(errors.SetupError, match='some/state.bin'):
    plain_data.load(_forged([structure], bytes(8)))


def test_no_module_is_imported_or_asked_for_a_name():
  class Lazy(type(sys)):

    def __getattr__(self, name):
      raise AssertionError('A file has made a module import something.')

  sys.modules['lazy_for_this_test'] = Lazy('lazy_for_this_test')
  try:
    for module in ('lazy_for_this_test', 'this'):
      with pytest.raises(errors.SetupError, match=f'{module}.Pair'):
        plain_data.load(_forged({'named': [module, 'Pair', []]}))
  finally:
    del sys.modules['lazy_for_this_test']
  assert 'this' not in sys.modules


@pytest.mark.parametrize(
    'content',
    [
        b'',
        b'[',
        b'\xff',
        b'[' * 10**6,
        pickle.dumps([1]),
        b'{"bytes":[0,1]}',
        b'x\x01',
    ],
    ids=['empty', 'cut', 'bytes', 'deep', 'pickle', 'no data', 'cut, packed'],
)
def test_other_files_are_refused(content):
  with pytest.raises(errors.SetupError, match='some/state.bin'):
    plain_data.load(_File(content))


# Copies in memory, and messages between processes of one run.
_MAY_UNPICKLE = {
    'rnd_agents/archive/snapshots.py',
    'rnd_agents/environments/vector_environment.py',
}


def test_no_file_is_read_that_is_a_program():
  reads = re.compile(
      r'\b(pickle|dill|marshal|joblib|shelve|yaml)\.(full_|unsafe_)?load'
      r'|Unpickler|allow_pickle|(?<![\w.])(eval|exec)\('
  )
  found = {
      path
      for path in source_tree.python_files()
      if path.startswith(('rnd_agents/', 'train/'))
      and reads.search((source_tree.ROOT / path).read_text())
  }
  assert found <= _MAY_UNPICKLE
