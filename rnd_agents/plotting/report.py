# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Writes a page that compares runs: one HTML file, which needs no network.

  python -m rnd_agents.plotting.report runs/rnd runs/ppo --out report.html

Arguments and groups are those of `python -m rnd_agents.plotting`. The page has
learning curves with intervals over seeds, which can be zoomed, tables of final
values and of steps to a value, the settings that differ, and the pictures and
the videos of the runs.
"""

import base64
from collections.abc import Mapping, Sequence
import glob
import html
import os
from typing import Any

from absl import flags
import numpy as np

from rnd_agents import errors
from rnd_agents import programs
from rnd_agents import run_files
from rnd_agents.plotting import drawing
from rnd_agents.plotting import learning_curves
from rnd_agents.plotting import run_groups
from rnd_agents.plotting import statistics

# Drawn where a run has them.
_METRICS = (
    'return_mean', 'success_rate', 'train/return_mean', 'train/bonus_mean',
    'train/entropy', 'train/extrinsic_explained_variance',
)
_PICTURES = ('visits.png', 'archive_map.png', 'archive.png')
_DASHES = dict(zip(drawing.DASHES, ('solid', 'dash', 'dashdot')))
_MAX_VIDEO_BYTES = 4_000_000

# Names and settings may be of anybody: the page may not load anything, and
# every text of a run is escaped.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:;
 media-src data:">
<title>{title}</title>
<style>
 body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
  margin: 0 auto; max-width: 80rem; padding: 0 1rem 3rem; }}
 h1, h2 {{ line-height: 1.2; overflow-wrap: anywhere; }}
 .grid {{ display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }}
 .grid > * {{ min-width: 0; }}
 .wide {{ overflow-x: auto; }}
 table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
 th, td {{ border-bottom: 1px solid #ddd; padding: .25rem .75rem .25rem 0;
  text-align: left; vertical-align: top; }}
 td {{ max-width: 30rem; overflow-wrap: break-word; }}
 img, video {{ max-width: 100%; }}
 figure {{ margin: 0; }}
 h3 {{ font-size: 1rem; margin: .5rem 0 0; }}
 figcaption, .note {{ color: #555; font-size: .9rem; }}
</style>
<script>{plotly}</script>
</head><body>
<h1>{title}</h1>
{body}
<script>window.dispatchEvent(new Event('resize'))</script>
</body></html>
"""


def define_flags(values: flags.FlagValues) -> None:
  """Defines the flags of this program."""
  to: dict[str, Any] = {'flag_values': values}
  flags.DEFINE_string(
      'out', None, 'HTML file to write.', required=True, **to)
  flags.DEFINE_multi_string(
      'metric', None, 'As of rnd_agents.plotting. Default: returns, success,'
      ' bonus, entropy and explained variance, where a run has them.', **to)
  flags.DEFINE_enum(
      'label_by', 'parent', ('parent', 'run'),
      'Whether a curve is of a folder of runs, or of a run.', **to)
  flags.DEFINE_string('title', 'Runs', 'Title of the page.', **to)
  flags.register_validator(
      'out', lambda path: path.endswith('.html'), 'must end in .html', **to)


def _import_plotly() -> Any:
  try:
    import plotly  # pylint: disable=g-import-not-at-top
    import plotly.graph_objects  # pylint: disable=g-import-not-at-top
    import plotly.io  # pylint: disable=g-import-not-at-top
    import plotly.offline  # pylint: disable=g-import-not-at-top
  except ImportError as error:
    raise errors.MissingPackage(
        "A report needs plotly: pip install 'rnd_agents[report]', or pip"
        ' install plotly'
    ) from error
  return plotly


def _table(lines: Sequence[Sequence[str]]) -> str:
  """Returns a table whose first line is a header."""
  rows = []
  for tag, line in zip(['th'] + ['td'] * len(lines), lines):
    cells = ''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in line)
    rows.append(f'<tr>{cells}</tr>')
  return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _figure(
    panel: learning_curves.Panel, looks: Mapping[str, tuple[str, str]]
) -> str:
  """Returns the curves of a panel with their intervals, as HTML."""
  plotly = _import_plotly()
  figure = plotly.graph_objects.Figure()
  for label, curve in panel.curves.items():
    dash, color = looks[label]
    shared = dict(
        x=curve.env_steps, legendgroup=label, hoverinfo='skip',
        showlegend=False, line=dict(width=0), mode='lines')
    has_band = np.isfinite(curve.low)
    if has_band.any():
      figure.add_scatter(y=curve.low, **shared)
      band = tuple(int(color[i:i + 2], 16) for i in (1, 3, 5))
      figure.add_scatter(
          y=curve.high, fill='tonexty', fillcolor=f'rgba{(*band, 0.18)}',
          **shared)
    if not curve.complete.all():
      figure.add_scatter(
          **shared | dict(line=dict(color=color, dash='dot', width=2)),
          y=learning_curves.partial_line(curve))
    seeds = len(curve.values)
    figure.add_scatter(
        x=curve.env_steps, legendgroup=label,
        y=np.where(curve.complete, curve.iqm, np.nan),
        name=f'{html.escape(label)} ({seeds} seed{"s" * (seeds != 1)})',
        mode='lines+markers' if len(curve.iqm) < 40 else 'lines',
        line=dict(color=color, dash=_DASHES[dash], width=2),
        marker=dict(size=4), hovertemplate='%{y:.4g} after %{x} steps')
  figure.update_layout(
      height=380, template='simple_white', hovermode='closest',
      margin=dict(l=60, r=10, t=35, b=10),
      legend=dict(orientation='h', y=-0.25), xaxis_title='Environment steps')
  drawn = plotly.io.to_html(
      figure, full_html=False, include_plotlyjs=False,
      config=dict(responsive=True, displaylogo=False,
                  modeBarButtonsToRemove=['select2d', 'lasso2d']),
      default_width='100%')
  title = html.escape(learning_curves.label_of(panel))
  return f'<section><h3>{title}</h3>{drawn}</section>'


