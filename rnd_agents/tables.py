# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the command line programs: aligned text and CSV files."""

from collections.abc import Iterable, Sequence
import csv
import math
import os
from typing import Any


def aligned(lines: Sequence[Sequence[str]], num_left: int = 1) -> str:
  """Returns a table as text, with columns of equal width.

  Args:
    lines: The cells of each line; a header is a line.
    num_left: How many of the first columns are aligned to the left. The others
      are aligned to the right.
  """
  widths = [max(map(len, column)) for column in zip(*lines)]
  return '\n'.join(
      '  '.join(
          cell.ljust(width) if i < num_left else cell.rjust(width)
          for i, (cell, width) in enumerate(zip(line, widths))
      ).rstrip()
      for line in lines
  )


def may_write_csv(path: str, columns: Sequence[str]) -> bool:
  """Returns whether `path` is free or holds an earlier table of these columns.

  Anything else there, such as the `metrics.csv` of a run, must not be lost.
  """
  if not os.path.exists(path):
    return True
  if not os.path.isfile(path):
    return False
  with open(path, encoding='utf-8', errors='replace') as file:
    return file.readline().strip() in ('', ','.join(columns))


def write_csv(
    path: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
  """Writes a CSV file, making its folder where needed.

  Args:
    path: The file.
    columns: Their names.
    rows: The cells of each row; a NaN becomes an empty cell.
  """
  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
  with open(path, 'w', encoding='utf-8', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(columns)
    for row in rows:
      writer.writerow(
          '' if isinstance(x, float) and math.isnan(x) else x for x in row
      )
