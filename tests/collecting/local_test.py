# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the local collector and of shards."""

import functools
import time

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.networks import q_network
from tf_agents.policies import q_policy
from tf_agents.trajectories import time_step as ts

from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.environments import episode_replay
from rnd_agents.environments import episode_seeds
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from tests import environments_for_tests


class Counting(environments_for_tests.Steps):
  """Observes the steps of the episode and a number that it drew; five steps."""

  observation_space = gymnasium.spaces.Box(-1.0, 1e4, (2,), np.float32)
  action_space = gymnasium.spaces.Discrete(7)
  num_episodes = 0

  def __init__(self, fails_after=None, step_time_s=0.0):
    super().__init__(length=5)
    self._fails_after = fails_after
    self._step_time_s = step_time_s

  def begin(self):
    self.num_episodes += 1
    self.drawn = self.np_random.integers(10_000)

  def observation(self):
    return np.array([self.num_steps, self.drawn], np.float32)

  def reward(self):
    if self.num_episodes == self._fails_after:
      raise OSError('The simulator is gone.')
    time.sleep(self._step_time_s)
    return float(self.action)


def _policy(specs, num_environments):
  del num_environments
  return q_policy.QPolicy(
      specs.time_step,
      specs.action,
      q_network.QNetwork(
          specs.time_step.observation, specs.action, fc_layer_params=()
      ),
  )


def _recipe(index=0, num_environments=2, seed=0, **kwargs):
  return collector.Recipe(
      functools.partial(
          loaders.load_environment,
          functools.partial(Counting, **kwargs),
          num_environments=num_environments,
          seed=seed,
      ),
      _policy,
      action_seed=2**63 + 11 + index,
      shard=index,
  )


def _variables(recipe):
  """Values that make a collector's actions nearly uniform, and others."""
  policy = _policy(local.LocalCollector(recipe).specs, 2)
  policy.get_initial_state(1)
  return [np.zeros(v.shape, np.float32) for v in policy.variables()]


