# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finding and reading gin files, with errors that help."""

import difflib
import importlib.resources
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

  Raises:
    FileNotFoundError: If a file is missing.
    GinError: If a binding does not fit; the message says where.
  """
  paths = [find(name) for name in files]
  folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
  shipped = shipped_directory()
  for folder in folders + ([shipped] if shipped else []):
    gin.add_config_file_search_path(folder)
  try:
    gin.parse_config_files_and_bindings(
        paths, list(bindings), skip_unknown=False
    )
  except (ValueError, AttributeError, SyntaxError) as error:
    raise GinError(_explain(error)) from error


def _explain(error):
  """Gin's message on one line, with close matches for an unknown name."""
  message = re.sub(r'\s+', ' ', str(error)).strip()
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
