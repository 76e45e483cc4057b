# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the numbers of a run go besides its CSV files.

TensorBoard's events are written at once. A tracker waits: `hand_over.HandOver`
gives it what a checkpoint on the disk covers.
"""

from collections.abc import Iterator, Sequence
import contextlib
import os
from typing import Any, NamedTuple
import uuid

import gin
import numpy as np
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.hparams import api as hparams_api
from tensorboard.plugins.scalar import summary_v2 as scalar_summary
import tensorflow as tf

from rnd_agents import _compat
from rnd_agents import errors

# TensorBoard tags that TF-Agents' tools know.
_TAGS = {
    'return_mean': 'Metrics/AverageReturn',
    'length_mean': 'Metrics/AverageEpisodeLength',
    'env_steps': 'Metrics/EnvironmentSteps',
    'total_episodes': 'Metrics/NumberOfEpisodes',
}


class Picture(NamedTuple):
  """Pictures, or a video, drawn after a row.

  Attributes:
    phase: 'train' or 'eval'.
    name: Name of their kind.
    images: uint8 [K, H, W, 3].
    path: The video that they are taken from, or None.
  """

  phase: str
  name: str
  images: np.ndarray
  path: str | None = None


class LoggedRow(NamedTuple):
  """One iteration or one evaluation.

  Attributes:
    number: Number of the row in the run, from 0.
    phase: 'train' or 'eval'.
    counters: Iterations, environment steps and more, by name.
    metrics: Numbers by name.
    timings: Numbers that differ from run to run, by name.
    pictures: Drawn after the row. A logger that does not wait gets them in a
      row without metrics.
  """

  number: int
  phase: str
  counters: dict[str, int]
  metrics: dict[str, float]
  timings: dict[str, float]
  pictures: Sequence[Picture] = ()

  def scalars(self) -> dict[str, float]:
    """Returns all finite numbers, by names that begin with the phase."""
    both = {**self.counters, **self.metrics, **self.timings}
    return {
        f'{self.phase}/{name}': value
        for name, value in both.items()
        if np.isfinite(value)
    }


class Start(NamedTuple):
  """Start of a run, for `Logger.begin`.

  Attributes:
    root_dir: The run's folder.
    is_new: False if the logger has seen a start of this run before.
    id: Unique name of the run.
    time_s: Unix time of the logger's first start.
    settings: Values by gin's names, as text.
    seed: The run's seed.
  """

  root_dir: str
  is_new: bool
  id: str
  time_s: float
  settings: dict[str, str]
  seed: int

  @property
  def folder_name(self) -> str:
    """Name of the run's folder, also of 'runs/x/' and of '.'."""
    return os.path.basename(os.path.abspath(self.root_dir))


class Logger:
  """Takes the rows of a run; bind objects to `train_eval.loggers`.

  Attributes:
    waits: Whether it gets rows only when a checkpoint covers them. Otherwise it
      gets them at once, and those of work that a resumed run repeats twice.
  """

  waits = True

  def begin(self, start: Start) -> int | None:
    """Called at each start of the run, before all else.

    Args:
      start: Facts of the run.

    Returns:
      Number of the run's rows that the tracker holds; None if it does not know,
      and for a logger that does not wait.
    """

  def write(self, rows: Sequence[LoggedRow]) -> None:
    """Takes rows in their order."""

  def close(self, state: str) -> None:
    """Called at the end, not after a kill.

    Args:
      state: 'finished', 'stopped' or 'failed', as in `status.json`.
    """


@gin.configurable(module='rnd_agents')
class TensorBoardLogger(Logger):
  """Writes events for TensorBoard into `train/` and `eval/` of the folder."""

  waits = False

  def begin(self, start: Start) -> None:
    self._root_dir = start.root_dir
    self._writers: dict[str, tf.summary.SummaryWriter] = {}  # By phase.
    if start.is_new and start.settings:
      self._write_settings(start.settings, start.seed)

  def _write_settings(self, settings: dict[str, str], seed: int) -> None:
    """Writes the settings as text, and for the HPARAMS page."""
    rows = ''.join(f'|{k}|`{v}`|\n' for k, v in settings.items())
    values: dict[str, bool | float | str] = {'seed': seed}
    values.update((name, _plain(value)) for name, value in settings.items())
    with self._writing('train', 0):
      tf.summary.text('settings', '|name|value|\n|---|---|\n' + rows)
      hparams_api.hparams(values, trial_id=uuid.uuid4().hex)

  def write(self, rows: Sequence[LoggedRow]) -> None:
    for row in rows:
      with self._writing(row.phase, row.counters['env_steps']):
        if row.metrics or row.timings:
          tf.summary.experimental.write_raw_pb(_summary(row))
        for picture in row.pictures:
          tf.summary.image(
              picture.name, picture.images, max_outputs=len(picture.images)
          )

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

  def close(self, state: str) -> None:
    for writer in self._writers.values():
      writer.close()


def _summary(row: LoggedRow) -> bytes:
  """Returns one event of all numbers of a row.

  Calling tf.summary.scalar for each takes ten times as long, a few percent of
  the time of a small iteration.
  """
  scalars: dict[str, float] = {
      _TAGS[name]: row.counters[name] for name in _TAGS if name in row.counters
  }
  for name, value in row.metrics.items():
    scope = 'Losses' if name.endswith('_loss') else 'Metrics'
    scalars[_TAGS.get(name, f'{scope}/{name}')] = value
  for name, value in row.timings.items():
    scalars[f'Speed/{name}'] = value
  summary = summary_pb2.Summary()
  for tag, value in scalars.items():
    summary.MergeFrom(scalar_summary.scalar_pb(tag, value))
  return summary.SerializeToString()


def check_loggers(name: str, values: Sequence[Any]) -> None:
  """Refuses what is not a list of loggers of different classes.

  Args:
    name: Name of the setting.
    values: Its value.

  Raises:
    InvalidType: If it is not a list, or one of them is not a `Logger`.
    InvalidValue: If two are of one class.
  """
  if not isinstance(values, Sequence):
    raise errors.InvalidType(f'{name} must be a list, got {values!r}.')
  for value in values:
    if not isinstance(value, Logger):
      raise errors.InvalidType(
          f'{name} must be loggers such as @TensorBoardLogger(), with the'
          f' brackets, not {value!r}.'
      )
  if len({type(value) for value in values}) < len(values):
    raise errors.InvalidValue(f'{name} must be of different classes.')


def _plain(text: str) -> bool | float | str:
  """Returns a setting for the HPARAMS page: a bool, a number or text."""
  if text in ('True', 'False'):
    return text == 'True'
  try:
    return float(text)
  except ValueError:
    return text
