# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that a run leaves: metrics, TensorBoard events, its record."""

import csv
import importlib.metadata
import json
import os
import platform
import subprocess
import sys

import gin
import tensorflow as tf

METRICS_FILE = 'metrics.csv'
_COUNTERS = ('iteration', 'env_steps', 'train_steps', 'wall_time_s')
# TensorBoard tags that TF-Agents' tools know.
_TAGS = {
    'return_mean': 'Metrics/AverageReturn',
    'length_mean': 'Metrics/AverageEpisodeLength',
}
_RECORDED_PACKAGES = ('tensorflow', 'tf-agents', 'gymnasium', 'numpy')


def check_writable(root_dir):
  """Creates `root_dir` and raises OSError where it cannot be written."""
  try:
    os.makedirs(root_dir, exist_ok=True)
    probe = os.path.join(root_dir, f'.write_probe_{os.getpid()}')
    with open(probe, 'w', encoding='utf-8'):
      pass
    os.remove(probe)
  except OSError as error:
    raise OSError(
        f'--root_dir={root_dir} cannot be written: {error.strerror}. Choose'
        ' another folder.'
    ) from error


def record_run(root_dir, **facts):
  """Writes `run.json` and `operative_config.gin`: how to get this run again.

  Args:
    root_dir: The run's folder.
    **facts: More entries for `run.json`.
  """
  record = dict(
      facts,
      command=[sys.executable] + sys.argv,
      python=platform.python_version(),
      machine=platform.platform(),
      cpus=os.cpu_count(),
      commit=_commit(),
      packages={
          name: importlib.metadata.version(name) for name in _RECORDED_PACKAGES
      },
  )
  with open(os.path.join(root_dir, 'run.json'), 'w', encoding='utf-8') as file:
    json.dump(record, file, indent=2)
  path = os.path.join(root_dir, 'operative_config.gin')
  with open(path, 'w', encoding='utf-8') as file:
    file.write(gin.operative_config_str())


def _commit():
  """The commit of the checkout that the package runs from, or None."""
  result = subprocess.run(
      ['git', 'rev-parse', 'HEAD'],
      cwd=os.path.dirname(os.path.abspath(__file__)),
      capture_output=True,
      text=True,
      check=False,
  )
  return result.stdout.strip() or None


class MetricsLog:
  """One row an iteration or evaluation, to `metrics.csv` and TensorBoard.

  The CSV file's columns grow: a metric that appears later rewrites the file
  with a wider header. Every row is on disk when `write` returns.
  """

  def __init__(self, root_dir, last_iteration=None):
    """Opens the log.

    Args:
      root_dir: The run's folder.
      last_iteration: On resuming, the iteration of the checkpoint: rows after
        it are of work that is lost and will be done again. None starts anew.
    """
    self._path = os.path.join(root_dir, METRICS_FILE)
    self._columns = ['phase', *_COUNTERS]
    self._rows = []
    if last_iteration is not None and os.path.exists(self._path):
      with open(self._path, newline='', encoding='utf-8') as file:
        reader = csv.DictReader(file)
        self._columns = list(reader.fieldnames or self._columns)
        for row in reader:
          # A kill may have cut the last line short.
          if None in row.values() or not row['iteration'].isdigit():
            continue
          if int(row['iteration']) <= last_iteration:
            self._rows.append(row)
    self._rewrite()
    self._writers = {
        phase: tf.summary.create_file_writer(
            os.path.join(root_dir, phase), flush_millis=10_000
        )
        for phase in ('train', 'eval')
    }

  def _rewrite(self):
    temporary = self._path + '.new'
    with open(temporary, 'w', newline='', encoding='utf-8') as file:
      writer = csv.DictWriter(file, self._columns, restval='')
      writer.writeheader()
      writer.writerows(self._rows)
    os.replace(temporary, self._path)

  def write(self, phase, counters, metrics):
    """Writes one row.

    Args:
      phase: 'train' or 'eval'.
      counters: `iteration`, `env_steps`, `train_steps` and `wall_time_s`.
      metrics: Numbers by name.
    """
    row = {'phase': phase, **counters}
    row.update((name, f'{value:.8g}') for name, value in metrics.items())
    self._rows.append(row)
    new = [name for name in row if name not in self._columns]
    if new:
      self._columns += new
      self._rewrite()
    else:
      with open(self._path, 'a', newline='', encoding='utf-8') as file:
        csv.DictWriter(file, self._columns, restval='').writerow(row)
    with self._writers[phase].as_default(step=counters['env_steps']):
      for name, value in metrics.items():
        scope = 'Losses' if name.endswith('_loss') else 'Metrics'
        tf.summary.scalar(_TAGS.get(name, f'{scope}/{name}'), value)

  def last(self, phase, metric):
    """Newest value of a metric, or None."""
    for row in reversed(self._rows):
      if row['phase'] == phase and row.get(metric):
        return float(row[metric])
    return None

  def close(self):
    """Flushes the events."""
    for writer in self._writers.values():
      writer.close()
