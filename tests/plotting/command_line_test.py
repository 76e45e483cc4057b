# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import csv
import os
import pathlib
import subprocess
import sys

from absl import flags
import pytest

from rnd_agents.plotting import __main__ as plotting
from rnd_agents.plotting import run_groups
from tests import command_lines
from tests.plotting import fake_runs


def _run(*argv):
  return command_lines.call(plotting, *argv)


def _labels(path):
  """Labels of the CSV with the number of runs at their first point."""
  with open(path, newline='', encoding='utf-8') as file:
    rows = list(csv.DictReader(file))
  return {row['label']: int(row['num_runs']) for row in reversed(rows)}


@pytest.fixture(name='runs')
def _runs(tmp_path):
  """rnd with three seeds, ppo with one that ended early."""
  runs = tmp_path / 'runs'
  for seed, returns in enumerate([[0, 4, 8], [0, 2, 9], [0, 6, 10]]):
    fake_runs.evaluations(runs / 'rnd' / f'seed_{seed}', [0, 50, 100], returns)
  fake_runs.evaluations(runs / 'ppo' / 'seed_0', [0, 50, 100], [0, 3, 1])
  fake_runs.evaluations(runs / 'ppo' / 'seed_1', [0, 50], [0, 5])
  return runs


def test_table(runs, tmp_path, capsys):
  assert _run(runs / 'rnd', runs / 'ppo', '--out', tmp_path / 'o.png',
              '--threshold', '4') == 0
  lines = capsys.readouterr().out.splitlines()
  cells = [[cell.strip() for cell in line.split('  ') if cell.strip()]
           for line in lines]
  assert cells[:3] == [
      ['label', 'seeds', 'env_steps', 'final IQM', '95 % interval',
       'highest IQM'],
      ['rnd', '3', '100', '9', '[8, 10]', '9'],
      ['ppo', '2', '50', '4', '[3, 5]', '4'],
  ]
  assert len({len(line) for line in lines[:3]}) == 1  # Columns line up.
  assert lines[3].startswith('Note: not all runs of ppo reach env_steps 100')
  # Of rnd, seed 1 has 4 only at its end; of ppo, seed 0 never.
  assert cells[6:] == [
      ['label', 'reaches', 'seeds', 'env_steps, IQM', '95 % interval'],
      ['rnd', 'return_mean 4', '3/3', '67', '[50, 100]'],
      ['ppo', 'return_mean 4', '1/2', 'never', '[50, never]'],
  ]
  assert _labels(tmp_path / 'o.csv') == {'rnd': 3, 'ppo': 2}
  assert (tmp_path / 'o.png').read_bytes().startswith(b'\x89PNG')
  with open(tmp_path / 'o.csv', newline='', encoding='utf-8') as file:
    rows = [row for row in csv.DictReader(file) if row['kind'] == 'steps_to']
  assert [tuple(row.values()) for row in rows] == [
      ('rnd', '', '66.66666666666667', '50.0', '100.0', '3', 'steps_to',
       'eval', 'return_mean', '4.0', '3'),
      ('ppo', '', 'inf', '50.0', 'inf', '2', 'steps_to', 'eval',
       'return_mean', '4.0', '1'),
  ]


def test_only_steps_that_all_runs_have_count(tmp_path, capsys):
  for name, returns in (('a', [0, 9, 6, 0]), ('b', [0, 3, 0, 0]),
                        ('c', [0, 3, 3, 3, 99])):
    fake_runs.evaluations(tmp_path / 'g' / name, range(0, 50, 10), returns)
  fake_runs.evaluations(tmp_path / 'h' / 'a', [0, 10], [1, 2])
  fake_runs.evaluations(tmp_path / 'h' / 'b', [20, 30], [3, 4])
  _run(tmp_path, '--out', tmp_path / 'o.png')
  lines = capsys.readouterr().out.splitlines()
  assert lines[1].split() == ['g', '3', '30', '1', '[0,', '3]', '5']
  assert lines[2].split() == ['h', '2', '-', '-', '-', '-']


def test_one_run_has_no_interval(runs, tmp_path, capsys):
  _run(runs / 'rnd' / 'seed_1', '--out', tmp_path / 'o.png', '--threshold',
       '9.5', '--threshold', '2')
  lines = capsys.readouterr().out.splitlines()
  assert lines[1].split() == ['rnd', '1', '100', '9', '-', '9']
  assert [line.split()[-3:] for line in lines[-2:]] == [
      ['0/1', 'never', '-'], ['1/1', '50', '-']]


