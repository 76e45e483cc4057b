# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The agent on every kind of space, and on small tasks that it must solve."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import curiosity
from tests.agents import agent_test_utils

PIXELS = tensor_spec.BoundedTensorSpec([40, 40, 2], tf.uint8, 0, 255)
GRID = tensor_spec.BoundedTensorSpec([7, 7, 3], tf.uint8, 0, 10)
ROOM = tensor_spec.BoundedTensorSpec([], tf.int64, 3, 7)
MIXED = {'room': ROOM, 'speed': tf.TensorSpec([2], tf.float32), 'view': GRID}
MULTI_DISCRETE = tensor_spec.BoundedTensorSpec([2], tf.int64, 0, [1, 3])
SCALAR_BOX = tensor_spec.BoundedTensorSpec([], tf.float32, -1.0, 1.0)

SPACES = {
    'newest-frame': (
        PIXELS,
        MULTI_DISCRETE,
        curiosity.newest_frame_observation_fn,
    ),
    'room-number': (ROOM, SCALAR_BOX, None),
    'mixed': (MIXED, agent_test_utils.DICT, None),
}
# What RND sees of them, and how many numbers that is.
SEEN_SIZES = {
    'newest-frame': 40 * 40,
    'room-number': 5,
    'mixed': 5 + 2 + 7 * 7 * 3 * 11,  # The codes 0 to 10, one-hot.
}


@pytest.mark.parametrize('space', SPACES)
def test_trains_on_every_space_from_one_trace(space):
  observation_spec, action_spec, observation_fn = SPACES[space]
  sizes = {}
  if space != 'room-number':
    convolutions = ((4, 3, 2),)
    sizes = {'conv_layers': convolutions}
    sizes['rnd_settings'] = dict(sizes)
  agent = agent_test_utils.build_agent(
      observation_spec,
      action_spec,
      sizes=sizes,
      rnd_observation_fn=observation_fn,
      optimizer=tf.keras.optimizers.Adam(3e-3),
      num_epochs=4,
      predictor_proportion=1.0,
      normalize_observations=True,
  )
  seen = [m.mean.shape.num_elements() for m in agent.curiosity.seen.moments]
  assert sum(seen) == SEEN_SIZES[space]
  target = [v.numpy() for v in agent.curiosity.target_rnd_network.variables]
  ppo = [v.numpy() for v in agent._ppo_variables]
  train = common.function(agent.train)
  # Whitening stays as it is from here on, so that errors compare.
  experiences = [agent_test_utils.rollout(agent, seed=s) for s in (0, 50)]
  for experience in experiences:
    agent.update_observation_statistics(experience.observation)
  agent.update_normalizers_in_train = False
  arrivals = tf.nest.map_structure(
      lambda x: x[:, 1:], experiences[0].observation
  )
  mask = experiences[0].step_type[:, :-1] != ts.StepType.LAST
  errors = [agent.rnd_loss(arrivals)[0][mask].numpy().mean()]
  train(experiences[0])
  errors.append(agent.rnd_loss(arrivals)[0][mask].numpy().mean())
  info = train(experiences[1]).extra
  assert errors[1] < 0.8 * errors[0]
  assert train.experimental_get_tracing_count() == 1
  assert agent.train_step_counter.numpy() == 2 * 4 * 3
  for a, b in zip(
      agent.curiosity.target_rnd_network.variables, target, strict=True
  ):
    np.testing.assert_array_equal(a, b)
  for variable, old in zip(agent._ppo_variables, ppo, strict=True):
    assert np.max(np.abs(variable - old)) > 1e-4, variable.name
  assert all(np.isfinite(x) for x in tf.nest.flatten(info))


def _play(agent, act, observations, outcome):
  """One transition from each observation, and the row that it leads to.

  `outcome` goes from (observations, actions) to (rewards, next observations).
  Returns (Trajectory [B, 2], actions [B]).
  """
  batch_size = len(observations)
  step = act(ts.restart(tf.constant(observations, tf.float32), batch_size))
  actions = step.action.numpy()
  rewards, arrivals = outcome(observations, actions)
  rows = np.stack([observations, arrivals], axis=1)
  column = np.ones([batch_size, 1])
  first, mid = column * ts.StepType.FIRST, column * ts.StepType.MID
  experience = trajectory.Trajectory(
      step_type=tf.constant(np.hstack([first, mid]), tf.int32),
      observation=tf.constant(rows, tf.float32),
      action=tf.stack([step.action, step.action], axis=1),
      policy_info=tf.nest.map_structure(
          lambda x: tf.stack([x, x], axis=1), step.info
      ),
      next_step_type=tf.constant(np.hstack([mid, mid]), tf.int32),
      reward=tf.constant(np.stack([rewards, rewards], axis=1), tf.float32),
      discount=tf.ones([batch_size, 2]),
  )
  tf.nest.assert_same_structure(experience, agent.collect_data_spec)
  return experience, actions


def _learner(**settings):
  return agent_test_utils.build_agent(
      tf.TensorSpec([4], tf.float32),
      optimizer=tf.keras.optimizers.Adam(0.02),
      num_epochs=4,
      num_minibatches=4,
      discount_factor=0.0,
      intrinsic_discount_factor=0.0,
      **settings,
  )


def test_solves_a_contextual_bandit():
  """Four contexts, three actions, of which one pays 1 in each."""
  agent = _learner(importance_ratio_clipping=0.2)
  right = np.array([2, 0, 1, 2])
  random = np.random.RandomState(0)
  contexts = np.eye(4)
  train = common.function(agent.train)
  act = common.function(agent.collect_policy.action)

  def outcome(observations, actions):
    rewards = actions == right[np.argmax(observations, axis=-1)]
    return rewards, contexts[random.randint(4, size=len(actions))]

  shares = []
  for _ in range(30):
    observations = contexts[random.randint(4, size=64)]
    experience, _ = _play(agent, act, observations, outcome)
    shares.append(np.mean(experience.reward[:, 0]))
    train(experience)
  assert shares[0] < 0.6
  assert np.mean(shares[-5:]) > 0.95
  greedy = agent.policy.action(ts.restart(tf.eye(4), 4)).action
  np.testing.assert_array_equal(greedy, right)
  values = agent.collect_policy.values(tf.eye(4)).numpy()
  np.testing.assert_allclose(values[:, 0], 1.0, atol=0.2)


def test_goes_where_it_is_surprised():
  """Without reward: action 1 leads to news, the others to what is known."""
  agent = _learner(extrinsic_advantage_coefficient=0.0)
  random = np.random.RandomState(0)
  train = common.function(agent.train)
  act = common.function(agent.collect_policy.action)

  def outcome(observations, actions):
    news = random.normal(size=observations.shape)
    arrivals = np.where(actions[:, np.newaxis] == 1, news, 1)
    return np.zeros(len(actions)), arrivals

  shares = []
  for _ in range(25):
    experience, actions = _play(agent, act, np.ones([64, 4]), outcome)
    shares.append(np.mean(actions == 1))
    train(experience)
  assert shares[0] < 0.6
  assert np.mean(shares[-5:]) > 0.9
