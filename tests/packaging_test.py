# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""setup.py, the Makefile and BUILD say what is true of the tree."""

import collections
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys

import packaging.requirements
import pytest
import setuptools

from rnd_agents import version
from tests import source_tree

_ROOT = source_tree.ROOT
_VERSION_INFO = collections.namedtuple('_VERSION_INFO', 'major minor micro')


# ----------------------------------------------------------------- setup.py
def _setup_arguments(monkeypatch, argv=('setup.py',), python=None):
  """Runs setup.py; returns what it says to setuptools."""
  said = {}
  monkeypatch.setattr(setuptools, 'setup', lambda **kwargs: said.update(kwargs))
  monkeypatch.setattr(sys, 'argv', list(argv))
  monkeypatch.chdir(_ROOT)
  if python is not None:
    monkeypatch.setattr(sys, 'version_info', _VERSION_INFO(*python))
  runpy.run_path('setup.py', run_name='__main__')
  return said


def test_setup_requirements(monkeypatch):
  said = _setup_arguments(monkeypatch)
  assert said['name'] == 'rnd_agents'
  assert said['version'] == version.__version__
  assert said['python_requires'] == '>=3.10,<3.15'
  extras = said['extras_require']
  assert set(extras) == {
      'atari',
      'box2d',
      'cluster',
      'crafter',
      'dev',
      'docs',
      'envpool',
      'minari',
      'minigrid',
      'mlflow',
      'mujoco',
      'pettingzoo',
      'report',
      'reverb',
      'share',
      'tune',
      'video',
      'vizdoom',
      'wandb',
  }
  assert extras['box2d'] == ['box2d==2.3.10']
  assert 'ale-py>=0.12.1' in extras['atari']
  # Another version would report other errors, and break `make lint`.
  assert any(entry.startswith('mypy==') for entry in extras['dev'])


def _required(requirements, python):
  """What a Python is asked to install, without the markers."""
  parsed = map(packaging.requirements.Requirement, requirements)
  return {
      f'{requirement.name}{requirement.specifier}'
      for requirement in parsed
      if requirement.marker is None
      or requirement.marker.evaluate({'python_version': python})
  }


@pytest.mark.parametrize(
    ('python', 'tensorflow', 'newer'),
    [
        ('3.10', 'tensorflow<2.16,>=2.15', False),
        ('3.11', 'tensorflow<2.22,>=2.17', True),
        ('3.12', 'tensorflow<2.22,>=2.17', True),
        ('3.13', 'tensorflow<2.22,>=2.17', True),
        ('3.14', 'tensorflow<2.23,>=2.22.0rc0', True),
    ],
)
def test_each_python_gets_its_tensorflow(
    monkeypatch, python, tensorflow, newer
):
  said = _setup_arguments(monkeypatch)
  required = _required(said['install_requires'], python)
  names = {re.match(r'[\w-]+', name)[0] for name in required}
  assert tensorflow in required
  assert len(names) == len(required)  # None is asked for twice.
  gymnasium = f'gymnasium<{"1.5" if newer else "1.4"},>=1.1'
  assert {gymnasium, 'setuptools<81'} <= required
  # Its pins cannot be met there: make installs it by a command of its own.
  assert ('tf-agents==0.19.0' in required) == (not newer)
  imported_by_tf_agents = {
      'cloudpickle', 'dm-tree', 'gym', 'six', 'tensorboard',
      'tensorflow-probability',
  }
  assert (imported_by_tf_agents <= names) == newer
  # On 3.14 it would exclude TensorFlow: make installs it by itself, too.
  assert ('tf-keras' in names) == (python in ('3.11', '3.12', '3.13'))
  extras = said['extras_require']
  assert bool(_required(extras['reverb'], python)) == (not newer)
  assert 'ale-py>=0.12.1' in _required(extras['atari'], python)


