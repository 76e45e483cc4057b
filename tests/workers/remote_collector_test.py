# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collectors whose workers are lost, with workers in this process."""

import pickle

import gin
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory

from rnd_agents import errors
from rnd_agents.collecting import collector
from rnd_agents.collecting import local
from rnd_agents.environments import failures
from rnd_agents.environments import vector_environment
from rnd_agents.replay import prioritized_replay
from rnd_agents.training import callbacks
from rnd_agents.workers import remote_collector
from rnd_agents.workers import shard_worker
from tests import environments_for_tests
from tests import tiny_runs
from tests.workers import workers_here


def _remote(losses):
  def make_shards(config, seeds, recipes):
    del seeds
    workers = workers_here.Workers(recipes, losses)
    made = []
    for recipe in recipes:
      probe = local.LocalCollector(recipe)
      made.append(
          remote_collector.RemoteCollector(
              recipe, probe.specs, probe.num_environments, workers
          )
      )
      probe.close()
    return remote_collector.RemoteShards(made, workers, config.max_lag_rounds)

  return make_shards


# Call 0 is a reset; then random steps, a reset, rollouts.
_LOSSES = {
    (0, 0): 'after the call',
    (1, 2): 'after the call',
    (1, 4): 'before the call',
    (0, 4): 'but lives',
    (0, 5): 'nobody knows',
}
# A lost worker takes the traces of its policies with it, those of a memory take
# longest.
_FEW_LOSSES = {(1, 2): 'after the call', (0, 4): 'but lives'}
# Workers act by counts, too, which change without an update.
_OPTIMISTIC_DQN = (
    *tiny_runs.OFF_POLICY_SETTINGS,
    "load_environment.env = 'rnd_agents/DeepSea-v0'",
    "load_environment.env_kwargs = {'size': 6}",
    'train_eval.eval_interval_env_steps = 100',
    'ReplayTraining.unroll_length = 6',
    'create_curious_agent.agent_fn = @create_dqn_agent',
    'create_dqn_agent.optimism = 1.0',
    'create_q_networks.fc_layer_params = (4,)',
    'create_q_networks.head_units = None',
)


@pytest.mark.parametrize(
    ('settings', 'lag_rounds', 'losses', 'goes_home'),
    [
        (tiny_runs.PPO_SETTINGS, 1, _LOSSES, True),
        (
            (*tiny_runs.R2D3_SETTINGS, 'ReplayTraining.collect_length = 5'),
            0,
            _FEW_LOSSES,
            False,
        ),
        (_OPTIMISTIC_DQN, 0, _FEW_LOSSES, True),
    ],
    ids=['PPO ahead', 'R2D3', 'optimistic DQN'],
)
def test_lost_workers_change_no_number(
    tmp_path, settings, lag_rounds, losses, goes_home
):
  def train(name, make_shards, *watching):
    return tiny_runs.train(
        tmp_path / name,
        350,
        'train_eval.num_shards = 2',
        f'train_eval.max_lag_rounds = {lag_rounds}',
        settings=settings,
        make_shards=make_shards,
        callbacks=[_StopAfter(*watching)],
    )

  assert train('here', None).finished
  if goes_home:  # Begins with workers and ends without.
    assert not train('there', _remote(losses), 3).finished
    assert train('there', None).finished
  else:
    assert train('there', _remote(losses)).finished
  here, there = (
      (tmp_path / name / 'metrics.csv').read_bytes()
      for name in ('here', 'there')
  )
  assert there == here
  assert here.count(b'\ntrain,') >= 4


gin.external_configurable(
    environments_for_tests.Steps, module='remote_collector_test'
)


def test_no_sequence_joins_lost_episodes_with_those_that_follow(
    tmp_path, monkeypatch
):
  """Of an environment that another worker cannot put back."""
  sequences = []

  def add(replay, new, **kwargs):
    sequences.append(new.trajectory)
    added(replay, new, **kwargs)

  def get_state(environment):
    raise NotImplementedError('A simulator somewhere else.')

  added = prioritized_replay.PrioritizedReplay.add
  monkeypatch.setattr(prioritized_replay.PrioritizedReplay, 'add', add)
  monkeypatch.setattr(
      vector_environment.VectorPyEnvironment, 'get_state', get_state
  )
  # Amid an episode of eight rows, after 6, and after the last one of another.
  losses = dict.fromkeys([(1, 2), (1, 5)], 'before the call')
  tiny_runs.train(
      tmp_path,
      130,
      'load_environment.env = @Steps',
      'train_eval.num_shards = 2',
      'ReplayTraining.unroll_length = 3',
      'ReplayTraining.window_period = 1',
      'ReplayTraining.collect_length = 5',
      'create_curious_agent.agent_fn = @create_dqn_agent',
      'create_q_networks.fc_layer_params = (4,)',
      'create_q_networks.head_units = None',
      settings=tiny_runs.OFF_POLICY_SETTINGS,
      make_shards=_remote(losses),
  )
  rows = tf.nest.map_structure(lambda *x: np.concatenate(x), *sequences)
  steps = rows.observation[..., 0]
  follows = (rows.step_type != ts.StepType.LAST)[:, :-1]
  assert np.all(np.diff(steps)[follows] == 1)
  assert np.sum(follows) > 100


