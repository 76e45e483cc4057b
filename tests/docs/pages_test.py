# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every block of README and docs/ works; see pages.py for what that means."""

import importlib
import importlib.util
import re
import shlex

from absl import flags
import gin
import pytest
from tf_agents.environments import tf_py_environment

from rnd_agents import foreign_names
from rnd_agents.archive import exploration
from rnd_agents.environments import loaders
from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from tests import source_tree
from tests.docs import pages

_BLOCKS = {page: pages.blocks(page) for page in pages.NAMES}
_TUTORIAL = 'docs/tutorial.md'  # tutorial_test.py runs it.
_PYTHON = [
    block
    for page, blocks in _BLOCKS.items()
    for block in blocks
    if block.language == 'python' and page != _TUTORIAL
]
_PROGRAMS = {
    f'rnd-{name}': module
    for name, module in dict(
        check='rnd_agents.environments.check',
        evaluate='train.evaluate',
        explore='train.explore',
        plot='rnd_agents.plotting.__main__',
        report='rnd_agents.plotting.report',
        settings='train.settings',
        share='train.share',
        sweep='train.sweep',
        train='train.train_eval',
        tune='train.tune',
    ).items()
} | {'rnd-collect-demos': 'train.collect_demos'}


@pytest.fixture(name='folder_of')
def _folder_of(tmp_path, monkeypatch):
  """Returns a function that enters a folder with the files of a page."""
  registered = pages.registered()
  yield lambda page: pages.write_files(page, tmp_path, monkeypatch)
  pages.forget_files(tmp_path, registered)
  gin.clear_config()


@pytest.mark.parametrize('page', pages.NAMES)
def test_every_block_says_what_it_is(page):
  text = (source_tree.ROOT / page).read_text(encoding='utf-8')
  assert len(re.findall('^```', text, re.M)) == 2 * len(_BLOCKS[page])
  for block in _BLOCKS[page]:
    assert block.language in pages.LANGUAGES, block.where
    assert block.comment is not None, block.where


def _cartpole():
  return tf_py_environment.TFPyEnvironment(
      loaders.load_environment('CartPole-v1', num_environments=2)
  )


@pytest.mark.parametrize('block', _PYTHON, ids=lambda block: block.where)
def test_python(block, folder_of, capsys, monkeypatch):
  module = block.comment.get('module')
  if module and importlib.util.find_spec(module) is None:
    pytest.skip(f'{module} is not installed.')
  if 'envpool' in block.code:
    pytest.importorskip('envpool')
  folder_of(block.where.partition(':')[0])
  names = {}
  if 'env.' in block.code and 'env = ' not in block.code:
    names['env'] = _cartpole()  # The page says of it only that there is one.
  if 'runs/explore_deep_sea' in block.code:
    gin_files.parse(['explore_deep_sea'], ['explore.num_env_steps = 200'])
    exploration.explore('runs/explore_deep_sea/seed_0', seed=0)
  saves = 'policies/policy' in block.code
  pages.shorten_runs(monkeypatch, save_policies=saves)
  if block.comment.get('file'):
    importlib.import_module(block.comment['file'].removesuffix('.py'))
  else:
    pages.run_python(block.code, block.where, **names)
  if 'record_episode' in block.code:
    out = capsys.readouterr().out
    assert out.startswith('0 faults, 0 warnings, 0 notes; 5 episodes of ')
    # As long as the episode: until the far end, or the time limit of SHORT.
    return_, steps = re.search(r'recorded: (\S+) in (\d+) steps', out).groups()
    assert return_ == '1.0' or (return_, steps) == ('0.0', '20')


@pytest.mark.parametrize('page', pages.NAMES)
def test_gin(page, folder_of, tmp_path):
  folder_of(page)
  for block in _BLOCKS[page]:
    if block.language == 'gin':
      (tmp_path / 'block.gin').write_text(block.code)
      gin_files.parse(['block.gin'])


