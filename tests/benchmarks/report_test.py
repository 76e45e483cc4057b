# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of a report, from hand-made runs and points."""

import csv
import json
import os

import numpy as np
import pytest

from benchmarks import experiment_groups
from benchmarks import experiments
from benchmarks import report
from benchmarks import report_pictures


def _write_run(folder, successes, returns):
  """Writes a finished run with an evaluation and an iteration each 1,000."""
  os.makedirs(folder)
  rows = ['phase,iteration,env_steps,train_steps,return_mean,success_rate']
  for i, (success, return_) in enumerate(zip(successes, returns), start=1):
    rows += [
        f'{phase},{i},{1000 * i},{i},{return_},{success}'
        for phase in ('train', 'eval')
    ]
  for name, lines in (
      ('metrics.csv', rows),
      ('timings.csv', [
          'phase,iteration,env_steps,train_steps,wall_time_s',
          'train,1,1000,1,7',
      ]),
  ):
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
      file.write('\n'.join(lines) + '\n')
  with open(os.path.join(folder, 'status.json'), 'w', encoding='utf-8') as file:
    json.dump({'state': 'finished'}, file)


@pytest.fixture(name='rows_of')
def _rows_of(tmp_path, capsys):
  """A function that reports a group; returns {label: its cells}."""

  def rows_of(group, runs):
    for job in experiment_groups.GROUPS[group]:
      if job.label in runs and job.seed < len(runs[job.label]):
        folder = experiments.root_dir(str(tmp_path), group, job)
        _write_run(folder, *runs[job.label][job.seed])
    folders = experiments.finished(str(tmp_path), group)
    assert {label: len(found) for label, found in folders.items()} == {
        label: len(of_label) for label, of_label in runs.items()
    }
    report.print_report(group, folders)
    lines = capsys.readouterr().out.strip().splitlines()[2:]
    cells = [line.strip('| ').split(' | ') for line in lines]
    return {label: rest for label, *rest in cells}

  return rows_of


def test_when_a_task_was_solved(rows_of):
  rows = rows_of('ablations', {
      'current observation': [
          ([0, 0.9, 1, 0.5], [0] * 4), ([1], [0]), ([0, 0], [0] * 2)
      ],
      'no observation clipping': [([0.9], [0])],
  })
  assert rows == {
      'no observation clipping': ['1', 'never', '0.90', '7'],
      'current observation': [
          '3',
          '3, 1, never; **3**',
          '0.50, 1.00, 0.00; **0.50**',
          '7, 7, 7; **7**',
      ],
  }


def test_levels_of_training_returns(rows_of):
  # Means of five iterations: 0, 0, 1/3, 1/2, 3/5, 4/5.
  run = [0] * 6, [0, 0, 1, 1, 1, 1]
  assert rows_of('default_door_key', {'NovelD': [run]}) == {
      'NovelD': ['1', '3', '4', '6', '0.37', '1']
  }


def test_each_group_has_distinct_folders_and_known_columns():
  for group, jobs in experiment_groups.GROUPS.items():
    folders = {experiments.root_dir('', group, job) for job in jobs}
    assert len(folders) == len(jobs)
  assert set(report._COLUMNS) <= set(experiment_groups.GROUPS)
  assert set(experiment_groups.DEMONSTRATIONS) <= set(experiment_groups.GROUPS)


# Pictures.
def _line(axes, label):
  """The data of the line with this label, [2, n]."""
  lines = [line for line in axes.lines if line.get_label() == label]
  assert len(lines) == 1, [line.get_label() for line in axes.lines]
  return np.array(lines[0].get_data(), float)


def _texts(legend):
  return [text.get_text() for text in legend.get_texts()]


def _tick_labels(axis):
  return [tick.get_text() for tick in axis.get_ticklabels()]


def _read_csv(path):
  with open(path, newline='', encoding='utf-8') as file:
    return list(csv.reader(file))


def test_plot_scaling(tmp_path):
  points = [
      (10, 100, True), (10, 300, True), (10, 900, False), (20, 700, True),
      (20, 1000, False), (20, 1000, False), (5, 40, True), (5, 60, True)]

  fig = report_pictures.plot_scaling(points, str(tmp_path / 'scaling.png'))

  (axes,) = fig.axes
  assert axes.get_yscale() == 'log'
  # Medians with unsolved = infinite: of 100, 300, inf; and 700, inf, inf.
  np.testing.assert_allclose(
      _line(axes, 'RND-PPO (5 of 8 runs solved)'),
      [[5, 10, 20], [50, 300, np.nan]])
  solved, unsolved = axes.lines[1], axes.lines[2]
  assert sorted(zip(*solved.get_data())) == [
      (5, 40), (5, 60), (10, 100), (10, 300), (20, 700)]
  assert sorted(zip(*unsolved.get_data())) == [
      (10, 900), (20, 1000), (20, 1000)]
  assert unsolved.get_marker() == '^'
  assert unsolved.get_markerfacecolor() == 'none'
  assert solved.get_marker() != '^'
  x, y = _line(axes, 'random policy: N 2^N')
  assert (x[0], x[-1]) == (5, 20)
  np.testing.assert_allclose(y, x * 2**x)
  assert axes.get_ylim() == pytest.approx((16, 2500))  # Not up to 20 * 2^20.
  assert {'100', '1k'} <= set(_tick_labels(axes.yaxis))
  assert _tick_labels(axes.xaxis) == ['5', '10', '20']
  assert _texts(axes.get_legend()) == [
      'RND-PPO (5 of 8 runs solved)', 'not solved within its budget',
      'random policy: N 2^N']
  assert _read_csv(tmp_path / 'scaling.csv')[:4] == [
      ['label', 'x', 'y', 'solved'], ['RND-PPO', '10', '100', '1'],
      ['RND-PPO', '10', '300', '1'], ['RND-PPO', '10', '900', '0']]


def test_plot_scaling_when_all_is_solved(tmp_path):
  fig = report_pictures.plot_scaling(
      [(4, 10, True)], str(tmp_path / 'out.png'))
  assert _texts(fig.axes[0].get_legend()) == [
      'RND-PPO (1 of 1 runs solved)', 'random policy: N 2^N']


def test_the_share_of_successes_is_of_episodes_and_not_of_iterations(
    tmp_path, monkeypatch
):
  monkeypatch.setattr(report, '_LEAST_EPISODES', 5)
  # One succeeds first, four fail together, and one succeeds between.
  counts = [
      (1, 1.0), (4, 0.0), (1, 1.0), (1, 0.0), (4, 0.25), ('', ''), (6, 1.0)
  ]
  lines = ['phase,iteration,env_steps,train_steps,episodes,terminated_rate']
  for i, (num, rate) in enumerate(counts, start=1):
    lines.append(f'train,{i},{1000 * i},{i},{num},{rate}')
  (tmp_path / 'metrics.csv').write_text('\n'.join(lines) + '\n')
  columns = report.columns_of('obstructed_maze', {})
  first, half, most, end = [
      function(str(tmp_path)) for function, _ in list(columns.values())[:4]
  ]
  assert (first, half, most) == (1, 7, np.inf)  # 2 of 6 at 3, 9 of 17.
  np.testing.assert_allclose(end, 9 / 17)
