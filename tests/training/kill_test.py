# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed again and again is the run that was left alone."""

import os
import random
import signal
import sys
import time

from absl import logging
import pytest
import tensorflow as tf

from rnd_agents import run_files
from rnd_agents.training import loops
from rnd_agents.training import runs
from tests import tiny_runs

_STEPS_OF_ITERATION = 16
# Number of kills (`benchmarks.worker_kills` makes as many as asked), whether
# functions run eagerly, which for a few small iterations takes less than to
# trace them, and the settings: RND inside a curiosity with a memory of the
# episode; two such memories and a replay.
_RUNS = {
    'RND-PPO': (
        3,
        True,
        (
            *tiny_runs.SETTINGS,
            'create_rnd_ppo_agent.curiosity_fn = @create_novel_d',
            'train_eval.num_environments = 2',
            'train_eval.eval_interval_env_steps = 64',
            'OnPolicyTraining.rollout_length = 8',
            'RNDPPOAgent.num_epochs = 1',
            'RNDPPOAgent.num_minibatches = 1',
        ),
    ),
    'R2D3': (
        2,
        False,
        (
            *tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS),
            'train_eval.num_environments = 2',
            'train_eval.eval_interval_env_steps = 64',
            'create_r2d3_agent.curiosity_fn = @create_product',
            'create_product.curiosity_fns = (@create_novel_d, @create_e3b)',
            'InverseModel.num_features = 6',
            'InverseModel.fc_layer_params = (8,)',
            'InverseModel.action_fc_layer_params = (8,)',
        ),
    ),
}


def _train(root_dir, num_env_steps, is_eager, settings):
  """What the process to be killed does."""
  tf.config.run_functions_eagerly(is_eager)
  tiny_runs.train(root_dir, num_env_steps, settings=settings)


def _wait_for_progress(process, root_dir):
  """Waits until the process has saved something new."""
  before = tiny_runs.iterations(root_dir)[0]
  deadline = time.monotonic() + 120
  while tiny_runs.iterations(root_dir)[0] <= before:
    assert process.is_alive() and time.monotonic() < deadline
    time.sleep(0.01)


@pytest.mark.parametrize('kind', _RUNS)
def test_kills_change_nothing(tmp_path, kind):
  num_kills, *settings = _RUNS[kind]
  processes = tiny_runs.context()
  broken, whole = os.fspath(tmp_path / 'broken'), os.fspath(tmp_path / 'whole')
  moments = random.Random(0)  # When, not what: any seed must do.
  for kill in range(num_kills):
    # Daemonic, so that none goes on on where an assertion fails.
    process = processes.Process(
        target=_train, args=(broken, 10**9, *settings), daemon=True
    )
    process.start()
    if kill % 3 == 2:  # Anywhere, the start-up included.
      time.sleep(moments.uniform(0.0, 4.0))
    else:  # Inside an iteration, an evaluation or a checkpoint.
      _wait_for_progress(process, broken)
      time.sleep(moments.uniform(0.0, 0.3))
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    saved, seen = tiny_runs.iterations(broken)
    assert seen - saved <= 1, f'kill {kill} lost iterations {saved} to {seen}'
  saved, _ = tiny_runs.iterations(broken)
  assert saved >= num_kills // 2
  # The last start runs to an end that lies ahead; so does the unbroken run.
  num_env_steps = _STEPS_OF_ITERATION * (saved + 8)
  for root_dir in (broken, whole):
    process = processes.Process(
        target=_train, args=(root_dir, num_env_steps, *settings)
    )
    process.start()
    process.join()
    assert process.exitcode == 0
  assert tiny_runs.iterations(broken)[0] > saved
  tiny_runs.assert_same_run(broken, whole)


# Eight iterations. The first evaluation is due before the random steps end, so
# that it comes after the first iteration.
_SHORT = dict(
    num_env_steps=150,
    settings=(
        *tiny_runs.COUNTING_SETTINGS,
        'train_eval.warm_up_env_steps = 70',
        'train_eval.eval_interval_env_steps = 64',
        'train_eval.num_environments = 2',
    ),
)


@pytest.fixture(name='whole', scope='module')
def _whole(tmp_path_factory):
  """Folder of a run that was left alone."""
  folder = tmp_path_factory.mktemp('whole')
  tiny_runs.train(folder, **_SHORT)
  return folder


def test_a_kill_after_the_random_steps_loses_no_evaluation(tmp_path, whole):
  tiny_runs.prepare(tmp_path, **_SHORT)
  tiny_runs.train(tmp_path, **_SHORT)
  assert int(tiny_runs.rows(whole, 'eval')[0]['iteration']) == 1
  tiny_runs.assert_same_run(tmp_path, whole)


def _train_until_an_endless_update(root_dir, log):
  """What the process that gets a SIGTERM does."""
  iterations = loops.Loop.iterations

  @tf.function
  def endless():
    return tf.while_loop(lambda i: i >= 0, lambda i: i + 0 * i, [0])

  def until_an_endless_update(loop):
    for number, iteration in enumerate(iterations(loop)):
      if number == 2:
        print('No end.', file=sys.stderr, flush=True)
        endless()
      yield iteration

  runs._PATIENCE_S = 3.0
  loops.Loop.iterations = until_an_endless_update
  with open(log, 'w', encoding='utf-8') as file:
    os.dup2(file.fileno(), 2)
  logging.set_verbosity(logging.INFO)
  tiny_runs.train(root_dir, **_SHORT)


def test_sigterm_amid_a_long_update(tmp_path, whole):
  broken = os.fspath(tmp_path / 'broken')
  log = tmp_path / 'log'
  process = tiny_runs.context().Process(
      target=_train_until_an_endless_update,
      args=(broken, os.fspath(log)),
      daemon=True,
  )
  process.start()

  def wait_for(words):
    deadline = time.monotonic() + 120
    while not log.exists() or words not in log.read_text():
      assert process.is_alive() and time.monotonic() < deadline
      time.sleep(0.01)

  wait_for('No end.')
  process.terminate()
  wait_for('SIGTERM: saving')
  process.join(60)
  assert process.exitcode == 1
  assert 'continues from iteration 2' in log.read_text()
  status = run_files.read_status(broken)
  assert (status['state'], status['message']) == ('stopped', 'SIGTERM')
  tiny_runs.train(broken, **_SHORT)
  tiny_runs.assert_same_run(broken, whole)
