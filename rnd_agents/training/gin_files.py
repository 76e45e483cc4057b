# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finding and reading gin files, with errors that help."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import difflib
import importlib.resources
import inspect
import logging
import os
import re
import sys
from typing import Any

import gin

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents import foreign_names
from rnd_agents import run_files
from rnd_agents import switched_off
from rnd_agents.training import configuration
from rnd_agents.training import gin_values

# Lines of gin, or values by the name of a setting.
Bindings = Sequence[str] | Mapping[str, Any]
# Names of included files and their paths, in the order in which gin meets them.
_includes: list[tuple[str, str]] = []
# Names of bindings without effect that are not errors: those of included files
# only, and of files before a file or command line that replaces a function, as
# in `curiosity_fn = @create_e3b` and `core = None`, because that cannot unbind
# the parameters of the other function.
_inherited: set[str] = set()
# How late a binding comes that the user has given, by its name: (number of the
# file, 0 or, in files that it includes, less); the command line is the last
# one. What a run has recorded is not given: that run has accepted it.
_places: dict[str, tuple[int, int]] = {}
# Advice for a parameter that the caller passes.
_INSTEAD = dict(
    seed='use the flag --seed.',
    root_dir='use the flag --root_dir.',
    burn_in_length='use ReplayTraining.burn_in_length.',
    collect_epsilon='use ReplayTraining.epsilon_fn.',
    rnd_observation_fn='use create_rnd.observation_fn.',
    rnd_loss_fn='use create_rnd.loss_fn.',
    observation_clip_value='use create_rnd.observation_clip_value.',
)


def shipped_directory() -> str | None:
  """Returns the folder of the gin files of the package, or None."""
  # A checkout has them beside the package, an installation inside it.
  package = str(importlib.resources.files('rnd_agents'))
  for folder in (
      os.path.join(package, 'gin_configs'),
      os.path.join(os.path.dirname(package), 'gin_configs'),
  ):
    if os.path.isdir(folder):
      return folder
  return None


def find(name: str) -> str:
  """Returns the path of a gin file: as given, or of a shipped one.

  Args:
    name: A path, or the bare name of a shipped file, with or without `.gin`.

  Returns:
    The path of a file that exists.

  Raises:
    MissingFile: If there is none; the message names close matches.
  """
  if os.path.isfile(name):
    return name
  folder = shipped_directory() or ''
  shipped = sorted(
      file
      for file in (os.listdir(folder) if folder else ())
      if file.endswith('.gin')
  )
  for candidate in (name, f'{name}.gin'):
    if candidate in shipped:
      return os.path.join(folder, candidate)
  if os.path.isdir(name):
    raise errors.MissingFile(
        f'{name!r} is a folder: name a gin file, such as one in it.'
    )
  close = difflib.get_close_matches(
      os.path.basename(name), shipped, n=3, cutoff=0.4
  )
  raise errors.MissingFile(
      f'There is no gin file {name!r}, here or among those of the package.'
      + (f' Did you mean {", ".join(close)}?' if close else '')
      + f' Shipped: {", ".join(shipped)}.'
  )


def parse(files: Sequence[str], bindings: Bindings = ()) -> list[str]:
  """Parses gin files and bindings; a name that gin does not know is an error.

  What an earlier call has parsed in this process is cleared before.

  Args:
    files: Names as for `find`; an `include` in them is looked up beside the
      file and among the shipped ones.
    bindings: Lines of gin, which win over the files; or values by name, such
      as {'RNDPPOAgent.num_epochs': 2, 'load_environment.env': MyEnv}, where
      functions and classes are those that gin knows.

  Returns:
    The paths of all files that were read, those that are included as well.

  Raises:
    MissingFile: If a file is missing.
    GinError: If a binding does not fit; the message says where.
  """
  if isinstance(bindings, Mapping):
    bindings = [
        f'{name} = {_as_text(name, value)}' for name, value in bindings.items()
    ]
  paths = [find(name) for name in files]
  sources: dict[str, configuration.Configuration] = {}
  _includes.clear()
  _places.clear()
  for number, path in enumerate(paths):
    _read(path, sources, number)
  given = configuration.parse_text('\n'.join(bindings))
  _places.update(dict.fromkeys(given.names, (len(paths), 0)))
  if gin.config_is_locked():  # By an earlier call.
    gin.clear_config()
  try:
    with _quiet_search():
      gin.parse_config_files_and_bindings(paths, list(bindings))
  except (
      AttributeError,
      ImportError,
      KeyError,  # Of a name that several modules have.
      OSError,
      SyntaxError,
      TypeError,
      ValueError,
  ) as error:
    message = _explain(error)
    gin.clear_config()  # A half.
    raise errors.GinError(message) from error
  configuration.check_macros([given, *sources.values()])
  configuration.check_types()
  configuration.check_cycles()
  _inherited.clear()
  _inherited.update(configuration.bound().names)
  for source in [given, *(sources[path] for path in reversed(paths))]:
    _inherited.difference_update(source.names)
    values = [binding.value for binding in source.bindings]
    if None in values or any(
        isinstance(leaf, gin_values.Reference) for leaf in source.leaves
    ):
      break
  return list(sources)


