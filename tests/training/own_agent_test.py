# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Agents, ways of training and callbacks of one's own."""

import os
import signal
import time
from typing import Any, NamedTuple

import gin
import pytest

from rnd_agents import agents
from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import training
from tests import tiny_runs


class _Extra(NamedTuple):
  priorities: Any


@gin.configurable(
    module='own_agent_test', denylist=['burn_in_length', 'collect_epsilon']
)
def create_terse_agent(
    time_step_spec, action_spec, burn_in_length, collect_epsilon
):
  agent = agents.create_r2d3_agent(
      time_step_spec,
      action_spec,
      burn_in_length=burn_in_length,
      collect_epsilon=collect_epsilon,
  )
  train = agent.train

  def train_and_tell_less(*args, **kwargs):
    info = train(*args, **kwargs)
    return info._replace(extra=_Extra(info.extra.priorities))

  agent.train = train_and_tell_less
  return agent


def test_its_loss_is_its_only_metric(tmp_path):
  tiny_runs.train(
      tmp_path,
      120,
      'ReplayTraining.create_agent = @create_terse_agent',
      settings=tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS),
  )
  rows = tiny_runs.rows(tmp_path, 'train')
  assert all(float(row['loss']) > 0 for row in rows)
  assert all(float(row['data_age_train_steps']) >= 0 for row in rows)
  assert not {'td_loss', 'demonstration_rate'} & rows[0].keys()


def test_a_way_of_training_needs_few_methods(tmp_path):
  for num_env_steps in (100, 200):
    tiny_runs.train(
        tmp_path, num_env_steps, settings=tiny_runs.COUNTING_SETTINGS
    )
  counts = [int(row['num_rows']) for row in tiny_runs.rows(tmp_path, 'train')]
  # Four environments; the first rollout has a row more.
  assert counts == [4 * (5 * i + 1) for i in range(1, len(counts) + 1)]
  assert len(counts) >= 10


def test_what_lacks_a_method_is_no_way_of_training(tmp_path):

  class Incomplete(training.Training):
    rollout_length = 5

  with pytest.raises(TypeError, match='build_agent'):
    Incomplete()
  tiny_runs.parse(100)
  with pytest.raises(errors.InvalidType, match='train_eval.training'):
    experiment.train_eval(os.fspath(tmp_path), training=Incomplete)


# Callbacks.
_PAUSE_S = 0.2


class _Count(callbacks.Callback):
  """Counts iterations over all starts; stops the run after some of them."""

  def __init__(self, last=None, pause_s=0.0):
    self.count = 0
    self._last = last
    self._pause_s = pause_s

  def after_iteration(self, run, iteration):
    self.count += 1
    time.sleep(self._pause_s)
    if self.count == self._last:
      run.stop('the test')

  def get_state(self):
    return self.count

  def set_state(self, state):
    self.count = state


def _train(root_dir, callback):
  return tiny_runs.train(
      root_dir,
      100,
      'train_eval.checkpoint_interval_iterations = 100',
      settings=tiny_runs.COUNTING_SETTINGS,
      callbacks=[callback],
  )


@pytest.fixture(name='whole', scope='module')
def _whole(tmp_path_factory):
  """Folder of a run that was left alone."""
  folder = tmp_path_factory.mktemp('whole')
  start_s = time.monotonic()
  _train(folder, _Count(pause_s=_PAUSE_S))
  (folder / 'elapsed_s').write_text(str(time.monotonic() - start_s))
  return folder


def test_the_wall_clock_has_the_callbacks_in_it(whole):
  rows = [
      row.values
      for row in run_files.read_rows(whole, 'timings.csv')
      if row.phase == 'train'
  ]
  phases = ('collect_time_s', 'train_time_s')
  loop_s = sum(row[name] for row in rows for name in phases)
  pauses_s = _PAUSE_S * (len(rows) - 1)
  wall_time_s = run_files.wall_time_s(whole)
  assert wall_time_s > (loop_s + pauses_s) * (1 - 1e-4)
  assert wall_time_s < float((whole / 'elapsed_s').read_text())


def test_a_run_that_a_callback_stops_goes_on_from_there(tmp_path, whole):
  assert not _train(tmp_path, _Count(last=2)).finished
  assert tiny_runs.iterations(tmp_path) == (2, 2)
  resumed = _Count()
  assert _train(tmp_path, resumed).finished
  # It has missed no iteration.
  assert resumed.count == tiny_runs.iterations(tmp_path)[1] > 3
  tiny_runs.assert_same_run(tmp_path, whole)


def test_a_signal_after_the_last_callback_saves(tmp_path, whole, monkeypatch):
  report = callbacks.Status.after_iteration

  def reporting(callback, run, iteration):
    report(callback, run, iteration)
    if run.counters.iteration == 2:
      os.kill(os.getpid(), signal.SIGTERM)

  with monkeypatch.context() as context:
    context.setattr(callbacks.Status, 'after_iteration', reporting)
    assert not _train(tmp_path, _Count()).finished
  assert tiny_runs.iterations(tmp_path) == (2, 2)
  assert _train(tmp_path, _Count()).finished
  tiny_runs.assert_same_run(tmp_path, whole)


def test_what_is_no_callback_is_refused(tmp_path):
  with pytest.raises(errors.InvalidType, match='train_eval.callbacks'):
    _train(tmp_path, print)
