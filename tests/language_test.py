# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Docstrings, messages and pages are plain technical English.

Phrases that a reader has to guess the meaning of, and what to write instead:

| phrase | better |
|---|---|
| name: Of the setting. | name: Name of the setting. |
| What a run came to. | Outcome of a run. |
| The episode goes on. | The episode continues. |
| X is no folder. | X is not a directory. |
| weights: See there. Likewise. | weights: As for `update`. |
| starts anew | starts again |
| It has a value that cannot serve. | It has an invalid value. |
| Keras knows no 'x'. | Unknown Keras activation 'x'. |
"""

import pathlib
import re

import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[1]

_PHRASES = {
    'argument: Of ...': r'^ +\*{0,2}\w+: [Oo]f ',
    'docstring: What ...': r'"""What ',
    'goes on': r'\b(?:go|goes|going|gone)\s+on\b',
    'is no X': (
        r'(?<!here)\s(?:is|are|was|were)\s+no\s+'
        r'(?!longer|more|fewer|better|other)\w'
    ),
    'see there': r'\b[Ss]ee\s+there\b|\b[Ll]ikewise\b|, which see\b',
    'anew': r'\b(?:anew|whence)\b',
    'cannot serve': r'\bcannot\s+serve\b|\bknows?\s+no\b',
}


def _found(folder):
  """Returns the phrases of the files of a folder, with where they are."""
  top = _ROOT / folder
  if top.is_file():
    paths = [top]
  elif folder == 'rnd_agents':
    paths = sorted(top.glob('*.py'))
  else:
    paths = sorted([*top.rglob('*.py'), *top.rglob('*.md')])
  assert paths
  found = []
  for path in paths:
    text = path.read_text(encoding='utf-8')
    for name, pattern in _PHRASES.items():
      for match in re.finditer(pattern, text, re.MULTILINE):
        line = text.count('\n', 0, match.start()) + 1
        found.append(f'{path.relative_to(_ROOT)}:{line}: {name}')
  return found


def _folders():
  packages = sorted((_ROOT / 'rnd_agents').glob('*/__init__.py'))
  return [
      'rnd_agents',
      *(path.parent.relative_to(_ROOT).as_posix() for path in packages),
      'train',
      'README.md',
      'docs',
  ]


@pytest.mark.parametrize('folder', _folders())
def test_phrases_do_not_come_back(folder):
  found = _found(folder)
  assert not found, '\n'.join(found)


@pytest.mark.parametrize(
    ('text', 'name'),
    [
        ('    rate: Of the optimizer.', 'argument: Of ...'),
        ('  """What a run came to."""', 'docstring: What ...'),
        ('the run goes\non', 'goes on'),
        ("'{path} is no folder'", 'is no X'),
        ('    weights: See there.', 'see there'),
        ('starts anew', 'anew'),
        ('a value that cannot serve', 'cannot serve'),
        ('if there is no file', None),
        ('it is no longer there', None),
        ('    rate: Learning rate of the optimizer.', None),
    ],
)
def test_phrases_are_found(text, name):
  found = [
      key for key, pattern in _PHRASES.items()
      if re.search(pattern, text, re.MULTILINE)
  ]
  assert found == ([] if name is None else [name])
