# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of evaluation on fixed seeds."""

import functools

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.policies import random_tf_policy

from rnd_agents.environments import episode_log
from rnd_agents.environments import loaders
from rnd_agents.evaluation import actors
from rnd_agents.evaluation import evaluator
from tests import environments_for_tests

# An episode of 1 to 5 steps, as its seed says, rewarded 1, 10, 100 ...
SeededLength = functools.partial(
    environments_for_tests.Steps,
    length=lambda env: 1 + (env.seed or 0) % 5,
    reward=lambda env: 10.0 ** (env.num_steps - 1),
)


def _evaluator(seeds, num_environments=None, env=SeededLength):
  environment = loaders.load_environment(env, num_environments or len(seeds))
  tf_env = tf_py_environment.TFPyEnvironment(environment)
  policy = random_tf_policy.RandomTFPolicy(
      tf_env.time_step_spec(), tf_env.action_spec()
  )
  return evaluator.Evaluator(environment, policy, seeds)


def test_one_episode_from_each_seed_also_when_others_last_longer():
  # Seed 0 ends after one step and plays several more episodes meanwhile.
  evaluation = _evaluator([0, 3, 4])
  for _ in range(2):
    episodes = evaluation.run()
    assert [e.length_env_steps for e in episodes] == [1, 4, 5]
    assert [e.return_ for e in episodes] == [1.0, 1111.0, 11111.0]
    assert [e.seed for e in episodes] == [0, 3, 4]


def test_episodes_without_a_time_limit_are_cut(monkeypatch, caplog):
  monkeypatch.setattr(evaluator, '_MAX_STEPS_WITHOUT_LIMIT', 3)
  evaluation = _evaluator([0, 3, 4])
  assert 'no time limit that can be seen' in caplog.text
  for _ in range(2):
    episodes = evaluation.run()
    assert [e.length_env_steps for e in episodes] == [1, 3, 3]
    assert [e.return_ for e in episodes] == [1.0, 111.0, 111.0]
    assert [e.terminated for e in episodes] == [True, False, False]
    assert [len(e.actions) for e in episodes] == [1, 3, 3]
  assert '2 of 3 episodes had not ended after 3 steps' in caplog.text


@pytest.mark.parametrize(
    ('env', 'kwargs', 'expected'),
    [
        ('CliffWalking-v1', {}, False),
        ('CliffWalking-v1', dict(max_episode_steps=9), True),
        ('CartPole-v1', dict(vectorization='vector_entry_point'), True),
        ('rnd_agents/DeepSea-v0', {}, True),
        (SeededLength, {}, False),
        (SeededLength, dict(vectorization='async'), False),
        (SeededLength, dict(max_episode_steps=9), True),
        (SeededLength, dict(max_episode_steps=9, vectorization='async'), True),
    ],
)
def test_time_limits_that_can_be_seen(env, kwargs, expected):
  environment = loaders.load_environment(env, **kwargs)
  assert evaluator.has_time_limit(environment) == expected
  environment.close()


def test_more_seeds_than_environments_take_rounds():
  # Two environments: 0 and 3, then 4 and 1, then 2 alone.
  episodes = _evaluator([0, 3, 4, 1, 2], 2).run()
  assert [e.length_env_steps for e in episodes] == [1, 4, 5, 2, 3]
  assert [e.seed for e in episodes] == [0, 3, 4, 1, 2]
  assert [e.environment_index for e in episodes] == [0, 1, 0, 1, 0]


def test_rooms_are_those_of_the_end_of_each_episode():
  rooms = functools.partial(
      SeededLength, info=lambda env: {'rooms_visited': env.num_steps}
  )
  evaluation = _evaluator([3, 0, 4], 2, rooms)
  for _ in range(2):
    assert [e.rooms_visited for e in evaluation.run()] == [4, 1, 5]
  assert [e.rooms_visited for e in _evaluator([0, 3]).run()] == [None, None]


def test_actions_are_those_of_the_episode():
  # Pays the actions as digits, the first the lowest, and takes two a step.
  diary = functools.partial(
      SeededLength,
      reward=lambda env: 10.0 ** (env.num_steps - 1) * env.action['digit'],
      action_space=gymnasium.spaces.Dict(
          digit=gymnasium.spaces.Discrete(10),
          ignored=gymnasium.spaces.Box(-1, 1, (2,), np.float32),
      ),
  )
  # Seed 0 plays on after its one step, while seed 4 is not done.
  episodes = _evaluator([0, 4, 2], 2, diary).run()
  for episode, length in zip(episodes, [1, 5, 3], strict=True):
    digits = episode.actions['digit']
    assert digits.shape == (length,)
    assert episode.return_ == sum(10**i * d for i, d in enumerate(digits))
    assert episode.actions['ignored'].shape == (length, 2)


