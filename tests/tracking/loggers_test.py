# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trackers have each row of a run once, whenever it is killed."""

import json
import os
import random
import signal
import sys
import time
from unittest import mock

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.tracking import hand_over
from rnd_agents.tracking import loggers
from rnd_agents.tracking import mlflow_logger
from rnd_agents.tracking import wandb_logger
from rnd_agents.training import metrics_log
from tests import tiny_runs


@pytest.fixture(autouse=True)
def _quiet_trackers(monkeypatch):
  for name in ('MLFLOW_DISABLE_TELEMETRY', 'DO_NOT_TRACK'):
    monkeypatch.setenv(name, 'true')
  monkeypatch.setenv('WANDB_MODE', 'offline')
  monkeypatch.setattr(hand_over, '_SECONDS_BETWEEN_HAND_OVERS', 0.0)


def _write(log, number):
  """Writes the row of a number: every fourth is an evaluation."""
  phase = 'eval' if number % 4 == 3 else 'train'
  counters = dict(iteration=number, env_steps=10 * number)
  log.write(
      phase, counters, {'a_mean': number / 8}, {'wall_time_s': number / 4}
  )


def _expected(num_rows):
  """(name, env_steps, value) of all numbers of the rows."""
  return sorted(
      (f'{"eval" if i % 4 == 3 else "train"}/{name}', 10 * i, float(value))
      for i in range(num_rows)
      for name, value in dict(
          iteration=i, env_steps=10 * i, a_mean=i / 8, wall_time_s=i / 4
      ).items()
  )


# ------------------------------------------------------- kills, in the process
class _Tracker(loggers.Logger):
  """Keeps rows in a file, as a tracker that is out of reach of a kill."""

  def __init__(self, path, tells):
    self._path, self._tells = path, tells
    self.states = []

  def begin(self, start):
    self._id = start.id
    return len(self.rows()) if self._tells else None

  def rows(self):
    """Rows of the newest run; one that comes again is the same."""
    try:
      lines = self._path.read_text().splitlines()
    except FileNotFoundError:
      lines = []
    rows = [json.loads(line) for line in lines]
    kept = [x[1:] for x in rows if x[0] == self._id]
    if not self._tells:
      kept = [x for i, x in enumerate(kept) if x not in kept[:i]]
    return kept

  def write(self, rows):
    with open(self._path, 'a', encoding='utf-8') as file:
      for row in rows:
        cells = [self._id, row.number, row.counters['env_steps'], row.scalars()]
        file.write(json.dumps(cells) + '\n')

  def close(self, state):
    self.states.append(state)


class _Disk:
  """A run's log and checkpoints; a checkpoint is a list with what it covers."""

  def __init__(self, tracker, folder):
    self.tracker, self.folder = tracker, str(folder)
    self.checkpoints = [None]

  def start(self):
    log = metrics_log.MetricsLog(
        self.folder, self.checkpoints[-1], loggers=[self.tracker]
    )
    if self.checkpoints == [None]:
      self.checkpoints.append(log.save())
    return log

  def work(self, log, num_rows):
    """Writes rows to an end, with a checkpoint after every third."""
    for number in range(self.checkpoints[-1]['rows'], num_rows):
      _write(log, number)
      if number % 3 == 2 or number == num_rows - 1:
        self.checkpoints.append(log.save())
        self._settle(log)

  def _settle(self, log):
    """Waits for the thread, so that a kill comes where it should."""
    for each in log._hand_overs:
      if each._busy is not None:
        each._busy = each._busy.result()


def _kill(method, after):
  """A method that ends the run in its third call, before or after its work."""
  calls = []

  def killed(*args, **kwargs):
    calls.append(0)
    if len(calls) == 3 and not after:
      raise tiny_runs.Killed
    result = method(*args, **kwargs)
    if len(calls) == 3:
      raise tiny_runs.Killed
    return result

  return killed


