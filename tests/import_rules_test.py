# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Imports point one way: from what decides much to what decides little.

ops <- statistics <- networks <- curiosity <- agents <- training <- train, each
importing only itself and what stands left of it.
environments, evaluation and plotting know nothing of how an agent learns.
"""

import pytest

from tests import source_tree

# What the files of a package may import of the project, besides their own
# package and the files that lie directly in rnd_agents/. A new package of
# rnd_agents is added here, with as little as it can do with.
_LEARNING = {
    'ops', 'statistics', 'networks', 'curiosity', 'replay', 'agents',
    'hierarchy',
}
_DOORS = {'interchange', 'tracking'}
_ACTING = {'collecting', 'environments', 'evaluation', 'plotting', 'workers'}
_ALLOWED = {
    'rnd_agents': set(),
    'ops': set(),
    'statistics': {'ops'},
    'networks': {'ops', 'statistics'},
    'curiosity': {'ops', 'statistics', 'networks'},
    'replay': {'statistics'},
    'agents': {'ops', 'statistics', 'networks', 'curiosity', 'replay'},
    'hierarchy': {'ops', 'statistics', 'networks', 'collecting'},
    'tasks': set(),
    'environments': {'tasks'},
    'evaluation': {'environments', 'plotting'},
    'plotting': set(),
    'collecting': {'environments', 'evaluation'},
    'serving': {'agents', 'collecting', 'replay', 'training'},
    'workers': {'collecting'},
    'tracking': set(),
    'interchange': {
        'ops', 'statistics', 'networks', 'curiosity', 'replay', 'environments',
        'evaluation',
    },
    'training': _LEARNING | _ACTING | _DOORS,
    'archive': _LEARNING | _ACTING | {'training'},
    'train': _LEARNING | _ACTING | _DOORS | {'archive', 'training'},
}

# Installed by an extra, or by hand: a module that needs one imports it in the
# function that does, and says there how to install it.
_OPTIONAL = {
    'ale_py', 'Box2D', 'crafter', 'cv2', 'h5py', 'huggingface_hub', 'minari',
    'minigrid', 'mlflow', 'optuna', 'plotly', 'ray', 'vizdoom', 'wandb',
}


def _package(path):
  """Returns the package of a file: a key of _ALLOWED, if all is well."""
  parts = path.split('/')
  if parts[0] != 'rnd_agents':
    return parts[0]
  return parts[1] if len(parts) > 2 else 'rnd_agents'


def _faults(root=source_tree.ROOT):
  """Returns a sentence for every import that the rules forbid."""
  faults = []
  for path in source_tree.python_files(root):
    package = _package(path)
    if path.split('/')[0] not in ('rnd_agents', 'train'):
      continue  # Tests, examples and benchmarks are users.
    if package not in _ALLOWED:
      faults.append(f'{path}: {package} has no line in _ALLOWED')
      continue
    allowed = _ALLOWED[package] | {package, 'rnd_agents'}
    for imported in sorted(source_tree.project_imports(path, root)):
      if _package(imported) not in allowed:
        faults.append(f'{path} imports {imported}')
    for name, at_once in source_tree.imports(path, root):
      if at_once and name.split('.')[0] in _OPTIONAL:
        faults.append(f'{path} imports {name} outside of a function')
  return faults


def test_imports_of_the_project():
  files = source_tree.python_files()
  assert 'rnd_agents/ops/discounting.py' in files  # It looks at the right tree.
  assert not _faults()


_PLANTED = [
    ('rnd_agents/ops/a.py', 'from rnd_agents.networks import b', True),
    ('rnd_agents/ops/a.py', 'from rnd_agents.ops import b', False),
    ('rnd_agents/networks/a.py', 'import rnd_agents.curiosity.b', True),
    ('rnd_agents/networks/a.py', 'import rnd_agents.ops.b as b', False),
    ('rnd_agents/tasks/a.py', 'from rnd_agents.environments import b', True),
    ('rnd_agents/curiosity/a.py', 'from rnd_agents import agents', True),
    ('rnd_agents/agents/a.py', 'from ..training import b', True),
    ('rnd_agents/agents/a.py', 'from ..curiosity.b import Name', False),
    ('rnd_agents/agents/a.py', 'from . import b', False),
    ('rnd_agents/environments/a.py', 'from rnd_agents.agents import b', True),
    ('rnd_agents/evaluation/a.py', 'from rnd_agents.agents import b', True),
    ('rnd_agents/plotting/a.py', 'from rnd_agents.agents import b', True),
    ('rnd_agents/training/a.py', 'from rnd_agents.plotting import b', False),
    ('rnd_agents/training/a.py', 'def f():\n  from train import b', True),
    ('rnd_agents/a.py', 'import train.b', True),
    ('train/a.py', 'from rnd_agents.training import b', False),
    ('rnd_agents/unheard_of/a.py', 'import os', True),
    ('rnd_agents/environments/a.py', 'if True:\n  import ale_py', True),
    ('rnd_agents/environments/a.py', 'def f():\n  import ale_py', False),
    ('tests/a.py', 'import train.b, rnd_agents.agents.b', False),
]


@pytest.mark.parametrize(('path', 'line', 'forbidden'), _PLANTED)
def test_planted_import(tmp_path, path, line, forbidden):
  folders = [f'rnd_agents/{name}' for name in _ALLOWED if '_' not in name]
  for folder in folders + ['rnd_agents', 'train', 'tests']:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / '__init__.py').touch()
    (tmp_path / folder / 'b.py').write_text('Name = 1\n')
  assert not _faults(tmp_path)

  (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
  (tmp_path / path).write_text(line + '\n')

  faults = _faults(tmp_path)
  assert len(faults) == forbidden
  assert all(fault.startswith(path) for fault in faults)
