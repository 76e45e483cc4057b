# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of a gin configuration, and the annotations that they fit."""

import collections.abc
from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import inspect
import numbers
import types
import typing
from typing import Any, Optional, Union

import gin
from gin import config_parser
import tensorflow as tf
from tf_agents.typing import types as tf_agents_types

from rnd_agents import errors

_UNIONS = (Union, types.UnionType)
_NUMBERS = typing.get_args(tf_agents_types.Float)
_SEQUENCES = (
    list,
    tuple,
    collections.abc.Collection,
    collections.abc.Iterable,
    collections.abc.Sequence,
)
_WORDS = {
    int: 'an integer',
    float: 'a number',
    bool: 'True or False',
    str: 'a text in quotes',
    dict: 'a dict',
    None: 'None',
    type(None): 'None',
    type: 'a class (@name)',
    collections.abc.Callable: 'a function (@name)',
}


@dataclasses.dataclass(frozen=True)
class Reference:
  """A reference to a configurable, `@name` or `@name()`.

  Attributes:
    name: Name of the configurable, with its scopes.
    is_called: Whether it has brackets.
  """

  name: str
  is_called: bool

  @property
  def selector(self) -> str:
    """Name of the configurable, without scopes."""
    return self.name.rpartition('/')[2]

  def __repr__(self) -> str:
    return f'@{self.name}{"()" if self.is_called else ""}'


class CalledReference(Reference):
  """Annotates what `@name()` returns, whatever that is."""


@dataclasses.dataclass(frozen=True)
class Macro:
  """A macro, `%name`."""

  name: str

  def __repr__(self) -> str:
    return f'%{self.name}'


class Delegate(config_parser.ParserDelegate):
  """Makes `Reference`s and `Macro`s for gin's parser."""

  def configurable_reference(
      self, scoped_configurable_name: str, evaluate: bool
  ) -> Reference:
    return Reference(scoped_configurable_name, evaluate)

  def macro(self, macro_name: str) -> Macro:
    return Macro(macro_name)


def is_same(value: Any, default: Any) -> bool:
  """Returns whether the value of a binding is a parameter's default."""
  if isinstance(value, Reference):
    name = getattr(default, '__name__', None)
    return not value.is_called and value.selector.rpartition('.')[2] == name
  if isinstance(default, tuple):  # As in gin, a list may be meant.
    default = list(default)
  return (list(value) if isinstance(value, tuple) else value) == default


def flatten(value: Any, depth: int = 0) -> Iterator[Any]:
  """Yields the items of nested lists, tuples and dicts, keys included.

  Args:
    value: Value of a binding.
    depth: Number of lists, tuples and dicts around it.

  Raises:
    RecursionError: If they are nested too deeply for gin to write them.
  """
  if depth > 100:
    raise RecursionError
  if isinstance(value, dict):
    value = [*value.keys(), *value.values()]
  if isinstance(value, (list, tuple)):
    for each in value:
      yield from flatten(each, depth + 1)
  else:
    yield value


def expand_macros(
    value: Any, macros: dict[str, Any], within: Sequence[str] = ()
) -> Any:
  """Returns a value with the values of macros in their place.

  Args:
    value: Value of a binding or of a macro.
    macros: Values by the names of the macros; others stay, such as gin's
      constants.
    within: Names of the macros that the value is part of.

  Raises:
    GinError: If a macro stands for itself.
  """
  if isinstance(value, Macro) and value.name in macros:
    names = (*within, value.name)
    if value.name in within:
      cycle = ' = '.join(f'%{name}' for name in names)
      raise errors.GinError(
          f'A macro stands for itself: {cycle}. Give one of them a value.'
      )
    return expand_macros(macros[value.name], macros, names)
  if isinstance(value, (list, tuple)):
    return type(value)(expand_macros(each, macros, within) for each in value)
  if isinstance(value, dict):
    return {
        key: expand_macros(each, macros, within) for key, each in value.items()
    }
  return value


def annotation_of(parameter: inspect.Parameter) -> Any:
  """Returns a parameter's annotation; where there is none, its default's type.

  Args:
    parameter: Parameter of a function or class.
  """
  annotation, default = parameter.annotation, parameter.default
  if annotation is parameter.empty:
    if parameter.name.endswith('_fn'):
      annotation = Callable | Sequence | Reference
    elif isinstance(default, tuple):
      annotation = Sequence | None
    elif isinstance(default, float):
      annotation = float | Reference | None
    elif isinstance(default, (int, str)):
      annotation = type(default) | Reference
    else:
      return Any
  found = typing.get_args(annotation)
  if typing.get_origin(annotation) in _UNIONS and tf.Tensor in found:
    # TF-Agents' types of numbers have texts and booleans among them, too. A
    # schedule is what a function returns, not the function.
    annotation = float | CalledReference
    for each in found:
      if each not in _NUMBERS:
        annotation = annotation | each
  # Not annotation | None, which a text and None itself do not have.
  return Optional[annotation] if default is None else annotation  # noqa: UP045


def numbers_of_arguments(annotation: Any) -> list[int]:
  """Returns with how many arguments functions of an annotation are called."""
  arguments = typing.get_args(annotation)
  if typing.get_origin(annotation) is not collections.abc.Callable:
    return [n for each in arguments for n in numbers_of_arguments(each)]
  return [len(arguments[0])] if isinstance(arguments[0], list) else []


