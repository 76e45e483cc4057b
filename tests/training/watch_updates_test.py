# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run says when its updates become a hundredth of the usual ones."""

import types

import gin
import numpy as np
import pytest

from rnd_agents import run_files
from rnd_agents.training import callbacks
from rnd_agents.training import frozen_updates
from rnd_agents.training import gin_files
from rnd_agents.training import loops
from tests.training import tiny_runs


@pytest.fixture
def messages(monkeypatch):
  kept = []
  for name in ('info', 'warning'):
    monkeypatch.setattr(
        frozen_updates.logging,
        name,
        lambda text, *args: kept.append(text % args),
    )
  return kept


def _new_run():
  return types.SimpleNamespace(
      counters=types.SimpleNamespace(env_steps=0), frozen_since_env_steps=None
  )


def _watch(callback, run, sizes, entropy=1.0):
  """Returns after which of the updates the run was frozen, and since when."""
  since = []
  for size in sizes:
    run.counters.env_steps += 100
    metrics = {} if size is None else dict(update_size=size, entropy=entropy)
    callback.after_iteration(run, loops.Iteration(metrics, {}, [], 100, {}))
    since.append(run.frozen_since_env_steps)
  return since


def test_frozen_until_updates_recover(messages):
  run, callback = _new_run(), callbacks.WatchUpdates()
  # Between updates of 90 and 110, one of 5 is small but not frozen.
  usual = [90.0, 100.0, 110.0] * 10 + [5.0]
  assert _watch(callback, run, usual) == [None] * 31
  assert not messages
  # However long it lasts, it does not become the usual.
  assert _watch(callback, run, [0.9] * 200) == [3_200] * 200
  (message,) = messages
  assert 'frozen since step 3200' in message and 'median 100' in message
  assert _watch(callback, run, [1.1, 0.9]) == [None, 23_300]
  assert len(messages) == 3


def test_goes_on_from_a_checkpoint(messages):
  run, callback = _new_run(), callbacks.WatchUpdates()
  _watch(callback, run, [100.0] * 30 + [0.5])
  resumed, other = _new_run(), callbacks.WatchUpdates()
  other.set_state(callback.get_state())
  resumed.counters.env_steps = run.counters.env_steps
  other.begin(resumed)
  assert resumed.frozen_since_env_steps == 3_100
  assert _watch(other, resumed, [0.5]) == [3_100]
  assert len(messages) == 1


def test_neither_a_start_nor_a_slow_fall_is_a_freeze(messages):
  assert not any(
      _watch(callbacks.WatchUpdates(), _new_run(), [1e4] * 9 + [1.0] * 80)
  )
  # To a 2,000th, over 5,000 updates; an agent without the metric.
  slow = [1e3 * 0.9985**i for i in range(5_000)]
  assert not any(_watch(callbacks.WatchUpdates(), _new_run(), slow))
  assert not any(_watch(callbacks.WatchUpdates(), _new_run(), [None] * 50))
  assert not messages


def test_a_policy_that_became_deterministic_is_not_frozen(messages):
  run, callback = _new_run(), callbacks.WatchUpdates()
  _watch(callback, run, [100.0] * 30)
  assert _watch(callback, run, [0.5] * 3, entropy=0.09) == [None] * 3
  assert not messages
  assert _watch(callback, run, [0.5], entropy=0.11) == [3_400]
  # Of continuous actions, an entropy below 0 is no sign of it.
  run, callback = _new_run(), callbacks.WatchUpdates()
  _watch(callback, run, [100.0] * 30, entropy=-1.0)
  assert _watch(callback, run, [0.5], entropy=-2.0) == [3_100]


def test_levels_are_watched_each_by_itself(messages):
  run, callback = _new_run(), callbacks.WatchUpdates()

  def watch(upper, lower):
    run.counters.env_steps += 100
    metrics = dict(
        goals_reached_rate=0.5,
        upper_update_size=upper,
        upper_entropy=1.0,
        lower_update_size=lower,
        lower_entropy=2.0,
    )
    callback.after_iteration(run, loops.Iteration(metrics, {}, [], 100, {}))
    return run.frozen_since_env_steps

  for _ in range(30):
    assert watch(1.0, 1e3) is None
  assert watch(1.0, 5.0) == 3_100  # Below a hundredth of its own median only.
  assert watch(0.005, 5.0) == 3_100  # Both; the earlier one counts.
  assert watch(0.005, 1e3) == 3_200
  warnings = [text for text in messages if 'frozen since' in text]
  assert 'lower_update_size is 5' in warnings[0]
  assert 'upper_update_size is 0.005' in warnings[1]

  resumed = callbacks.WatchUpdates()
  resumed.set_state(callback.get_state())
  resumed.begin(run)
  assert run.frozen_since_env_steps == 3_200


class _OneLargeReward:
  """Rewards as they come, but for one of a million."""

  def __init__(self, step):
    self._steps_left = step

  def __call__(self, rewards):
    self._steps_left -= 1
    return rewards + (1e6 if self._steps_left == 0 else 0.0)


def test_one_large_reward_freezes_a_run(tmp_path, monkeypatch):
  monkeypatch.setattr(gin_files, 'parse', _parse_with(_OneLargeReward(16 * 25)))
  tiny_runs.train(
      tmp_path,
      40 * 64,
      'RNDPPOAgent.normalize_rewards = False',
      'create_rnd_ppo_agent.learning_rate = 1e-4',
      'train/load_environment.reward_fn = %REWARD_FN',
  )
  rows = tiny_runs.rows(tmp_path, 'train')
  sizes = [float(row['update_size']) for row in rows]
  since = run_files.read_status(tmp_path)['frozen_since_env_steps']
  (spike,) = [
      i for i, row in enumerate(rows) if float(row['gradient_norm']) > 1e4
  ]
  # Momentum moves the policy for some updates more.
  frozen = [
      i
      for i, size in enumerate(sizes)
      if i > spike and size < 0.01 * np.median(sizes[:i])
  ]
  assert since == int(rows[frozen[0]]['env_steps'])


def _parse_with(reward_fn):
  parse = gin_files.parse

  def parse_with(*arguments):
    gin.constant('REWARD_FN', reward_fn)
    return parse(*arguments)

  return parse_with
