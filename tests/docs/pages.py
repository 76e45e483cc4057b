# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of README and docs/, and what a reader does with them.

The language of a block says what it is: `python` is run, `gin` is parsed, the
commands of `sh` are parsed with their gin files, `text` is output or a sketch,
`diff` has a test of its own. A comment before a block says more:

  <!-- file: NAME -->    the block is that file, for the page's other blocks
  <!-- run -->           commands are run, too
  <!-- run if MODULE --> only where the module is installed

Runs are as short as `SHORT` says.
"""

import importlib.util
import re
import shlex
import sys
from typing import NamedTuple

import gymnasium
import tensorflow as tf

from rnd_agents.training import experiment
from rnd_agents.training import gin_files
from tests import source_tree

NAMES = (
    'README.md',
    'CONTRIBUTING.md',
    *sorted(f'docs/{path.name}' for path in source_tree.ROOT.glob('docs/*.md')),
)
LANGUAGES = ('python', 'gin', 'sh', 'text', 'diff')
_BLOCK = re.compile(r'^(?:<!-- (.+?) -->\n)?```(\w*)\n(.*?)^```$', re.M | re.S)
_COMMENT = re.compile(
    r'file: (?P<file>[\w.]+)|(?P<run>run)(?: if (?P<module>\w+))?'
)


class Block(NamedTuple):
  """A fenced block.

  Attributes:
    where: PAGE:LINE.
    language: What it is.
    code: Its text.
    comment: The match of its comment, {} without one; None if it is not
      understood.
  """

  where: str
  language: str
  code: str
  comment: dict[str, str | None] | None


def blocks(page: str) -> list[Block]:
  """Returns the blocks of a page."""
  text = (source_tree.ROOT / page).read_text(encoding='utf-8')
  found = []
  for match in _BLOCK.finditer(text):
    comment = _COMMENT.fullmatch(match[1]) if match[1] else {}
    line = text.count('\n', 0, match.start(2)) + 1
    if comment:
      comment = comment.groupdict()
    found.append(Block(f'{page}:{line}', match[2], match[3], comment))
  return found


def commands(block: Block) -> list[str]:
  """Returns the commands of an `sh` block, each in one line."""
  found, begun = [], ''
  for line in block.code.replace('\\\n', '').split('\n'):
    begun += f'{line}\n'
    try:
      words = shlex.split(begun, comments=True)
    except ValueError:  # A quotation continues.
      continue
    if words:
      found.append(begun.strip())
    begun = ''
  return found


def write_files(page: str, folder, monkeypatch) -> None:
  """Writes the files of a page into a folder, and enters it."""
  for block in blocks(page):
    if block.comment.get('file'):
      (folder / block.comment['file']).write_text(block.code)
  monkeypatch.chdir(folder)
  monkeypatch.syspath_prepend(str(folder))


def forget_files(folder, registered: set[str]) -> None:
  """Undoes what importing the files of a page has left.

  Args:
    folder: Where they are.
    registered: Environments that Gymnasium knew before.
  """
  for name in set(gymnasium.registry) - registered:
    del gymnasium.registry[name]
  for path in folder.glob('*.py'):
    sys.modules.pop(path.stem, None)


def registered() -> set[str]:
  """Returns the environments that Gymnasium knows.

  What an installed package registers stays: no second import brings it back.
  """
  if importlib.util.find_spec('minigrid'):
    importlib.import_module('minigrid')
  return set(gymnasium.registry)


# Runs of pages are this short in tests.
SHORT = {
    'train_eval.num_env_steps': 64,
    'train_eval.num_environments': 4,
    'train_eval.warm_up_env_steps': 16,
    'train_eval.num_eval_episodes': 2,
    'OnPolicyTraining.rollout_length': 16,
    'RNDPPOAgent.num_epochs': 1,
    'RNDPPOAgent.num_minibatches': 2,
    'eval/load_environment.max_episode_steps': 20,
}


def shorten_runs(monkeypatch, **more) -> None:
  """Makes what a page trains short, whatever its settings are."""
  parse = gin_files.parse
  short = {**SHORT, **{f'train_eval.{k}': v for k, v in more.items()}}

  def parse_shortened(files, bindings=()):
    if isinstance(bindings, dict):
      return parse(files, bindings | short)
    return parse(files, [*bindings, *(f'{k} = {v}' for k, v in short.items())])

  monkeypatch.setattr(gin_files, 'parse', parse_shortened)
  run_eagerly(monkeypatch)


def run_eagerly(monkeypatch) -> None:
  """Makes runs trace nothing, which takes longer than their few steps."""
  run = experiment.run

  def run_without_graphs(*args):
    tf.config.run_functions_eagerly(True)
    try:
      return run(*args)
    finally:
      tf.config.run_functions_eagerly(False)

  monkeypatch.setattr(experiment, 'run', run_without_graphs)


def run_python(code: str, where: str, **names) -> dict:
  """Runs a block as a program."""
  namespace = {'__name__': '__main__', **names}
  exec(compile(code, where, 'exec'), namespace)
  return namespace