def fits(value: Any, annotation: Any) -> bool:
  """Returns whether a value may be given where an annotation stands.

  Args:
    value: Value of a binding. A macro, which has no value here, always fits.
    annotation: A type, or a construct of `typing`. All values fit other ones.
  """
  arguments = typing.get_args(annotation)
  kind = typing.get_origin(annotation) or annotation
  if kind in _UNIONS:
    return any(fits(value, each) for each in arguments)
  if kind is typing.Literal:
    return any(value == x and type(value) is type(x) for x in arguments)
  if kind is None:
    return value is None
  if (
      kind in (Any, object)
      or not isinstance(kind, type)
      or isinstance(value, Macro)
  ):
    return True
  if isinstance(value, Reference):
    return _reference_fits(value, kind, arguments)
  if isinstance(value, bool):
    return kind is bool
  if kind is float:
    return isinstance(value, numbers.Real)
  if kind in _SEQUENCES:
    return isinstance(value, (list, tuple)) and _items_fit(value, arguments)
  if isinstance(value, dict) and arguments:
    return issubclass(dict, kind) and all(
        fits(key, arguments[0]) and fits(each, arguments[-1])
        for key, each in value.items()
    )
  try:
    return isinstance(value, kind)
  except TypeError:  # A protocol that does not allow it.
    return False


def _items_fit(values: Sequence[Any], arguments: Sequence[Any]) -> bool:
  """Returns whether items fit `Sequence[x]`, `Tuple[x, ...]`, `Tuple[x, y]`."""
  if not arguments:
    return True
  if len(arguments) == 1 or arguments[-1] is ...:
    return all(fits(value, arguments[0]) for value in values)
  return len(values) == len(arguments) and all(map(fits, values, arguments))


def _reference_fits(
    reference: Reference, kind: type, arguments: Sequence[Any]
) -> bool:
  """Returns whether the value of a reference can be of a type."""
  if kind in (Reference, CalledReference):
    return reference.is_called or kind is Reference
  found = gin.get_configurable(reference.selector)
  is_class = isinstance(found, type)
  if reference.is_called:  # Nobody knows what a function returns.
    return not is_class or _is_subclass(found, kind)
  if kind is type:
    return is_class and all(_is_subclass(found, each) for each in arguments)
  if kind is collections.abc.Callable:
    return _returns(found, arguments[-1] if arguments else Any)
  # A class whose objects would fit lacks its brackets.
  return _is_subclass(kind, collections.abc.Callable) and not (
      is_class and _is_subclass(found, kind)
  )


def _returns(found: Callable[..., Any], kind: Any) -> bool:
  """Returns whether a configurable may return an object of a type.

  True for types of which other objects may do as well, such as numbers.
  """
  result: Any = found
  if not isinstance(found, type):
    result = getattr(found, '__annotations__', {}).get('return')
  if not _is_checked(kind) or not isinstance(result, type):
    return True
  return _is_subclass(result, kind) or _is_subclass(kind, result)


def _is_checked(kind: Any) -> bool:
  packages = ('gymnasium', 'rnd_agents', 'tf_agents')
  return (
      isinstance(kind, type) and kind.__module__.partition('.')[0] in packages
  )


def _is_subclass(found: type, kind: Any) -> bool:
  try:
    return issubclass(found, kind)
  except TypeError:  # `Any`, or a protocol that does not allow it.
    return True


def describe(annotation: Any) -> str:
  """Describes values that fit an annotation, for messages."""
  arguments = typing.get_args(annotation)
  kind = typing.get_origin(annotation) or annotation
  if kind in _UNIONS:
    references = Reference, CalledReference
    words = (describe(each) for each in arguments if each not in references)
    return ' or '.join(dict.fromkeys(words))
  if kind is typing.Literal:
    return ' or '.join(map(repr, arguments))
  if kind is tuple and arguments and arguments[-1] is not ...:
    items = ', '.join(map(describe, arguments))
    return f'a list of {len(arguments)} ({items})'
  if kind in _SEQUENCES:
    item = arguments[0] if arguments else Any
    if fits(64, item):
      items = {int: ' of integers', float: ' of numbers'}.get(item, '')
      return f'a list{items}, such as (64, 64)'
    return f'a list (each item: {describe(item)})'
  if kind is collections.abc.Callable and any(map(_is_checked, arguments)):
    return f'a function (@name) that returns a {arguments[-1].__name__}'
  if kind is type and isinstance(next(iter(arguments), None), type):
    name = arguments[0].__name__
    return f'{name} or a subclass, such as @{name}'
  return _WORDS.get(kind) or f'a {kind.__name__}'


def takes_functions(annotation: Any) -> bool:
  """Returns whether functions are among the values of an annotation."""
  kind = typing.get_origin(annotation) or annotation
  if kind in _UNIONS or kind in _SEQUENCES:
    return any(map(takes_functions, typing.get_args(annotation)))
  return kind is collections.abc.Callable


def hint(value: Any, annotation: Any) -> str:
  """Returns advice on what to write instead of a value, or ''."""
  instead: list[Any] = []
  if isinstance(value, float) and value.is_integer():
    instead = [int(value)]
  elif isinstance(value, Reference):
    called = Reference(value.name, True)
    instead = [[value], [called], called]
    if takes_functions(annotation):  # It returns something else.
      instead = [[value]]
  elif isinstance(value, (list, tuple)):  # Of names without brackets.
    instead = [[
        Reference(each.name, True) if isinstance(each, Reference) else each
        for each in value
    ]]
  elif isinstance(value, str):
    instead = [Reference(value, False)]
  with contextlib.suppress(ValueError):  # A text that names no configurable.
    for each in instead:
      if fits(each, annotation):
        return f' Write {each!r}.'
  return ''
