# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workers on Ray: the same run, whatever happens to them."""

import concurrent.futures
import functools
import importlib.util
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from unittest import mock

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import runs
from rnd_agents.workers import ray_workers
from rnd_agents.workers import remote_collector
from rnd_agents.workers import shard_worker
from tests import listening
from tests import tiny_runs

_SHARDS = 'train_eval.num_shards = 2'


def _with(num_workers, **more):
  return functools.partial(
      ray_workers.create_collectors, num_workers=num_workers, **more
  )


def _pids(role):
  """Processes of a role that this one has started, through its raylet."""
  raylets = _children(os.getpid(), 'raylet')
  name = f'ray::{role}'
  return [pid for raylet in raylets for pid in _children(raylet, name)]


def _children(parent, name):
  found = subprocess.run(
      ['pgrep', '-f', '-P', str(parent), name],
      capture_output=True,
      text=True,
      check=False,
  )
  return [int(pid) for pid in found.stdout.split()]


class _Killer(callbacks.Callback):
  """Looks who can reach the run's processes, then kills a worker.

  It stops after the third iteration.
  """

  def __init__(self):
    self.killed = None
    self.listening = {}
    self.folder_mode = None
    self.num_bytes = np.zeros(2, int)  # Of each worker.

  def after_iteration(self, run, iteration):
    self.num_bytes += [worker['bytes'] for worker in run.workers]
    if run.counters.iteration == 1:
      self.listening = listening.of_run(run.root_dir)
      folder = sys.modules['ray'].get_runtime_context().get_temp_dir()
      above = os.stat(os.path.dirname(folder))
      self.folder_mode = stat.S_IMODE(above.st_mode)
      self.killed = _pids('Worker')[0]
      os.kill(self.killed, signal.SIGKILL)
    if run.counters.iteration == 3:
      run.stop('the test')


@pytest.mark.skipif(
    importlib.util.find_spec('ray') is None, reason='It needs Ray.'
)
@pytest.mark.usefixtures('optimized_graphs')  # As in the workers' processes.
def test_workers_may_die_and_their_number_may_change(tmp_path):
  def train(name, make_shards, callback):
    return tiny_runs.train(
        tmp_path / name,
        500,
        _SHARDS,
        'train_eval.max_lag_rounds = 1',
        'train_eval.eval_interval_env_steps = 128',
        'RNDPPOAgent.greedy_eval = False',
        settings=tiny_runs.PPO_SETTINGS,
        make_shards=make_shards,
        callbacks=[callback],
    )

  train('here', None, callbacks.Callback())
  killer = _Killer()
  assert not train('there', _with(2), killer).finished
  token = tmp_path / 'there' / 'ray_token'
  assert stat.S_IMODE(token.stat().st_mode) == 0o600
  assert killer.killed is not None and not _pids('')
  _check_nobody_else_reaches(killer.listening)
  assert killer.folder_mode == 0o700
  status = json.loads((tmp_path / 'there' / 'status.json').read_text())
  assert sorted(worker['restarts'] for worker in status['workers']) == [0, 1]
  # In three rounds, one of which may come early: each has two environments, of
  # four numbers a row, and other columns.
  assert all(killer.num_bytes > 3 * 2 * 17 * 16)
  assert train('there', _with(1), callbacks.Callback()).finished
  here, there = (
      (tmp_path / name / 'metrics.csv').read_bytes()
      for name in ('here', 'there')
  )
  assert there == here
  assert here.count(b'\ntrain,') >= 5


def _check_nobody_else_reaches(listening_processes):
  names = ' '.join(listening_processes)
  for name in (f'{os.getpid()} ', 'gcs_server', 'raylet', 'ray::Worker'):
    assert name in names
  assert len(listening_processes) >= 5
  for process, addresses in listening_processes.items():
    assert all(address.is_loopback for address in addresses), process


def test_waits_for_no_worker_once_this_machine_has_left(monkeypatch):
  ray = mock.MagicMock()
  ray.wait.return_value = [], []
  own = dict(NodeID=ray.get_runtime_context().get_node_id())
  other = dict(NodeID='other', Alive=True)
  ray.nodes.side_effect = [
      [other, dict(own, Alive=is_alive)] for is_alive in (True, False)
  ]
  monkeypatch.setitem(sys.modules, 'ray', ray)
  workers = ray_workers.RayWorkers(None, 1, 60.0)
  with pytest.raises(errors.RunError, match='Ray'):
    workers.run(shard_worker.Task(0, 0, ('reset', ())))


class _RayError(Exception):
  pass


class _OutOfMemoryError(_RayError):
  pass


class _ObjectLostError(_RayError):
  pass


class _RayTaskError(_RayError):

  def __init__(self, cause):
    super().__init__(f'ray::Worker.run() (pid=7)\n{cause}')
    self.cause = cause


class _Exceptions:
  RayError = _RayError
  RayTaskError = _RayTaskError


