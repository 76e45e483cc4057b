# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hands the rows of a run over to Weights & Biases."""

from collections.abc import Iterator, Sequence
import glob
import json
import os
import struct
from typing import Any

import gin

from rnd_agents import errors
from rnd_agents.tracking import loggers

# Of the file of a run: a header of its own, then LevelDB's log format.
_HEADER_BYTES = 7
_BLOCK_BYTES = 32_768
_PIECE_BYTES = 7  # Checksum, length and kind of a piece of a record.
_LAST_PIECES = (1, 4)  # Kinds: a whole record, and the last piece of one.
_FLUSH_S = 1.0


@gin.configurable(module='rnd_agents')
class WandbLogger(loggers.Logger):
  """Hands rows over to W&B, online or into its files.

  A row is a step of W&B, so that steps count rows; charts are over
  `env_steps`. W&B's own file, or its server, says how many rows it holds.
  """

  def __init__(
      self,
      project: str = 'rnd_agents',
      name: str | None = None,
      group: str | None = None,
      entity: str | None = None,
      mode: str | None = None,
  ):
    """Imports W&B.

    Args:
      project: The project.
      name: Name of the run; None for that of its folder.
      group: Group of runs, such as the seeds of an experiment.
      entity: Team or user; None for W&B's own choice.
      mode: 'online' or 'offline'; None for W&B's own choice, the variable
        WANDB_MODE. Files of an offline run are in its folder;
        `wandb sync --append` uploads them.

    Raises:
      MissingPackage: If W&B is not installed.
    """
    try:
      import wandb
    except ImportError as error:
      raise errors.MissingPackage(
          'WandbLogger needs W&B: pip install "rnd_agents[wandb]", with Python'
          ' 3.11 or later.'
      ) from error
    self._wandb: Any = wandb
    self._arguments = dict(
        project=project, name=name, group=group, entity=entity, mode=mode
    )
    self._run: Any = None

  def begin(self, start: loggers.Start) -> int | None:
    held = _num_rows(start.root_dir, start.id)
    self._run = self._wandb.init(
        **dict(
            self._arguments,
            name=self._arguments['name'] or start.folder_name,
        ),
        id=start.id,
        dir=start.root_dir,
        resume='allow',
        config={'seed': start.seed, **start.settings},
        # A kill loses what is not in the file yet.
        settings=self._wandb.Settings(
            console='off',
            quiet=True,
            x_transaction_log_flush_interval=_FLUSH_S,
        ),
    )
    for phase in ('train', 'eval'):
      self._run.define_metric(f'{phase}/*', step_metric='env_steps')
    if not self._run.offline:
      return self._run.starting_step
    return held

  def write(self, rows: Sequence[loggers.LoggedRow]) -> None:
    for row in rows:
      values: dict[str, Any] = dict(
          row.scalars(), env_steps=row.counters['env_steps']
      )
      for picture in row.pictures:
        values[f'{picture.phase}/{picture.name}'] = (
            [self._wandb.Image(image) for image in picture.images]
            if picture.path is None
            else self._wandb.Video(picture.path)
        )
      # Otherwise the last row is missing until there is a next one.
      self._run.log(values, step=row.number, commit=True)

  def close(self, state: str) -> None:
    self._run.finish(exit_code=int(state == 'failed'))


def _num_rows(root_dir: str, run_id: str) -> int:
  """Returns how many rows W&B's files hold.

  A start writes a file of its own, with the rows after those of the others. A
  kill may come before W&B has made the first file: then they hold none, however
  many rows it was given.
  """
  steps = [step for step, _ in read_history(root_dir, run_id)]
  return max(steps, default=-1) + 1


def _files(root_dir: str, run_id: str) -> list[str]:
  """Returns W&B's files of a run, of one start after the other."""
  folder = os.path.join(glob.escape(os.fspath(root_dir)), 'wandb')
  return sorted(
      glob.glob(os.path.join(folder, f'*run-*-{run_id}', '*.wandb')),
      key=os.path.getmtime,
  )


def read_history(
    root_dir: str, run_id: str = '*'
) -> Iterator[tuple[int, dict[str, Any]]]:
  """Yields (step, values by name) of all steps in W&B's files of a run.

  Args:
    root_dir: The run's folder.
    run_id: W&B's id of the run; '*' for any.
  """
  from wandb.proto import wandb_internal_pb2

  for path in _files(root_dir, run_id):
    for content in _records(path):
      record = wandb_internal_pb2.Record.FromString(content)
      if record.HasField('history'):
        yield record.history.step.num, {
            item.key or '/'.join(item.nested_key): json.loads(item.value_json)
            for item in record.history.item
        }


def _records(path: str) -> Iterator[bytes]:
  """Yields the records of a file of W&B; a kill may have cut the last one."""
  with open(path, 'rb') as file:
    content = file.read()
  place, record = _HEADER_BYTES, b''
  while place + _PIECE_BYTES <= len(content):
    rest = _BLOCK_BYTES - place % _BLOCK_BYTES
    if rest < _PIECE_BYTES:  # No piece begins there.
      place += rest
      continue
    _, length, kind = struct.unpack_from('<IHB', content, place)
    place += _PIECE_BYTES
    if not kind or place + length > len(content):
      return
    record += content[place : place + length]
    place += length
    if kind in _LAST_PIECES:
      yield record
      record = b''
