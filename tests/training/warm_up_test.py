# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The random steps before the first update, in each way of training."""

import contextlib
import shutil

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.collecting import collector
from rnd_agents.training import callbacks
from rnd_agents.training import experiment
from rnd_agents.training import off_policy
from tests import tiny_runs

# Settings, and the environment steps of the warm-up.
_RUNS = {
    'on-policy': (
        (
            *tiny_runs.SETTINGS,
            # Short rollouts, so that there are several.
            'OnPolicyTraining.rollout_length = 5',
        ),
        64,
    ),
    'replay': (
        (
            *tiny_runs.without_memory(tiny_runs.R2D3_SETTINGS),
            'train_eval.warm_up_env_steps = 40',
        ),
        40,
    ),
    'two levels': (tiny_runs.PLAIN_LEVELS, 40),
}


@pytest.fixture(name='kind', params=_RUNS, scope='module')
def _kind(request):
    return request.param


def _run(root_dir, kind, middle=None):
  """A run that saves amid its random steps; returns its rollouts by kind.

  It is killed at its first rollout of a policy: to trace an update takes long.
  A replay shows in its updates alone, so that its run is whole.

  Args:
    root_dir: Folder of the run.
    kind: Of `_RUNS`.
    middle: Where its folder is copied after two rollouts.
  """
  collect, rollouts = collector.Shards.collect, {True: [], False: []}

  def collecting(collectors, variables_of, num_steps, is_uniform=False):
    rollout = collect(collectors, variables_of, num_steps, is_uniform)
    rollouts[is_uniform].append(rollout)
    if not is_uniform and kind != 'replay':
      raise tiny_runs.Killed
    return rollout

  def saving(callback, run, is_evaluation_due):
    run.save()
    run.checkpoints.wait()
    if middle is not None and len(rollouts[True]) == 2:
      shutil.copytree(root_dir, middle)

  with pytest.MonkeyPatch.context() as context:
    context.setattr(collector.Shards, 'collect', collecting)
    context.setattr(callbacks.Checkpoint, 'after_preparation', saving)
    with contextlib.suppress(tiny_runs.Killed):
      tiny_runs.train(root_dir, 160, settings=_RUNS[kind][0])
  return rollouts


@pytest.fixture(name='whole', scope='module')
def _whole(kind, tmp_path_factory):
  """(folder, copy of it in the middle of the warm-up, rollouts by kind)."""
  folder = tmp_path_factory.mktemp('runs') / 'whole'
  middle = folder.parent / 'middle'
  return folder, middle, _run(folder, kind, middle)


def test_a_kill_in_the_middle_changes_nothing(kind, whole):
  folder, middle, rollouts = whole
  assert len(rollouts[True]) > 2
  assert tiny_runs.iterations(middle) == (0, -1)
  found = _run(middle, kind)
  for x, y in zip(
      found[True] + found[False],
      rollouts[True][2:] + rollouts[False],
      strict=True,
  ):
    tf.nest.map_structure(
        np.testing.assert_array_equal, x.trajectory, y.trajectory
    )
  tiny_runs.assert_same_variables(middle, folder)
  if kind == 'replay':
    tiny_runs.assert_same_run(middle, folder)


def test_it_has_as_many_steps_as_it_should(kind, whole):
  _, warm_up_env_steps = _RUNS[kind]
  *before, last = [r.num_env_steps for r in whole[2][True]]
  assert sum(before) < warm_up_env_steps <= sum(before) + last
  assert sum(before) + last <= warm_up_env_steps + 16


def _leaves(rows):
  """Actions of a policy and the goals of its levels, by their name."""
  yield 'action', rows.action
  info = rows.policy_info
  if isinstance(info, dict) and 'goal' in info:
    yield 'goal', info['goal'][info['is_decision']]


def test_actions_and_goals_are_even(whole):
  draws = {}
  for rollout in whole[2][True]:
    new = tf.nest.map_structure(
        lambda x, rollout=rollout: x[:, rollout.num_old_rows :],
        rollout.trajectory,
    )
    for name, values in _leaves(new):
      draws.setdefault(name, []).append(values.flatten())
  for values in draws.values():
    counts = np.bincount(np.concatenate(values))
    expected = counts.sum() / len(counts)
    assert len(counts) > 1
    np.testing.assert_allclose(counts, expected, atol=4 * expected**0.5)


def test_episodes_begin_anew_after_it_where_a_level_is_on_policy(kind, whole):
  first = whole[2][False][0]
  is_first = first.trajectory.step_type[:, 0] == ts.StepType.FIRST
  if kind == 'replay':
    assert first.num_old_rows == 1
  else:
    assert first.num_old_rows == 0 and np.all(is_first)


@pytest.mark.parametrize('steps, warm_up, num_environments, expected', [
    (3_000, 4_096, 32, 288),  # default.gin, cut short.
    (4_096, 4_096, 32, 384),
    (4_097, 4_096, 32, 4_096),
    (200, 193, 8, 16),  # 25 rows of 8 would be all.
    (200, 192, 8, 192),
    (100, 4_096, 32, 32),
    (32, 4_096, 32, 0),
    (200, 0, 8, 0),
])
def test_random_steps_of_a_run_that_has_fewer(
    caplog, steps, warm_up, num_environments, expected
):
  gin.bind_parameter('load_environment.env', 'CartPole-v1')
  config = experiment.Experiment(
      'unused',
      num_env_steps=steps,
      warm_up_env_steps=warm_up,
      num_environments=num_environments,
  )
  assert config.random_env_steps == expected
  config.check()
  assert ('random steps' in caplog.text) == (expected < warm_up)


@pytest.mark.parametrize('steps, warm_up, collect_length, expected', [
    (4_200, 4_096, 1, 4_096),
    (9_000, 4_096, 100, 4_096),
    # A second collection of 3,200 steps ends after 6,400, or a little less.
    (6_400, 4_096, 100, 640),
    # Where episodes end the first one has less than 3,200.
    (6_400, 3_200, 100, 3_200),
    (6_399, 3_200, 100, 608),
    (3_000, 4_096, 100, 0),
    (3_000, 0, 100, 0),
])
def test_random_steps_of_a_replay_leave_some_to_learn(
    steps, warm_up, collect_length, expected
):
  config = experiment.Experiment(
      'unused',
      training=off_policy.ReplayTraining(
          rollout_length=100, collect_length=collect_length
      ),
      num_env_steps=steps,
      warm_up_env_steps=warm_up,
      num_environments=32,
  )
  assert config.random_env_steps == expected