def test_rows_follow_on_each_other_and_tell_what_the_environment_did():
  recipe = _recipe()
  one = local.LocalCollector(recipe)
  one.reset()
  variables = _variables(recipe)
  rollouts = [one.collect(variables, 7), one.collect(None, 7)]
  assert [rollout.num_old_rows for rollout in rollouts] == [0, 1]
  rows = tf.nest.map_structure(
      lambda a, b: np.concatenate([a, b[:, 1:]], axis=1),
      *[rollout.trajectory for rollout in rollouts],
  )
  tf.nest.map_structure(
      np.testing.assert_array_equal,
      tf.nest.map_structure(lambda x: x[:, -1], rollouts[0].trajectory),
      tf.nest.map_structure(lambda x: x[:, 0], rollouts[1].trajectory),
  )
  t = np.arange(15) % 6  # Five steps and the row between two episodes.
  for b in range(2):
    np.testing.assert_array_equal(rows.observation[b, :, 0], t)
    drawn = rows.observation[b, :, 1]
    np.testing.assert_array_equal(drawn, drawn[np.arange(15) // 6 * 6])
    assert len(set(drawn)) == 3
    np.testing.assert_array_equal(rows.step_type[b] == ts.StepType.LAST, t == 5)
    # The reward of an action is in its own row; a boundary has none.
    np.testing.assert_array_equal(
        rows.reward[b], np.where(t == 5, 0.0, rows.action[b])
    )
    np.testing.assert_array_equal(rows.discount[b], np.where(t == 4, 0.0, 1.0))
  assert [rollout.num_env_steps for rollout in rollouts] == [14, 12]
  returns = [
      episode.return_
      for rollout in rollouts
      for episode in rollout.episodes
      if episode.environment_index == 1
  ]
  np.testing.assert_allclose(
      returns, [rows.reward[1, :5].sum(), rows.reward[1, 6:11].sum()]
  )


def test_seconds_of_slow_environments_are_theirs():
  shards = collector.Shards(
      [
          local.LocalCollector(_recipe(index, step_time_s=0.01))
          for index in range(2)
      ]
  )
  shards.reset()
  begun_s = time.perf_counter()
  # Four steps of two environments, in two shards.
  rollout = shards.collect(None, 4)
  seconds = time.perf_counter() - begun_s
  assert rollout.environment_time_s > 4 * 2 * 2 * 0.01
  assert 0 < rollout.policy_time_s < seconds - rollout.environment_time_s


def test_state_of_plain_arrays_goes_on_in_another_collector():
  recipe = _recipe()
  variables = _variables(recipe)

  def courses(interrupted):
    one = local.LocalCollector(recipe)
    one.reset()
    first = one.collect(variables, 4)
    if interrupted:
      state = one.get_state()
      one = local.LocalCollector(_recipe(seed=99))
      assert one.set_state(state)
    return [first, one.collect(variables, 4), one.collect(None, 4)]

  for a, b in zip(courses(False), courses(True), strict=True):
    tf.nest.map_structure(
        np.testing.assert_array_equal, a.trajectory, b.trajectory
    )
    assert a.num_old_rows == b.num_old_rows
    assert a.episodes == b.episodes


def test_a_reset_begins_new_episodes_in_another_collector_too():
  recipe = _recipe()
  variables = _variables(recipe)

  def after_reset(interrupted):
    one = local.LocalCollector(recipe)
    one.reset()
    one.collect(variables, 3)  # In the middle of the episodes.
    if interrupted:
      state = one.get_state()
      one = local.LocalCollector(recipe)
      assert one.set_state(state)
    one.reset()
    return one.collect(variables, 4)

  a, b = after_reset(False), after_reset(True)
  assert (a.trajectory.step_type[:, 0] == ts.StepType.FIRST).all()
  tf.nest.map_structure(
      np.testing.assert_array_equal, a.trajectory, b.trajectory
  )


def _draws(rollout):
  return set(rollout.trajectory.observation[..., 1].flatten())


def test_without_the_state_of_its_environment_it_begins_other_episodes(caplog):
  recipe = _recipe()
  variables = _variables(recipe)
  one = local.LocalCollector(recipe)
  one.reset()
  played = _draws(one.collect(variables, 24))
  state = one.get_state()
  state['environment'] = None
  other = local.LocalCollector(recipe)
  assert not other.set_state(state)
  assert 'new ones begin. It was not saved.' in caplog.text
  other.reset()
  new = _draws(other.collect(None, 24))
  assert len(played) == len(new) == 10
  assert not played & new


def test_other_episodes_keep_to_a_list_of_seeds(monkeypatch):
  monkeypatch.setattr(episode_replay, 'MAX_REPLAYED_STEPS', 2)
  seeds = [3, 8, 21, 34]
  make = functools.partial(
      _recipe().make_environment, seeding=episode_seeds.cycle(seeds)
  )
  recipe = _recipe()._replace(make_environment=make)
  one = local.LocalCollector(recipe)
  one.reset()
  played = _draws(one.collect(_variables(recipe), 20))
  assert len(played) == len(seeds)
  other = local.LocalCollector(recipe)
  assert not other.set_state(one.get_state())
  other.reset()
  assert _draws(other.collect(_variables(recipe), 20)) == played


def test_a_failure_to_restore_is_not_told_of_what_fails_later(monkeypatch):
  one = local.LocalCollector(_recipe())
  one.reset()
  one.collect(_variables(_recipe()), 7)
  state = one.get_state()

  def restore_running(*args):
    raise OSError('The simulator is gone.')

  monkeypatch.setattr(episode_replay, 'restore_running', restore_running)
  assert not one.set_state(state)

  def observer(time_step, infos):
    raise RuntimeError('The observer is broken.')

  one.reset()
  one._environment.add_step_observer(observer)
  with pytest.raises(Exception, match='The observer is broken'):
    one.collect(None, 7)


def test_variables_decide_the_actions():
  recipe = _recipe()
  zeros = _variables(recipe)
  third = [z.copy() for z in zeros]
  next(z for z in third if z.shape == (7,))[3] = 1e6
  one = local.LocalCollector(recipe)
  one.reset()
  assert len(np.unique(one.collect(zeros, 20).trajectory.action)) > 3
  old_row = 1  # Its action was drawn before.
  actions = one.collect(third, 20).trajectory.action[:, old_row:]
  np.testing.assert_array_equal(actions, 3)
  np.testing.assert_array_equal(one.collect(None, 20).trajectory.action, 3)


def test_failing_environment_is_named():
  recipe = _recipe(fails_after=2)
  one = local.LocalCollector(recipe)
  one.reset()
  with pytest.raises(failures.EnvironmentFailure, match='simulator is gone'):
    for _ in range(10):
      one.collect(_variables(_recipe()), 4)


def test_shards_are_one_batch_with_random_numbers_of_their_own():
  recipes = [_recipe(index, seed=index) for index in range(2)]
  variables = _variables(recipes[0])
  batch = collector.Shards([local.LocalCollector(r) for r in recipes])
  batch.reset()
  assert batch.num_environments == 4
  seen = []
  rollout = batch.collect(lambda part: seen.append(part) or variables, 12)
  assert seen == [slice(0, 2), slice(2, 4)]
  assert not np.array_equal(
      rollout.trajectory.action[:2], rollout.trajectory.action[2:]
  )
  alone = local.LocalCollector(recipes[1])
  alone.reset()
  tf.nest.map_structure(
      np.testing.assert_array_equal,
      alone.collect(variables, 12).trajectory,
      tf.nest.map_structure(lambda x: x[2:], rollout.trajectory),
  )
  assert sorted(e.environment_index for e in rollout.episodes) == [
      i for i in range(4) for _ in range(2)
  ]
  assert np.sum(rollout.trajectory.step_type == ts.StepType.LAST) == 8


def _collected(num_rollouts, is_uniform, recipe, interrupted=False):
  """Rollouts of four steps, the last of other length, one after the other."""
  one = local.LocalCollector(recipe)
  one.reset()
  variables = _variables(recipe)
  next(v for v in variables if v.shape == (7,))[3] = 1e6
  found = []
  for i in range(num_rollouts):
    num_steps = 2 if i == num_rollouts - 1 else 4
    found.append(one.collect(variables, num_steps, is_uniform))
    if interrupted:
      state = one.get_state()
      one = local.LocalCollector(recipe)
      assert one.set_state(state)
  return found


def test_uniform_actions_follow_no_policy_and_go_on_in_their_middle():
  recipe = _recipe(num_environments=40)
  whole = _collected(6, True, recipe)
  counts = np.bincount(
      np.concatenate([r.trajectory.action.flatten() for r in whole])
  )
  assert len(counts) == 7
  # 920 draws: four standard deviations are 42.
  np.testing.assert_allclose(counts, counts.sum() / 7, atol=42)
  assert whole[0].trajectory.action.shape == (40, 5)
  assert whole[-1].trajectory.action.shape == (40, 3)
  for a, b in zip(
      whole, _collected(6, True, recipe, interrupted=True), strict=True
  ):
    tf.nest.map_structure(
        np.testing.assert_array_equal, a.trajectory, b.trajectory
    )
    assert a.num_old_rows == b.num_old_rows
    assert a.episodes == b.episodes
  for rollout in _collected(2, False, recipe):
    np.testing.assert_array_equal(rollout.trajectory.action, 3)


def test_shards_draw_uniform_actions_of_their_own():
  batch = collector.Shards(
      [local.LocalCollector(_recipe(index, seed=0)) for index in range(2)]
  )
  batch.reset()
  variables = _variables(_recipe())
  rows = batch.collect(lambda _: variables, 12, is_uniform=True).trajectory
  np.testing.assert_array_equal(rows.observation[:2], rows.observation[2:])
  assert not np.array_equal(rows.action[:2], rows.action[2:])
