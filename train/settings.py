# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints what gin files can set, as Markdown: names, types, defaults.

  rnd-settings                     # everything
  rnd-settings RNDPPOAgent NovelD  # the settings of two configurables

All of it is read from signatures and docstrings.
"""

from collections.abc import Callable, Mapping, Sequence
import functools
import inspect
import re
import typing
from typing import Any, NamedTuple

import gin

from rnd_agents import _compat
from rnd_agents import archive
from rnd_agents import errors
from rnd_agents import programs
from rnd_agents.training import configuration
from rnd_agents.training import gin_files

del archive  # Imported for what gin can set of it.

_HEAD = """# Settings

Each line `NAME.PARAMETER = VALUE` of a gin file, or of `--gin_bindings`, sets
one of these parameters. `@NAME` refers to a function or a class, `@NAME()` to
the result of its call. `rnd-settings` prints this page, `rnd-settings NAME` a
part of it. Values of one run are in its `operative_config.gin`.
"""
_SECTION = re.compile(r'^(?:Args|Attributes):\n((?:(?:  .*)?\n)+)', re.M)
_PARAMETER = re.compile(r'^  \*{0,2}(\w+)(?: \([^)]*\))?: ', re.M)


class _Parameter(NamedTuple):
  """A parameter that gin can bind, as texts."""

  name: str
  type: str
  default: str
  description: str


def _described(configurable: Callable[..., Any]) -> dict[str, str]:
  """Returns the descriptions of parameters in docstrings, in one line each."""
  found: dict[str, str] = {}
  documented: list[Any] = [configurable]
  # What a subclass leaves out is documented by its parents, and what a function
  # leaves out that builds an object, by the object's class.
  built = configurable
  if not inspect.isclass(configurable):
    built = inspect.signature(configurable).return_annotation
  if inspect.isclass(built):
    documented[:0] = [
        part
        for kind in reversed(built.__mro__)
        if kind.__module__.startswith('rnd_agents')
        for part in (kind, vars(kind).get('__init__'))
    ]
  for part in documented:
    text = inspect.cleandoc(part.__doc__ or '') + '\n'
    for section in _SECTION.findall(text):
      names = _PARAMETER.split(section)[1:]
      for name, description in zip(names[::2], names[1::2]):
        found[name] = ' '.join(description.split())
  return found


def _printed(annotation: Any) -> str:
  """Returns an annotation as Python prints it, without modules."""
  text = inspect.formatannotation(annotation)
  return re.sub(r"ForwardRef\('(\w+)'\)|\b(?:\w+\.)+(?=\w)", r'\1', text)


@functools.cache
def _aliases() -> dict[str, str]:
  """Returns TF-Agents' names of unions by what Python prints, longest first."""
  # After rnd_agents, which decides on TensorFlow's Keras.
  from tf_agents.typing import types  # pylint: disable=g-import-not-at-top

  names = {
      _printed(alias).removeprefix('Union[').removesuffix(']'): name
      for name, alias in vars(types).items()
      if typing.get_origin(alias) is typing.Union
  }
  return dict(sorted(names.items(), key=lambda pair: -len(pair[0])))


def _text_of_type(annotation: Any) -> str:
  if annotation is inspect.Parameter.empty:
    return ''
  text = _printed(annotation)
  for members, name in _aliases().items():
    text = text.replace(members, name)
  text = re.sub(r'Union\[(\w+)\]', r'\1', text)
  text = re.sub(r'Union\[([\w, ]+)\]',
                lambda union: union[1].replace(', ', ' | '), text)
  # A bar would divide a cell of the table.
  return text.replace('NoneType', 'None').replace("'", '').replace('|', 'or')


def _text_of_default(parameter: inspect.Parameter) -> str:
  default = parameter.default
  if default is inspect.Parameter.empty:
    return 'needed'
  name = getattr(default, '__name__', None)
  if name is not None:
    return f'@{name}'
  text = repr(default)
  return '' if text.startswith('<') else text


def parameters(owner: str) -> list[_Parameter]:
  """Returns what gin can bind of a configurable of this package, in order."""
  configurable = gin.get_configurable(f'rnd_agents.{owner}')
  described = _described(configurable)
  found = []
  with _compat.separate_gin_state():
    for name, each in configuration.parameters_of(configurable).items():
      if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
        continue
      try:
        gin.bind_parameter(f'rnd_agents.{owner}.{name}', None)
      except ValueError:  # On its denylist.
        continue
      found.append(
          _Parameter(
              name,
              _text_of_type(each.annotation),
              _text_of_default(each),
              described.get(name, ''),
          )
      )
  return found


def _introduction(configurable: Callable[..., Any]) -> str:
  """Returns a docstring without its sections."""
  text = inspect.getdoc(configurable) or ''
  return re.split(r'\n\n(?=[A-Z]\w+:\n)', text)[0]


def _section(name: str, configurable: Callable[..., Any]) -> str:
  """Returns the part of the page on one configurable."""
  lines = [f'### {name}', '', _introduction(configurable), '']
  rows = parameters(name)
  if rows:
    lines += ['| parameter | type | default | |', '|---|---|---|---|']
  for row in rows:
    cells = [f'`{name}.{row.name}`', row.type and f'`{row.type}`',
             row.default and f'`{row.default}`', row.description]
    lines.append(f'| {" | ".join(cells)} |')
  return '\n'.join(lines) + '\n'


def as_markdown(names: Sequence[str] = ()) -> str:
  """Returns the reference of settings.

  Args:
    names: Configurables to describe; none for all, with headings and a head.

  Raises:
    InvalidValue: If gin does not know a name.
  """
  known: Mapping[str, Callable[..., Any]] = gin_files.configurables()
  unknown = [name for name in names if name not in known]
  if unknown:
    raise errors.InvalidValue(
        f'Unknown setting {", ".join(unknown)}: names are those of'
        f' {", ".join(sorted(known))}.'
    )
  if names:
    return '\n'.join(_section(name, known[name]) for name in names)
  groups: dict[str, list[str]] = {}
  for name in sorted(known, key=str.lower):
    package = known[name].__module__.split('.')[1]
    groups.setdefault(package, []).append(_section(name, known[name]))
  parts = [_HEAD]
  for package, sections in sorted(groups.items()):
    parts += [f'## {package}\n', *sections]
  return '\n'.join(parts)


@programs.explaining('settings', status=2)
def main(argv: Sequence[str]) -> int:
  """Prints the reference; returns the exit status."""
  print(as_markdown(argv[1:]))
  return 0


def run() -> None:
  """Runs the program, as the command `rnd-settings` does."""
  programs.run_program(main)


if __name__ == '__main__':
  run()
