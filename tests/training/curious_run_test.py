# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of TF-Agents' off-policy agents with a curiosity, tiny ones."""

import contextlib
import os
import shutil

import numpy as np
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents.collecting import local
from rnd_agents.environments import loaders
from rnd_agents.replay import demonstrations
from rnd_agents.training import checkpoints
from rnd_agents.training import experiment
from tests import tiny_runs


def _write_demonstration(path):
  """Writes an episode of Pendulum that ends by a time limit of 7 steps."""
  with contextlib.closing(loaders.load_environment('Pendulum-v1')) as env:
    specs = local.specs_of(env)
  spec = demonstrations.trajectory_spec(
      specs.time_step.observation, specs.action
  )
  step_type = np.array([0, *[1] * 6, 2], np.int32)
  generator = np.random.default_rng(0)
  episode = trajectory.Trajectory(
      step_type,
      generator.uniform(-1, 1, [8, 3]).astype(np.float32),
      generator.uniform(-2, 2, [8, 1]).astype(np.float32),
      (),
      np.array([*step_type[1:], 0], np.int32),
      np.full(8, -1.0, np.float32),
      np.ones(8, np.float32),
  )
  demonstrations.write_episodes(path, spec, [episode])


def test_a_killed_and_resumed_run_is_the_run_left_alone(tmp_path, monkeypatch):
  """With random numbers in the loss and in `action`; a memory; n steps.

  Demonstrations, too, a predictor that learns from what is collected, and
  whitened observations.
  """
  path = os.fspath(tmp_path / 'demos.tfrecord')
  _write_demonstration(path)
  settings = (
      *tiny_runs.OFF_POLICY_SETTINGS,
      "load_environment.env = 'Pendulum-v1'",
      'ReplayTraining.unroll_length = 3',
      'CuriousAgent.n_step = 2',
      "CuriousAgent.predictor_learns_from = 'collected'",
      f"ReplayTraining.demonstrations = '{path}'",
      'ReplayTraining.demonstration_ratio = 0.25',
      'create_curious_agent.agent_fn = @create_td3_agent',
      'create_curious_agent.curiosity_fn = @create_novel_d',
      'create_curious_agent.normalize_observations = True',
      'create_td3_agent.fc_layer_params = (4,)',
      'create_rnd_networks.fc_layer_params = (4,)',
      'create_rnd_networks.target_fc_layer_params = (4,)',
  )
  whole, broken = tmp_path / 'whole', tmp_path / 'broken'
  save = checkpoints.Checkpoints.save

  def copying(self, iteration, state):
    save(self, iteration, state)
    if iteration == 3 and not broken.exists():  # As a kill leaves it.
      self.wait()
      shutil.copytree(whole, broken)

  monkeypatch.setattr(checkpoints.Checkpoints, 'save', copying)
  for root_dir in (whole, broken):
    assert tiny_runs.train(root_dir, 90, settings=settings).finished
  tiny_runs.assert_same_run(broken, whole)
  rows = tiny_runs.rows(whole, 'train')
  assert len(rows) > 6
  for row in rows:
    assert float(row['bonus_mean']) > 0 and float(row['rnd_loss']) > 0
    assert float(row['critic_loss']) > 0 and 'epsilon_mean' not in row
    assert float(row['reward_mean']) < 0
    assert float(row['demonstration_sequences']) == 3
  rates = [float(row['demonstration_rate']) for row in rows]
  assert 0 < np.mean(rates) < 0.5


class _Saver:
  """Keeps the last policy in place of a SavedModel."""

  def __init__(self, policy, batch_size):
    del batch_size
    _Saver.policy = policy

  def save(self, folder):
    assert folder


def test_dqn_draws_by_its_td_errors_and_explores_by_epsilon(
    tmp_path, monkeypatch
):
  monkeypatch.setattr(experiment.policy_saver, 'PolicySaver', _Saver)
  settings = (
      *tiny_runs.OFF_POLICY_SETTINGS,
      "load_environment.env = 'CartPole-v1'",
      'ReplayTraining.unroll_length = 2',
      'ReplayTraining.epsilon_fn = @linear_epsilon',
      'create_curious_agent.agent_fn = @create_dqn_agent',
      'create_q_networks.fc_layer_params = (4,)',
      'create_q_networks.head_units = None',
      'train_eval.save_policies = True',
  )
  tiny_runs.train(tmp_path, 60, settings=settings)
  steps = ts.restart(np.zeros([3, 4], np.float32), 3)  # Of two in training.
  assert _Saver.policy.action(steps).action.shape == (3,)
  row = tiny_runs.rows(tmp_path, 'train')[-1]
  assert 0 < float(row['epsilon_mean']) < 1
  assert float(row['td_loss']) > 0
  assert not {'bonus_mean', 'rnd_loss'} & row.keys()
