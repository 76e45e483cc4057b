# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The robot: its world, its goals, and both levels, each in its period."""

import numpy as np
import tensorflow as tf

from examples import robot
from tests import tiny_runs


def test_a_parcel_is_fetched_and_delivered():
  env = robot.Robot(limit_env_steps=50)
  observation, _ = env.reset(seed=3)
  assert np.all(np.abs(observation[:2]) <= 0.3) and observation[2] == 0
  carried = [env.step(np.array([0.2, 0.2]))[0][2] for _ in range(6)]
  assert carried[0] == 0 and carried[-1] == 1
  for _ in range(20):
    observation, reward, ended, cut, info = env.step(np.array([-9.0, -0.2]))
    if ended:
      break
    assert reward == 0 and not cut and not info
  assert reward == 1 and info == dict(is_success=True)
  assert np.all(observation[:2] < -0.5)


def test_goals_are_cells():
  goals = robot.Cells(tf.TensorSpec([3], tf.float32))
  centres = (-1.0, -0.3, 0.2, 0.9)
  positions = [(x, y) for x in centres for y in centres]
  observation = tf.constant([(x, y, 0.0) for x, y in positions])
  for cell in range(16):
    goal = tf.fill([16], tf.constant(cell, tf.int64))
    reached = goals.reached(observation, goal)
    np.testing.assert_array_equal(np.flatnonzero(reached), [cell])
    # The lower level sees a place in that cell.
    seen = goals.observe(observation, goal)['goal']
    there = tf.concat([seen, tf.zeros([16, 1])], axis=1)
    assert np.all(goals.reached(there, goal))
    assert goals.lower_observation_spec['goal'].is_compatible_with(seen[0])


def test_goals_and_movements_are_learned_in_their_periods(
    tmp_path, monkeypatch
):
  # Goals are the four quadrants: fetched in one, delivered in the opposite one.
  monkeypatch.setattr(robot, '_SIDE', 2)
  monkeypatch.setattr(robot, '_CORNER', 0.0)
  outcome = robot.train(
      tmp_path,
      'train_eval.num_env_steps = 6_000',
      'train_eval.warm_up_env_steps = 1_000',
      'train_eval.eval_interval_env_steps = 6_000',
      'train_eval.save_policies = False',
      'upper/linear_epsilon.num_env_steps = 3_000',
      'upper/PrioritizedReplay.min_sequences = 5',
  )
  first, *_, last = tiny_runs.rows(tmp_path, 'train')
  # Goals: one for 16 steps. Movements: 4 epochs of 4 minibatches an iteration.
  num_iterations = int(last['iteration']) - int(first['iteration'])
  new_steps = int(last['env_steps']) - int(first['env_steps'])
  new_updates = int(last['train_steps']) - int(first['train_steps'])
  assert num_iterations >= 2
  assert abs(new_updates - 16 * num_iterations - new_steps / 16) <= 1
  assert float(last['upper_replay_sequences']) > 50
  assert outcome.eval_return >= 0.9