@pytest.mark.parametrize('tells', [False, True])
@pytest.mark.parametrize('after', [False, True])
@pytest.mark.parametrize(
    ('owner', 'name'),
    [
        (_Tracker, 'write'),
        (hand_over.HandOver, '_write_place'),
        (metrics_log.MetricsLog, 'save'),
        (metrics_log.MetricsLog, 'write'),
    ],
    ids=lambda x: getattr(x, '__name__', x),
)
def test_a_kill_loses_and_repeats_no_row(tmp_path, owner, name, after, tells):
  disk = _Disk(_Tracker(tmp_path / 'tracker', tells), tmp_path)
  log = disk.start()
  with pytest.MonkeyPatch.context() as context:
    context.setattr(owner, name, _kill(getattr(owner, name), after))
    with pytest.raises(tiny_runs.Killed):
      disk.work(log, 20)
  for each in log._hand_overs:  # A process that is killed has no threads left.
    each._thread.shutdown()
  log = disk.start()
  disk.work(log, 20)
  log.close()
  rows = disk.tracker.rows()
  assert [row[0] for row in rows] == list(range(20))
  assert sorted((n, x[1], v) for x in rows for n, v in x[2].items()) == (
      _expected(20)
  )
  assert disk.tracker.states == ['finished']


@pytest.mark.parametrize('tells', [False, True])
def test_rows_of_a_lost_checkpoint_are_of_another_run(tmp_path, tells, caplog):
  disk = _Disk(_Tracker(tmp_path / 'tracker', tells), tmp_path)
  log = disk.start()
  disk.work(log, 9)
  log.close('stopped')
  first = disk.tracker._id
  del disk.checkpoints[-2:]  # The disk lost them.
  log = disk.start()
  disk.work(log, 9)
  log.close()
  assert 'new run' in caplog.text and disk.tracker._id != first
  assert [row[0] for row in disk.tracker.rows()] == list(range(9))


def test_only_what_is_on_the_disk_is_handed_over(tmp_path):
  disk = _Disk(_Tracker(tmp_path / 'tracker', True), tmp_path)
  log = disk.start()
  disk.work(log, 6)
  # Its last checkpoint may not be on the disk before the next one is written.
  assert len(disk.tracker.rows()) == 3
  _write(log, 6)
  with log, pytest.raises(KeyError):
    with log:
      raise KeyError
  assert len(disk.tracker.rows()) == 3 and disk.tracker.states == ['failed']


def test_a_tracker_that_fails_gets_its_rows_later(
    tmp_path, monkeypatch, caplog
):
  disk = _Disk(_Tracker(tmp_path / 'tracker', True), tmp_path)
  log = disk.start()

  def failing(*args):
    raise ConnectionError('no server')

  with monkeypatch.context() as context:
    context.setattr(_Tracker, 'write', failing)
    disk.work(log, 9)
    log.close()
  assert 'no server' in caplog.text and not disk.tracker.rows()
  with monkeypatch.context() as context:
    context.setattr(_Tracker, 'begin', failing)  # At a later start, too.
    log = disk.start()
  log.close()
  assert len(disk.tracker.rows()) == 9
  # Where nothing is known of the run yet, the setting may be wrong.
  monkeypatch.setattr(_Tracker, 'begin', failing)
  new = _Disk(disk.tracker, tmp_path / 'new')
  with pytest.raises(errors.SetupError, match='no server'):
    new.start()
  with pytest.raises(errors.SetupError, match='no server'):
    new.start()


def test_pictures_come_with_their_row(tmp_path):
  got = []

  class Pictures(_Tracker):

    def write(self, rows):
      got.extend((row.number, row.pictures) for row in rows)

  disk = _Disk(Pictures(tmp_path / 'tracker', False), tmp_path)
  log = disk.start()
  image = np.zeros([1, 2, 2, 3], np.uint8)
  for number in range(3):
    _write(log, number)
    if number == 1:
      log.write_picture(loggers.Picture('train', 'visits', image), 10)
  log.save()
  log.close()
  assert [len(pictures) for _, pictures in got] == [0, 1, 0]
  assert got[1][1][0].images is image