# Where memory is short, Ray ends a worker with an error that is of no actor.
@pytest.mark.parametrize(
    'error, reason',
    [
        (_OutOfMemoryError('Memory is short.'), 'Memory is short'),
        (_RayTaskError(_ObjectLostError('It is lost.')), 'It is lost'),
    ],
    ids=['of the worker', 'of its argument'],
)
def test_another_worker_follows_one_that_ray_ended(monkeypatch, error, reason):
  ray = mock.MagicMock()
  ray.exceptions = _Exceptions
  ray.wait.side_effect = lambda answers, timeout: (answers, [])
  ray.get.side_effect = [error, shard_worker.Reply(result='an answer')]
  monkeypatch.setitem(sys.modules, 'ray', ray)
  workers = ray_workers.RayWorkers(None, 1, 60.0)
  task = shard_worker.Task(0, 0, ('reset', ()))
  with pytest.raises(remote_collector.WorkerLost) as lost:
    workers.run(task)
  assert str(lost.value) == f'Worker 0 died ({reason}).'
  assert ray.kill.call_count == 1
  assert workers.run(task).result == 'an answer'
  assert workers.report()[0]['restarts'] == 1


# Ray puts a RayError in the place of exceptions that cannot be pickled.
@pytest.mark.parametrize('cause', [KeyError('a bug'), _RayError('A bug.')])
def test_a_bug_in_a_worker_keeps_its_traceback(monkeypatch, cause):
  ray = mock.MagicMock()
  ray.exceptions = _Exceptions
  ray.wait.side_effect = lambda answers, timeout: (answers, [])
  ray.get.side_effect = bug = _RayTaskError(cause)
  monkeypatch.setitem(sys.modules, 'ray', ray)
  workers = ray_workers.RayWorkers(None, 1, 60.0)
  with pytest.raises(_RayTaskError) as raised:
    workers.run(shard_worker.Task(0, 0, ('reset', ())))
  assert raised.value is bug and not ray.kill.called


def test_ray_is_shut_down_after_the_calls_and_not_asked_again(monkeypatch):
  ray = mock.MagicMock()
  ray.exceptions = _Exceptions
  is_asked, is_killed = threading.Event(), threading.Event()

  def wait(answers, timeout):
    is_asked.set()
    assert is_killed.wait(timeout)
    time.sleep(0.2)  # Ray tells of the end of an actor some time after it.
    return answers, []

  ray.wait.side_effect = wait
  ray.kill.side_effect = lambda actor: is_killed.set()
  ray.get.side_effect = _RayError('The actor was killed.')
  monkeypatch.setitem(sys.modules, 'ray', ray)
  workers = ray_workers.RayWorkers(None, 1, 60.0)
  task = shard_worker.Task(0, 0, ('reset', ()))
  with concurrent.futures.ThreadPoolExecutor(1) as thread:
    call = thread.submit(workers.run, task)
    assert is_asked.wait(60.0)
    workers.close()
    with pytest.raises(errors.RunError, match='closed'):
      call.result()
  names = [name for name, *_ in ray.mock_calls]
  assert names[-3:] == ['kill', 'get', 'shutdown']
  for ask in (lambda: workers.run(task), lambda: workers.share([])):
    with pytest.raises(errors.RunError, match='closed'):
      ask()
  assert len(ray.mock_calls) == len(names)


def _create(root_dir, num_workers, address=None):
  tiny_runs.parse(500, _SHARDS)
  config = experiment.Experiment(os.fspath(root_dir))
  seeds = runs.Seeds(0)
  recipes = experiment.recipes(config, seeds)
  ray_workers.create_collectors(config, seeds, recipes, num_workers, address)


def _free_port():
  with socket.socket() as found:
    found.bind(('127.0.0.1', 0))
    return found.getsockname()[1]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(num_workers=3), '--workers=3 .*num_shards = 2'),
        (dict(num_workers=1, address='nowhere'), 'HOST:PORT.* nowhere'),
        (
            dict(num_workers=1, address=f'127.0.0.1:{_free_port()}'),
            '--ray_address=127.0.0.1',
        ),
        (dict(num_workers=1, address='head..local:6379'), 'head..local'),
    ],
    ids=['too many', 'no port', 'nobody there', 'no name of a host'],
)
def test_bad_flags_end_in_a_sentence_before_a_process_starts(
    tmp_path, arguments, message
):
  with pytest.raises(errors.SetupError, match=message):
    _create(tmp_path, **arguments)


def test_a_cluster_without_tokens_is_not_joined(tmp_path, monkeypatch):
  for name in ('RAY_AUTH_TOKEN', 'RAY_AUTH_TOKEN_PATH'):
    monkeypatch.delenv(name, raising=False)
  with socket.create_server(('127.0.0.1', 0)) as server:
    address = f'127.0.0.1:{server.getsockname()[1]}'
    join = functools.partial(_create, tmp_path, 1, address)
    monkeypatch.setenv('RAY_AUTH_MODE', 'token')
    with pytest.raises(errors.SetupError, match='RAY_AUTH_TOKEN_PATH'):
      join()
    monkeypatch.setenv('RAY_AUTH_MODE', 'disabled')
    with pytest.raises(errors.SetupError, match='RAY_AUTH_MODE .*token'):
      join()
