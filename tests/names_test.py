# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A public name of a module means one thing in the whole package."""

import ast
import collections

import pytest

from tests import source_tree

# Each program has these: flags, and what runs it.
_OF_PROGRAMS = {'define_flags', 'main', 'run'}


def _public_names(code):
  """Returns the classes, functions and constants that a module defines."""
  names = []
  for node in ast.parse(code).body:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
      names.append(node.name)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
      targets = getattr(node, 'targets', None) or [node.target]
      names += [each.id for each in targets if isinstance(each, ast.Name)]
  return {name for name in names if not name.startswith('_')}


def test_no_public_name_is_defined_in_two_modules():
  found = collections.defaultdict(list)
  for path in source_tree.python_files():
    if path.split('/')[0] in ('rnd_agents', 'train'):
      for name in _public_names((source_tree.ROOT / path).read_text()):
        found[name].append(path)
  assert len(found) > 100
  twice = {name: paths for name, paths in found.items() if len(paths) > 1}
  assert twice.keys() <= _OF_PROGRAMS, twice


@pytest.mark.parametrize(
    ('code', 'names'),
    [
        ('class A:\n  b = 1\n\ndef c():\n  d = 1\n', {'A', 'c'}),
        ('A = B = 1\n_C = 2\nD: int = 3\n', {'A', 'B', 'D'}),
        ('import a\nfrom b import c\n_A, b = 1, 2\n', set()),
    ],
)
def test_public_names_of_a_module(code, names):
  assert _public_names(code) == names
