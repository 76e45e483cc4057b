# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a run measures, on disk and in TensorBoard."""

import csv

import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.environments import episode_log
from rnd_agents.tracking import loggers
from rnd_agents.training import metrics_log
from rnd_agents.training import runs


def _counters(iteration):
  return dict(
      iteration=iteration,
      env_steps=100 * iteration,
      train_steps=16 * iteration,
      total_episodes=2 * iteration,
  )


def _write(log, phase, iteration, metrics, wall_time_s=1.5):
  log.write(phase, _counters(iteration), metrics, {'wall_time_s': wall_time_s})


def _rows(root_dir, name='metrics.csv'):
  with open(root_dir / name, newline='', encoding='utf-8') as file:
    return list(csv.DictReader(file))


def _events(folder):
  for path in folder.glob('events*'):
    for event in tf.compat.v1.train.summary_iterator(str(path)):
      for value in event.summary.value:
        yield event.step, value


def _scalars(folder):
  """{tag: {step: value}} of the event files in a folder."""
  scalars = {}
  for step, value in _events(folder):
    array = tf.make_ndarray(value.tensor)
    if array.dtype == np.float32:
      scalars.setdefault(value.tag, {})[step] = float(array)
  return scalars


def test_rows_are_on_disk_at_once_and_columns_grow(tmp_path):
  log = metrics_log.MetricsLog(tmp_path)
  _write(log, 'train', 1, {'a_loss': 0.5})
  assert [row['a_loss'] for row in _rows(tmp_path)] == ['0.5']
  _write(log, 'eval', 1, {'return_mean': -3.0})
  _write(log, 'train', 2, {'a_loss': 0.25})
  rows = _rows(tmp_path)
  assert [row['phase'] for row in rows] == ['train', 'eval', 'train']
  assert [row['a_loss'] for row in rows] == ['0.5', '', '0.25']
  assert [row['return_mean'] for row in rows] == ['', '-3', '']
  assert [row['env_steps'] for row in rows] == ['100', '100', '200']
  assert [row['total_episodes'] for row in rows] == ['2', '2', '4']
  assert log.last('train', 'a_loss') == 0.25
  assert log.last('train', 'return_mean') is None
  # A log that goes on remembers.
  again = metrics_log.MetricsLog(tmp_path, log.save())
  assert again.last('train', 'a_loss') == 0.25
  assert again.last('eval', 'return_mean') == -3.0


def test_rows_below_a_long_header_are_kept(tmp_path):
  metrics = {f'worker_{i}_env_steps_per_s': 1.0 for i in range(400)}
  log = metrics_log.MetricsLog(tmp_path)
  _write(log, 'train', 1, metrics)
  again = metrics_log.MetricsLog(tmp_path, log.save())
  _write(again, 'train', 2, metrics)
  assert [row['iteration'] for row in _rows(tmp_path)] == ['1', '2']


def test_times_are_kept_apart_from_what_the_seed_decides(tmp_path):
  log = metrics_log.MetricsLog(tmp_path)
  _write(log, 'train', 1, {'a_loss': 0.5}, wall_time_s=2.25)
  assert 'wall_time_s' not in _rows(tmp_path)[0]
  assert _rows(tmp_path, 'timings.csv') == [{
      'phase': 'train',
      'iteration': '1',
      'env_steps': '100',
      'wall_time_s': '2.25',
  }]


def test_tensorboard_has_the_same_numbers_over_environment_steps(tmp_path):
  log = metrics_log.MetricsLog(tmp_path)
  _write(log, 'train', 1, {'rnd_loss': 0.5, 'bonus_mean': 2.0})
  _write(log, 'eval', 3, {'return_mean': -3.0, 'length_mean': 7.0})
  log.close()
  assert _scalars(tmp_path / 'train') == {
      'Losses/rnd_loss': {100: 0.5},
      'Metrics/bonus_mean': {100: 2.0},
      'Metrics/EnvironmentSteps': {100: 100.0},
      'Metrics/NumberOfEpisodes': {100: 2.0},
      'Speed/wall_time_s': {100: 1.5},
  }
  assert _scalars(tmp_path / 'eval') == {
      'Metrics/AverageReturn': {300: -3.0},
      'Metrics/AverageEpisodeLength': {300: 7.0},
      'Metrics/EnvironmentSteps': {300: 300.0},
      'Metrics/NumberOfEpisodes': {300: 6.0},
      'Speed/wall_time_s': {300: 1.5},
  }


