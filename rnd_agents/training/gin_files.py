# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finding and reading gin files, with errors that help."""

import contextlib
import difflib
import importlib.resources
import inspect
import logging
import numbers
import os
import re

import gin


class GinError(ValueError):
  """A gin configuration that does not fit."""


def shipped_directory():
  """Folder of the gin files that come with the package, or None."""
  # A checkout has them beside the package, an installation inside it.
  package = os.fspath(importlib.resources.files('rnd_agents'))
  for folder in (
      os.path.join(package, 'gin_configs'),
      os.path.join(os.path.dirname(package), 'gin_configs'),
  ):
    if os.path.isdir(folder):
      return folder
  return None


def find(name):
  """Path of a gin file: as given, else of that name among the shipped ones.

  Args:
    name: A path, or the bare name of a shipped file, with or without `.gin`.

  Returns:
    The path of a file that exists.

  Raises:
    FileNotFoundError: If there is none; the message names close matches.
  """
  if os.path.isfile(name):
    return name
  folder = shipped_directory()
  shipped = sorted(
      file
      for file in (os.listdir(folder) if folder else ())
      if file.endswith('.gin')
  )
  bare = os.path.basename(name)
  for candidate in (bare, f'{bare}.gin'):
    if candidate in shipped:
      return os.path.join(folder, candidate)
  close = difflib.get_close_matches(bare, shipped, n=3, cutoff=0.4)
  raise FileNotFoundError(
      f'No gin file {name!r}, here or among those of the package.'
      + (f' Did you mean {", ".join(close)}?' if close else '')
      + f' Shipped: {", ".join(shipped)}.'
  )


def parse(files, bindings=()):
  """Parses gin files and bindings; a name that gin does not know is an error.

  Args:
    files: Names as for `find`; an `include` in them is looked up beside the
      file and among the shipped ones.
    bindings: Lines of gin, which win over the files.

  Returns:
    The paths of all files that were read, those that are included as well.

  Raises:
    FileNotFoundError: If a file is missing.
    GinError: If a binding does not fit; the message says where.
  """
  paths = [find(name) for name in files]
  folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
  shipped = shipped_directory()
  for folder in folders + ([shipped] if shipped else []):
    # Gin keeps what it was told before, however often.
    if folder not in gin.config._LOCATION_PREFIXES:  # pylint: disable=protected-access
      gin.add_config_file_search_path(folder)
  try:
    with _quiet_search():
      parsed = gin.parse_config_files_and_bindings(
          paths, list(bindings), skip_unknown=False
      )
  except (
      ValueError,
      AttributeError,
      ImportError,
      OSError,
      SyntaxError,
      TypeError,
  ) as error:
    raise GinError(_explain(error)) from error
  _check_types()
  return _files_of(parsed)


def _files_of(parsed):
  """Paths of parsed files and of what they include."""
  paths = []
  for file in parsed:
    # As gin looked for it; an absolute path hides what is before it.
    candidates = [
        os.path.join(prefix, file.filename)
        for prefix in gin.config._LOCATION_PREFIXES  # pylint: disable=protected-access
    ]
    paths += [path for path in candidates if os.path.isfile(path)][:1]
    paths += _files_of(file.includes)
  return paths


@contextlib.contextmanager
def _quiet_search():
  """Gin logs an error for each folder in which a file does not lie."""

  def hide(record):
    return not str(record.msg).startswith('Path not found')

  logging.getLogger().addFilter(hide)
  try:
    yield
  finally:
    logging.getLogger().removeFilter(hide)


# For a default of this type: (what serves as well, how to say it).
_TYPES = {
    bool: ((bool,), 'True or False'),
    int: ((int,), 'an integer'),
    float: ((numbers.Real, type(None)), 'a number'),
    str: ((str,), 'a text in quotes'),
    tuple: ((tuple, list, type(None)), 'a list, such as (64, 64)'),
}