def test_success_comes_with_the_returns(tmp_path, capsys):
  fake_runs.write(tmp_path / 'g' / 's', [
      {'phase': 'eval', 'iteration': i, 'env_steps': 10 * i, 'return_mean': i,
       'success_rate': i / 4} for i in range(5)])
  _run(tmp_path, '--out', tmp_path / 'o.png')
  lines = capsys.readouterr().out.splitlines()
  # 25, 50, 75 and 95 % of the way from 0 to 4, rounded down to tenths.
  assert [line.split()[1:5] for line in lines[-6:]] == [
      ['return_mean', '1', '1/1', '10'],
      ['return_mean', '2', '1/1', '20'],
      ['return_mean', '3', '1/1', '30'],
      ['return_mean', '3.8', '1/1', '40'],
      ['success_rate', '0.5', '1/1', '20'],
      ['success_rate', '0.95', '1/1', '40'],
  ]


@pytest.mark.parametrize(('argv', 'labels'), [
    (['.', 'rnd', 'rnd/seed_2'], {'ppo': 2, 'rnd': 3}),  # Each run once.
    (['ppo/seed_1'], {'ppo': 1}),
    # Of the same name in both folders, so that it takes the folder as well.
    (['.', '--label-by', 'run'],
     {'ppo/seed_0': 1, 'ppo/seed_1': 1, 'rnd/seed_0': 1, 'rnd/seed_1': 1,
      'rnd/seed_2': 1}),
])
def test_runs_are_found_and_grouped(runs, monkeypatch, argv, labels):
  # A copy inside of a run, as a backup might be, is no other run.
  fake_runs.evaluations(runs / 'rnd' / 'seed_1' / 'old', [0], [0])
  monkeypatch.chdir(runs)
  _run(*argv, '--out', 'o.png')
  assert _labels('o.csv') == labels


def test_runs_that_were_set_aside_are_left_out(tmp_path):
  begun = tmp_path / 'seed_0'  # By --fresh, and has no row yet.
  fake_runs.evaluations(begun / 'earlier' / '1', [1, 2], [0.0, 1.0])
  (begun / '.lock').touch()
  other = fake_runs.evaluations(tmp_path / 'seed_1', [1, 2], [0.0, 1.0])
  assert run_groups.find_runs([str(tmp_path)]) == [other]


def test_groups_of_the_same_name_stay_apart(tmp_path):
  for task in ('deep_sea', 'mountain_car'):
    fake_runs.evaluations(tmp_path / task / 'rnd' / 's0', [0], [0])
  _run(tmp_path, '--out', tmp_path / 'o.png')
  assert _labels(tmp_path / 'o.csv') == {
      'deep_sea/rnd': 1, 'mountain_car/rnd': 1}


def test_several_metrics_are_panels(tmp_path, capsys):
  for name, bonus in (('rnd', {'bonus_mean': 5}), ('ppo', {})):
    fake_runs.write(tmp_path / name / 's', [
        {'phase': 'train', 'iteration': 1, 'env_steps': 10, 'policy_loss': 2,
         **bonus},
        {'phase': 'eval', 'iteration': 1, 'env_steps': 10, 'return_mean': 7},
        {'phase': 'eval', 'iteration': 2, 'env_steps': 20, 'return_mean': 9}])
  _run(tmp_path, '--metric', 'train/policy_loss', '--metric',
       'train/bonus_mean', '--metric', 'return_mean', '--out',
       tmp_path / 'o.png')
  captured = capsys.readouterr()
  lines = captured.out.splitlines()
  starts = [lines.index(name) for name in (
      'train/policy_loss', 'train/bonus_mean', 'eval/return_mean')]
  assert starts == [0, 5, 9]
  assert lines[3].split() == ['rnd', '1', '10', '2', '-', '2']
  assert lines[7].split() == ['rnd', '1', '10', '5', '-', '5']
  assert lines[12].split() == ['rnd', '1', '20', '9', '-', '9']
  # Steps to a value are told where more is better.
  assert lines[15].split()[:4] == ['label', 'reaches', 'seeds', 'env_steps,']
  assert "has no value of 'bonus_mean'" in captured.err
  with open(tmp_path / 'o.csv', newline='', encoding='utf-8') as file:
    curves = [(row['label'], row['phase'], row['metric'], float(row['iqm']))
              for row in csv.DictReader(file) if row['kind'] == 'curve']
  assert curves == [
      ('ppo', 'train', 'policy_loss', 2), ('rnd', 'train', 'policy_loss', 2),
      ('rnd', 'train', 'bonus_mean', 5),
      ('ppo', 'eval', 'return_mean', 7), ('ppo', 'eval', 'return_mean', 9),
      ('rnd', 'eval', 'return_mean', 7), ('rnd', 'eval', 'return_mean', 9)]


