# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TF-Agents' PPO loop with Reverb around an `RNDPPOAgent`."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tf_agents.policies import py_tf_eager_policy
from tf_agents.trajectories import time_step as ts

from examples import ppo_learner_reverb
from tests import source_tree


def _values(variables):
  return [variable.numpy() for variable in variables]


def test_refuses_minibatches_that_leave_frames_over(tmp_path):
  with pytest.raises(ValueError, match='100 is no multiple of.*64'):
    ppo_learner_reverb.train(
        tmp_path, 'CartPole-v1', 1, sequence_length=100, minibatch_size=64
    )


# Far above its half minute on a busy core.
_LIMIT_S = 300


def test_trains_evaluates_and_saves(tmp_path):
  pytest.importorskip(
      'reverb', reason='needs Reverb: pip install "rnd_agents[reverb]"'
  )
  # In a process of its own: PPOLearner's data set of a Reverb table has been
  # seen to wait without an end, once in some thirty runs of all tests, inside
  # of TensorFlow's call, which nothing interrupts. A second try has to pass.
  for folder in ('first', 'second'):
    code = f'check({os.fspath(tmp_path / folder)!r})'
    command = [sys.executable, '-c', f'from {__name__} import check; {code}']
    try:
      done = subprocess.run(
          command,
          cwd=source_tree.ROOT,
          timeout=_LIMIT_S,
          capture_output=True,
          text=True,
      )
    except subprocess.TimeoutExpired:
      continue
    assert done.returncode == 0, done.stderr
    return
  pytest.fail(f'Two tries have not ended within {_LIMIT_S} s each.')


def check(tmp_path):
  """Trains, and looks at what has been learned and saved."""
  drawn = []
  create_agent = ppo_learner_reverb.create_agent

  def remember(env, train_step):
    agent = create_agent(env, train_step)
    for network in (
        agent.curiosity.rnd_network, agent.curiosity.target_rnd_network
    ):
      drawn.append(_values(network.variables))
    return agent

  ppo_learner_reverb.create_agent = remember

  agent, eval_actor = ppo_learner_reverb.train(
      str(tmp_path),
      'CartPole-v1',
      num_iterations=2,
      sequence_length=128,
      minibatch_size=32,
      num_epochs=2,
      num_iterations_between_evals=1,
      num_eval_episodes=1,
  )

  # 2 iterations of 2 epochs of 128 / 32 minibatches.
  assert agent.train_step_counter.numpy() == 2 * 2 * 4
  predictor, target = drawn
  for value, before in zip(
      _values(agent.curiosity.target_rnd_network.variables), target, strict=True
  ):
    np.testing.assert_array_equal(value, before)
  for variable, before in zip(
      agent.curiosity.rnd_network.variables, predictor, strict=True
  ):
    assert np.abs(variable.numpy() - before).max() > 0
  # Every rollout enters the statistics of the return once: 127 arrivals each.
  counts = [
      variable.numpy()
      for variable in agent.curiosity.variables
      if 'count' in variable.name
  ]
  assert min(counts) == pytest.approx(2 * 127, abs=1)
  # A pole that nobody balances falls within 7 to 120 steps or so.
  returns = {m.name: m.result() for m in eval_actor.metrics}
  assert 5 < returns['AverageReturn'] <= 500

  # TF-Agents saves each policy once and a checkpoint at each trigger.
  folder = os.path.join(tmp_path, 'policies')
  saved = py_tf_eager_policy.SavedModelPyTFEagerPolicy(
      os.path.join(folder, 'greedy_policy'),
      load_specs_from_pbtxt=True,
      batch_time_steps=False,
  )
  states = ts.restart(
      np.random.default_rng(0).normal(size=[300, 4]).astype(np.float32),
      batch_size=300,
  )
  actions = agent.policy.action(states).action.numpy()
  assert np.mean(saved.action(states).action != actions) > 0.01
  saved.update_from_checkpoint(
      os.path.join(folder, 'checkpoints', 'policy_checkpoint_0000000016')
  )
  np.testing.assert_array_equal(saved.action(states).action, actions)