@pytest.mark.parametrize('python', [(3, 9, 18), (3, 15, 0), (2, 7, 18)])
def test_setup_refuses_other_pythons_in_one_sentence(monkeypatch, python):
  with pytest.raises(SystemExit) as stopped:
    _setup_arguments(monkeypatch, ('setup.py', 'install'), python)
  sentence = str(stopped.value)
  assert 'needs Python 3.10, 3.11, 3.12 or 3.13' in sentence
  assert f'this is Python {python[0]}.{python[1]}.' in sentence
  assert '\n' not in sentence


@pytest.mark.parametrize('python', [(3, 10, 0), (3, 14, 9)])
def test_setup_accepts_its_pythons(monkeypatch, python):
  said = _setup_arguments(monkeypatch, ('setup.py', 'install'), python)
  assert said['name'] == 'rnd_agents'


def test_setup_tells_pip_the_versions_on_other_pythons(monkeypatch):
  # pip asks, and then refuses in one line of its own.
  said = _setup_arguments(monkeypatch, ('setup.py', 'egg_info'), (3, 15, 0))
  assert said['python_requires'] == '>=3.10,<3.15'


def test_build_holds_the_packages_and_the_gin_files(tmp_path):
  source = tmp_path / 'source'
  source.mkdir()
  for name in ('setup.py', 'rnd_agents', 'train', 'gin_configs', 'tests'):
    path = _ROOT / name
    if path.is_dir():
      ignore = shutil.ignore_patterns('__pycache__')
      shutil.copytree(path, source / name, ignore=ignore)
    else:
      shutil.copy(path, source / name)
  (source / 'gin_configs' / 'deeper').mkdir(parents=True, exist_ok=True)
  (source / 'gin_configs' / 'planted.gin').touch()
  (source / 'gin_configs' / 'deeper' / 'planted.gin').touch()

  subprocess.run(
      [sys.executable, 'setup.py', '--quiet', 'build_py', '--build-lib', 'lib'],
      check=True,
      capture_output=True,
      cwd=source,
  )

  expected = {
      path
      for path in source_tree.python_files(source)
      if path.startswith(('rnd_agents/', 'train/'))
  } | {
      f'rnd_agents/{path.relative_to(source).as_posix()}'
      for path in (source / 'gin_configs').rglob('*.gin')
  } | {'rnd_agents/py.typed'}
  assert 'rnd_agents/gin_configs/deeper/planted.gin' in expected
  lib = source / 'lib'
  assert expected == {
      path.relative_to(lib).as_posix()
      for path in lib.rglob('*')
      if path.is_file()
  }


def test_commands_are_programs(monkeypatch):
  scripts = _setup_arguments(monkeypatch)['entry_points']['console_scripts']
  for script in scripts:
    name, _, place = script.partition(' = ')
    module, _, function = place.partition(':')
    path = pathlib.Path(_ROOT, *module.split('.')).with_suffix('.py')
    code = path.read_text()
    assert f'def {function}() -> None:' in code
    assert f'`{name}`' in code
  assert len(scripts) == 11


def test_changelog_begins_with_this_version():
  headings = re.findall(
      r'^## (.*)$', (_ROOT / 'CHANGELOG.md').read_text(), re.MULTILINE
  )
  assert version.__version__ in headings[0]


def test_files_name_their_licence():
  licence = (
      '# Copyright 2026 The rnd_agents Authors.\n'
      '# SPDX-License-Identifier: Apache-2.0\n'
  )
  paths = source_tree.python_files() + ['setup.py']
  assert len(paths) > 200
  assert not [
      path
      for path in paths
      if not (_ROOT / path).read_text(encoding='utf-8').startswith(licence)
  ]


# ----------------------------------------------------------------- Makefile
_make = pytest.mark.skipif(shutil.which('make') is None, reason='needs make')


def _run_make(*arguments, **changes):
  """Runs make as if from a shell, with `changes` to the environment."""
  ours = ('MAKE', 'MFLAGS', 'GIN_FILE', 'ROOT_DIR', 'SEED', 'TRAIN_ARGS')
  environment = {
      name: value
      for name, value in os.environ.items()
      if not name.startswith(ours)  # A `make test` may have set them.
  }
  return subprocess.run(
      [shutil.which('make'), '--no-print-directory', *arguments],
      capture_output=True,
      check=False,
      cwd=_ROOT,
      env={**environment, **changes},
      text=True,
  )


