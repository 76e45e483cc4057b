# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files that a run leaves."""

import csv
import json

import pytest
import tensorflow as tf

from rnd_agents.training import run_directory


def _counters(iteration):
  return dict(
      iteration=iteration,
      env_steps=100 * iteration,
      train_steps=16 * iteration,
      wall_time_s=float(iteration),
  )


def _rows(root_dir):
  with open(root_dir / 'metrics.csv', newline='', encoding='utf-8') as file:
    return list(csv.DictReader(file))


def _scalars(folder):
  """{tag: {step: value}} of the event files in a folder."""
  scalars = {}
  for path in folder.glob('events*'):
    for event in tf.compat.v1.train.summary_iterator(str(path)):
      for value in event.summary.value:
        number = float(tf.make_ndarray(value.tensor))
        scalars.setdefault(value.tag, {})[event.step] = number
  return scalars


def test_rows_are_on_disk_at_once_and_columns_grow(tmp_path):
  log = run_directory.MetricsLog(tmp_path)
  log.write('train', _counters(1), {'a_loss': 0.5})
  assert [row['a_loss'] for row in _rows(tmp_path)] == ['0.5']
  log.write('eval', _counters(1), {'return_mean': -3.0})
  log.write('train', _counters(2), {'a_loss': 0.25})
  rows = _rows(tmp_path)
  assert [row['phase'] for row in rows] == ['train', 'eval', 'train']
  assert [row['a_loss'] for row in rows] == ['0.5', '', '0.25']
  assert [row['return_mean'] for row in rows] == ['', '-3', '']
  assert [row['env_steps'] for row in rows] == ['100', '100', '200']
  assert log.last('train', 'a_loss') == 0.25
  assert log.last('train', 'return_mean') is None


def test_tensorboard_has_the_same_numbers_over_environment_steps(tmp_path):
  log = run_directory.MetricsLog(tmp_path)
  log.write('train', _counters(1), {'rnd_loss': 0.5, 'bonus_mean': 2.0})
  log.write('eval', _counters(3), {'return_mean': -3.0, 'length_mean': 7.0})
  log.close()
  assert _scalars(tmp_path / 'train') == {
      'Losses/rnd_loss': {100: 0.5},
      'Metrics/bonus_mean': {100: 2.0},
  }
  assert _scalars(tmp_path / 'eval') == {
      'Metrics/AverageReturn': {300: -3.0},
      'Metrics/AverageEpisodeLength': {300: 7.0},
  }


def test_resuming_drops_rows_after_the_checkpoint_and_a_cut_line(tmp_path):
  log = run_directory.MetricsLog(tmp_path)
  for iteration in (1, 2, 3):
    log.write('train', _counters(iteration), {'a': float(iteration)})
  log.close()
  with open(tmp_path / 'metrics.csv', 'a', encoding='utf-8') as file:
    file.write('train,2,20')
  log = run_directory.MetricsLog(tmp_path, last_iteration=2)
  log.write('train', _counters(3), {'a': 30.0})
  assert [row['a'] for row in _rows(tmp_path)] == ['1', '2', '30']


def test_a_fresh_start_forgets_older_rows(tmp_path):
  run_directory.MetricsLog(tmp_path).write('train', _counters(1), {'a': 1.0})
  run_directory.MetricsLog(tmp_path)
  assert _rows(tmp_path) == []


def test_unwritable_folder_is_refused_by_name(tmp_path):
  (tmp_path / 'file').write_text('')
  with pytest.raises(OSError, match='root_dir=.*file/run cannot be written'):
    run_directory.check_writable(str(tmp_path / 'file' / 'run'))


def test_record_names_versions_and_command(tmp_path):
  run_directory.record_run(tmp_path, seed=7)
  record = json.loads((tmp_path / 'run.json').read_text())
  assert record['seed'] == 7
  assert record['packages']['tensorflow'] == tf.__version__
  assert (tmp_path / 'operative_config.gin').exists()
