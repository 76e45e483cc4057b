# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a run's metrics as CSV files and for TensorBoard."""

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import csv
import os
import uuid

import numpy as np
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.hparams import api as hparams_api
from tensorboard.plugins.scalar import summary_v2 as scalar_summary
import tensorflow as tf

from rnd_agents import _compat
from rnd_agents import files
from rnd_agents import run_files

# TensorBoard tags that TF-Agents' tools know.
_TAGS = {
    'return_mean': 'Metrics/AverageReturn',
    'length_mean': 'Metrics/AverageEpisodeLength',
    'env_steps': 'Metrics/EnvironmentSteps',
    'total_episodes': 'Metrics/NumberOfEpisodes',
}


class Table:
  """A CSV file that grows, in rows and in columns.

  A column that appears later rewrites the file with a wider header. Every row
  is written when `add` returns, and none is kept in memory.
  """

  def __init__(
      self,
      path: str,
      columns: Iterable[str],
      last: dict[str, int] | None = None,
  ):
    """Opens the table.

    Args:
      path: The file.
      columns: The first columns.
      last: Counts, by column, of the checkpoint that the run resumes from.
        Later rows are dropped, because that work is done again. None starts an
        empty table.
    """
    self._path = path
    self._columns = list(columns)
    kept: Iterable[dict[str, str]] = ()
    if last is not None and _has_rows(path):
      self._columns, rows = run_files.read_table(path)
      kept = (
          row
          for row in rows
          if all(float(row[name]) <= last[name] for name in row.keys() & last)
      )
    self._rewrite(kept)

  def rows(self) -> Iterator[dict[str, str]]:
    """Returns an iterator over the rows on the disk, dicts of text."""
    return run_files.read_table(self._path)[1]

  def add(self, row: dict[str, str | float]) -> None:
    """Adds a row, a dict of column to text or number."""
    new = [name for name in row if name not in self._columns]
    if new:
      self._columns += new
      self._rewrite(self.rows())
    with open(self._path, 'a', newline='', encoding='utf-8') as file:
      csv.DictWriter(file, self._columns, restval='').writerow(row)

  def _rewrite(self, rows: Iterable[dict[str, str]]) -> None:
    with files.replacing(self._path) as file:
      writer = csv.DictWriter(file, self._columns, restval='')
      writer.writeheader()
      for row in rows:
        writer.writerow(row)


def last_success_rate(root_dir: str, last_iteration: int) -> float | None:
  """Returns the newest success rate up to an iteration, or None."""
  rows = run_files.read_rows(root_dir) if has_rows(root_dir) else ()
  values = [
      row.values['success_rate']
      for row in rows
      if row.phase == 'eval'
      and row.iteration <= last_iteration
      and 'success_rate' in row.values
  ]
  return values[-1] if values else None


def has_rows(root_dir: str) -> bool:
  """Returns whether a folder holds metrics of a run."""
  return _has_rows(os.path.join(root_dir, run_files.METRICS_FILE))


def _has_rows(path: str) -> bool:
  try:
    with open(path, encoding='utf-8') as file:
      return bool(file.readline() and file.readline())
  except FileNotFoundError:
    return False