def _train_command(*arguments):
  """Returns the last command that `make train` would run."""
  said = _run_make('--dry-run', 'train', *arguments).stdout
  return ' '.join(said.replace('\\\n', ' ').split()).split(' -m ')[-1]


@_make
def test_make_train_passes_its_variables_on():
  assert _train_command() == (
      'train.train_eval --gin_file=gin_configs/mountain_car.gin'
      ' --root_dir=runs/mountain_car/seed_0'
  )
  assert _train_command('ROOT_DIR=here', 'SEED=3', 'TRAIN_ARGS=--more') == (
      'train.train_eval --gin_file=gin_configs/mountain_car.gin'
      ' --root_dir=here --seed=3 --more'
  )


@_make
def test_make_train_keeps_experiments_and_seeds_apart():
  assert _train_command('GIN_FILE=some/where.gin', 'SEED=0') == (
      'train.train_eval --gin_file=some/where.gin'
      ' --root_dir=runs/where/seed_0 --seed=0'
  )


_SENTENCE = (
    'rnd_agents needs Python 3.10, 3.11, 3.12 or 3.13 (3.14 by name), and '
)


def _plant_python(folder, name, version):
  """Puts a Python of that version, or an empty shim, into a folder."""
  path = folder / name
  body = 'exit 127' if version is None else (
      'case "$1$2" in'
      f' -cimport\\ sys*) exec "{sys.executable}" -c'
      f' "import sys; sys.version_info = {version}; ${{2#import sys;}}" ;;'
      f' *) echo "Python {version}" ;; esac'
  )
  path.write_text(f'#!/bin/sh\n{body}\n')
  path.chmod(0o755)
  return path


@_make
def test_make_takes_the_newest_python_that_runs(tmp_path):
  _plant_python(tmp_path, 'python3.13', None)
  _plant_python(tmp_path, 'python3.12', (3, 12, 1))
  _plant_python(tmp_path, 'python3.11', (3, 11, 7))
  path = f'{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin'
  said = _run_make(
      'setup', f'VENV={tmp_path}/venv', 'PYTHON=', PATH=path
  ).stdout
  assert said.startswith(f'Making {tmp_path}/venv with Python (3, 12, 1).')


@_make
@pytest.mark.parametrize(
    ('python', 'planted', 'said'),
    [
        ('', {}, 'none of python3.13 python3.12 python3.11 python3.10 runs:'),
        (
            'python3.11',
            {'python3.11': None, 'python3.13': (3, 13, 0)},
            'python3.11 is not one of these or does not run:',
        ),
        (
            'python3.15',
            {'python3.15': (3, 15, 0), 'python3.13': (3, 13, 0)},
            'python3.15 is not one of these or does not run:',
        ),
    ],
)
def test_make_says_which_python_to_install(tmp_path, python, planted, said):
  for name, python_version in planted.items():
    _plant_python(tmp_path, name, python_version)
  venv = tmp_path / 'venv'
  finished = _run_make(
      'setup', f'VENV={venv}', f'PYTHON={python}', PATH=str(tmp_path),
      HOME=str(tmp_path),
  )
  assert finished.returncode != 0
  assert finished.stderr.startswith(_SENTENCE + said)
  assert 'apt-get install python3-venv' in finished.stderr
  assert not venv.exists()


# -------------------------------------------------------------------- BUILD
_Rule = collections.namedtuple('_Rule', 'kind name srcs deps')


def _glob(patterns, exclude=()):
  """Bazel's glob, for patterns of files."""
  return sorted({
      path.relative_to(_ROOT).as_posix()
      for pattern in patterns
      for path in _ROOT.glob(pattern)
      if path.is_file()
  } - set(_glob(exclude) if exclude else ()))


