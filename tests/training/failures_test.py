# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a run is under way is named, and what it has stays."""

import os
import re
import time
import types

import gin
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents import run_files
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.training import checkpoints
from rnd_agents.training import run_directory
from rnd_agents.training import runs
from tests import environments_for_tests
from tests import tiny_runs
from train import trials

# What is around updates is the same without them.
_COUNTING = (*tiny_runs.COUNTING_SETTINGS, 'train_eval.warm_up_env_steps = 64')
# The random ones, and five an iteration of each environment.
_STEPS_OF_TWO_ITERATIONS = 16 + 5 + 5


class _Failing(environments_for_tests.Steps):
  """Ten steps an episode; goes wrong after a number of steps."""

  good_steps = _STEPS_OF_TWO_ITERATIONS
  total_steps = 0

  def begin(self):
    if self.fault == 'reset hangs':
      time.sleep(120)

  def reward(self):
    self.total_steps += 1
    if self.total_steps > self.good_steps:
      if self.fault == 'raises':
        raise RuntimeError('the motor is off')
      if self.fault == 'hangs':
        time.sleep(120)
      if self.fault == 'nan reward':
        return np.nan
      if self.fault == 'reward shape':
        return np.array([1.0])
    return float(self.action > 2)


@gin.configurable(module='failures_test')
def failing_environment(fault):
  environment = _Failing(10)
  environment.fault = fault
  return environment


@gin.configurable(module='failures_test')
def unrepeatable_environment():
  """Whatever the seed, every episode is another one."""
  return environments_for_tests.Steps(
      10, observation=lambda env: np.random.default_rng().random(1, np.float32)
  )


_REPLAY = [
    line
    for line in tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS)
    if 'Recall' not in line
]


@pytest.mark.parametrize('settings', [_COUNTING, _REPLAY])
def test_episodes_that_do_not_repeat_begin_anew(tmp_path, caplog, settings):
  caplog.set_level('INFO', logger='absl')
  for train in (tiny_runs.prepare, tiny_runs.train):
    caplog.clear()
    result = _train(
        tmp_path,
        'none',
        'load_environment.env = @unrepeatable_environment',
        "load_environment.vectorization = 'async'",
        'train_eval.num_environments = 2',
        num_env_steps=64 * 3,
        train=train,
        settings=settings,
    )
  assert result.finished and result.env_steps >= 64 * 3
  assert 'new ones begin' in caplog.text
  assert 'another observation' in caplog.text


def _train(
    root_dir,
    fault,
    *bindings,
    num_env_steps=10**6,
    train=tiny_runs.train,
    settings=_COUNTING,
):
  return train(
      root_dir,
      num_env_steps,
      'load_environment.env = @failing_environment',
      f'failing_environment.fault = {fault!r}',
      'train_eval.eval_interval_env_steps = 10_000_000',
      *bindings,
      settings=settings,
  )


def _failure(root_dir, fault, word):
  """What a run says whose environment fails, here and in its status."""
  with pytest.raises(errors.RunError) as caught:
    _train(root_dir, fault)
  message = str(caught.value)
  assert message.startswith('failing_environment')
  status = run_files.read_status(root_dir)
  assert status['state'] == 'failed'
  assert word in message and word in status['message']
  assert not trials.has_diverged(root_dir)
  return message


def test_a_failing_environment_is_named_and_the_run_can_go_on(
    tmp_path, monkeypatch
):
  message = _failure(tmp_path, 'raises', 'the motor is off')
  assert "raise RuntimeError('the motor is" in message
  assert tiny_runs.iterations(tmp_path) == (2, 2)
  assert 'iteration_00000002' in message
  # Mended, it goes on from there.
  monkeypatch.setattr(_Failing, 'good_steps', 10**6)
  _train(tmp_path, 'raises', num_env_steps=64 * 3)
  assert tiny_runs.iterations(tmp_path)[0] > 4


@pytest.mark.parametrize(
    ('fault', 'word'),
    [('nan reward', 'nan'), ('reward shape', 'the reward must be one number')],
)
def test_a_reward_that_is_none_is_named(tmp_path, monkeypatch, fault, word):
  monkeypatch.setattr(_Failing, 'good_steps', 5)  # Amid the random steps.
  _failure(tmp_path, fault, word)


def test_what_failed_before_it_trained_begins_anew_with_other_settings(
    tmp_path, caplog
):
  with pytest.raises(errors.RunError, match='the motor is off'):
    _train(
        tmp_path / 'a',
        'raises',
        'train_eval.warm_up_env_steps = 640',
        settings=tiny_runs.PPO_SETTINGS,
    )
  assert tiny_runs.iterations(tmp_path / 'a') == (0, -1)
  changes = (
      'OnPolicyTraining.rollout_length = 8',
      'create_rnd_ppo_agent.learning_rate = 0.1',
  )
  for name in 'ab':
    _train(
        tmp_path / name,
        'none',
        *changes,
        num_env_steps=64 * 3,
        train=tiny_runs.prepare,
        settings=tiny_runs.PPO_SETTINGS,
    )
  assert 'Nothing was trained yet' in caplog.text
  # It is where a run is that did not fail.
  assert tiny_runs.iterations(tmp_path / 'a')[0] == 0
  tiny_runs.assert_same_variables(tmp_path / 'a', tmp_path / 'b')


