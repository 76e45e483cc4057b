# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a run's metrics as CSV files and for TensorBoard.

A checkpoint counts on rows that are in a file of their own, `rows.jsonl` beside
the checkpoints, which only grows: it knows their number, size and checksum. The
CSV files are written again from there when a run continues, so that it does not
matter what has happened to them; rows after the checkpoint are dropped, because
that work is done again. A damaged `rows.jsonl` is written again from the CSV
files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import csv
import functools
import itertools
import json
import os
from typing import Any
import uuid
import warnings

from absl import logging
import numpy as np
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.hparams import api as hparams_api
from tensorboard.plugins.scalar import summary_v2 as scalar_summary
import tensorflow as tf

from rnd_agents import _compat
from rnd_agents import errors
from rnd_agents import files
from rnd_agents import run_files

_ROWS_FILE = os.path.join('checkpoints', 'rows.jsonl')
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
  is written when `add` returns.
  """

  def __init__(
      self,
      path: str,
      columns: Iterable[str],
      rows: Callable[[], Iterable[dict[str, str]]],
  ):
    """Writes a new table.

    Args:
      path: The file.
      columns: The first columns.
      rows: Function that returns the rows so far.
    """
    self._path = path
    self._columns = list(columns)
    self._rows = rows
    for row in rows():
      self._widen(row)
    self._rewrite()

  def add(self, row: dict[str, str | float]) -> dict[str, str]:
    """Adds a row; returns it as text by column, in the table's order."""
    if self._widen(row):
      self._rewrite()
    with open(self._path, 'a', newline='', encoding='utf-8') as file:
      csv.DictWriter(file, self._columns, restval='').writerow(row)
    return {name: str(row[name]) for name in self._columns if name in row}

  def _widen(self, row: Mapping[str, Any]) -> bool:
    """Adds the columns of a row; returns whether there are new ones."""
    new = [name for name in row if name not in self._columns]
    self._columns += new
    return bool(new)

  def _rewrite(self) -> None:
    with files.replacing(self._path) as file:
      writer = csv.DictWriter(file, self._columns, restval='')
      writer.writeheader()
      for row in self._rows():
        writer.writerow(row)


def has_rows(root_dir: str) -> bool:
  """Returns whether a folder holds metrics of a run."""
  try:
    with open(os.path.join(root_dir, run_files.METRICS_FILE), 'rb') as file:
      return bool(file.readline() and file.readline())
  except (FileNotFoundError, IsADirectoryError):
    return False


class MetricsLog:
  """Writes one row for each iteration and each evaluation.

  `metrics.csv` holds numbers that are the same for every run with that seed;
  `timings.csv` holds seconds and rates. TensorBoard has both.
  """

  def __init__(
      self,
      root_dir: str,
      saved: dict[str, int] | None = None,
      columns: Iterable[str] = ('train_steps', 'total_episodes'),
  ):
    """Opens the log.

    Args:
      root_dir: The run's folder.
      saved: Result of `save` in the checkpoint that the run resumes from. None
        starts empty files.
      columns: First columns of `metrics.csv` after phase, iteration and
        environment steps.
    """
    counts = ('phase', 'iteration', 'env_steps')
    self._root_dir = root_dir
    self._rows_file = os.path.join(root_dir, _ROWS_FILE)
    os.makedirs(os.path.dirname(self._rows_file), exist_ok=True)
    self._csv_files = [
        os.path.join(root_dir, name)
        for name in (run_files.METRICS_FILE, run_files.TIMINGS_FILE)
    ]
    self._new_lines: list[str] = []  # Of the file, since `save`.
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # Lines are compared as a whole.
      self._saved = self._restore(saved)
    tables = [
        Table(path, (*counts, *first), functools.partial(self._rows, i))
        for i, (path, first) in enumerate(
            zip(self._csv_files, (columns, ['wall_time_s']))
        )
    ]
    self._metrics, self._timings = tables
    self._last: dict[tuple[str, str], float] = {}
    for row in self._rows(0):
      self._remember(row)
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
    added = [self._metrics.add(row)]
    self._remember(row)
    row = {name: row[name] for name in ('phase', 'iteration', 'env_steps')}
    row.update((name, _text(value, 6)) for name, value in timings.items())
    added.append(self._timings.add(row))
    self._new_lines.append(_line(*added))
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

  def save(self) -> dict[str, int]:
    """Brings all rows to the disk; returns what a checkpoint counts on."""
    content = ''.join(self._new_lines).encode()
    if content:
      with open(self._rows_file, 'ab') as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    self._saved = dict(
        files.fingerprint_of(content, self._saved),
        rows=self._saved['rows'] + len(self._new_lines),
    )
    self._new_lines = []
    return self._saved

  def _restore(self, saved: dict[str, int] | None) -> dict[str, int]:
    """Reduces the file to what a checkpoint counts on; returns what it has."""
    if saved is None:
      with open(self._rows_file, 'wb'):
        return dict(files.fingerprint_of(b''), rows=0)
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
      found = files.fingerprint(self._rows_file, saved['size'])
    num_rows = saved['rows']
    if dict(found, rows=num_rows) == saved:
      os.truncate(self._rows_file, saved['size'])
    else:
      tables = [_read_rows(path, num_rows) for path in self._csv_files]
      lines = [_line(*rows) for rows in zip(*tables)]
      with files.replacing(self._rows_file) as file:
        file.writelines(lines)
      found = files.fingerprint(self._rows_file)
      found['rows'] = len(lines)
      logging.warning(
          '%s is damaged or missing. It is written again from %s%s.',
          self._rows_file,
          ' and '.join(self._csv_files),
          '' if found == saved else ', which have changed, too: rows are lost',
      )
      saved = found
    for i, path in enumerate(self._csv_files):
      both = _read_rows(path, num_rows), self._rows(i)
      if any(row != other for row, other in itertools.zip_longest(*both)):
        logging.warning(
            '%s has changed since it was written, or is missing: its %d rows'
            ' are restored from the checkpoint.',
            path,
            saved['rows'],
        )
    return saved

  def _rows(self, table: int) -> Iterator[dict[str, str]]:
    """Yields the rows of a table so far."""
    with open(self._rows_file, encoding='ascii') as file:
      for line in itertools.chain(file, self._new_lines):
        yield json.loads(line)[table]

  def close(self) -> None:
    """Flushes and closes the event files."""
    for writer in self._writers.values():
      writer.close()


def _line(*rows: Mapping[str, str]) -> str:
  """Returns the line of `rows.jsonl` for a row of each table."""
  return json.dumps(rows, separators=(',', ':')) + '\n'


def _read_rows(path: str, num_rows: int) -> Iterator[dict[str, str]]:
  """Yields the first rows of a CSV file; none of what is another file."""
  try:
    _, rows = run_files.read_table(path)
  except (errors.MissingFile, errors.InvalidValue):
    return
  for row in itertools.islice(rows, num_rows):
    yield {name: text for name, text in row.items() if text}


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
