# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of plain data: numbers, texts, bytes, arrays and containers of them.

A pickle is a program that runs when it is read. These files are not: reading
one imports nothing and calls nothing that the file names, wherever it comes
from. A line of JSON with the structure comes first, then the bytes of all
arrays. A dict in the JSON says what it stands for: `{"tuple": [1, 2]}`. All of
it may be packed by zlib.

Of random generators NumPy's default is supported, `Generator` with `PCG64`, but
for what it needs to spawn others. NamedTuples are found by their names among
the modules that are imported already.
"""

import collections
from collections.abc import Iterable, Sequence
import io
import json
import math
import sys
from typing import Any, BinaryIO, NoReturn
import zlib

import numpy as np

from rnd_agents import errors

_PACKED = b'x'  # The first byte of zlib's, with which no JSON begins.
_AS_IN_JSON = (type(None), bool, int, float, str)
_SEQUENCES: dict[str, type] = {
    kind.__name__: kind for kind in (tuple, set, frozenset)
}


def dump(value: Any, file: BinaryIO, packs: bool = False) -> None:
  """Writes a value, which `load` returns as it was.

  Args:
    value: None, bools, numbers, texts, bytes, NumPy's arrays, scalars and
      generators, in lists, tuples, dicts, sets, deques and NamedTuples.
    file: Where to; open for bytes.
    packs: Whether to write it through zlib, at its fastest.

  Raises:
    InvalidType: The value holds something else; nothing was written.
  """
  writer = _Writer()
  structure = json.dumps(writer.structure(value), separators=(',', ':'))
  parts = [structure.encode('ascii'), b'\n', *writer.parts]
  if packs:
    packer = zlib.compressobj(1)
    parts = [*map(packer.compress, parts), packer.flush()]
  file.writelines(parts)


def load(file: BinaryIO) -> Any:
  """Reads what `dump` wrote.

  Raises:
    SetupError: The file holds something else; the message names it.
  """
  try:
    first = file.read(1)
    file.seek(0)
    if first == _PACKED:
      return _Reader(io.BytesIO(zlib.decompress(file.read()))).value
    return _Reader(file).value
  except OSError:
    raise
  except Exception as error:  # Whatever JSON and NumPy say of such a file.
    raise errors.SetupError(
        f'{file.name} does not hold what rnd_agents writes there'
        f' ({type(error).__name__}: {error}). Bring back a copy, or choose'
        ' another --root_dir.'
    ) from error


class _Writer:
  """The structure of a value for JSON, and the bytes that it refers to."""

  def __init__(self) -> None:
    self.parts: list[bytes] = []
    self._num_bytes = 0

  def structure(self, value: Any) -> Any:
    # TensorFlow's proxies of dicts and tuples have the class of these.
    kind = value.__class__
    if kind in _AS_IN_JSON:
      return value
    if kind is list:
      return self._all(value)
    if kind is dict:
      return {'dict': [[*map(self.structure, pair)] for pair in value.items()]}
    if kind in _SEQUENCES.values():
      return {kind.__name__: self._all(value)}
    if kind is np.ndarray or isinstance(value, np.generic):
      return self._array(value)
    if kind is bytes:
      return {'bytes': self._place(value)}
    if _is_named_tuple(kind) and _find(*_name(kind)) is kind:
      return {'named': [*_name(kind), self._all(value)]}
    if kind is collections.deque:
      return {'deque': [self._all(value), value.maxlen]}
    if kind is np.random.Generator:
      bits = value.bit_generator
      if type(bits) is np.random.PCG64:
        return {'generator': self.structure(bits.state)}
    return _refuse(kind)

  def _all(self, values: Iterable[Any]) -> list[Any]:
    return [self.structure(value) for value in values]

  def _array(self, value: Any) -> Any:
    dtype = value.dtype
    # A type that another package adds, such as bfloat16, has no code.
    code = dtype.name if dtype.isbuiltin == 2 else dtype.str
    if dtype.hasobject or np.dtype(code) != dtype:
      return _refuse(f'an array of {dtype}')
    if isinstance(value, np.generic):
      return {'scalar': [code, self._place(value.tobytes())]}
    order = 'F' if value.flags.fnc else 'C'
    place = self._place(value.tobytes(order))
    return {'array': [code, list(value.shape), order, place]}

  def _place(self, data: bytes) -> list[int]:
    place = [self._num_bytes, len(data)]
    self.parts.append(data)
    self._num_bytes += len(data)
    return place


class _Reader:
  """Reads a file; `value` is what it holds."""

  def __init__(self, file: BinaryIO) -> None:
    structure = json.loads(file.readline())
    self._data = file.read()
    self.value = self._value(structure)

  def _value(self, structure: Any) -> Any:
    if type(structure) is list:
      return self._all(structure)
    if type(structure) is not dict:
      return structure
    ((kind, content),) = structure.items()
    if kind == 'dict':
      return dict(map(self._all, content))
    if kind in _SEQUENCES:
      return _SEQUENCES[kind](self._all(content))
    if kind == 'array':
      return self._array(*content)
    if kind == 'scalar':
      code, place = content
      return self._array(code, (), 'C', place)[()]
    if kind == 'bytes':
      return self._bytes(content)
    if kind == 'named':
      module, name, values = content
      return _named(module, name, self._all(values))
    if kind == 'deque':
      values, maxlen = content
      return collections.deque(self._all(values), maxlen)
    if kind == 'generator':
      bits = np.random.PCG64()
      bits.state = self._value(content)
      return np.random.Generator(bits)
    return _refuse(kind)

  def _all(self, structures: Sequence[Any]) -> list[Any]:
    return [self._value(structure) for structure in structures]

  def _bytes(self, place: Sequence[int]) -> bytes:
    start, size = place
    if not 0 <= start <= start + size <= len(self._data):
      raise errors.InvalidValue('it is too short')
    return self._data[start : start + size]

  def _array(
      self, code: Any, shape: Sequence[int], order: Any, place: Sequence[int]
  ) -> Any:
    if not isinstance(code, str) or np.dtype(code).hasobject:
      return _refuse(f'an array of {code}')
    data = self._bytes(place)
    # NumPy takes -1 for any length, and any length of elements without bytes.
    if min(shape, default=0) < 0 or math.prod(shape) > max(len(data), 1):
      return _refuse(f'an array of shape {shape}')
    return np.ndarray(shape, np.dtype(code), data, order=order).copy('K')


def _named(module: str, name: str, values: Sequence[Any]) -> Any:
  """Returns a NamedTuple without a call of its class."""
  kind = _find(module, name)
  if not _is_named_tuple(kind) or len(kind._fields) != len(values):
    return _refuse(f'{module}.{name}')
  return tuple.__new__(kind, values)


def _is_named_tuple(kind: Any) -> bool:
  return (
      isinstance(kind, type)
      and issubclass(kind, tuple)
      and isinstance(getattr(kind, '_fields', None), tuple)
  )


def _name(kind: type) -> tuple[str, str]:
  return kind.__module__, kind.__qualname__


def _find(module: str, name: str) -> Any:
  """Returns what has a name in a module, None if that is not imported."""
  found = sys.modules.get(module)
  for part in name.split('.'):
    # Not getattr, by which some modules import others.
    found = getattr(found, '__dict__', {}).get(part)
  return found


def _refuse(kind: Any) -> NoReturn:
  """Raises InvalidType for a value that is not plain data."""
  if isinstance(kind, type):
    kind = '.'.join(_name(kind))
  raise errors.InvalidType(
      f'{kind} is not plain data: numbers, texts, bytes, arrays, and lists,'
      ' tuples, dicts, sets and NamedTuples of them'
  )