def test_loggers_are_refused_before_the_first_step():
  with pytest.raises(errors.InvalidType, match='brackets'):
    loggers.check_loggers('x', [loggers.TensorBoardLogger])
  same = [loggers.TensorBoardLogger(), loggers.TensorBoardLogger()]
  with pytest.raises(errors.InvalidValue, match='different'):
    loggers.check_loggers('x', same)


# ------------------------------------------------------------- real trackers
def _mlflow_numbers(uri):
  """(name, step, value) of all metrics of the only run."""
  import mlflow

  client = mlflow.MlflowClient(uri)
  experiment = client.get_experiment_by_name('rnd_agents')
  (run,) = client.search_runs([experiment.experiment_id])
  found = [
      (name, metric.step, metric.value)
      for name in run.data.metrics
      for metric in client.get_metric_history(run.info.run_id, name)
  ]
  return client, run, sorted(found)


def _wandb_numbers(root_dir):
  return sorted(
      (name, values['env_steps'], float(value))
      for _, values in wandb_logger.read_history(root_dir)
      for name, value in values.items()
      if '/' in name
  )


def test_mlflow_has_each_row_once(tmp_path, monkeypatch):
  pytest.importorskip('mlflow')
  monkeypatch.chdir(tmp_path)  # Where MLflow puts pictures.
  uri = f'sqlite:///{tmp_path}/mlflow.db'
  name = 'a_setting_of_more_than_mlflow_takes'
  settings = {name: 'x' * 7_000, 'RNDPPOAgent.num_epochs': '4'}

  def start(saved):
    return metrics_log.MetricsLog(
        str(tmp_path / 'run'),
        saved,
        loggers=[mlflow_logger.MLflowLogger(uri)],
        settings=settings,
        seed=7,
    )

  log = start(None)
  for number in range(20):
    _write(log, number)
  picture = np.arange(12, dtype=np.uint8).reshape([1, 2, 2, 3])
  log.write_picture(loggers.Picture('eval', 'visits', picture), 190)
  saved = log.save()
  with monkeypatch.context() as context:  # Handed over, and then killed.
    context.setattr(hand_over.HandOver, '_write_place', lambda self: None)
    log.save()
    log._hand_overs[0]._thread.shutdown()
  client, run, numbers = _mlflow_numbers(uri)
  assert numbers == _expected(20)
  assert run.info.status == 'RUNNING' and run.info.run_name == 'run'
  log = start(saved)
  for number in range(20, 30):
    _write(log, number)
  settings['RNDPPOAgent.num_epochs'] = '3'  # It may change; a parameter not.
  log = start(log.save())
  log.close()
  client, run, numbers = _mlflow_numbers(uri)
  assert numbers == _expected(30)
  assert run.info.status == 'FINISHED'
  assert run.data.params['seed'] == '7'
  assert run.data.params['RNDPPOAgent.num_epochs'] == '4'
  assert run.data.params[name].endswith('xx...')
  (found,) = client.list_artifacts(run.info.run_id, 'eval_visits')
  assert found.path == 'eval_visits/env_steps_190_0.png'


def test_mlflow_gets_names_that_it_takes(tmp_path, monkeypatch):
  pytest.importorskip('mlflow')
  monkeypatch.chdir(tmp_path)
  uri = f'sqlite:///{tmp_path}/mlflow.db'
  log = metrics_log.MetricsLog(
      str(tmp_path / 'run'),
      None,
      loggers=[mlflow_logger.MLflowLogger(uri)],
      settings={},
      seed=7,
  )
  values = {'info_distance (m)_mean': 2.0, 'info_done_(1, 2)_mean': 3.0}
  counters = dict(iteration=1, env_steps=10)
  log.write('train', counters, values, {'wall_time_s': 1.0})
  log.save()
  log.close()
  _, _, numbers = _mlflow_numbers(uri)
  assert ('train/info_distance _m__mean', 10, 2.0) in numbers
  assert ('train/info_done__1_ 2__mean', 10, 3.0) in numbers