def _rules():
  """Returns the py_* rules of BUILD; its syntax is Python's."""
  rules = []

  def add(kind):
    return lambda name, srcs, deps=(), **_: rules.append(
        _Rule(kind, name, list(srcs), list(deps))
    )

  def ignore(*_, **__):
    pass

  names = dict.fromkeys(
      ('load', 'package', 'licenses', 'exports_files', 'filegroup'), ignore
  )
  for kind in ('py_library', 'py_test', 'py_binary'):
    names[kind] = add(kind)
  exec(  # pylint: disable=exec-used
      (_ROOT / 'BUILD').read_text(encoding='utf-8'), names | {'glob': _glob}
  )
  return rules


def _owners(rules):
  """Returns the rules that a file belongs to, by file; programs own none."""
  owners = collections.defaultdict(list)
  for rule in rules:
    if rule.kind != 'py_binary':
      for path in rule.srcs:
        owners[path].append(f':{rule.name}')
  return owners


def test_every_file_is_in_one_rule():
  owners = _owners(_rules())
  assert sorted(owners) == source_tree.python_files()
  assert {path: names for path, names in owners.items() if len(names) > 1} == {}


def test_tests_are_tests():
  for rule in _rules():
    tests = [path for path in rule.srcs if path.endswith('_test.py')]
    assert tests == (rule.srcs if rule.kind == 'py_test' else []), rule
    assert rule.kind != 'py_test' or len(rule.srcs) == 1, rule


def test_program_runs_a_file_of_a_library():
  rules = _rules()
  (program,) = (rule for rule in rules if rule.kind == 'py_binary')
  assert program.name == 'train_eval'
  assert program.srcs == ['train/train_eval.py']
  assert program.deps == _owners(rules)['train/train_eval.py']


def test_rules_are_unique_and_sorted():
  rules = _rules()
  names = [rule.name for rule in rules]
  assert len(set(names)) == len(names)
  for rule in rules:
    assert rule.deps == sorted(rule.deps), rule.name


def test_deps_of_packages_are_their_imports():
  rules = _rules()
  owners = _owners(rules)
  packages = [rule for rule in rules if rule.kind == 'py_library']
  assert len(packages) > 10
  for rule in packages:
    # What runs without being asked for, of the folders above a file.
    needed = {':rnd_agents'} if 'rnd_agents/' in rule.srcs[0] else set()
    for path in rule.srcs:
      imported = source_tree.project_imports(path)
      needed.update(*(owners[file] for file in imported))
    assert set(rule.deps) == needed - {f':{rule.name}'}, rule.name


def _old_enough_bazel():
  """Whether there is a Bazel that has the rules for Python built in."""
  if shutil.which('bazel') is None:
    return False
  said = subprocess.run(
      ['bazel', '--version'],
      capture_output=True,
      cwd=_ROOT.parent,
      text=True,
      check=False,
  )
  major = re.search(r'bazel (\d+)', said.stdout)
  # Debian's build gives no number; it is 4.2.
  return said.returncode == 0 and (major is None or int(major[1]) < 8)


@pytest.mark.skipif(not _old_enough_bazel(), reason='needs bazel below 8')
def test_bazel_reads_it(tmp_path):
  # A copy: Bazel leaves links behind in the tree that it works on.
  tree = tmp_path / 'tree'
  tree.mkdir()
  for name in ('BUILD', 'WORKSPACE'):
    shutil.copy(_ROOT / name, tree / name)
  shutil.copytree(
      _ROOT / 'tests', tree / 'tests',
      ignore=shutil.ignore_patterns('__pycache__'),
  )
  finished = subprocess.run(
      [
          'bazel',
          '--batch',
          f'--output_user_root={tmp_path}/out',
          'query',
          'kind("py_.*", //...)',
      ],
      capture_output=True,
      cwd=tree,
      text=True,
      check=False,
  )
  shutil.rmtree(tmp_path / 'out', ignore_errors=True)
  assert finished.returncode == 0, finished.stderr
  assert sorted(finished.stdout.split()) == sorted(
      f'//:{rule.name}' for rule in _rules()
  )
