# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two processes that learn together, against one that learns alone."""

from concurrent import futures
import contextlib
import json
import os
import signal
import socket
import threading
from unittest import mock

import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.agents import replicas
from rnd_agents.collecting import local
from rnd_agents.training import experiment
from rnd_agents.training import learners
from tests.agents import agent_test_utils
from tests.training import tiny_runs

_TIMEOUT_S = 300  # Of what takes ten seconds on an idle machine.
_COLLECT = local.LocalCollector.collect


def _child(connection, cluster, index, function, arguments):
  """Sends what a function returns, or the text of a `UserError`."""
  os.environ['TF_CONFIG'] = json.dumps(
      dict(cluster=cluster, task=dict(type='worker', index=index))
  )
  try:
    connection.send(function(*arguments))
  except errors.UserError as error:
    connection.send(f'{type(error).__name__}: {error}')


def _in_two_processes(function, *arguments):
  """What it returns in each; None where it was killed."""
  sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(2)]
  ports = [each.getsockname()[1] for each in sockets]
  for each in sockets:
    each.close()
  cluster = dict(worker=[f'127.0.0.1:{port}' for port in ports])
  context = tiny_runs.context()
  with contextlib.ExitStack() as stack:
    ours = []
    for index in range(2):
      here, there = context.Pipe()
      process = context.Process(
          target=_child, args=(there, cluster, index, function, arguments)
      )
      process.start()
      there.close()  # Or nobody would notice that the process has ended.
      stack.callback(process.kill)
      ours.append(here)
    results = []
    for here in ours:
      assert here.poll(_TIMEOUT_S), 'A process hangs.'
      try:
        results.append(here.recv())
      except EOFError:
        results.append(None)
  return results


# Of 11 or 12 chunks of one to three steps each minibatch has one or two: in
# most of them the second process has no sample.
_UPDATE = (
    5,
    dict(
        agent_test_utils.EVERYTHING,
        unroll_length=3,
        burn_in_length=1,
        num_minibatches=8,
    ),
)


def _update():
  with replicas.of_processes(2).scope():
    return agent_test_utils.update(*_UPDATE)


