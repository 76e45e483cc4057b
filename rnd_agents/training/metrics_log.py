# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a run's metrics as CSV files, and gives them to loggers.

A checkpoint counts on rows that are in a file of their own, `rows.jsonl` beside
the checkpoints, which only grows: it knows their number, size and checksum. The
CSV files are written again from there when a run continues, so that it does not
matter what has happened to them; rows after the checkpoint are dropped, because
that work is done again. A damaged `rows.jsonl` is written again from the CSV
files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import csv
import functools
import itertools
import json
import os
from typing import Any
import warnings

from absl import logging
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import files
from rnd_agents import run_files
from rnd_agents.tracking import hand_over
from rnd_agents.tracking import loggers as loggers_lib

_ROWS_FILE = os.path.join('checkpoints', 'rows.jsonl')


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
  `timings.csv` holds seconds and rates. Loggers get both. As a context manager
  it closes the loggers of a run that fails.
  """

  def __init__(
      self,
      root_dir: str,
      saved: dict[str, int] | None = None,
      columns: Iterable[str] = ('train_steps', 'total_episodes'),
      loggers: Sequence[loggers_lib.Logger] | None = None,
      settings: dict[str, str] | None = None,
      seed: int = 0,
  ):
    """Opens the log.

    Args:
      root_dir: The run's folder.
      saved: Result of `save` in the checkpoint that the run resumes from. None
        starts empty files.
      columns: First columns of `metrics.csv` after phase, iteration and
        environment steps.
      loggers: Get all rows; None for TensorBoard alone.
      settings: Values by gin's names, as text, for the loggers.
      seed: The run's seed.

    Raises:
      SetupError: If a logger cannot begin.
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
    if loggers is None:
      loggers = [loggers_lib.TensorBoardLogger()]
    facts: dict[str, Any] = dict(
        root_dir=root_dir, settings=settings or {}, seed=seed
    )
    self._live = [logger for logger in loggers if not logger.waits]
    for logger in self._live:
      logger.begin(
          loggers_lib.Start(is_new=saved is None, id='', time_s=0.0, **facts)
      )
    self._hand_overs = [
        hand_over.HandOver(logger, self._rows_file, self._saved, **facts)
        for logger in loggers
        if logger.waits
    ]

  def __enter__(self) -> 'MetricsLog':
    return self

  def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
    if kind is not None:
      with contextlib.suppress(tf.errors.OpError):
        self._close_loggers('failed')

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
    self._write_live(
        loggers_lib.LoggedRow(
            self._newest_row(), phase, counters, metrics, timings
        )
    )

  def _newest_row(self) -> int:
    """Returns the number of the newest row of the run, from 0."""
    return self._saved['rows'] + len(self._new_lines) - 1

  def _write_live(self, row: loggers_lib.LoggedRow) -> None:
    """Gives a row to the loggers that do not wait for a checkpoint."""
    for logger in self._live:
      logger.write([row])

  def _remember(self, row: Mapping[str, str | float]) -> None:
    """Stores the numbers of a row of metrics for `last`."""
    for name, value in row.items():
      if name != 'phase' and value != '':
        self._last[str(row['phase']), name] = float(value)

  def write_picture(
      self, picture: loggers_lib.Picture, env_steps: int
  ) -> None:
    """Gives pictures to the loggers.

    Args:
      picture: Pictures that were drawn after the newest row.
      env_steps: Environment steps so far.
    """
    number = self._newest_row()
    for each in self._hand_overs:
      each.add_picture(number, picture)
    self._write_live(
        loggers_lib.LoggedRow(
            number, picture.phase, dict(env_steps=env_steps), {}, {}, [picture]
        )
    )

  def last(self, phase: str, metric: str) -> float | None:
    """Returns the newest value of a metric, or None."""
    return self._last.get((phase, metric))

  def save(self) -> dict[str, int]:
    """Brings all rows to the disk; returns what a checkpoint counts on.

    Call it when the checkpoint before is on the disk: its rows are handed over.
    """
    for each in self._hand_overs:
      each.hand_over(self._saved)
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

  def close(self, state: str = 'finished') -> None:
    """Hands over all rows of the last `save`, and closes the loggers.

    Call it when the last checkpoint is on the disk.

    Args:
      state: 'finished' or 'stopped'.
    """
    for each in self._hand_overs:
      each.hand_over(self._saved, is_last=True)
    self._close_loggers(state)

  def _close_loggers(self, state: str) -> None:
    for each in self._hand_overs:
      each.close(state)
    for logger in self._live:
      logger.close(state)


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


def last_saved(
    root_dir: str, num_rows: int, phase: str, metric: str
) -> float | None:
  """Returns the newest value among the first rows of a run, or None."""
  path = os.path.join(root_dir, run_files.METRICS_FILE)
  values = [
      float(row[metric])
      for row in _read_rows(path, num_rows)
      if row['phase'] == phase and metric in row
  ]
  return values[-1] if values else None


def _text(value: float, digits: int) -> str:
  """Returns a number as text: whole numbers in full, others to some digits."""
  return str(value) if type(value) is int else f'{value:.{digits}g}'
