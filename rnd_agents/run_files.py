# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a run, also of one that is running or was killed.

`metrics.csv` and `timings.csv` have a header, then one row per training
iteration and per evaluation. An empty cell is a metric that does not apply to
the row. A last line without line end is left out: the run may be writing it, or
was killed while writing, so that it may have 12 for 12800. Other damaged lines,
such as after a crash of the machine, are left out with a warning.

It needs NumPy only, so that it can be used without loading TensorFlow.
"""

from collections.abc import Iterator
import csv
import json
import math
import os
from typing import Any, NamedTuple
import warnings

import numpy as np

from rnd_agents import errors

METRICS_FILE = 'metrics.csv'
# Seconds, which differ from run to run, are kept out of metrics.csv, which the
# seed determines.
TIMINGS_FILE = 'timings.csv'
CONFIG_FILE = 'operative_config.gin'
RECORD_FILE = 'run.json'
STATUS_FILE = 'status.json'
# {key in the specs of the policies: key of the environment}, where they differ.
RENAMED_KEYS_FILE = os.path.join('policies', 'renamed_keys.json')
TRAIN = 'train'
EVAL = 'eval'
PHASES = (TRAIN, EVAL)
_REQUIRED = ('phase', 'iteration', 'env_steps')

Series = tuple[np.ndarray, np.ndarray]  # env_steps, values.


class Row(NamedTuple):
  """One row: its place in the run and all its finite numbers."""
  phase: str
  iteration: int
  env_steps: int
  values: dict[str, float]


def read_status(root_dir: str) -> dict[str, Any]:
  """Returns the content of `status.json`; {} if it cannot be read."""
  return _read_json(os.path.join(root_dir, STATUS_FILE))


def read_run_record(root_dir: str) -> dict[str, Any]:
  """Returns the content of `run.json`; {} if it cannot be read."""
  return _read_json(os.path.join(root_dir, RECORD_FILE))


def has_metrics(root_dir: str) -> bool:
  """Returns whether `root_dir` is the folder of a run."""
  return os.path.isfile(os.path.join(root_dir, METRICS_FILE))


def read_table(path: str) -> tuple[list[str], Iterator[dict[str, str]]]:
  """Reads the text of `metrics.csv` or `timings.csv`.

  Args:
    path: The file.

  Returns:
    The columns, and an iterator over the undamaged rows: text by column.

  Raises:
    MissingFile: If the file does not exist.
    InvalidValue: If the file does not start with the expected header.
  """
  if not os.path.isfile(path):
    raise errors.MissingFile(
        f'{path} does not exist. Name the folder of a run, the --root_dir that '
        'it was started with.')
  lines = _complete_lines(path)
  first = next(lines, '')
  columns = _split(first)
  if any(name not in columns for name in _REQUIRED):
    raise errors.InvalidValue(
        f'{path} must start with a header line that names the columns '
        f'{", ".join(_REQUIRED)}, but it starts with {first.strip()!r}.')
  return columns, _text_rows(path, columns, lines)


def read_rows(root_dir: str, file_name: str = METRICS_FILE) -> list[Row]:
  """Reads the numbers of `metrics.csv` or `timings.csv`.

  Args:
    root_dir: Folder of a run.
    file_name: 'metrics.csv' or 'timings.csv'.

  Returns:
    The rows in the order of the file.

  Raises:
    MissingFile: If the file does not exist.
    InvalidValue: If the file does not start with the expected header.
  """
  _, texts = read_table(os.path.join(root_dir, file_name))
  rows = []
  for text in texts:
    numbers = {
        name: _number(cell) for name, cell in text.items()
        if name not in _REQUIRED}
    values = {
        name: number for name, number in numbers.items() if number is not None}
    rows.append(Row(text['phase'], int(float(text['iteration'])),
                    int(float(text['env_steps'])), values))
  return rows


def series(rows: list[Row], phase: str, metric: str) -> Series:
  """Returns the values of one metric by environment steps.

  Args:
    rows: From `read_rows`.
    phase: 'train' or 'eval'.
    metric: Name of a column.

  Returns:
    env_steps, int64 [n], strictly increasing (of rows at the same step, the
    later one counts); values, float64 [n], all finite. Both may be empty.

  Raises:
    InvalidValue: If the environment steps decrease from one row to the next.
  """
  points = {}
  last = None
  for row in rows:
    if row.phase != phase or metric not in row.values:
      continue
    if last is not None and row.env_steps < last.env_steps:
      raise errors.InvalidValue(
          f'env_steps of phase {phase!r} decrease from {last.env_steps} in '
          f'iteration {last.iteration} to {row.env_steps} in iteration '
          f'{row.iteration}: was the run resumed without its step counter?')
    points[row.env_steps] = row.values[metric]
    last = row
  return (np.array(list(points), np.int64),
          np.array(list(points.values()), np.float64))


def has_metric(root_dir: str, phase: str, metric: str) -> bool:
  """Returns whether a run has a value of a metric in a phase."""
  return any(
      row.phase == phase and metric in row.values
      for row in read_rows(root_dir)
  )


def read_metrics(root_dir: str, phase: str, metric: str) -> Series:
  """Reads the values of one metric of one run.

  Args:
    root_dir: Folder of a run.
    phase: 'train' or 'eval'.
    metric: Name of a column, such as 'return_mean'.

  Returns:
    As `series`, with at least one point.

  Raises:
    MissingFile: If the folder has no metrics file.
    InvalidValue: If the run has no value of this metric in this phase (the
      message lists its metrics), or its file is damaged.
  """
  if phase not in PHASES:
    raise errors.InvalidValue(
        f'phase must be {TRAIN!r} or {EVAL!r}, got {phase!r}.'
    )
  rows = read_rows(root_dir)
  try:
    env_steps, values = series(rows, phase, metric)
  except ValueError as error:
    raise errors.InvalidValue(f'{root_dir}: {error}') from error
  if env_steps.size == 0:
    names = sorted({
        name for row in rows if row.phase == phase for name in row.values})
    found = f'It has {", ".join(names)}.' if names else 'It has no such rows.'
    raise errors.InvalidValue(
        f'{root_dir} has no value of {metric!r} in phase {phase!r}. {found}')
  return env_steps, values


def wall_time_s(root_dir: str) -> float:
  """Returns the seconds that a run has taken so far, without its start-up.

  Args:
    root_dir: Folder of a run.

  Raises:
    MissingFile: If the folder has no `timings.csv`.
    InvalidValue: If no row of it has `wall_time_s`.
  """
  for row in reversed(read_rows(root_dir, TIMINGS_FILE)):
    if 'wall_time_s' in row.values:
      return row.values['wall_time_s']
  raise errors.InvalidValue(
      f'{os.path.join(root_dir, TIMINGS_FILE)} has no wall_time_s.')


def _complete_lines(path: str) -> Iterator[str]:
  with open(path, encoding='utf-8', errors='replace') as file:
    for line in file:
      if line.endswith('\n'):
        yield line


def _text_rows(
    path: str, columns: list[str], lines: Iterator[str]
) -> Iterator[dict[str, str]]:
  for number, line in enumerate(lines, start=2):
    if not line.strip():
      continue
    cells = _split(line)
    row = dict(zip(columns, cells))
    if (len(cells) == len(columns)
        and row['phase'] in PHASES
        and _number(row['iteration']) is not None
        and _number(row['env_steps']) is not None):
      yield row
    else:
      warnings.warn(
          f'{path}: line {number} is damaged and was left out.', stacklevel=3)


def _split(line: str) -> list[str]:
  """Returns the cells of a line; an empty list if it is not CSV."""
  try:
    return next(csv.reader([line]))
  except (csv.Error, StopIteration):
    return []


def _number(cell: str) -> float | None:
  """Returns the finite number in a cell; None if it has none."""
  try:
    number = float(cell)
  except ValueError:
    return None
  return number if math.isfinite(number) else None


def _read_json(path: str) -> dict[str, Any]:
  try:
    with open(path, encoding='utf-8') as file:
      content = json.load(file)
  except (OSError, ValueError):
    return {}
  return content if isinstance(content, dict) else {}
