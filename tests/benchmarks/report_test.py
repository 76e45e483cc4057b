# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks/report.py from hand-made runs."""

import json
import os

import pytest

from benchmarks import experiment_groups
from benchmarks import experiments
from benchmarks import report


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