def _settings_table(groups: Mapping[str, Sequence[str]]) -> str:
  """Returns a table of the settings that differ between runs."""
  settings = {
      label: [run_files.read_run_record(run).get('settings') for run in members]
      for label, members in groups.items()
  }
  known = {
      label: [each for each in records if isinstance(each, dict)]
      for label, records in settings.items()
  }
  names = sorted({name for records in known.values() for each in records
                  for name in each} - {'--seed'})

  def cell(label: str, name: str) -> str:
    values = {str(each.get(name, '–')) for each in known[label]}
    return ' or '.join(sorted(values)) or '(no run.json)'

  lines = [['setting', *groups]]
  for name in names:
    cells = [cell(label, name) for label in groups]
    if len(set(cells)) > 1 or ' or ' in cells[0]:
      lines.append([name, *cells])
  if len(lines) == 1:
    return '<p class="note">None but the seeds.</p>'
  return _table(lines)


def _data_uri(path: str, kind: str) -> str:
  with open(path, 'rb') as file:
    return f'data:{kind};base64,{base64.b64encode(file.read()).decode()}'


def _files_of_run(run: str) -> list[str]:
  """Returns the pictures of a run, and its newest video, as HTML."""
  found = []
  for name in _PICTURES:
    path = os.path.join(run, name)
    if os.path.isfile(path):
      source = _data_uri(path, 'image/png')
      found.append((f'<img src="{source}" alt="{name}">', name))
  videos = glob.glob(os.path.join(glob.escape(run), 'videos', '*.mp4'))
  if videos:
    path = max(videos, key=os.path.getmtime)
    name = os.path.basename(path)
    if os.path.getsize(path) <= _MAX_VIDEO_BYTES:
      source = _data_uri(path, 'video/mp4')
      found.append((f'<video controls muted src="{source}"></video>', name))
    else:
      found.append(('', f'{name}: larger than 4 MB, left out'))
  where = html.escape(os.path.join(*run.split(os.sep)[-2:]))
  return [
      f'<figure>{shown}<figcaption>{where}: {html.escape(name)}</figcaption>'
      '</figure>'
      for shown, name in found
  ]


def _panels(
    runs: Sequence[str], args: flags.FlagValues
) -> list[learning_curves.Panel]:
  """Returns the panels of the metrics that runs have."""
  if args.metric:
    return [run_groups.panel(runs, each, args.label_by) for each in args.metric]
  found = []
  for metric in _METRICS:
    phase, _, name = metric.rpartition('/')
    if any(run_files.has_metric(run, phase or 'eval', name) for run in runs):
      found.append(run_groups.panel(runs, metric, args.label_by))
  if not found:
    raise errors.InvalidValue(
        'the runs have no metric of the page yet: name one by --metric')
  return found


def write_report(folders: Sequence[str], args: flags.FlagValues) -> None:
  """Writes the page.

  Args:
    folders: As for `run_groups.find_runs`.
    args: The flags of this program.

  Raises:
    UserError: If there is nothing to draw, or a package is missing.
  """
  if not folders:
    raise errors.InvalidValue('Name the folders of the runs.')
  plotly = _import_plotly()
  runs = run_groups.find_runs(folders)
  groups = run_groups.group_runs(runs, args.label_by)
  panels = _panels(runs, args)
  looks = learning_curves.looks(list(groups))
  note = (
      'Line: interquartile mean over seeds, dotted where not all have a value;'
      f' band: {100 * statistics.CONFIDENCE:g} % interval. Drag to zoom,'
      ' double-click to zoom out, click a name to hide it.'
  )
  body = ['<div class="grid">', *[_figure(each, looks) for each in panels],
          '</div>', f'<p class="note">{note}</p>']
  ends, steps_to = [], []
  for panel in panels:
    head, *rows = run_groups.curve_table(panel.curves)
    ends += [[learning_curves.label_of(panel), *row] for row in rows]
    if panel.phase == run_files.EVAL:
      steps_to += [row for row in panel.steps_to if row.metric == panel.metric]
  body += ['<h2>Final values</h2>', _table([['metric', *head], *ends])]
  if steps_to:
    body += ['<h2>Environment steps until evaluations first get there</h2>',
             _table(run_groups.efficiency_table(steps_to))]
  body += ['<h2>Settings that differ</h2>', _settings_table(groups)]
  pictures = [each for run in runs for each in _files_of_run(run)]
  if pictures:
    body += ['<h2>Pictures and videos</h2>', '<div class="grid">', *pictures,
             '</div>']
  page = _PAGE.format(
      title=html.escape(args.title), plotly=plotly.offline.get_plotlyjs(),
      body='\n'.join(body))
  os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
  with open(args.out, 'w', encoding='utf-8') as file:
    file.write(page)


@programs.explaining('report', OSError, status=2)
def main(argv: Sequence[str], args: flags.FlagValues = flags.FLAGS) -> int:
  """Runs the command line; returns its exit status."""
  write_report(argv[1:], args)
  print(f'Open {args.out} in a browser.')
  return 0


def run() -> None:
  """Runs the program, as the command `rnd-report` does."""
  programs.run_program(main, define_flags)


if __name__ == '__main__':
  run()