class MetricsLog:
  """Writes one row for each iteration and each evaluation.

  `metrics.csv` holds numbers that are the same for every run with that seed;
  `timings.csv` holds seconds and rates. TensorBoard has both.
  """

  def __init__(
      self,
      root_dir: str,
      last: dict[str, int] | None = None,
      columns: Iterable[str] = ('train_steps', 'total_episodes'),
  ):
    """Opens the log.

    Args:
      root_dir: The run's folder.
      last: `runs.BaseRun.counts()` of the checkpoint that the run resumes from.
        None starts empty files.
      columns: First columns of `metrics.csv` after phase, iteration and
        environment steps.
    """
    counts = ('phase', 'iteration', 'env_steps')
    self._metrics = Table(
        os.path.join(root_dir, run_files.METRICS_FILE),
        (*counts, *columns),
        last,
    )
    self._timings = Table(
        os.path.join(root_dir, run_files.TIMINGS_FILE),
        (*counts, 'wall_time_s'),
        last,
    )
    self._last: dict[tuple[str, str], float] = {}
    for row in self._metrics.rows():
      self._remember(row)
    self._root_dir = root_dir
    self._writers: dict[str, tf.summary.SummaryWriter] = {}  # By phase.

  def write(
      self,
      phase: str,
      counters: dict[str, int],
      metrics: dict[str, float],
      timings: dict[str, float],
  ) -> None:
    """Writes one row.

    Args:
      phase: 'train' or 'eval'.
      counters: Counters of the run, from `counts()`.
      metrics: Numbers by name.
      timings: Numbers that differ from run to run, by name; `wall_time_s` is
        the time of the run so far.
    """
    row: dict[str, str | float] = {'phase': phase, **counters}
    row.update((name, _text(value, 8)) for name, value in metrics.items())
    self._metrics.add(row)
    self._remember(row)
    row = {name: row[name] for name in ('phase', 'iteration', 'env_steps')}
    row.update((name, _text(value, 6)) for name, value in timings.items())
    self._timings.add(row)
    scalars: dict[str, float] = {
        _TAGS[name]: counters[name] for name in _TAGS if name in counters
    }
    for name, value in metrics.items():
      scope = 'Losses' if name.endswith('_loss') else 'Metrics'
      scalars[_TAGS.get(name, f'{scope}/{name}')] = value
    for name, value in timings.items():
      scalars[f'Speed/{name}'] = value
    # One event for all of them: calling tf.summary.scalar for each takes ten
    # times as long, a few percent of the time of a small iteration.
    summary = summary_pb2.Summary()
    for tag, value in scalars.items():
      summary.MergeFrom(scalar_summary.scalar_pb(tag, value))
    with self._writing(phase, counters['env_steps']):
      tf.summary.experimental.write_raw_pb(summary.SerializeToString())

  @contextlib.contextmanager
  def _writing(self, phase: str, env_steps: int) -> Iterator[None]:
    """Directs the summaries of the block to the events of a phase."""
    if phase not in self._writers:
      self._writers[phase] = tf.summary.create_file_writer(
          os.path.join(self._root_dir, phase), flush_millis=10_000
      )
    try:
      with self._writers[phase].as_default(step=env_steps):
        yield
    except tf.errors.OpError:
      # TensorFlow flushes at the end of the block. Where that fails (the disk
      # is full), it leaves the writer set, and later runs of the process fail.
      _compat.reset_summary_writer()
      raise

  def _remember(self, row: Mapping[str, str | float]) -> None:
    """Stores the numbers of a row of metrics for `last`."""
    for name, value in row.items():
      if name != 'phase' and value != '':
        self._last[str(row['phase']), name] = float(value)

  def write_images(
      self, phase: str, name: str, images: np.ndarray, env_steps: int
  ) -> None:
    """Writes pictures for TensorBoard.

    Args:
      phase: 'train' or 'eval'.
      name: Tag of the pictures.
      images: uint8 [K, H, W, 3].
      env_steps: Environment steps so far.
    """
    with self._writing(phase, env_steps):
      tf.summary.image(name, images, max_outputs=len(images))

  def write_settings(self, settings: dict[str, str], seed: int) -> None:
    """Writes the settings for TensorBoard: as text, and for its HPARAMS page.

    Args:
      settings: Dict of names to text.
      seed: The run's seed.
    """
    rows = ''.join(f'|{k}|`{v}`|\n' for k, v in settings.items())
    values: dict[str, bool | float | str] = {'seed': seed}
    values.update((name, _plain(value)) for name, value in settings.items())
    with self._writing('train', 0):
      tf.summary.text('settings', '|name|value|\n|---|---|\n' + rows)
      hparams_api.hparams(values, trial_id=uuid.uuid4().hex)

  def last(self, phase: str, metric: str) -> float | None:
    """Returns the newest value of a metric, or None."""
    return self._last.get((phase, metric))

  def close(self) -> None:
    """Flushes and closes the event files."""
    for writer in self._writers.values():
      writer.close()


def _text(value: float, digits: int) -> str:
  """Returns a number as text: whole numbers in full, others to some digits."""
  return str(value) if type(value) is int else f'{value:.{digits}g}'


def _plain(text: str) -> bool | float | str:
  """Returns a setting for the HPARAMS page: a bool, a number or text."""
  if text in ('True', 'False'):
    return text == 'True'
  try:
    return float(text)
  except ValueError:
    return text
