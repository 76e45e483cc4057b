# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hands the rows of a run over to MLflow."""

from collections.abc import Iterator, Sequence
import os
import re
from typing import Any

import gin

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.tracking import loggers

_ID_TAG = 'rnd_agents.run_id'
# MLflow's limits of a batch, and of a value, which it would cut in silence.
_MAX_METRICS = 1_000
_MAX_PARAMS = 100
_MAX_TEXT = 6_000
_STATES = dict(finished='FINISHED', stopped='KILLED', failed='FAILED')


@gin.configurable(module='rnd_agents')
class MLflowLogger(loggers.Logger):
  """Hands rows over to an MLflow server, or to its database.

  Metrics are named `train/return_mean`, with environment steps as steps. A row
  that MLflow gets again, after a kill between the row and our note of it, is
  the same to the millisecond, and MLflow keeps it once.
  """

  def __init__(
      self,
      tracking_uri: str | None = None,
      experiment_name: str = 'rnd_agents',
      run_name: str | None = None,
  ):
    """Imports MLflow.

    Args:
      tracking_uri: Such as 'http://localhost:5000'; None for MLflow's own
        choice, the variable MLFLOW_TRACKING_URI.
      experiment_name: The experiment, which is created if there is none.
      run_name: Name of the run; None for that of its folder.

    Raises:
      MissingPackage: If MLflow is not installed.
    """
    try:
      import mlflow
      from mlflow import entities
    except ImportError as error:
      raise errors.MissingPackage(
          'MLflowLogger needs MLflow: pip install "rnd_agents[mlflow]", with'
          ' Python 3.11 or later.'
      ) from error
    self._mlflow, self._entities = mlflow, entities
    self._tracking_uri = tracking_uri
    self._experiment_name = experiment_name
    self._run_name = run_name
    self._client: Any = None

  def begin(self, start: loggers.Start) -> int | None:
    # A client with the id of a run: MLflow's functions would begin another run
    # in another thread.
    self._client = self._mlflow.MlflowClient(self._tracking_uri)
    self._start_ms = round(1000 * start.time_s)
    experiment = self._client.get_experiment_by_name(self._experiment_name)
    if experiment is None:
      experiment_id = self._client.create_experiment(self._experiment_name)
    else:
      experiment_id = experiment.experiment_id
    found = self._client.search_runs(
        [experiment_id], f"tags.`{_ID_TAG}` = '{start.id}'"
    )
    if found:
      self._run_id = found[0].info.run_id
      self._client.update_run(self._run_id, status='RUNNING')
    else:
      self._run_id = self._client.create_run(
          experiment_id,
          start_time=self._start_ms,
          tags={_ID_TAG: start.id, 'rnd_agents.root_dir': start.root_dir},
          run_name=self._run_name or start.folder_name,
      ).info.run_id
    # Parameters cannot change, and settings may: those of the first start, and
    # in a file those of the last.
    known = self._client.get_run(self._run_id).data.params
    params = [
        self._entities.Param(name, _cut(text))
        for name, text in {'seed': str(start.seed), **start.settings}.items()
        if name not in known
    ]
    for part in _parts(params, _MAX_PARAMS):
      self._client.log_batch(self._run_id, params=part)
    config = os.path.join(start.root_dir, run_files.CONFIG_FILE)
    if os.path.exists(config):
      self._client.log_artifact(self._run_id, config)
    return None if found else 0

  def write(self, rows: Sequence[loggers.LoggedRow]) -> None:
    metrics = [
        self._entities.Metric(
            _allowed(name),
            value,
            self._start_ms + round(1000 * row.timings['wall_time_s']),
            row.counters['env_steps'],
        )
        for row in rows
        for name, value in row.scalars().items()
    ]
    for part in _parts(metrics, _MAX_METRICS):
      self._client.log_batch(self._run_id, metrics=part)
    for row in rows:
      for picture in row.pictures:
        self._write_picture(picture, row.counters['env_steps'])

  def _write_picture(self, picture: loggers.Picture, env_steps: int) -> None:
    folder = f'{picture.phase}_{picture.name}'
    for i, image in enumerate(picture.images):
      self._client.log_image(
          self._run_id,
          image,
          artifact_file=f'{folder}/env_steps_{env_steps}_{i}.png',
      )
    if picture.path is not None:
      self._client.log_artifact(self._run_id, picture.path, folder)

  def close(self, state: str) -> None:
    self._client.set_terminated(self._run_id, _STATES[state])


def _allowed(name: str) -> str:
  """Returns a name with _ for what MLflow refuses, as in 'distance (m)'."""
  return re.sub(r'[^\w./: -]', '_', name)


def _cut(text: str) -> str:
  """Returns a value as long as MLflow takes it, with a mark if it is cut."""
  return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + '...'


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
  """Yields the items in lists of at most `size`."""
  for start in range(0, len(items), size):
    yield items[start : start + size]