def _check_types():
  """Compares what is bound with the type of the default that it replaces.

  Raises:
    GinError: If a parameter of this package got what it cannot use. Python
      would say so in the middle of the building, and not name the parameter.
  """
  # Gin has no public list of its bindings. pylint: disable=protected-access
  for (scope, selector), bindings in gin.config._CONFIG.items():
    if not selector.startswith('rnd_agents'):
      continue
    function = gin.config._REGISTRY[selector].wrapped
    parameters = inspect.signature(function).parameters
    for name, value in bindings.items():
      value = _macro_value(value)
      parameter = (f'{scope}/' if scope else '') + (
          f'{selector.rpartition(".")[2]}.{name}'
      )
      _check_references(parameter, value)
      default = getattr(parameters.get(name), 'default', None)
      fitting, words = _TYPES.get(type(default), ((object,), ''))
      if isinstance(value, gin.config.ConfigurableReference):
        if isinstance(default, tuple) and not value.evaluate:
          raise GinError(
              f'The gin configuration does not fit: {parameter} must be a list,'
              f' not {value}. Write [{value}].'
          )
        continue
      wrong_bool = isinstance(value, bool) and bool not in fitting
      if isinstance(value, fitting) and not (wrong_bool and words):
        continue
      hint = ''
      if words == 'an integer' and isinstance(value, float):
        hint = f' Write {int(value)}.' if value == int(value) else ''
      raise GinError(
          f'The gin configuration does not fit: {parameter} must be {words},'
          f' not {value!r}.{hint}'
      )


def _check_references(parameter, value):
  """Refuses what will be called and needs more than gin knows.

  Python would say so in the middle of the building, or before.
  """
  if parameter.endswith('_fn') and isinstance(value, str):
    raise GinError(
        f'The gin configuration does not fit: {parameter} must be a function,'
        f' not a text. Write @{value}.'
    )
  # pylint: disable=protected-access
  for reference in gin.config._iterate_flattened_values(value):
    if not isinstance(reference, gin.config.ConfigurableReference):
      continue
    if not reference.evaluate:
      continue
    missing = _missing_arguments(reference.configurable)
    if missing:
      without = str(reference).removesuffix('()')
      raise GinError(
          f'The gin configuration does not fit: {parameter} calls'
          f' {reference} without its {" and ".join(missing)}. Write {without}'
          ' to give what is called later, or bind'
          f' {without[1:]}.{missing[0]}.'
      )


def _missing_arguments(configurable):
  """Names of arguments that have no default and are bound in no scope."""
  # pylint: disable=protected-access
  try:
    parameters = inspect.signature(configurable.wrapped).parameters.values()
  except (TypeError, ValueError):  # Not written in Python.
    return []
  bound = set()
  for (_, selector), bindings in gin.config._CONFIG.items():
    if selector == configurable.selector:
      bound.update(bindings)
  return [
      parameter.name
      for parameter in parameters
      if parameter.default is parameter.empty
      and parameter.kind
      in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
      and parameter.name not in bound
  ]


def explain_missing(error):
  """One sentence for a required parameter that gin has not bound.

  Args:
    error: A `TypeError` that gin raised.

  Returns:
    The sentence, or the error's own text where it is about something else.
  """
  match = re.search(
      r"(\w+)\(\) missing .*\n  No values supplied by Gin or caller for"
      r" arguments: \['(\w+)'", str(error)
  )
  if not match:
    return str(error)
  return (
      f'{match.group(1)}.{match.group(2)} has no value: bind it in the gin'
      ' file.'
  )


def _macro_value(value):
  """What a macro stands for; anything else as it is."""
  seen = 0
  while (
      isinstance(value, gin.config.ConfigurableReference)
      and value.configurable.selector == 'gin.macro'
      and seen < 20
  ):
    seen += 1
    try:
      name = value.scoped_selector.rpartition('/')[0]
      value = gin.query_parameter(f'%{name}')
    except ValueError:  # Not bound: gin says so when it is used.
      return value
  return value


def _explain(error):
  """Gin's message on one line, with close matches for an unknown name."""
  message = re.sub(r'\s+', ' ', str(error)).strip().rstrip('^ ')
  match = re.match(r"No bindings specified for '(\w+)/gin.macro'", message)
  if match:  # Gin goes on with the whole configuration.
    message = f'%{match.group(1)} is used and has no value.'
  match = re.search(r"[Nn]o configurable matching '([^']+)'", message)
  if match:
    known = {
        selector.rsplit('.', 1)[-1]
        for selector, _ in gin.config._REGISTRY.items()  # pylint: disable=protected-access
    }
    name = match.group(1).rsplit('.', 1)[-1]
    close = difflib.get_close_matches(name, known, n=3)
    if close:
      message += f' Did you mean {", ".join(close)}?'
  return f'The gin configuration does not fit: {message}'


def binds(name):
  """Whether the configuration binds a parameter of the configurable."""
  lines = gin.config_str(max_line_length=1_000_000).splitlines()
  return any(line.startswith(f'{name}.') for line in lines)