class _Run(runs.BaseRun):
  """A stand-in for a run whose newest checkpoint is `snapshot`.

  What `forget_after` is called with goes to the list `forgotten`.
  """

  def __init__(self, root_dir, snapshot, forgotten=None):
    super().__init__(types.SimpleNamespace(root_dir=root_dir, seed=0))
    self.checkpoints = types.SimpleNamespace(
        find=lambda: snapshot,
        forget_after=None if forgotten is None else forgotten.append,
    )

  def get_state(self):
    raise NotImplementedError

  set_state = get_state


_STATE = dict(
    version=runs.STATE_VERSION,
    record='{"settings": {"--seed": "0"}, "starts": []}',
)


def test_the_checkpoint_of_other_settings_goes_before_they_are_recorded(
    tmp_path, monkeypatch
):
  """A kill in between leaves no state of one beside the settings of another."""
  forgotten = []

  def record_run(*args, **kwargs):
    raise tiny_runs.Killed

  monkeypatch.setattr(run_directory, 'record_run', record_run)
  run = _Run(tmp_path, checkpoints.Snapshot(0, '', _STATE), forgotten)
  with pytest.raises(tiny_runs.Killed):
    run.resume_or_record({'--seed': '1'})
  assert forgotten == [-1]


@pytest.mark.parametrize('state', [None, 7, [1, 2], {'rows': 7}])
def test_untrained_learners_may_have_any_state(tmp_path, state):
  forgotten = []
  snapshot = checkpoints.Snapshot(0, '', dict(_STATE, loop=state))
  _Run(tmp_path, snapshot, forgotten).resume_or_record({'--seed': '1'})
  assert forgotten == [-1]


@pytest.mark.parametrize(
    ('iteration', 'state'), [(1, {}), (0, {'pretraining_steps': 1})]
)
def test_what_was_trained_does_not_begin_anew(tmp_path, iteration, state):
  snapshot = checkpoints.Snapshot(iteration, '', dict(_STATE, loop=state))
  run = _Run(tmp_path, snapshot)
  with pytest.raises(errors.SetupError, match='--seed was 0 and is now 1'):
    run.resume_or_record({'--seed': '1'})


def test_a_checkpoint_of_another_version_is_named(tmp_path):
  snapshot = checkpoints.Snapshot(3, 'a/checkpoint', {'row': 1})
  run = _Run(tmp_path, snapshot)
  with pytest.raises(errors.SetupError, match='a/checkpoint .*version'):
    run.resume_or_record({})


def test_a_number_that_is_not_finite_is_named_with_its_iteration(tmp_path):
  with pytest.raises(errors.RunError) as caught:
    _train(
        tmp_path,
        'none',
        'create_rnd_ppo_agent.learning_rate = 1e30',
        settings=tiny_runs.PPO_SETTINGS,
    )
  message = str(caught.value)
  saved, _ = tiny_runs.iterations(tmp_path)
  assert message.startswith(f'In iteration {saved + 1}, at ')
  assert ' became nan' in message or ' is not finite' in message
  assert trials.has_diverged(tmp_path)
  assert f'of iteration {saved}.' in message
  # Every variable that was saved is a number.
  _, variables = tiny_runs.checkpoint(tmp_path)
  for name, value in variables.items():
    if value.dtype.kind == 'f':
      assert np.isfinite(value).all(), name


def test_a_policy_that_gives_nan_is_named_and_not_its_action(
    tmp_path, monkeypatch
):
  # Its variables are checked after every update; this is what overflows.
  finite = rnd_ppo_policy.finite
  monkeypatch.setattr(
      rnd_ppo_policy,
      'finite',
      types.SimpleNamespace(
          without_nan=lambda name, x: finite.without_nan(name, x * np.nan)
      ),
  )
  with pytest.raises(errors.RunError) as caught:
    _train(tmp_path, 'none', settings=tiny_runs.PPO_SETTINGS)
  message = str(caught.value)
  assert message.startswith('In iteration 1, at ')
  assert "policy's distribution is NaN" in message
  assert 'Lower create_rnd_ppo_agent.learning_rate' in message


def _train_with_little_patience(root_dir, fault):
  _train(root_dir, fault, 'train_eval.environment_timeout_s = 3.0')


@pytest.mark.parametrize(
    ('fault', 'saved'), [('hangs', 2), ('reset hangs', -1)]
)
def test_an_environment_that_hangs_ends_the_process(tmp_path, fault, saved):
  process = tiny_runs.context().Process(
      target=_train_with_little_patience, args=(os.fspath(tmp_path), fault)
  )
  start = time.monotonic()
  process.start()
  process.join(100)
  assert process.exitcode == 1
  assert time.monotonic() - start < 100
  status = run_files.read_status(tmp_path)
  assert status['state'] == 'failed'
  assert re.match('failing_environment .* 3 s', status['message'])
  assert tiny_runs.iterations(tmp_path)[0] == saved
