# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An evaluator that plays while the learner learns changes no number."""

import os
import threading
from unittest import mock

import pytest

from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.workers import remote_evaluator
from tests.training import tiny_runs
from tests.workers import workers_here


class _SlowWorkers(workers_here.Workers):
  """Holds each answer back until the learner has gone on."""

  def __init__(self, recipe, losses):
    super().__init__([recipe], losses, remote_evaluator.WorkerEvaluator)
    self.may_answer = threading.Event()
    self.is_slow = True

  def run(self, task):
    reply = super().run(task)
    if self.is_slow and not reply.is_missing:
      assert self.may_answer.wait(60)
      self.may_answer.clear()
    return reply


class _Watcher(callbacks.Callback):
  """Counts the rows of evaluations, and lets the evaluator answer.

  Evaluations are due after iterations 1, 3, 6, 8, 10 and 11, which is the last.
  The evaluator answers after even ones.
  """

  def __init__(self, workers=(), stops_at=None):
    self._workers, self._stops_at = workers, stops_at
    self.num_rows = {}

  def begin(self, run):
    if run.counters.iteration:  # An evaluation begins again.
      for each in self._workers:
        each.may_answer.set()

  def after_iteration(self, run, iteration):
    number = run.counters.iteration
    if number == self._stops_at:
      run.stop('the test')
    with open(run.path('metrics.csv'), encoding='utf-8') as file:
      self.num_rows[number] = file.read().count('\neval,')
    for each in self._workers:
      each.is_slow = number < 8
      if number % 2 == 0:
        each.may_answer.set()


def _train(root_dir, watcher, make_evaluator=None, *bindings):
  tiny_runs.parse(
      700,
      'train_eval.eval_interval_env_steps = 128',
      # Actions that are drawn: the same ones in each evaluation.
      'RNDPPOAgent.greedy_eval = False',
      *bindings,
      settings=tiny_runs.PPO_SETTINGS,
  )
  return experiment.train_eval(
      os.fspath(root_dir),
      None,
      make_evaluator,
      seed=5,
      callbacks=[watcher],
  )


def _evaluator_with(workers, losses):
  def make_evaluator(config, seeds, recipe, environment, policy):
    del config, seeds
    workers.append(_SlowWorkers(recipe, losses))
    return remote_evaluator.RemoteEvaluator(environment, policy, workers[0])

  return make_evaluator


def test_late_rows_come_in_their_place(tmp_path):
  here = _Watcher()
  _train(tmp_path / 'here', here)
  workers = []
  there = _Watcher(workers, stops_at=4)
  make = _evaluator_with(workers, {(0, 0): 'after the call'})
  assert not _train(tmp_path / 'there', there, make).finished
  assert [here.num_rows[i] for i in (1, 2, 3, 4)] == [1, 1, 2, 2]
  # The second has not come; the checkpoint has the variables of its moment.
  assert [there.num_rows[i] for i in (1, 2, 3, 4)] == [0, 0, 1, 1]
  workers = []
  there = _Watcher(workers)
  make = _evaluator_with(workers, {(0, 1): 'but lives'})
  assert _train(tmp_path / 'there', there, make).finished
  assert (there.num_rows[6], here.num_rows[6]) == (2, 3)
  contents = [
      (tmp_path / name / 'metrics.csv').read_bytes()
      for name in ('here', 'there')
  ]
  assert contents[1] == contents[0]
  assert contents[0].count(b'\neval,') == 6


def test_a_run_that_an_evaluation_may_end_waits_for_it(tmp_path):
  workers = []
  watcher = _Watcher(workers)
  make = _evaluator_with(workers, {})
  at_once = workers_here.Workers.run
  with mock.patch.object(_SlowWorkers, 'run', at_once):
    _train(
        tmp_path,
        watcher,
        make,
        'train_eval.stop_at_success_rate = 1.0',
        'train_eval.num_env_steps = 128',
    )
  assert watcher.num_rows[1] == 1


def test_an_environment_that_fails_ends_the_run(tmp_path):
  workers = []
  make = _evaluator_with(workers, {})
  failure = failures.EnvironmentFailure('The door is stuck.')
  with mock.patch.object(
      remote_evaluator.WorkerEvaluator, 'run', side_effect=failure
  ), pytest.raises(errors.RunError, match='The door is stuck'):
    _train(tmp_path, _Watcher(workers), make)