def test_no_seeds():
  with pytest.raises(ValueError, match='at least one seed'):
    _evaluator([], 2)


def test_the_policy_that_is_trained_is_the_one_that_plays():
  follow = functools.partial(
      environments_for_tests.Steps,
      length=1,
      reward=lambda env: float(env.action),
  )
  environment = loaders.load_environment(follow, 2)
  tf_env = tf_py_environment.TFPyEnvironment(environment)
  variable = tf.Variable(1, dtype=tf.int64)

  class Constant(random_tf_policy.RandomTFPolicy):

    def _action(self, time_step, policy_state, seed):
      step = super()._action(time_step, policy_state, seed)
      return step._replace(action=tf.fill([2], variable))

  policy = Constant(tf_env.time_step_spec(), tf_env.action_spec())
  evaluation = evaluator.Evaluator(environment, policy, [1, 2])
  assert [e.return_ for e in evaluation.run()] == [1.0, 1.0]
  variable.assign(3)  # Training goes on between two evaluations.
  assert [e.return_ for e in evaluation.run()] == [3.0, 3.0]


def _episode(return_, length=1, terminated=True, success=None, seed=0):
  return episode_log.Episode(
      environment_index=0,
      return_=return_,
      length_env_steps=length,
      terminated=terminated,
      success=success,
      seed=seed,
  )


def test_best_episode_is_the_first_of_the_highest_return():
  episodes = [
      _episode(return_, seed=seed)
      for seed, return_ in enumerate([-3.0, -1.0, -2.0, -1.0])
  ]
  assert evaluator.best_episode(episodes).seed == 1


def test_summary_numbers():
  assert evaluator.summarize_episodes([
      _episode(1.0, 2, True, True),
      _episode(2.0, 4, False, False),
      _episode(6.0, 6, False, None),
  ]) == dict(
      episodes=3,
      return_mean=3.0,
      return_min=1.0,
      return_max=6.0,
      length_mean=4.0,
      terminated_rate=1 / 3,
      success_rate=1 / 3,  # Who tells of no success had none.
  )
  summary = evaluator.summarize_episodes([_episode(1.0, 2, True, None)])
  assert 'success_rate' not in summary
  summary = evaluator.summarize_episodes([_episode(1.0)], has_told_success=True)
  assert summary['success_rate'] == 0.0
  assert 'rooms_visited_mean' not in summary
  summary = evaluator.summarize_episodes([
      _episode(1.0)._replace(rooms_visited=rooms) for rooms in (1, 4, None)
  ])
  assert summary['rooms_visited_mean'] == 2.5
  assert summary['rooms_visited_max'] == 4
  summary = evaluator.summarize_episodes([
      _episode(1.0)._replace(info=info)
      for info in ({'wood': 1.0}, None, {'wood': 4.0, 'stone': 2.0})
  ])
  named = {k: v for k, v in summary.items() if k.startswith('info_')}
  assert named == {'info_wood_mean': 2.5, 'info_stone_mean': 2.0}


class _Counting:
  """Counts the steps since the beginning in its state."""

  def __init__(self):
    self.step_types, self.discounts = [], []

  def initial_state(self, batch_size):
    return np.zeros(batch_size, np.int64)

  def act(self, time_step, state, wanted=None):
    self.step_types.append(time_step.step_type.tolist())
    self.discounts.append(time_step.discount.tolist())
    return time_step.observation[:, 0] + state, state + 10


def test_observations_alone_carry_the_state_until_reset():
  inner = _Counting()
  actor = actors.ObservationActor(inner)
  seen = np.array([[1], [2]])
  np.testing.assert_array_equal(actor(seen), [1, 2])
  np.testing.assert_array_equal(actor(seen), [11, 12])
  actor.reset()
  np.testing.assert_array_equal(actor(seen), [1, 2])
  assert inner.step_types == [[0, 0], [1, 1], [0, 0]]
  assert inner.discounts == [[1, 1]] * 3  # One each: recurrent policies look.
