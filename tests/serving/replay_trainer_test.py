# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A replay behind simulators that call the agent."""

import functools
import itertools
import types
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents.agents import agent_factory
from rnd_agents.agents import off_policy_factory
from rnd_agents.networks import q_network
from rnd_agents.networks import recurrent_cores
from rnd_agents.replay import episode_cutter
from rnd_agents.replay import prioritized_replay
from rnd_agents.serving import policy_server
from rnd_agents.serving import replay_trainer
from rnd_agents.training import epsilons
from rnd_agents.training import off_policy

_TIME_STEP = ts.time_step_spec(tf.TensorSpec([2], tf.float32))
_ACTION = tensor_spec.BoundedTensorSpec([], tf.int64, 0, 2)


_REPLAY = functools.partial(
    prioritized_replay.PrioritizedReplay, max_sequences=100
)
# (session, episode, its steps, whether it ends or the session is closed).
_EPISODES = [
    ('a', 0, 2, True), ('b', 1, 4, True), ('a', 2, 5, False),
    ('b', 3, 3, True), ('c', 4, 4, True), ('b', 5, 3, True),
    ('c', 6, 6, True), ('b', 7, 8, True), ('c', 8, 3, False),
    ('d', 9, 5, True), ('b', 10, 5, True),
]


def _q_networks(*specs, **more):
  return q_network.create_q_networks(
      *specs, fc_layer_params=(4,), head_units=4, **more
  )


def _r2d3():
  return agent_factory.create_r2d3_agent(
      _TIME_STEP,
      _ACTION,
      collect_epsilon=tf.Variable(0.0),
      q_networks_fn=functools.partial(
          _q_networks, core=recurrent_cores.LSTMCore(3)
      ),
  )


def _dqn():
  return off_policy_factory.create_curious_agent(
      _TIME_STEP,
      _ACTION,
      collect_epsilon=tf.Variable(0.0),
      agent_fn=functools.partial(
          off_policy_factory.create_dqn_agent, q_networks_fn=_q_networks
      ),
  )


def _serve(agent, train):
  """Plays `_EPISODES`; returns the rollouts of each place."""
  rollouts = [[], []]

  class Listening(policy_server.TrainerOfEach):

    def __call__(self, rollout, place):
      rollouts[place].append(
          tf.nest.map_structure(lambda x: x.numpy(), rollout)
      )
      train(rollout, place)

  with policy_server.serve_policy(
      agent, 2, 3, Listening(), learns_in='session'
  ) as server:
    sessions = {}
    for name, episode, num_steps, ends in _EPISODES:
      session = sessions.setdefault(name, server.session())
      session.action(ts.restart(np.array([episode, 0], np.float32)))
      for t in range(1, num_steps + 1):
        make = ts.termination if ends and t == num_steps else ts.transition
        session.action(make(np.array([episode, t], np.float32), 1.0 * t))
      if not ends:
        sessions.pop(name).close()
  return rollouts


def _episodes(rollouts):
  """Yields the rows of each episode of the rollouts, [1, N, ...]."""
  rows = {}  # By (episode, step of it): two rollouts share a row.
  for rollout in itertools.chain(*rollouts):
    for t in range(4):
      row = tf.nest.map_structure(lambda x, t=t: x[0, t], rollout)
      rows.setdefault(tuple(row.observation), row)
  for episode in sorted({key[0] for key in rows}):
    found = [row for key, row in sorted(rows.items()) if key[0] == episode]
    yield tf.nest.map_structure(lambda *x: np.stack(x)[np.newaxis], *found)


def test_the_replay_has_the_sequences_of_each_episode_alone():
  training = off_policy.ReplayTraining(unroll_length=3, burn_in_length=1)
  agent = _r2d3()
  train = replay_trainer.ReplayTrainer(
      agent, training, 2, functools.partial(_REPLAY, min_sequences=99)
  )
  with mock.patch.object(
      prioritized_replay.PrioritizedReplay, 'add', autospec=True
  ) as add:
    rollouts = _serve(agent, train)

  expected, num_steps = [], 0
  episodes = [*_episodes(rollouts)]
  # Nothing is lost but the ends of what was cut off, and of the whole.
  assert len(episodes) == len(_EPISODES)
  assert sum(episode.is_last().any() for episode in episodes) >= 7
  for episode in episodes:
    num_steps += int(np.sum(~episode.is_last()))
    episode_cutter.EpisodeCutter(training.window, expected.append)(episode)
  added = [call.args[1] for call in add.call_args_list]

  def in_order(sequences):
    rows = [
        np.concatenate([np.ravel(leaf[i]) for leaf in tf.nest.flatten(found)])
        for found in sequences
        for i in range(len(found.is_demonstration))
    ]
    return np.array(sorted(map(tuple, rows)))

  assert len(in_order(added)) >= 8
  np.testing.assert_array_equal(in_order(added), in_order(expected))
  assert train.num_env_steps == num_steps
  mean = epsilons.ladder_epsilon(0, 2).mean()
  assert agent.collect_epsilon.numpy() == pytest.approx(mean)


def test_dqn_makes_the_updates_that_are_due():
  agent = _dqn()
  training = off_policy.ReplayTraining(
      unroll_length=1,
      batch_size=4,
      env_steps_per_update=5,
      epsilon_fn=functools.partial(
          epsilons.linear_epsilon, num_env_steps=1_000
      ),
  )
  train = replay_trainer.ReplayTrainer(agent, training, 2, _REPLAY)
  rollouts = _serve(agent, train)
  with pytest.raises(errors.InvalidValue, match='num_environments = 2'):
    train(rollouts[0][0], place=2)
  assert agent.train_step_counter.numpy() == train.num_env_steps // 5 > 2
  share = train.num_env_steps / 1_000
  assert agent.collect_epsilon.numpy() == pytest.approx(1 - 0.95 * share)
  assert np.isfinite(train.metrics()['loss'])


@pytest.mark.parametrize('epsilon', [0.1, tf.constant([0.1, 0.2])])
def test_an_epsilon_that_cannot_follow_a_schedule_is_refused(epsilon):
  with pytest.raises(errors.InvalidValue, match='collect_epsilon=tf.Variable'):
    replay_trainer.ReplayTrainer(
        types.SimpleNamespace(collect_epsilon=epsilon),
        off_policy.ReplayTraining(),
        num_environments=2,
    )


def test_a_curiosity_without_steps_of_the_agent_is_refused():
  agent = off_policy_factory.create_curious_agent(
      _TIME_STEP,
      _ACTION,
      collect_epsilon=tf.Variable(0.0),
      agent_fn=functools.partial(
          off_policy_factory.create_dqn_agent, q_networks_fn=_q_networks
      ),
      curiosity_fn=curiosity.create_rnd,
  )
  training = off_policy.ReplayTraining(
      demonstrations='file', num_pretraining_steps=3
  )
  with pytest.raises(errors.InvalidValue, match='steps must be 0, got 3'):
    replay_trainer.ReplayTrainer(agent, training, 2, _REPLAY)
