# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from rnd_agents import run_files
from tests.plotting import fake_runs

_HEADER = 'phase,iteration,env_steps,return_mean,bonus_mean\n'


def _run(tmp_path, text):
  (tmp_path / 'metrics.csv').write_text(text)
  return str(tmp_path)


def _points(root_dir, phase='train', metric='return_mean'):
  x, y = run_files.read_metrics(root_dir, phase, metric)
  assert x.dtype == np.int64 and y.dtype == np.float64
  return dict(zip(x.tolist(), y.tolist()))


def test_reads_phases_apart(tmp_path):
  root_dir = fake_runs.write(tmp_path, [
      {'phase': 'eval', 'iteration': 0, 'env_steps': 0, 'return_mean': -9.5},
      {'phase': 'train', 'iteration': 1, 'env_steps': 128, 'return_mean': 1.0,
       'bonus_mean': 2e-3, 'git_sha': 'abc,"d"'},
      {'phase': 'train', 'iteration': 2, 'env_steps': 256, 'return_mean': '',
       'bonus_mean': 1e-3},
      {'phase': 'train', 'iteration': 3, 'env_steps': '384.0',
       'return_mean': 'nan', 'bonus_mean': 'inf'},
      {'phase': 'eval', 'iteration': 3, 'env_steps': 384, 'return_mean': 4},
  ])
  assert _points(root_dir, 'eval') == {0: -9.5, 384: 4.0}
  assert _points(root_dir, 'train') == {128: 1.0}
  assert _points(root_dir, metric='bonus_mean') == {128: 2e-3, 256: 1e-3}


@pytest.mark.parametrize('end', [
    'train,3,300,3,0.5',  # Whole, or 0.5 of 0.55: nobody knows.
    'train,3,300,3,',
    'train,3,3',
    't',
    'train,3,300,"3',
])
def test_line_cut_short(tmp_path, end):
  root_dir = _run(
      tmp_path, _HEADER + 'train,1,100,1,\ntrain,2,200,2,\n' + end)
  assert _points(root_dir) == {100: 1.0, 200: 2.0}


def test_damaged_lines(tmp_path):
  root_dir = _run(tmp_path, _HEADER + 'train,1,100,1,\n'
                  '\x00\x00\x00\n'  # As a file system leaves after a crash.
                  '\n'
                  'train,x,200,2,\n'
                  'trai,3,300,3,\n'
                  'train,4,400,4,\n')
  with pytest.warns(UserWarning) as caught:
    assert _points(root_dir) == {100: 1.0, 400: 4.0}
  assert [str(w.message).split()[2] for w in caught] == ['3', '5', '6']


def test_lines_of_windows(tmp_path):
  (tmp_path / 'metrics.csv').write_bytes(
      (_HEADER + 'train,1,100,1,0.25\n').replace('\n', '\r\n').encode())
  assert _points(str(tmp_path), metric='bonus_mean') == {100: 0.25}


def test_rows_at_the_same_step(tmp_path):
  root_dir = _run(tmp_path, _HEADER + 'eval,1,100,1,\neval,2,100,2,\n')
  assert _points(root_dir, 'eval') == {100: 2}


def test_steps_that_fall(tmp_path):
  root_dir = _run(tmp_path, _HEADER + 'train,1,100,1,\ntrain,2,50,2,\n')
  with pytest.raises(ValueError, match='decrease from 100 in .* 1 to 50'):
    run_files.read_metrics(root_dir, 'train', 'return_mean')


def test_text_is_kept_as_it_is(tmp_path):
  root_dir = _run(
      tmp_path, _HEADER + 'train,1,100,1.50,\ntrain,2\ntrain,3,1e3,nan,x\n')
  with pytest.warns(UserWarning, match='line 3 is damaged'):
    columns, rows = run_files.read_table(f'{root_dir}/metrics.csv')
    rows = list(rows)
  assert columns == _HEADER.strip().split(',')
  assert [list(row.values()) for row in rows] == [
      ['train', '1', '100', '1.50', ''], ['train', '3', '1e3', 'nan', 'x']]


def test_no_file(tmp_path):
  assert not run_files.has_metrics(str(tmp_path))
  with pytest.raises(FileNotFoundError, match='--root_dir'):
    run_files.read_metrics(str(tmp_path), 'eval', 'return_mean')


def test_missing_metric_lists_those_there(tmp_path):
  root_dir = _run(
      tmp_path, _HEADER + 'train,1,100,1,0.5\neval,1,100,1,\n')
  with pytest.raises(ValueError, match="'bonus_mean' in phase 'eval'.*"
                     r'It has return_mean\.$'):
    run_files.read_metrics(root_dir, 'eval', 'bonus_mean')
  with pytest.raises(ValueError, match=r'It has bonus_mean, return_mean\.$'):
    run_files.read_metrics(root_dir, 'train', 'retrun_mean')


def test_missing_phase(tmp_path):
  root_dir = _run(tmp_path, _HEADER + 'train,1,100,1,0.5\n')
  with pytest.raises(ValueError, match='no such rows'):
    run_files.read_metrics(root_dir, 'eval', 'return_mean')
  with pytest.raises(ValueError, match="'eval', got 'test'"):
    run_files.read_metrics(root_dir, 'test', 'return_mean')


@pytest.mark.parametrize('text', ['', 'step,loss\n1,2\n', 'phase,itera'])
def test_no_metrics_file(tmp_path, text):
  root_dir = _run(tmp_path, text)
  with pytest.raises(ValueError, match='must start with a header'):
    run_files.read_rows(root_dir)


def test_wall_time_is_that_of_the_last_row_of_timings(tmp_path):
  (tmp_path / 'timings.csv').write_text(
      'phase,iteration,env_steps,wall_time_s,collect_time_s\n'
      'train,1,10,2.5,1\ntrain,2,20,5.0,1\neval,2,20,7.25,\n'
      'train,3,30,9')  # Killed while writing.
  assert run_files.wall_time_s(str(tmp_path)) == 7.25
  with pytest.raises(FileNotFoundError, match='timings.csv does not exist'):
    run_files.wall_time_s(str(tmp_path / 'other'))


@pytest.mark.parametrize(('name', 'read'), [
    ('status.json', run_files.read_status),
    ('run.json', run_files.read_run_record),
])
def test_status_and_record(tmp_path, name, read):
  assert read(str(tmp_path / 'none')) == {}
  (tmp_path / name).write_text('{"state": "finished"}')
  assert read(str(tmp_path)) == {'state': 'finished'}
  for damaged in ('{"state": ', '[1]', ''):
    (tmp_path / name).write_text(damaged)
    assert read(str(tmp_path)) == {}
