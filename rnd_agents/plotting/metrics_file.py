# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the `metrics.csv` of a run, also of one that goes on or was killed.

The file has a header, then one row per training iteration and per evaluation.
A cell that is empty, or not a finite number, is a metric that does not apply to
the row. A last line without line end is left out: a run may just be writing it,
or was killed as it did. It may look whole and yet hold 12 for 12800. What else
is damaged, by a crash of the machine, is left out with a warning. A run that is
resumed takes the rows after its checkpoint out of the file by itself
(`training.metrics_log`).
"""

import csv
import math
import os
from typing import Dict, List, NamedTuple, Optional, Tuple
import warnings

import numpy as np

FILE_NAME = 'metrics.csv'
# Seconds, which differ from run to run, lie apart from what a seed decides.
TIMINGS_FILE_NAME = 'timings.csv'
TRAIN = 'train'
EVAL = 'eval'
_REQUIRED = ('phase', 'iteration', 'env_steps')


class Row(NamedTuple):
  """One line: where in the run it is, and every finite number it holds."""
  phase: str
  iteration: int
  env_steps: int
  values: Dict[str, float]


def has_metrics(root_dir: str) -> bool:
  """Whether `root_dir` is the folder of a run."""
  return os.path.isfile(os.path.join(root_dir, FILE_NAME))


def read_rows(root_dir: str, file_name: str = FILE_NAME) -> List[Row]:
  """Reads what is valid of `root_dir/metrics.csv`.

  Args:
    root_dir: Folder of a run.
    file_name: 'metrics.csv', or 'timings.csv', which is written alike.

  Returns:
    The rows in the order of the file.

  Raises:
    FileNotFoundError: If there is no such file.
    ValueError: If the file does not start with the expected header.
  """
  path = os.path.join(root_dir, file_name)
  if not os.path.isfile(path):
    raise FileNotFoundError(
        f'{path} does not exist. Name the folder of a run, the --root_dir that '
        'it was started with.')
  with open(path, encoding='utf-8', errors='replace') as file:
    lines = file.readlines()
  if lines and not lines[-1].endswith('\n'):
    lines.pop()
  header = _split(lines[0]) if lines else None
  if header is None or any(name not in header for name in _REQUIRED):
    raise ValueError(
        f'{path} must start with a header line that names the columns '
        f'{", ".join(_REQUIRED)}, but it starts with '
        f'{lines[0].strip() if lines else ""!r}.')
  rows = []
  for number, line in enumerate(lines[1:], start=2):
    if not line.strip():
      continue
    row = _parse(header, _split(line))
    if row is None:
      warnings.warn(
          f'{path}: line {number} is damaged and was left out.', stacklevel=2)
      continue
    rows.append(row)
  return rows


def metric_names(rows: List[Row], phase: str) -> List[str]:
  """Names of the metrics that have a value in `phase`, sorted."""
  return sorted({
      name for row in rows if row.phase == phase for name in row.values})


def series(
    rows: List[Row], phase: str, metric: str) -> Tuple[np.ndarray, np.ndarray]:
  """The course of one metric.

  Args:
    rows: From `read_rows`.
    phase: 'train' or 'eval'.
    metric: Name of a column.

  Returns:
    env_steps, int64 [n], strictly increasing (of rows at the same step, the
    later one counts); values, float64 [n], all finite. Both may be empty.

  Raises:
    ValueError: If the environment steps fall from one row to the next.
  """
  points = {}
  last = None
  for row in rows:
    if row.phase != phase or metric not in row.values:
      continue
    if last is not None and row.env_steps < last.env_steps:
      raise ValueError(
          f'env_steps of phase {phase!r} fall from {last.env_steps} in '
          f'iteration {last.iteration} to {row.env_steps} in iteration '
          f'{row.iteration}: was the run resumed without its step counter?')
    points[row.env_steps] = row.values[metric]
    last = row
  return (np.array(list(points), np.int64),
          np.array(list(points.values()), np.float64))


def wall_time_s(root_dir: str) -> float:
  """Seconds that a run has taken so far, start-up apart.

  Args:
    root_dir: Folder of a run, with a `timings.csv`.

  Returns:
    `wall_time_s` of the last row that has it.

  Raises:
    FileNotFoundError: If the folder holds no such file.
    ValueError: If no row has it.
  """
  rows = read_rows(root_dir, TIMINGS_FILE_NAME)
  seconds = [row.values['wall_time_s'] for row in rows
             if 'wall_time_s' in row.values]
  if not seconds:
    raise ValueError(
        f'{os.path.join(root_dir, TIMINGS_FILE_NAME)} has no wall_time_s.')
  return seconds[-1]


def read_metrics(
    root_dir: str, phase: str, metric: str) -> Tuple[np.ndarray, np.ndarray]:
  """Reads the course of one metric of one run.

  Args:
    root_dir: Folder of a run.
    phase: 'train' or 'eval'.
    metric: Name of a column, such as 'return_mean'.

  Returns:
    env_steps, int64 [n], strictly increasing; values, float64 [n], all finite;
    n is at least one.

  Raises:
    FileNotFoundError: If the folder holds no metrics file.
    ValueError: If the run has no value of this metric in this phase (the
      message lists the metrics that it has), or its file is no metrics file.
  """
  if phase not in (TRAIN, EVAL):
    raise ValueError(f'phase must be {TRAIN!r} or {EVAL!r}, got {phase!r}.')
  rows = read_rows(root_dir)
  try:
    env_steps, values = series(rows, phase, metric)
  except ValueError as error:
    raise ValueError(f'{root_dir}: {error}') from error
  if env_steps.size == 0:
    names = metric_names(rows, phase)
    found = f'It has {", ".join(names)}.' if names else 'It has no such rows.'
    raise ValueError(
        f'{root_dir} has no value of {metric!r} in phase {phase!r}. {found}')
  return env_steps, values


def _split(line: str) -> Optional[List[str]]:
  """The cells of a line, None if it is not CSV."""
  try:
    return next(csv.reader([line]))
  except (csv.Error, StopIteration):
    return None


def _parse(header: List[str], cells: Optional[List[str]]) -> Optional[Row]:
  """The row in `cells`, None if it is damaged."""
  if cells is None or len(cells) != len(header):
    return None
  record = dict(zip(header, cells))
  phase = record.pop('phase')
  numbers = {name: _number(cell) for name, cell in record.items()}
  iteration = numbers.pop('iteration')
  env_steps = numbers.pop('env_steps')
  if phase not in (TRAIN, EVAL) or iteration is None or env_steps is None:
    return None
  values = {name: x for name, x in numbers.items() if x is not None}
  return Row(phase, int(iteration), int(env_steps), values)


def _number(cell: str) -> Optional[float]:
  """The finite number in `cell`, None if there is none."""
  try:
    number = float(cell)
  except ValueError:
    return None
  return number if math.isfinite(number) else None