def _parsed(command):
  """Returns the flags of a command of this package; None for others."""
  words = shlex.split(command, comments=True)
  while words and '=' in words[0]:  # Variables of the environment.
    words.pop(0)
  if words and words[0] in _PROGRAMS:
    module, *arguments = _PROGRAMS[words[0]], *words[1:]
  elif re.match(r'(\.venv/bin/)?python -m (train|rnd_agents)\b', command):
    module, *arguments = words[2:]
    if module == 'rnd_agents.plotting':
      module += '.__main__'
  else:
    return None
  program = importlib.import_module(module)
  values = flags.FlagValues()
  if hasattr(program, 'define_flags'):
    program.define_flags(values)
  values([module, *arguments])
  return values


@pytest.mark.parametrize('page', pages.NAMES)
def test_commands(page, folder_of):
  folder_of(page)
  for block in _BLOCKS[page]:
    for command in pages.commands(block) if block.language == 'sh' else ():
      values = _parsed(command)
      if values is None:
        assert not re.match(r'rnd-|python -m (train|rnd)', command), command
      elif 'gin_file' in values and values['gin_file'].value:
        bindings = values['gin_bindings'].value
        gin_files.parse(values['gin_file'].value, bindings)


def _anchor(title):
  """Returns the anchor of a heading, as GitHub and the site make it."""
  title = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', title)
  return re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')


def test_links():
  names = [
      *pages.NAMES, 'CHANGELOG.md', 'benchmarks/README.md',
      'benchmarks/RESULTS.md',
  ]
  texts = {
      name: re.sub(
          r'^```.*?^```|`[^`\n]*`(?![^[\n]*\]\()', '',
          (source_tree.ROOT / name).read_text(encoding='utf-8'),
          flags=re.M | re.S,
      )
      for name in names
  }
  anchors = {
      name: {
          _anchor(title)
          for title in re.findall(
              '^#+ (.+)$',
              (source_tree.ROOT / name).read_text(encoding='utf-8'), re.M
          )
      }
      for name in names
  }
  wrong = []
  for name, text in texts.items():
    folder = (source_tree.ROOT / name).parent
    for target, anchor in re.findall(r'\]\(([^)#\s]*)#?([^)\s]*)\)', text):
      if re.match(r'\w+:', target):
        continue
      path = (folder / target).resolve() if target else source_tree.ROOT / name
      known = anchors.get(path.relative_to(source_tree.ROOT).as_posix(), ())
      if not path.exists() or (anchor and anchor not in known):
        wrong.append(f'{name}: {target}#{anchor}')
  assert not wrong


def test_readme_says_what_every_page_is_for():
  text = (source_tree.ROOT / 'README.md').read_text(encoding='utf-8')
  table = text[text.index('## Where to go') :]
  named = re.findall(r'\[(docs/\w+\.md)\]\(\1\)', table)
  assert sorted(named) == [x for x in pages.NAMES if x.startswith('docs/')]


def test_names_of_other_libraries_are_all_on_their_page():
  text = (source_tree.ROOT / 'docs/coming_from.md').read_text(encoding='utf-8')
  assert not [name for name in foreign_names.INSTEAD if f'`{name}`' not in text]
  # Ours are there: gin knows each.
  own = [
      f'{owner}.{parameter}'
      for owner, parameter in re.findall(r'`(\w+)\.(\w+)`', text)
      if owner in gin_files.configurables()
  ]
  for name in own:
    gin.bind_parameter(name, None)
  assert len(own) > 60
  gin.clear_config()


def test_rewards_off(folder_of, tmp_path, monkeypatch):
  folder_of('docs/rewards_off.md')
  pages.run_eagerly(monkeypatch)
  short = {
      **pages.SHORT,
      'train_eval.num_env_steps': 128,
      'train_eval.save_policies': False,
      'train_eval.record_video': False,
      'FallingBonus.num_env_steps': 256,
  }
  short = [f'{name} = {value}' for name, value in short.items()]
  short.append('train_eval.callbacks = [@Coverage(), @FallingBonus()]')
  files = ['coverage.gin', 'falling.gin']
  outcome = experiment.train_files('run', files, short)
  lines = (tmp_path / 'run/coverage.csv').read_text().split()
  shares = [float(line.split(',')[1]) for line in lines]
  assert len(shares) > 1 and 0 < shares[0] <= shares[-1] < 1
  falling_bonus = importlib.import_module('falling_bonus')
  share = outcome.env_steps / 256
  assert float(falling_bonus.VALUE) == pytest.approx(1 - 0.9 * share, abs=1e-5)
