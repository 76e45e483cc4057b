# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finding and reading gin files, with errors that help."""

import contextlib
import difflib
import importlib.resources
import logging
import os

import gin

from rnd_agents import errors
from rnd_agents.training import gin_bindings

GinError = gin_bindings.GinError

# Folders that gin searches for included files.
_search_folders = []
# Names of bindings that may be without effect, as `inherited` returns them.
_inherited = set()


def inherited():
  """Names of the parameters that may be bound in vain, a set.

  They are bound in included files alone, or in files before a file or the
  bindings of the command line that put a function in the place of another, as
  in `curiosity_fn = @create_e3b` and `core = None`: those cannot take back what
  is bound for the other.
  """
  return frozenset(_inherited)


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
  """Path of a gin file: as given, or of a bare name among the shipped ones.

  Args:
    name: A path, or the bare name of a shipped file, with or without `.gin`.

  Returns:
    The path of a file that exists.

  Raises:
    MissingFile: If there is none; the message names close matches.
  """
  if os.path.isfile(name):
    return name
  folder = shipped_directory()
  shipped = sorted(
      file
      for file in (os.listdir(folder) if folder else ())
      if file.endswith('.gin')
  )
  for candidate in (name, f'{name}.gin'):
    if candidate in shipped:
      return os.path.join(folder, candidate)
  close = difflib.get_close_matches(
      os.path.basename(name), shipped, n=3, cutoff=0.4
  )
  raise errors.MissingFile(
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
    MissingFile: If a file is missing.
    GinError: If a binding does not fit; the message says where.
  """
  paths = [find(name) for name in files]
  folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
  shipped = shipped_directory()
  for folder in folders + ([shipped] if shipped else []):
    if folder not in _search_folders:  # Gin would search it twice.
      _search_folders.append(folder)
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
    raise GinError(gin_bindings.explain(error)) from error
  texts = {path: _text(path) for path in _files_of(parsed)}
  gin_bindings.check_macros('\n'.join([*bindings, *texts.values()]))
  gin_bindings.check()
  _inherited.clear()
  _inherited.update(binding.name for binding in gin_bindings.bindings())
  for text in ['\n'.join(bindings), *(texts[path] for path in reversed(paths))]:
    _inherited.difference_update(gin_bindings.names_in(text))
    if gin_bindings.names_functions(text):
      break
  return list(texts)


def _text(path):
  with open(path, encoding='utf-8') as file:
    return file.read()


def _files_of(parsed):
  """Paths of parsed files and of what they include."""
  paths = []
  for file in parsed:
    # As gin looked for it; an absolute path hides what is before it.
    candidates = [
        os.path.join(prefix, file.filename)
        for prefix in ['', *_search_folders]
    ]
    paths += [path for path in candidates if os.path.isfile(path)][:1]
    paths += _files_of(file.includes)
  return paths


@contextlib.contextmanager
def _quiet_search():
  """Hides gin's error for each folder in which a file does not lie."""

  # Only here: where the user calls gin, 'Path not found' may be all that tells
  # of a missing file. What gin says besides, `_compat` hides everywhere.
  def hide(record):
    return not str(record.msg).startswith('Path not found')

  logging.getLogger().addFilter(hide)
  try:
    yield
  finally:
    logging.getLogger().removeFilter(hide)
