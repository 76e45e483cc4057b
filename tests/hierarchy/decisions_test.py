# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rollouts of decisions against a loop over one environment at a time."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents.hierarchy import decisions

_GAMMA = 0.9
_FIRST, _MID, _LAST = ts.StepType.FIRST, ts.StepType.MID, ts.StepType.LAST
_SPEC = trajectory.Trajectory(
    step_type=tf.TensorSpec([], tf.int32),
    observation=tf.TensorSpec([2], tf.float32),
    action=tf.TensorSpec([], tf.int64),
    policy_info=dict(dist_params=tf.TensorSpec([3], tf.float32)),
    next_step_type=tf.TensorSpec([], tf.int32),
    reward=tf.TensorSpec([], tf.float32),
    discount=tf.TensorSpec([], tf.float32),
)


def _stream(rng, num_rows, goal_lengths):
  """Rows of an environment: episodes of random lengths, ends and goals.

  In some of their steps a life is lost.
  """
  step_type, discount, is_decision, age, limit = [], [], [], 0, 0
  while len(step_type) < num_rows:
    length = rng.integers(1, 9)
    terminates = rng.random() < 0.5
    for step in range(length + 1):
      kind = _FIRST if step == 0 else _LAST if step == length else _MID
      chooses = kind == _FIRST or (kind == _MID and age >= limit)
      if chooses:
        age, limit = 0, rng.integers(1, goal_lengths + 1)
      age += 1
      step_type.append(int(kind))
      is_decision.append(chooses)
      is_end = step == length - 1 and terminates
      loses_life = kind != _LAST and rng.random() < 0.2
      discount.append(
          0.0 if is_end else rng.choice([0.0, 0.5]) if loses_life else 1.0
      )
  rows = dict(
      step_type=np.array(step_type, np.int32),
      discount=np.array(discount, np.float32),
      is_decision=np.array(is_decision),
  )
  rows = {name: value[:num_rows] for name, value in rows.items()}
  rows['reward'] = rng.normal(size=num_rows).astype(np.float32)
  return rows


def _slow(rows, start, stop):
  """Decisions and ends in rows start..stop of one environment, with sums.

  The first of them is the decision that is open at `start`, if any.
  """
  kept = [
      t
      for t in range(stop + 1)
      if rows['is_decision'][t] or rows['step_type'][t] == _LAST
  ]
  open_before = [t for t in kept if t < start]
  opened = open_before[-1:] if start not in kept else []
  found = []
  for t in opened + [t for t in kept if start <= t <= stop]:
    until = min([k for k in kept if k > t] + [stop])
    total, discount = 0.0, 1.0
    for k in range(t, until):
      total += _GAMMA ** (k - t) * discount * float(rows['reward'][k])
      discount *= float(rows['discount'][k])
    found.append((t, total, _GAMMA ** max(until - t - 1, 0) * discount))
  return found


def _rollout(streams, start, stop):
  def part(name):
    return np.stack([rows[name][start : stop + 1] for rows in streams])

  number, length = len(streams), stop + 1 - start
  # What says which row it is.
  t = np.broadcast_to(np.arange(start, stop + 1), [number, length])
  b = np.broadcast_to(np.arange(number)[:, np.newaxis], [number, length])
  step_type = part('step_type')
  return trajectory.Trajectory(
      step_type=tf.constant(step_type),
      observation=tf.constant(np.stack([b, t], -1), tf.float32),
      action=tf.constant(t, tf.int64),
      policy_info=dict(
          dist_params=tf.constant(np.stack([t, t, b], -1), tf.float32)
      ),
      next_step_type=tf.constant(step_type),
      reward=tf.constant(part('reward')),
      discount=tf.constant(part('discount')),
  ), tf.constant(part('is_decision'))


@pytest.mark.parametrize('in_graph', [False, True], ids=['eager', 'graph'])
@pytest.mark.parametrize('goal_lengths', [1, 3, 12])
def test_sums_over_goals_equal_a_loop(in_graph, goal_lengths):
  rng = np.random.default_rng(goal_lengths)
  streams = [_stream(rng, 60, goal_lengths) for _ in range(5)]
  made = decisions.Decisions(_SPEC, _GAMMA)
  call = tf.function(made, autograph=False) if in_graph else made
  for start in range(0, 56, 8):  # The last row of one is the next one's first.
    rollout, is_complete = call(*_rollout(streams, start, start + 8))
    expected = [_slow(rows, start, start + 8) for rows in streams]
    most = max(map(len, expected))
    assert rollout.reward.shape == (5, most)
    for b, found in enumerate(expected):
      padding = most - len(found)
      assert np.all(rollout.step_type[b, :padding] == _LAST)
      assert not np.any(is_complete[b, :padding])
      assert np.all(is_complete[b, padding:-1]) and not is_complete[b, -1]
      mine = tf.nest.map_structure(
          lambda x, b=b, first=padding: x.numpy()[b, first:], rollout
      )
      steps, rewards, discounts = zip(*found)
      np.testing.assert_array_equal(mine.action, steps)
      np.testing.assert_array_equal(
          mine.observation, [[b, step] for step in steps]
      )
      np.testing.assert_array_equal(
          mine.policy_info['dist_params'][:, 0], steps
      )
      types = streams[b]['step_type'][list(steps)]
      np.testing.assert_array_equal(mine.step_type, types)
      np.testing.assert_array_equal(mine.next_step_type[:-1], types[1:])
      # The last one is no transition: nothing reads its sums.
      np.testing.assert_allclose(mine.reward[:-1], rewards[:-1], atol=1e-5)
      np.testing.assert_allclose(mine.discount[:-1], discounts[:-1], atol=1e-6)


def test_other_episodes_do_not_go_on_with_an_old_goal():
  made = decisions.Decisions(_SPEC, _GAMMA)
  rows = dict(
      step_type=np.array([_FIRST, _MID, _MID, _FIRST, _MID, _MID], np.int32),
      discount=np.ones(6, np.float32),
      is_decision=np.array([True, False, False, True, False, True]),
      reward=np.ones(6, np.float32),
  )
  made(*_rollout([rows], 0, 2))
  found, _ = made(*_rollout([rows], 3, 5))
  np.testing.assert_array_equal(found.action, [[3, 5]])
  np.testing.assert_allclose(found.reward[0, 0], 1.0 + _GAMMA)