def test_an_update_of_two_processes_is_that_of_one():
  expected, expected_metrics = agent_test_utils.update(*_UPDATE)
  results = _in_two_processes(_update)
  assert len(results) == 2
  for variables, metrics in results:
    for (value,), (other,) in zip(variables, expected, strict=True):
      np.testing.assert_allclose(value, other, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(metrics, expected_metrics, rtol=1e-5, atol=1e-6)


def _train(root_dir, num_learners, kills=False):
  """Three iterations; learner 1 may be killed when it is to collect a third."""
  tiny_runs.parse(
      64 * 4,
      'train_eval.num_shards = 2',
      f'OnPolicyTraining.num_learners = {num_learners}',
      settings=tiny_runs.PPO_SETTINGS,
  )
  calls = []

  def collect(*arguments):
    calls.append(arguments)
    if kills and len(calls) == 3:
      os.kill(os.getpid(), signal.SIGKILL)
    return _COLLECT(*arguments)

  is_follower = '"index": 1' in os.environ.get('TF_CONFIG', '')
  with mock.patch.object(
      local.LocalCollector, 'collect', collect if is_follower else _COLLECT
  ):
    learners.train_eval(root_dir, num_learners=num_learners, seed=5)
  return len(calls)


def test_a_learner_is_lost_and_the_run_goes_on(tmp_path):
  folder = os.fspath(tmp_path / 'two')
  told, killed = _in_two_processes(_train, folder, 2, True)
  assert killed is None
  assert told.startswith('LearnerLost: Learner 1 has ended or does not answer.')
  assert told.endswith(run_files.read_status(folder)['message'])
  assert tiny_runs.iterations(folder) == (2, 2)
  # The second process steps its shard once more, the one left.
  assert _in_two_processes(_train, folder, 2) == [0, 1]
  alone = os.fspath(tmp_path / 'one')
  _train(alone, 1)
  for phase, num_rows in (('train', 3), ('eval', 1)):
    rows = tiny_runs.rows(folder, phase)
    assert len(rows) == num_rows
    tiny_runs.assert_close(rows, tiny_runs.rows(alone, phase))


class _Threads:
  """A `Group` of threads of this process."""

  def __init__(self, index, values, barrier):
    self.index, self.size = index, len(values)
    self._values, self._barrier = values, barrier

  def exchange(self, value):
    self._values[self.index] = value
    self._barrier.wait(_TIMEOUT_S)
    found = list(self._values)
    self._barrier.wait(_TIMEOUT_S)
    return found


def _in_two_threads(function):
  """What a function of a `Group` returns or raises in each of two threads."""
  values, barrier = [None] * 2, threading.Barrier(2)

  def call(index):
    try:
      return function(_Threads(index, values, barrier))
    except errors.UserError as error:
      return error

  with futures.ThreadPoolExecutor(2) as threads:
    return list(threads.map(call, range(2)))


class _Stub:
  """A shard that tells its number and what it was asked for."""

  num_environments = 3

  def __init__(self, recipe):
    self._index = recipe

  def collect(self, variables, num_steps):
    if variables == 'bad' and self._index == 3:
      raise errors.RunError('Shard 3 has no environment left.')
    return self._index, variables, num_steps


@pytest.fixture(name='two_learners')
def _two_learners(monkeypatch):
  """A function: calls `collect` of four shards with variables of each."""
  monkeypatch.setattr(local, 'LocalCollector', _Stub)

  def collect(variables):
    def of_one(group):
      shards = learners.LearnerShards(group, range(4))
      assert shards.num_environments == 12
      if group.index:
        return shards._carry_out(*group.exchange(None)[0])
      return shards._map('collect', variables, [5] * 4)

    return _in_two_threads(of_one)

  return collect


def test_each_learner_has_every_other_shard_and_all_results(two_learners):
  results = [(0, 'a', 5), (1, 'b', 5), (2, 'c', 5), (3, 'd', 5)]
  assert two_learners(list('abcd')) == [results, results]


def test_what_a_shard_of_another_learner_ends_in_is_raised_by_all(two_learners):
  assert [str(error) for error in two_learners(['bad'] * 4)] == [
      'Shard 3 has no environment left.'
  ] * 2


def test_learners_with_other_settings_are_refused(tmp_path):
  def check(group):
    config = experiment.Experiment(os.fspath(tmp_path), seed=group.index)
    return learners._check_alike(group, config)

  tiny_runs.parse(256)
  assert [str(error).partition(':')[0] for error in _in_two_threads(check)] == [
      'Learner 1 and learner 0 differ in seed'
  ] * 2


def test_a_learner_that_has_drifted_is_refused(two_learners):
  del two_learners  # For its stubs.
  agent = agent_test_utils.build_agent()
  values = local.as_numpy(list(agent.collect_policy.variables()))
  shards = learners.LearnerShards(_Threads(1, [None] * 2, None), range(2))
  shards._check_equal(agent, values)
  values[2] = np.nextafter(values[2], np.float32(9))
  with pytest.raises(errors.RunError, match='policy of learner 1 is no longer'):
    shards._check_equal(agent, values)


@pytest.mark.parametrize(
    ('bindings', 'arguments', 'message'),
    [
        (
            ('OnPolicyTraining.num_learners = 2',),
            {},
            '--learners=1 needs OnPolicyTraining.num_learners = 1, which it'
            ' sets by itself, got OnPolicyTraining with 2',
        ),
        (
            ('train_eval.training = @ReplayTraining()',),
            dict(num_learners=2),
            '--learners=2 needs .* got ReplayTraining with 1',
        ),
        (
            ('OnPolicyTraining.num_learners = 2',),
            dict(num_learners=2),
            'a multiple of the number of learners, got 1 and 2',
        ),
        (
            (
                'OnPolicyTraining.num_learners = 2',
                'train_eval.num_shards = 2',
                'train_eval.max_lag_rounds = 1',
            ),
            dict(num_learners=2),
            'max_lag_rounds = 1 does not go with --learners',
        ),
        (
            ('OnPolicyTraining.num_learners = 2', 'train_eval.num_shards = 2'),
            dict(num_learners=2, make_shards=lambda *_: None),
            '--workers does not go with --learners',
        ),
        (
            ('OnPolicyTraining.num_learners = 2', 'train_eval.num_shards = 2'),
            dict(num_learners=2),
            '2 learners need a TF_CONFIG such as {"cluster": {"worker": .* got'
            ' \'{"cluster": 5}\'',
        ),
    ],
    ids=['no flag', 'r2d3', 'shards', 'lag', 'workers', 'TF_CONFIG'],
)
def test_what_learners_cannot_do_is_refused(
    tmp_path, monkeypatch, bindings, arguments, message
):
  monkeypatch.setenv('TF_CONFIG', '{"cluster": 5}')
  tiny_runs.parse(256, *bindings)
  with pytest.raises(errors.SetupError, match=message):
    learners.train_eval(os.fspath(tmp_path / 'run'), **arguments)
  assert not (tmp_path / 'run').exists()