class _StopAfter(callbacks.Callback):

  def __init__(self, iteration=None):
    self._iteration = iteration

  def after_iteration(self, run, iteration):
    if run.counters.iteration == self._iteration:
      run.stop('the test')


class _Counting(collector.Collector):
  """Its rollouts say with which variables they were collected, and when."""

  specs = num_environments = None

  def __init__(self):
    self.num_rounds = 0

  def collect(self, variables, num_steps, is_uniform):
    self.num_rounds += 1
    return variables, num_steps, self.num_rounds

  def get_state(self):
    return self.num_rounds

  def set_state(self, state):
    self.num_rounds = state
    return True

  def reset(self):
    raise NotImplementedError

  visits = close = reset


class _CountingShards(collector.Shards):

  def __init__(self, max_lag_rounds):
    self.only = _Counting()
    self.only.num_environments = 1
    super().__init__([self.only], max_lag_rounds)


def test_a_round_ahead_acts_with_the_variables_of_the_call_before():
  lagged = _CountingShards(1)
  collected = [
      lagged.collect(lambda _, v=v: [v], 8) if v else lagged.collect(None, 8)
      for v in ('a', 'b', None, 'c')
  ]
  assert collected == [
      (['a'], 8, 1), (['a'], 8, 2), (['b'], 8, 3), (['b'], 8, 4)
  ]
  resumed = _CountingShards(1)
  resumed.set_state(pickle.loads(pickle.dumps(lagged.get_state())))
  for each in (lagged, resumed):
    assert each.collect(lambda _: ['d'], 8) == (['c'], 8, 5)
    assert each.collect(None, 8) == (['d'], 8, 6)
  exact = _CountingShards(0)
  assert exact.collect(lambda _: ['a'], 8) == (['a'], 8, 1)
  assert exact.collect(lambda _: ['b'], 8) == (['b'], 8, 2)


_SPECS = collector.Specs(
    ts.time_step_spec(tf.TensorSpec([3], tf.float32)),
    tf.TensorSpec([], tf.int64),
)


def _rollout(observation, num_old_rows=0):
  rows = np.zeros([2, 5])
  return collector.Rollout(
      trajectory.Trajectory(
          rows, observation, np.zeros([2, 5], np.int64), (), rows, rows, rows
      ),
      num_old_rows,
      [],
  )


class _Answers(remote_collector.Workers):
  """Answers that are made up."""

  def __init__(self, *answers):
    self._answers = list(answers)

  def run(self, task):
    answer = self._answers.pop(0)
    if isinstance(answer, Exception):
      raise answer
    return answer

  def close(self):
    pass


def _collector(*answers):
  recipe = collector.Recipe(None, None, 0, shard=4)
  return remote_collector.RemoteCollector(recipe, _SPECS, 2, _Answers(*answers))


def test_a_call_that_no_worker_survives_ends_in_a_sentence():
  lost = remote_collector.WorkerLost('Worker 1 died (killed).')
  with pytest.raises(
      errors.RunError, match='6 workers .*shard 4: Worker 1 died'
  ):
    _collector(*[lost] * 6).reset()
  # The last of them is one too few.
  fine = shard_worker.Reply(state=dict(last_row=None, visits=7))
  survivor = _collector(*[lost] * 5, fine)
  survivor.reset()
  assert survivor.visits() == 7


@pytest.mark.parametrize(
    'observation',
    [np.zeros([2, 5, 4], np.float32), np.zeros([2, 5, 3]), np.zeros([1, 5, 3])],
    ids=['shape', 'type', 'batch'],
)
def test_rollouts_that_do_not_fit_are_refused(observation):
  state = dict(last_row=None)
  reply = shard_worker.Reply(_rollout(observation), state)
  with pytest.raises(errors.RunError, match='shard 4 returned an observation'):
    _collector(reply).collect([], 4)


def test_an_environment_that_fails_is_not_tried_again():
  failure = failures.EnvironmentFailure('It raised.', 1)
  with pytest.raises(failures.EnvironmentFailure, match='It raised'):
    _collector(shard_worker.Reply(error=failure)).reset()


def test_the_first_row_of_new_episodes_counts_as_the_one_that_was_lost(caplog):
  fits = np.zeros([2, 5, 3], np.float32)
  first = shard_worker.Reply(_rollout(fits), dict(last_row='a row'))
  anew = shard_worker.Reply(
      _rollout(fits), dict(last_row=None), has_new_episodes=True
  )
  its = _collector(first, anew, first)
  assert [its.collect([], 4).num_old_rows for _ in range(3)] == [0, 1, 1]
  assert caplog.text.count('New episodes begin in shard 4') == 1
  assert first.result.num_env_steps == 10
  assert first.result._replace(num_old_rows=1).num_env_steps == 8
