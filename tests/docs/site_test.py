# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The docs site is built without a warning, and holds every page."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

import pytest

from tests import source_tree
from tests.docs import pages
from train import settings

_NAV = (source_tree.ROOT / 'mkdocs.yml').read_text().split('\nnav:\n')[1]


@pytest.fixture(name='stage', scope='module')
def _stage():
  path = source_tree.ROOT / 'docs/stage.py'
  spec = importlib.util.spec_from_file_location('stage', path)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def test_every_page_is_in_the_navigation_once(stage):
  expected = {*stage.sources().values(), *stage.api_pages(), 'settings.md'}
  assert sorted(re.findall(r'\S+\.md', _NAV)) == sorted(expected)


def test_links_lead_to_pages_of_the_site(stage):
  known = stage.sources()
  text = stage.staged('docs/metrics.md', known)
  assert '](results.md#the-papers-settings)' in text
  callbacks = 'rnd_agents.training.callbacks'
  assert f'](api/training.md#{callbacks})' in text
  assert callbacks in stage.api_pages()['api/training.md']
  text = stage.staged('README.md', known)
  assert '](images/deep_sea.png)' in text and '](tutorial.md)' in text
  # A file of no page is only named.
  assert 'examples/classic_loop.py has a driver' in text
  assert '```python\nimport gin' in stage.staged('docs/notebook.ipynb', known)
  with pytest.raises(ValueError, match='no_such.md does not exist'):
    (source_tree.ROOT / 'build').mkdir(exist_ok=True)
    path = source_tree.ROOT / 'build/wrong_link.md'
    path.write_text('[x](no_such.md)')
    try:
      stage.staged('build/wrong_link.md', known)
    finally:
      path.unlink()


@pytest.mark.skipif(
    importlib.util.find_spec('zensical') is None
    or importlib.util.find_spec('mkdocstrings') is None,
    reason='needs the extra docs',
)
def test_site_is_built_without_a_warning(stage, tmp_path):
  shutil.copy(source_tree.ROOT / 'mkdocs.yml', tmp_path)
  (tmp_path / 'rnd_agents').symlink_to(source_tree.ROOT / 'rnd_agents')
  stage.stage(tmp_path / 'build/docs', settings.as_markdown())
  built = subprocess.run(
      [sys.executable, '-m', 'zensical', 'build', '--strict'],
      cwd=tmp_path,
      capture_output=True,
      text=True,
  )
  assert built.returncode == 0, built.stdout[-2000:]
  site = tmp_path / 'build/site'
  html = (site / 'tutorial.html').read_text()
  assert 'KeyRoom' in html and 'coming_from.html' in html
  assert 'observation_clip_value' in (site / 'settings.html').read_text()
  # It loads nothing from elsewhere.
  assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="http', html)


def test_notebook(tmp_path, monkeypatch, capsys):
  path = source_tree.ROOT / 'docs/notebook.ipynb'
  cells = json.loads(path.read_text(encoding='utf-8'))['cells']
  monkeypatch.chdir(tmp_path)
  pages.shorten_runs(monkeypatch)
  namespace = {'__name__': 'a_notebook_of_docs'}
  for cell in cells:
    if cell['cell_type'] == 'code':
      assert not cell['outputs']
      exec(compile(''.join(cell['source']), str(path), 'exec'), namespace)
  assert 'rnd 0.0\nppo 0.0' in capsys.readouterr().out
  assert (tmp_path / 'curves.png').read_bytes().startswith(b'\x89PNG')