def test_tensorboard_has_settings_and_pictures(tmp_path):
  settings = {'A.rate': '0.5', 'A.on': 'True', 'A.sizes': '(2, 3)'}
  log = metrics_log.MetricsLog(tmp_path, settings=settings, seed=4)
  picture = np.arange(12, dtype=np.uint8).reshape([1, 2, 2, 3])
  log.write_picture(loggers.Picture('train', 'picture', picture), 70)
  log.close()
  found = {
      value.tag: (step, value)
      for step, value in _events(tmp_path / 'train')
  }
  text = tf.make_ndarray(found['settings'][1].tensor).item().decode()
  assert '|A.sizes|`(2, 3)`|' in text
  metadata = found['_hparams_/session_start_info'][1].metadata
  content = metadata.plugin_data.content
  for word in (b'A.rate', b'A.sizes', b'(2, 3)', b'seed'):
    assert word in content
  step, value = found['picture']
  width, height, png = tf.make_ndarray(value.tensor)
  assert (step, width, height) == (70, b'2', b'2')
  np.testing.assert_array_equal(tf.io.decode_png(png), picture[0])


@pytest.mark.parametrize('cut', ['train,2,20', 'train,2,200,32,4,2'])
def test_resuming_drops_rows_after_the_checkpoint_and_a_cut_line(tmp_path, cut):
  log = metrics_log.MetricsLog(tmp_path)
  for iteration in (1, 2, 3):
    saved = log.save()
    _write(log, 'train', iteration, {'a': float(iteration)})
  log.close()
  with open(tmp_path / 'metrics.csv', 'a', encoding='utf-8') as file:
    file.write(cut)
  log = metrics_log.MetricsLog(tmp_path, saved)
  _write(log, 'train', 3, {'a': 30.0})
  assert [row['a'] for row in _rows(tmp_path)] == ['1', '2', '30']
  assert [row['iteration'] for row in _rows(tmp_path, 'timings.csv')] == [
      '1', '2', '3'
  ]


def _empty(path, content):
  path.write_bytes(b'')


def _halve(path, content):
  path.write_bytes(content[: len(content) // 2])


def _change_a_number(path, content):
  place = content.rindex(b'2')
  path.write_bytes(content[:place] + b'x' + content[place + 1 :])


def _cut_the_header(path, content):
  path.write_bytes(content.partition(b'\n')[2])


@pytest.mark.parametrize(
    'harm',
    [lambda path, _: path.unlink(), _empty, _halve, _change_a_number,
     _cut_the_header],
    ids=['missing', 'empty', 'half', 'number', 'header'],
)
@pytest.mark.parametrize(
    'name', ['metrics.csv', 'timings.csv', 'checkpoints/rows.jsonl']
)
def test_rows_that_a_checkpoint_counts_on_come_back(
    tmp_path, caplog, name, harm
):
  names = ('metrics.csv', 'timings.csv', 'checkpoints/rows.jsonl')
  log = metrics_log.MetricsLog(tmp_path)
  for iteration in (1, 2):
    _write(log, 'train', iteration, {'a': float(iteration)})
    _write(log, 'eval', iteration, {'b': -2.0})
    saved = log.save()
  contents = {each: (tmp_path / each).read_bytes() for each in names}
  _write(log, 'train', 3, {'a': 3.0})
  log.save()  # For a checkpoint that was killed, or is damaged.
  harm(tmp_path / name, contents[name])
  again = metrics_log.MetricsLog(tmp_path, saved)
  assert {x: (tmp_path / x).read_bytes() for x in names} == contents
  (message,) = [record.getMessage() for record in caplog.records]
  assert message.startswith(f'{tmp_path / name} ')
  assert again.last('train', 'a') == 2.0 and again.save() == saved


def test_rows_that_are_lost_are_told(tmp_path, caplog):
  log = metrics_log.MetricsLog(tmp_path)
  for iteration in (1, 2):
    _write(log, 'train', iteration, {})
  saved = log.save()
  (tmp_path / 'metrics.csv').unlink()
  (tmp_path / 'checkpoints/rows.jsonl').unlink()
  metrics_log.MetricsLog(tmp_path, saved)
  assert 'rows are lost' in caplog.text


def test_a_fresh_start_forgets_older_rows(tmp_path):
  _write(metrics_log.MetricsLog(tmp_path), 'train', 1, {'a': 1.0})
  metrics_log.MetricsLog(tmp_path)
  assert _rows(tmp_path) == []


def test_who_tells_of_successes_only_fails_from_then_on(tmp_path):
  run = runs.Run(None, None, None, None, None)

  def rates(phase, *successes):
    metrics = run.summarize(
        phase,
        [episode_log.Episode(0, 1.0, 1, True, told) for told in successes],
    )
    _write(run.log, phase, 1, metrics)
    return metrics.get('success_rate')

  run.log = metrics_log.MetricsLog(str(tmp_path))
  assert rates('eval', None, None) is None
  assert rates('eval', True, None) == 0.5
  assert rates('eval', None, None) == 0.0
  assert rates('train', None) is None  # It may look for another key.
  run.log = metrics_log.MetricsLog(str(tmp_path), run.log.save())
  assert rates('eval', None) == 0.0
  assert rates('eval', True) == 1.0
  run.log.close()