def _as_text(name: str, value: Any) -> str:
  """Returns the value of a setting as gin writes it."""
  if isinstance(value, (list, tuple)):
    parts = ''.join(f'{_as_text(name, part)}, ' for part in value)
    return f'[{parts}]' if isinstance(value, list) else f'({parts})'
  if callable(value):
    own_name = getattr(value, '__name__', '')
    for selector in (f'{value.__module__}.{own_name}', own_name):
      with contextlib.suppress(ValueError):  # Gin does not know it.
        gin.get_configurable(selector)
        return f'@{selector}'
    raise errors.GinError(
        f'{name}: gin does not know {value!r}: decorate it with'
        ' @gin.configurable.'
    )
  text = repr(value)
  try:
    ast.literal_eval(text)
  except (SyntaxError, ValueError) as error:
    raise errors.GinError(
        f'{name} must be a number, a text, a list, a dict, None, or a function'
        f' or class that gin knows, got {text}.'
    ) from error
  return text


@contextlib.contextmanager
def parsed(
    files: Sequence[str], bindings: Bindings = ()
) -> Iterator[list[str]]:
  """Runs a block with gin as `parse` configures it, and with no more bindings.

  Args:
    files: As for `parse`.
    bindings: As for `parse`.

  Yields:
    The result of `parse`. Afterwards gin is as it was before.
  """
  inherited, places = set(_inherited), dict(_places)
  with _compat.separate_gin_state():
    try:
      yield parse(files, bindings)
    finally:
      _inherited.clear()
      _inherited.update(inherited)
      _places.clear()
      _places.update(places)