def _log_until_killed(root_dir, saved_file, num_rows):
  """What the process to be killed does: rows, with checkpoints."""
  hand_over._SECONDS_BETWEEN_HAND_OVERS = 0.0
  os.environ['WANDB_MODE'] = 'offline'
  try:
    with open(saved_file, encoding='utf-8') as file:
      saved = json.load(file)
  except FileNotFoundError:
    saved = None
  log = metrics_log.MetricsLog(
      root_dir, saved, loggers=[wandb_logger.WandbLogger()], seed=7
  )
  number = saved['rows'] if saved else 0
  while number < num_rows:
    _write(log, number)
    number += 1
    saved = log.save()
    with open(f'{saved_file}.new', 'w', encoding='utf-8') as file:
      json.dump(saved, file)
    os.replace(f'{saved_file}.new', saved_file)
    time.sleep(0.05)
  log.close()


def test_wandb_holds_no_rows_before_its_first_file(tmp_path, monkeypatch):
  """W&B makes its file some time after it was given rows."""
  for name in ('wandb', 'wandb.proto'):
    monkeypatch.setitem(sys.modules, name, mock.MagicMock())
  start = loggers.Start(str(tmp_path), False, 'an_id', 0.0, {}, 7)
  assert wandb_logger.WandbLogger().begin(start) == 0


# A shell completes the name of a folder with a slash.
@pytest.mark.parametrize('root_dir', ['runs/a name/', '.'])
def test_a_run_has_the_name_of_its_folder(tmp_path, monkeypatch, root_dir):
  folder = tmp_path / 'runs' / 'a name'
  folder.mkdir(parents=True)
  monkeypatch.chdir(folder if root_dir == '.' else tmp_path)
  wandb, mlflow = mock.MagicMock(), mock.MagicMock()
  for name, module in {
      'wandb': wandb, 'wandb.proto': wandb.proto, 'mlflow': mlflow
  }.items():
    monkeypatch.setitem(sys.modules, name, module)
  mlflow.MlflowClient().search_runs.return_value = []
  start = loggers.Start(root_dir, True, 'an_id', 0.0, {}, 7)
  wandb_logger.WandbLogger().begin(start)
  assert wandb.init.call_args.kwargs['name'] == 'a name'
  mlflow_logger.MLflowLogger().begin(start)
  create_run = mlflow.MlflowClient().create_run
  assert create_run.call_args.kwargs['run_name'] == 'a name'


def test_wandb_has_each_row_once(tmp_path):
  pytest.importorskip('wandb')
  saved_file = str(tmp_path / 'saved')
  moments = random.Random(0)
  processes = tiny_runs.context()

  def start(num_rows):
    process = processes.Process(
        target=_log_until_killed,
        args=(str(tmp_path), saved_file, num_rows),
        daemon=True,
    )
    process.start()
    return process

  def num_saved():
    if not os.path.exists(saved_file):
      return 0
    with open(saved_file, encoding='utf-8') as file:
      return json.load(file)['rows']

  # More kills, of a whole run: `benchmarks.tracker_kills`.
  process = start(10**9)
  while not num_saved():
    time.sleep(0.01)
  time.sleep(moments.uniform(0.5, 2.0))
  os.kill(process.pid, signal.SIGKILL)
  process.join()
  num_rows = num_saved() + 10
  process = start(num_rows)
  process.join()
  assert process.exitcode == 0
  steps = [step for step, _ in wandb_logger.read_history(tmp_path)]
  assert steps == list(range(num_rows))
  assert _wandb_numbers(tmp_path) == _expected(num_rows)
