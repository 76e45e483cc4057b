# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stages the pages of the docs site: `python docs/stage.py FOLDER`.

The pages are written to be read in the repository, too, so that they link to
files outside of docs/. Here the Markdown files among these become pages, links
to modules of the package lead to the API reference, and other links become
text. Two parts of the site have no file: the API reference, a page a package,
and the reference of settings.
"""

from collections.abc import Mapping
import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Pages that lie outside of docs/, by their name in the site.
_OUTSIDE = {
    'README.md': 'index.md',
    'CONTRIBUTING.md': 'contributing.md',
    'CHANGELOG.md': 'changelog.md',
    'benchmarks/README.md': 'benchmarks.md',
    'benchmarks/RESULTS.md': 'results.md',
}
_LINK = re.compile(r'(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)')


def sources() -> dict[str, str]:
  """Returns the Markdown files of the site: page by path in the repository."""
  pages = {f'docs/{path.name}': path.name for path in ROOT.glob('docs/*.md')}
  return pages | _OUTSIDE | {'docs/notebook.ipynb': 'notebook.md'}


def _text(path: str) -> str:
  """Returns a page as Markdown; of a notebook, its cells."""
  text = (ROOT / path).read_text(encoding='utf-8')
  if not path.endswith('.ipynb'):
    return text
  cells = [
      (cell['cell_type'], ''.join(cell['source']))
      for cell in json.loads(text)['cells']
  ]
  return '\n\n'.join(
      f'```python\n{source}\n```' if kind == 'code' else source
      for kind, source in cells
  )


def api_pages() -> dict[str, list[str]]:
  """Returns the modules of each page of the API reference."""
  return {
      f'api/{package.parent.name}.md': [
          f'rnd_agents.{package.parent.name}.{path.stem}'
          for path in sorted(package.parent.glob('*.py'))
          if not path.stem.startswith('_')
      ]
      for package in sorted(ROOT.glob('rnd_agents/*/__init__.py'))
  }


def staged(path: str, pages: Mapping[str, str]) -> str:
  """Returns the text of a Markdown file with the links of the site.

  Args:
    path: The file, relative to the repository.
    pages: Pages by path in the repository.

  Raises:
    ValueError: If a link leads to a file that does not exist.
  """
  modules = {
      f'{module.replace(".", "/")}.py': f'{page}#{module}'
      for page, names in api_pages().items()
      for module in names
  }
  folder = os.path.dirname(path)

  def replace(match: re.Match) -> str:
    mark, text, target, anchor = match.groups()
    if not target or re.match(r'\w+:', target):
      return match[0]
    found = os.path.normpath(os.path.join(folder, target))
    if not (ROOT / found).exists():
      raise ValueError(f'{path}: {target} does not exist')
    if found in pages:
      return f'{mark}[{text}]({pages[found]}{anchor or ""})'
    if found.startswith('docs/'):  # A picture.
      return f'{mark}[{text}]({found.removeprefix("docs/")})'
    if found in modules:
      return f'[{text}]({modules[found]})'
    return text

  parts = re.split(
      r'(^```.*?^```|`[^`\n]+`)',
      _text(path),
      flags=re.MULTILINE | re.DOTALL,
  )
  # Texts of links may be code.
  joined, code = '', []
  for i, part in enumerate(parts):
    if i % 2:
      code.append(part)
      part = f'\0{len(code) - 1}\0'
    joined += part
  joined = _LINK.sub(replace, joined)
  return re.sub('\0(\\d+)\0', lambda match: code[int(match[1])], joined)


def stage(out: pathlib.Path, settings: str) -> None:
  """Writes all pages.

  Args:
    out: Folder, which is emptied first.
    settings: The page of settings.
  """
  shutil.rmtree(out, ignore_errors=True)
  shutil.copytree(ROOT / 'docs/images', out / 'images')
  pages = sources()
  for path, page in pages.items():
    (out / page).write_text(staged(path, pages), encoding='utf-8')
  (out / 'api').mkdir()
  for page, modules in api_pages().items():
    title = f'# rnd_agents.{pathlib.PurePath(page).stem}\n\n'
    blocks = [f'::: {module}\n' for module in modules]
    (out / page).write_text(title + '\n'.join(blocks), encoding='utf-8')
  (out / 'settings.md').write_text(settings, encoding='utf-8')


if __name__ == '__main__':
  sys.path.insert(0, str(ROOT))
  from train import settings as settings_lib

  stage(pathlib.Path(sys.argv[1]), settings_lib.as_markdown())
