# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hands rows over to the loggers that wait for checkpoints, each row once.

The run's own log, `rows.jsonl` beside the checkpoints, is the truth. A thread
reads there what a checkpoint on the disk covers, gives it to the logger, and
then notes in `checkpoints/NAME.json` how far it has come. A kill between the
two lets the next start give some rows again, unless the logger says how many it
holds; a logger that does not say must know a row that it gets again. If the
noted rows are not those of the log (its newest checkpoints were damaged), the
tracker gets a new run, with all rows.
"""

from collections.abc import Sequence
import concurrent.futures
import contextlib
import itertools
import json
import os
import time
from typing import Any, NamedTuple
import uuid

from absl import logging

from rnd_agents import errors
from rnd_agents import files
from rnd_agents.tracking import loggers

# Rows that a logger gets at once.
_MAX_ROWS = 16
# A tracker takes many rows in hardly more time than one.
_SECONDS_BETWEEN_HAND_OVERS = 10.0
_SECONDS_AFTER_FAILURE = 60.0


class _Place(NamedTuple):
  """How far a logger has come.

  Attributes:
    id: As of `Start`.
    time_s: As of `Start`.
    rows: Number of rows that were handed over.
    size: Their bytes in `rows.jsonl`.
    crc32: Their checksum.
  """

  id: str
  time_s: float
  rows: int = 0
  size: int = 0
  crc32: int = 0

  def after(self, lines: Sequence[bytes]) -> '_Place':
    """Returns the place after more lines of `rows.jsonl`."""
    before = dict(size=self.size, crc32=self.crc32)
    found = files.fingerprint_of(b''.join(lines), before)
    return self._replace(
        rows=self.rows + len(lines), size=found['size'], crc32=found['crc32']
    )


class HandOver:
  """Gives a logger rows and pictures, in a thread.

  A tracker that fails while the run lasts does not stop it: the log has the
  error, and the rows are handed over later.
  """

  def __init__(
      self,
      logger: loggers.Logger,
      rows_file: str,
      saved: dict[str, int],
      **facts: Any,
  ):
    """Begins the logger.

    Args:
      logger: The logger.
      rows_file: The run's `rows.jsonl`.
      saved: Size, checksum and number of the rows there that the newest
        checkpoint covers.
      **facts: `root_dir`, `settings` and `seed` of its `Start`.

    Raises:
      SetupError: If a logger that is new to the run cannot begin.
    """
    self._logger, self._rows_file, self._facts = logger, rows_file, facts
    name = type(logger).__name__
    self._place_file = os.path.join(os.path.dirname(rows_file), f'{name}.json')
    # By the number of the row.
    self._pictures: dict[int, list[loggers.Picture]] = {}
    self._thread = concurrent.futures.ThreadPoolExecutor(1)
    self._busy: concurrent.futures.Future[None] | None = None
    self._next_s = 0.0
    self._has_begun = False
    place = self._find_place()
    is_new = place is None
    self._place = place or _Place(uuid.uuid4().hex, time.time())
    try:
      self._begin(saved, is_new)
    except Exception as error:  # pylint: disable=broad-exception-caught
      if is_new:
        with contextlib.suppress(OSError):
          os.remove(self._place_file)
        raise errors.SetupError(
            f'{name} cannot begin: {error}. Correct this, or leave it out of'
            ' train_eval.loggers.'
        ) from error
      self._failed()

  def _find_place(self) -> _Place | None:
    """Returns what was handed over; None if it was nothing of this run."""
    try:
      with open(self._place_file, encoding='utf-8') as file:
        place = _Place(**json.load(file))
      found = files.fingerprint(self._rows_file, place.size)
    except (OSError, ValueError, TypeError):
      return None
    if (place.size, place.crc32) == (found['size'], found['crc32']):
      return place
    self._say_that_it_has_more()
    return None

  def _say_that_it_has_more(self) -> None:
    logging.warning(
        '%s has rows that no checkpoint covers any more: it gets a new run,'
        ' from the first row on.',
        type(self._logger).__name__,
    )

  def _begin(self, saved: dict[str, int], is_new: bool = False) -> None:
    """Begins the logger and goes to the first row that it does not have."""
    # Before the tracker hears of it, so that no run there is forgotten.
    self._write_place()
    place = self._place
    held = self._logger.begin(
        loggers.Start(
            is_new=is_new, id=place.id, time_s=place.time_s, **self._facts
        )
    )
    if held is not None and held > saved['rows']:
      self._say_that_it_has_more()
      self._logger.close('failed')
      self._place = _Place(uuid.uuid4().hex, time.time())
      self._begin(saved, is_new=True)
      return
    if held is not None and held != place.rows:
      with open(self._rows_file, 'rb') as file:
        lines = list(itertools.islice(file, held))
      self._place = _Place(place.id, place.time_s).after(lines)
    self._has_begun = True

  def _write_place(self) -> None:
    with files.replacing(self._place_file) as file:
      json.dump(self._place._asdict(), file)

  def add_picture(self, row: int, picture: loggers.Picture) -> None:
    """Keeps pictures that were drawn after a row until it is handed over."""
    self._pictures.setdefault(row, []).append(picture)

  def hand_over(self, saved: dict[str, int], is_last: bool = False) -> None:
    """Hands over what the newest checkpoint on the disk covers.

    Args:
      saved: As for the constructor.
      is_last: Whether to wait until all is done; otherwise a thread does it,
        every few seconds.
    """
    if self._busy is not None and (is_last or self._busy.done()):
      self._busy = self._busy.result()
    now_s = time.monotonic()
    if self._busy is not None or (now_s < self._next_s and not is_last):
      return
    self._next_s = now_s + _SECONDS_BETWEEN_HAND_OVERS
    self._busy = self._thread.submit(self._work, dict(saved))
    if is_last:
      self._busy = self._busy.result()

  def _work(self, saved: dict[str, int]) -> None:
    try:
      if not self._has_begun:
        self._begin(saved)
      while self._place.rows < saved['rows']:
        self._hand_over_some(saved['rows'])
    except Exception:  # pylint: disable=broad-exception-caught
      self._failed()

  def _hand_over_some(self, num_rows: int) -> None:
    place = self._place
    with open(self._rows_file, 'rb') as file:
      file.seek(place.size)
      number = min(num_rows - place.rows, _MAX_ROWS)
      lines = [file.readline() for _ in range(number)]
    rows = [
        _row(line, i, self._pictures.get(i, ()))
        for i, line in enumerate(lines, place.rows)
    ]
    self._logger.write(rows)
    self._place = place.after(lines)
    self._write_place()
    for row in rows:
      self._pictures.pop(row.number, None)

  def _failed(self) -> None:
    self._next_s = time.monotonic() + _SECONDS_AFTER_FAILURE
    logging.warning(
        '%s failed. The rows are kept, and are handed over later.',
        type(self._logger).__name__,
        exc_info=True,
    )

  def close(self, state: str) -> None:
    """Closes the logger."""
    self._thread.shutdown()
    try:
      if self._has_begun:
        self._logger.close(state)
    except Exception:  # pylint: disable=broad-exception-caught
      self._failed()


def _row(
    line: bytes, number: int, pictures: Sequence[loggers.Picture]
) -> loggers.LoggedRow:
  """Returns the row that a line of `rows.jsonl` has."""
  metrics, timings = json.loads(line)
  phase = metrics.pop('phase')
  counters = {
      name: int(metrics.pop(name)) for name in ('iteration', 'env_steps')
  }
  return loggers.LoggedRow(
      number,
      phase,
      counters,
      {name: float(text) for name, text in metrics.items()},
      {
          name: float(text)
          for name, text in timings.items()
          if name not in ('phase', *counters)
      },
      pictures,
  )
