# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the page that compares runs, in a browser where there is one."""

import json
import re
import shutil
import subprocess

from absl import flags
import numpy as np
import pytest

from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import report
from tests import command_lines
from tests.plotting import fake_runs

pytest.importorskip('plotly', reason='needs the extra report')
_BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
_EVIL = '<img src=x onerror=document.title="evil">'


@pytest.fixture(name='page', scope='module')
def _page(tmp_path_factory):
  """Two groups: rnd of three seeds, and one whose name is a tag."""
  runs = tmp_path_factory.mktemp('runs')
  for seed, returns in enumerate([[0, 4, 8], [0, 2, 9], [0, 6, 10]]):
    fake_runs.evaluations(runs / 'rnd' / f'seed_{seed}', [0, 50, 100], returns)
  fake_runs.evaluations(runs / 'p&<b>o' / 'seed_0', [0, 50], [0, 3])
  for name, coefficient in (('rnd', '1.0'), ('p&<b>o', _EVIL)):
    settings = {'RNDPPOAgent.intrinsic_advantage_coefficient': coefficient,
                'RNDPPOAgent.num_epochs': '4', '--seed': '0'}
    (runs / name / 'seed_0/run.json').write_text(
        json.dumps(dict(settings=settings)))
  run = runs / 'rnd/seed_0'
  image = heat_maps.grid_image(np.eye(3), 'visits')
  heat_maps.save_image(image, str(run / 'visits.png'))
  (run / 'videos').mkdir()
  (run / 'videos/best.mp4').write_bytes(b'a video')
  (run / 'videos/large.mp4').write_bytes(bytes(5_000_000))
  out = runs / 'pages' / 'report.html'
  assert command_lines.call(report, runs, '--out', out, '--title', _EVIL) == 0
  return out


def _text(page):
  """Returns the page without plotly's own script."""
  text = page.read_text(encoding='utf-8')
  return text[:3_000] + text[text.index('</head>'):]


def test_tables(page):
  text = _text(page)
  rows = [
      re.findall(r'<t[hd]>(.*?)</t[hd]>', row)
      for row in re.findall('<tr>(.*?)</tr>', text)
  ]
  assert rows[0][:5] == ['metric', 'label', 'seeds', 'env_steps', 'final IQM']
  assert ['Evaluation return', 'rnd', '3', '100', '9', '[8, 10]', '9'] in rows
  never = [row for row in rows if row[3:4] == ['never']]
  assert ['p&amp;&lt;b&gt;o', '0/1'] in [[row[0], row[2]] for row in never]
  (differing,) = [row for row in rows if row[0].startswith('RNDPPOAgent')]
  assert differing[0].endswith('intrinsic_advantage_coefficient')
  assert sorted(differing[1:])[1] == '1.0' and '&lt;img' in ''.join(differing)


def test_pictures_and_videos_are_inside(page):
  text = _text(page)
  assert text.count('<img src="data:image/png;base64,iVBOR') == 1
  assert 'large.mp4: larger than 4 MB' in text
  # Nothing is loaded, and no text of a run is a tag.
  assert not re.findall(r'(?:src|href)="(?!data:)', text)
  assert _EVIL not in text and "default-src 'none'" in text


@pytest.mark.skipif(_BROWSER is None, reason='needs Chromium')
@pytest.mark.parametrize('width', [1280, 500])
def test_browser_draws_it(page, tmp_path, width):
  shown = subprocess.run(
      [_BROWSER, '--headless', '--no-sandbox', '--disable-gpu',
       f'--user-data-dir={tmp_path}', f'--window-size={width},900',
       '--virtual-time-budget=3000', '--dump-dom', page.as_uri()],
      capture_output=True, text=True, timeout=120,
  ).stdout
  body = shown[shown.index('</head>'):]
  # Curves are drawn: a line and a band for the seeds, in one figure.
  assert body.count('class="js-line"') >= 2 and 'class="js-fill"' in body
  assert 'rnd (3 seeds)' in body and 'Environment steps' in body
  assert '<title>evil' not in shown
  # No figure is wider than the page.
  widths = re.findall(r'class="main-svg"[^>]* width="(\d+)', body)
  assert widths and max(map(int, widths)) <= width


def test_wrong_calls(tmp_path, capsys):
  assert command_lines.call(report, '--out', tmp_path / 'x.html') == 2
  assert 'Name the folders' in capsys.readouterr().err
  with pytest.raises(flags.Error, match='must end in .html'):
    command_lines.call(report, tmp_path, '--out', 'x.png')
  run = fake_runs.evaluations(tmp_path / 'a/s', [0, 5], [0, 1], 'policy_loss')
  assert command_lines.call(report, run, '--out', tmp_path / 'x.html') == 2
  assert '--metric' in capsys.readouterr().err
  assert command_lines.call(
      report, run, '--out', tmp_path / 'x.html', '--metric',
      'policy_loss') == 0
