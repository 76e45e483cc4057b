# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An evaluation that was under way when a run was killed."""

from concurrent import futures
import threading
import types

import pytest

from rnd_agents.evaluation import evaluator
from rnd_agents.training import callbacks

_COUNTS = dict(iteration=3, env_steps=30, train_steps=12, total_episodes=1)


def _resumed(num_env_steps, stop_at_success_rate=None):
  """A run at 50 steps, its rows, and its callback; the worker is slow."""
  future = futures.Future()
  rows = []

  def start(variables):
    assert variables == ['those of step 30']
    return evaluator.Evaluation(future, variables)

  run = types.SimpleNamespace(
      config=types.SimpleNamespace(
          num_env_steps=num_env_steps,
          eval_interval_env_steps=30,
          stop_at_success_rate=stop_at_success_rate,
      ),
      counters=types.SimpleNamespace(
          env_steps=50, wall_time_s=1.0, add=lambda wall_time_s: None
      ),
      evaluator=types.SimpleNamespace(start=start),
      log=types.SimpleNamespace(
          last=lambda phase, name: None,
          write=lambda *row: rows.append(row[:3]),
      ),
      stopped_by=None,
      summarize=lambda phase, episodes: dict(episodes=episodes),
  )
  pictures = types.SimpleNamespace(
      set_state=lambda state: None, after_evaluation=lambda *args: None
  )
  callback = callbacks.Evaluate(pictures)
  callback.set_state(
      dict(
          due_env_steps=30,
          is_owed=False,
          pending=(_COUNTS, ['those of step 30']),
          pictures=None,
      )
  )
  return run, rows, callback, future


def test_the_run_goes_on_meanwhile():
  run, rows, callback, future = _resumed(num_env_steps=90)
  callback.begin(run)
  assert not rows
  future.set_result(7)
  callback.after_iteration(run, None)
  assert rows == [('eval', _COUNTS, dict(episodes=7))]


@pytest.mark.parametrize(
    'settings',
    [
        dict(num_env_steps=50),  # No iteration comes.
        dict(num_env_steps=90, stop_at_success_rate=0.9),
    ],
)
def test_a_run_that_ends_or_that_it_may_end_waits(settings):
  run, rows, callback, future = _resumed(**settings)
  threading.Timer(0.2, future.set_result, [7]).start()
  callback.begin(run)
  assert rows == [('eval', _COUNTS, dict(episodes=7))]