def test_run_without_the_metric_is_left_out_loudly(runs, tmp_path, capsys):
  fake_runs.write(runs / 'rnd' / 'seed_9', [
      {'phase': 'train', 'iteration': 1, 'env_steps': 10, 'bonus_mean': 1}])
  _run(runs, '--out', tmp_path / 'o.png')
  captured = capsys.readouterr()
  assert captured.err.startswith('Left out: ')
  assert os.path.join('rnd', 'seed_9') in captured.err
  assert _labels(tmp_path / 'o.csv') == {'ppo': 2, 'rnd': 3}


def test_folder_without_runs_is_left_out_loudly(runs, tmp_path, capsys):
  (runs / 'demos').mkdir()  # What `runs/*/` finds, too.
  _run(*sorted(runs.iterdir()), '--out', tmp_path / 'o.png')
  said = capsys.readouterr().err
  assert said.startswith(f'Left out: {runs}/demos is not the folder of a run')
  assert said.count('\n') == 1
  assert _labels(tmp_path / 'o.csv') == {'ppo': 2, 'rnd': 3}
  assert _run(runs / 'demos', '--out', tmp_path / 'none.png') == 2
  assert f'{runs}/demos is not the folder of a run' in capsys.readouterr().err


@pytest.mark.parametrize(('argv', 'out', 'message'), [
    (['--metric', 'length_mean'], 'o.png', "'length_mean' in phase 'eval'"),
    (['nowhere'], 'o.png', 'nowhere is not the folder of a run'),
    (['--metric', 'evil/return_mean'], 'o.png', 'must be train or eval'),
    (['--metric', 'a', '--metric', 'b', '--threshold', '1'], 'o.png',
     '--threshold'),
    ([], 'o.xyz', 'o.xyz must end in one of '),
    ([], 'metrics.csv', 'metrics.csv must end in'),
    ([], 'file/o.png', 'file/o.png cannot be written: '),
    ([], 'folder.png', 'folder.png'),
])
def test_bad_arguments(runs, tmp_path, capsys, argv, out, message):
  (tmp_path / 'file').touch()
  (tmp_path / 'folder.png').mkdir()
  assert _run(runs, *argv, '--out', tmp_path / out) == 2
  error = capsys.readouterr().err.splitlines()[-1]
  assert error.startswith('plotting: ') and message in error
  assert not (tmp_path / out).is_file()


def test_without_matplotlib(runs, tmp_path, capsys, monkeypatch):
  monkeypatch.setitem(sys.modules, 'matplotlib', None)
  monkeypatch.delitem(sys.modules, 'matplotlib.figure', raising=False)
  assert _run(runs, '--out', tmp_path / 'o.png') == 2
  assert capsys.readouterr().err == (
      'plotting: Drawing needs matplotlib: pip install matplotlib\n')


@pytest.mark.parametrize(('argv', 'message'), [
    (['--out', 'o.png', '--label_by', 'evil'], 'parent|run'),
    ([], '--out must have a value'),
])
def test_bad_flags(runs, argv, message):
  with pytest.raises(flags.Error, match=message):
    _run(runs, *argv)


def test_numbers_of_something_else_are_not_written_over(runs, tmp_path, capsys):
  run = runs / 'rnd' / 'seed_0'
  before = (run / 'metrics.csv').read_bytes()
  assert _run(run, '--out', run / 'metrics.png') == 2
  error = capsys.readouterr().err
  assert f'{run}/metrics.csv' in error
  assert (run / 'metrics.csv').read_bytes() == before
  assert not (run / 'metrics.png').exists()
  # Those of an earlier picture are.
  for folder in ('rnd', 'ppo'):
    assert _run(runs / folder, '--out', tmp_path / 'o.png') == 0
    assert list(_labels(tmp_path / 'o.csv')) == [folder]


def test_starts_without_tensorflow(runs, tmp_path):
  code = (
      'import sys\n'
      'from rnd_agents.plotting import __main__\n'
      'print("matplotlib" in sys.modules)\n'
      'from tests import command_lines\n'
      f'command_lines.call(__main__, {str(runs)!r},\n'
      f'                   "--out", {str(tmp_path / "o.png")!r})\n'
      'heavy = ["tensorflow", "tf_agents", "gymnasium", "matplotlib.pyplot"]\n'
      'print([name for name in heavy if name in sys.modules])\n')
  output = subprocess.run(
      [sys.executable, '-c', code], check=True, capture_output=True, text=True,
      cwd=pathlib.Path(__file__).parents[2]).stdout.splitlines()
  assert (output[0], output[-1]) == ('False', '[]')
