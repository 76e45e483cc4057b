# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run with a callback of the user's, stopped by it and by a late signal."""

import os
import signal

import pytest

from rnd_agents import errors
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from tests.training import tiny_runs


class _Count(callbacks.Callback):
  """Counts iterations over all starts; stops the run after some of them."""

  def __init__(self, last=None):
    self.count = 0
    self._last = last

  def after_iteration(self, run, iteration):
    self.count += 1
    if self.count == self._last:
      run.stop('the test')

  def get_state(self):
    return self.count

  def set_state(self, state):
    self.count = state


def _train(root_dir, callback):
  tiny_runs.parse(
      64 * 5,
      'train_eval.checkpoint_interval_iterations = 100',
      settings=tiny_runs.PPO_SETTINGS,
  )
  return experiment.train_eval(
      os.fspath(root_dir), seed=5, callbacks=[callback]
  )


@pytest.fixture(name='whole', scope='module')
def _whole(tmp_path_factory):
  """Folder of a run that was left alone."""
  folder = tmp_path_factory.mktemp('whole')
  _train(folder, _Count())
  return folder


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