@contextlib.contextmanager
def binding(
    owner: str, arguments: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
  """Binds arguments of a program, which gin records then, for a block.

  Args:
    owner: Name of the configurable that takes them.
    arguments: Values by name.

  Yields:
    The arguments that gin cannot bind, such as objects, to be passed.
  """
  others = {}
  with _compat.temporary_gin_bindings():
    with gin.unlock_config():
      for name, value in arguments.items():
        try:
          gin.parse_config(f'{owner}.{name} = {_as_text(name, value)}')
        except ValueError:
          others[name] = value
    yield others


def _read(
    path: str,
    sources: dict[str, configuration.Configuration],
    number: int,
    within: Sequence[str] = (),
) -> None:
  """Parses a file and what it includes, before gin does.

  Args:
    path: Path of the file.
    sources: Gets what the files contain, by their paths.
    number: Number of the file that the user has named.
    within: Paths of the files that include this one.
  """
  within = (*within, path)
  if path in within[:-1]:
    cycle = ' includes '.join(within[within.index(path):])
    raise errors.GinError(f'{cycle}: take out one of these lines.')
  try:
    with open(path, encoding='utf-8') as file:
      sources[path] = configuration.parse_text(file.read(), path)
  except UnicodeDecodeError as error:
    raise errors.GinError(
        f'{path} is not encoded as UTF-8 ({error.reason} at byte'
        f' {error.start}): save it as UTF-8 text.'
    ) from error
  except OSError as error:
    raise errors.GinError(f'{path}: {error.strerror}.') from error
  if os.path.basename(path) != run_files.CONFIG_FILE:
    place = number, 1 - len(within)
    for name in sources[path].names:
      _places[name] = max(place, _places.get(name, place))
  for name in sources[path].includes:
    beside = os.path.dirname(os.path.abspath(path))
    folders = ['', beside, shipped_directory() or '']
    places = [os.path.join(folder, name) for folder in folders]
    # Gin looks for other files, such as those of packages.
    for found in list(filter(os.path.exists, places))[:1]:
      if os.path.isdir(found):
        raise errors.GinError(
            f'{path} includes {name!r}, which is a folder: name a gin file,'
            ' such as one in it.'
        )
      if found != name:
        _includes.append((name, found))
      _read(found, sources, number, within)


gin.config.register_file_reader(
    lambda name: open(_includes.pop(0)[1], encoding='utf-8'),
    lambda name: bool(_includes) and _includes[0][0] == name,
)


def check_used(idle: switched_off.Settings | None = None) -> None:
  """Refuses bindings that had no effect, once everything is built.

  Those of files that another file includes, such as a shipped one, are logged.

  Args:
    idle: Settings that were used and cannot change the run.

  Raises:
    GinError: If a bound parameter of this package was not used, or is idle.
  """
  used = configuration.called().names
  unused_inherited = []
  bound = configuration.bound()
  written = {each.name: each.value for each in bound.bindings}
  bindings = bound.parameters()
  values = {binding.name: binding.value for binding in bindings}
  for binding in bindings:
    if off := _turned_off(binding, idle or {}, values, written):
      if _places[binding.name][1] < 0:
        unused_inherited.append(binding.name)
        continue
      raise errors.GinError(
          f'{binding.name} = {binding.value!r} has no effect {off.why}, or'
          ' leave it out.'
      )
    scope, _, name = binding.name.rpartition('/')
    if configuration.own_configurable(binding) is None or any(
        each == binding.name
        or each.endswith(f'/{name}') and each.startswith(scope)
        for each in used
    ):
      continue
    if binding.name in _inherited:
      unused_inherited.append(binding.name)
    else:
      raise errors.GinError(
          f'{binding.name} has no effect: nothing in this run calls'
          f' {binding.configurable} with it. Remove it, or bind'
          f' @{binding.configurable} where it is to be used.'
      )
  if unused_inherited:
    logging.getLogger('absl').info(
        'Bindings of included files without effect in this run: %s.',
        ', '.join(sorted(unused_inherited)),
    )


def _turned_off(
    binding: configuration.Binding,
    idle: switched_off.Settings,
    values: Mapping[str, Any],
    written: Mapping[str, Any],
) -> switched_off.Idle | None:
  """Returns what turns a given setting off; None if that may be so.

  As of a default, and of a setting that a later file or the command line has
  turned off, as those do that leave out a part of an experiment; or the same
  one by a 0, as a loop over weights does.

  Args:
    binding: The setting.
    idle: Settings that cannot change the run.
    values: Values of all bindings, by their names.
    written: The same with macros as they are written, and theirs.
  """
  owner = binding.name.removesuffix(f'.{binding.parameter}')
  found = idle.get(binding.name) or idle.get(owner)
  place = _places.get(binding.name)
  if found is None or place is None:
    return None
  for switch in map(_deciding, found.switches):
    switch_place = _latest_place(switch, written) or place
    is_zero = switch in values and values[switch] in (0, None)
    if place < switch_place or (place == switch_place and is_zero):
      return None
  function = gin.get_configurable(binding.selector)
  parameter = configuration.parameters_of(function).get(binding.parameter)
  if parameter is not None and gin_values.is_same(
      binding.value, parameter.default
  ):
    return None
  return found


def _latest_place(
    name: str, written: Mapping[str, Any]
) -> tuple[int, int] | None:
  """Returns how late a binding, or a macro in its value, has been given."""

  def places(name: str) -> Iterator[tuple[int, int]]:
    if name in _places:
      yield _places[name]
    for leaf in gin_values.flatten(written.get(name)):
      if isinstance(leaf, gin_values.Macro):
        yield from places(f'{leaf.name}.')  # A macro has no parameter.

  return max(places(name), default=None)


def _deciding(switch: str) -> str:
  """Returns the name of the binding that decides in a switch's scope."""
  scope, _, name = switch.rpartition('/')
  while scope and f'{scope}/{name}' not in _places:
    scope = scope.rpartition('/')[0]
  return f'{scope}/{name}' if scope else name


def _explain(error: Exception) -> str:
  """Returns gin's message on one line, with close names."""
  message = re.sub(r'\s+', ' ', str(error)).strip().rstrip('^ ')
  match = re.match(r"No bindings specified for '(\w+)/gin.macro'", message)
  if match:  # The whole configuration follows.
    return f'The macro %{match.group(1)} is used and has no value.'
  match = re.search(
      r"'(\w+)' (?:has denylisted|doesn't include) kwarg '(\w+)'", message
  )
  if match:
    name, parameter = match.groups()
    instead = _INSTEAD.get(parameter, 'its caller passes it already.')
    return f'{name}.{parameter} has no effect: {instead}'
  if 'Ambiguous selector' in message:
    return message.replace('"', '') + ': write one of these names.'
  close = []
  match = re.search(
      r"[Nn]o configurable matching (?:reference )?'@?([^'()]+)", message
  )
  if match:
    name = match.group(1).rpartition('/')[2].rpartition('.')[2]
    close = difflib.get_close_matches(name, configurables(), n=3)
  match = re.search(
      r"Configurable '([\w.]+)' doesn't have a parameter named '(\w+)'", message
  )
  if match:
    owner, parameter = match.groups()
    if advice := foreign_names.advice(parameter):
      return message + advice
    known = inspect.signature(gin.get_configurable(owner)).parameters
    close = difflib.get_close_matches(parameter, known, n=3) + [
        f'{name}.{parameter}'
        for name, configurable in sorted(configurables().items())
        if parameter in inspect.signature(configurable).parameters
    ]
  return message + (f' Did you mean {", ".join(close)}?' if close else '')


def configurables() -> dict[str, Callable[..., Any]]:
  """Returns the configurables of this package by name, where imported."""
  names = {
      name
      for module_name, module in list(sys.modules.items())
      if module_name.startswith('rnd_agents')
      for name, value in vars(module).items()
      if callable(value)
  }
  found = {}
  for name in names:
    with contextlib.suppress(ValueError):  # Gin has none.
      found[name] = gin.get_configurable(f'rnd_agents.{name}')
  return found


@contextlib.contextmanager
def _quiet_search() -> Iterator[None]:
  """Hides gin's error for each folder in which a file is missing."""

  # Only here: if the user calls gin, 'Path not found' may be the only message
  # about a missing file. `_compat` hides gin's other remarks everywhere.
  def hide(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith('Path not found')

  logging.getLogger().addFilter(hide)
  try:
    yield
  finally:
    logging.getLogger().removeFilter(hide)
