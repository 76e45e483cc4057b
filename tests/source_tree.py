# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the project's files and their imports, without running them."""

import ast
from collections.abc import Iterator
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]

# The folders whose .py files are the project's.
FOLDERS = ('rnd_agents', 'train', 'examples', 'benchmarks', 'tests')


def python_files(root: pathlib.Path = ROOT) -> list[str]:
  """Returns the .py files of the project, relative to `root`, sorted."""
  return sorted(
      path.relative_to(root).as_posix()
      for folder in FOLDERS
      for path in (root / folder).rglob('*.py')
  )


def module_name(path: str) -> str:
  """Returns the module of a file: 'a/b.py' and 'a/b/__init__.py' are 'a.b'."""
  parts = pathlib.PurePosixPath(path).with_suffix('').parts
  return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def imports(path: str, root: pathlib.Path = ROOT) -> Iterator[tuple[str, bool]]:
  """Yields what a file, relative to `root`, imports wherever in it.

  Pairs of a dotted name and whether the import runs as soon as the file is
  imported (it lies in no function). `from a import b` gives 'a.b', be b a
  module or a name in one.
  """
  tree = ast.parse((root / path).read_text(encoding='utf-8'), path)
  package = module_name(path).split('.')
  if not path.endswith('__init__.py'):
    package = package[:-1]
  for node, at_once in _walk(tree, True):
    if isinstance(node, ast.Import):
      for alias in node.names:
        yield alias.name, at_once
    elif isinstance(node, ast.ImportFrom):
      # One dot is the package of this file, each further one its parent.
      above = package[: len(package) - node.level + 1] if node.level else []
      stem = above + ([node.module] if node.module else [])
      for alias in node.names:
        yield '.'.join(stem + [alias.name]), at_once


def project_imports(path: str, root: pathlib.Path = ROOT) -> set[str]:
  """Returns the project's files that a file imports, relative to `root`."""
  found = set()
  for name, _ in imports(path, root):
    parts = name.split('.')
    if parts[0] not in FOLDERS:
      continue
    # The longest part of the name that is a file; what follows lies in it.
    for length in range(len(parts), 0, -1):
      stem = '/'.join(parts[:length])
      files = [f'{stem}.py', f'{stem}/__init__.py']
      existing = [name for name in files if (root / name).is_file()]
      if existing:
        found.update(existing)
        break
  return found


def _walk(node, at_once):
  """Yields the nodes under `node` with whether they run at import."""
  for child in ast.iter_child_nodes(node):
    yield child, at_once
    lazy = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
    yield from _walk(child, at_once and not lazy)
