# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of the agent and SavedModels of its policies."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.policies import policy_saver
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import words
from rnd_agents.evaluation import saved_policy
from tests.agents import agent_test_utils
from tests.agents import slow_r2d3

# Layers of equal shapes, so that a mix-up would go unnoticed.
DEEP = {'fc_layer_params': (4, 4, 4)}
DEEP['rnd_settings'] = dict(DEEP)
NORMALIZED = {'normalize_observations': True, 'normalize_rewards': True}
IMAGE = tensor_spec.BoundedTensorSpec([6, 6, 2], tf.uint8, 0, 255)
DICT_OBSERVATION = {
    'position': tf.TensorSpec([2], tf.float32),
    'room': tensor_spec.BoundedTensorSpec([], tf.int64, 0, 4),
    'text': tensor_spec.BoundedTensorSpec(
        [6], tf.uint8, 0, 9, words.spec_name('text')
    ),
}


def _agent(seed, first_layer_number, rnd_optimizer=None, **settings):
  """An agent whose layers are named from dense_<first_layer_number> on."""
  tf.keras.backend.reset_uids()
  for _ in range(first_layer_number):
    tf.keras.layers.Dense(1)
  agent = agent_test_utils.build_agent(
      seed=seed,
      sizes=DEEP,
      rnd_optimizer=rnd_optimizer,
      **dict(NORMALIZED, **settings),
  )
  tf.keras.backend.reset_uids()
  return agent


def _state(agent):
  """Everything that training changes, by kind."""
  state = {
      'agent': agent.variables,
      'predictor': agent.curiosity.rnd_network.variables,
      'target': agent.curiosity.target_rnd_network.variables,
  }
  state = {k: [v.numpy() for v in x] for k, x in state.items()}
  state['slots'] = []
  rnd_optimizer = agent._rnd_optimizer or agent._optimizer
  for optimizer, variables in (
      (agent._optimizer, agent._ppo_variables),
      (rnd_optimizer, agent._predictor_variables),
  ):
    for variable in variables:
      state['slots'] += agent_test_utils.adam_slots(optimizer, variable)
  scaler = agent.curiosity._return_scaler
  _, episode_sums = agent._return_streams.episode_sums
  sums = (*scaler._sums.variables, *episode_sums.variables)
  state['filter'] = [v.numpy() for v in sums]
  return state


def _assert_equal_states(a, b):
  for kind in a:
    for x, y in zip(a[kind], b[kind], strict=True):
      np.testing.assert_array_equal(x, y, err_msg=kind)


def _different(a, b):
  pairs = zip(a, b, strict=True)
  return sum(not np.array_equal(x, y) for x, y in pairs)


@pytest.mark.parametrize(
    'build_optimizers',
    [
        lambda: {'optimizer': agent_test_utils.adam()},
        lambda: {
            'optimizer': tf.compat.v1.train.AdamOptimizer(1e-3),
            'rnd_optimizer': tf.keras.optimizers.legacy.Adam(1e-3),
        },
    ],
    ids=['keras', 'v1-and-legacy'],
)
def test_a_restored_agent_goes_on_as_if_nothing_had_happened(
    tmp_path, build_optimizers
):
  # In another process the layers have other numbers: dense_10 sorts before
  # dense_9, and Keras keeps Adam's moments by position.
  first = _agent(1, 0, **build_optimizers())
  second = _agent(2, 8, **build_optimizers())
  assert any('dense_10/' in v.name for v in second._ppo_variables)

  first.train(agent_test_utils.rollout(first, seed=3))
  saver = common.Checkpointer(
      str(tmp_path), agent=first, train_step=first.train_step_counter
  )
  saver.save(global_step=first.train_step_counter)
  saved = _state(first)
  assert _different(saved['agent'], _state(second)['agent']) > 30
  restored = common.Checkpointer(
      str(tmp_path), agent=second, train_step=second.train_step_counter
  )
  assert restored.checkpoint_exists
  restored.initialize_or_restore().assert_existing_objects_matched()
  _assert_equal_states(saved, _state(second))
  assert second.train_step_counter.numpy() == 6

  experience = agent_test_utils.rollout(first, seed=4)
  infos = [agent.train(experience) for agent in (first, second)]
  after = _state(first)
  _assert_equal_states(after, _state(second))
  for a, b in zip(*map(tf.nest.flatten, infos), strict=True):
    np.testing.assert_array_equal(a, b)
  assert _different(after['predictor'], saved['predictor']) == 8
  assert _different(after['target'], saved['target']) == 0
  assert _different(after['filter'], saved['filter']) == 2


def _save_and_load(policy, path):
  saver = policy_saver.PolicySaver(policy, batch_size=None)
  saver.save(str(path))
  return tf.saved_model.load(str(path))


def _ready_agent(observation_spec, action_spec, size=6, **settings):
  """(agent, time step), statistics not N(0, 1), policy not even."""
  agent = agent_test_utils.stir(
      agent_test_utils.build_agent(
          observation_spec, action_spec, normalize_observations=True, **settings
      )
  )
  warm_up = tf.nest.map_structure(
      lambda x: x if x.dtype.is_integer else 3 + 2 * x,
      agent_test_utils.sample(observation_spec, [6], 1),
  )
  agent.update_observation_statistics(warm_up)
  observations = agent_test_utils.sample(observation_spec, [size], 2)
  return agent, ts.restart(observations, size)


def _assert_close(a, b, tolerance=1e-6):
  tf.nest.map_structure(
      lambda x, y: np.testing.assert_allclose(x, y, atol=tolerance), a, b
  )


def test_saved_policies_act_as_the_agent_does(tmp_path):
  agent, time_step = _ready_agent(
      agent_test_utils.FLAT, agent_test_utils.DISCRETE, size=1_000
  )
  logits = agent.collect_policy.action(time_step).info['dist_params']['logits']
  loaded = _save_and_load(agent.collect_policy, tmp_path / 'collect')
  info = loaded.action(time_step, ()).info
  np.testing.assert_allclose(info['dist_params']['logits'], logits, atol=1e-6)
  # The statistics came along: without them the answers are others.
  agent.collect_policy._observation_normalizer = None
  bare = agent.collect_policy.action(time_step).info['dist_params']['logits']
  assert not np.allclose(bare, logits, atol=1e-2)

  kept = [v.numpy() for v in loaded.model_variables]
  curiosity = agent.curiosity
  wanted = [
      *curiosity.rnd_network.variables,
      *curiosity.target_rnd_network.variables,
      *curiosity.seen.moments[0].variables,
      *curiosity._return_scaler.variables,
      *agent._observation_normalizer.variables,
      *agent._ppo_variables,
  ]
  assert len(wanted) == 4 + 4 + 3 + 5 + 3 + 8
  for variable in wanted:
    assert any(
        x.shape == variable.numpy().shape and np.array_equal(x, variable)
        for x in kept
    ), variable.name

  greedy = _save_and_load(agent.policy, tmp_path / 'greedy')
  actions = greedy.action(time_step, ()).action
  np.testing.assert_array_equal(actions, np.argmax(logits, -1))
  assert len(set(actions.numpy())) > 1
  # The policy that only acts is spared what it does not need.
  assert len(greedy.model_variables) == 3 + 8


def test_saved_policy_for_dicts(tmp_path):
  agent, time_step = _ready_agent(DICT_OBSERVATION, agent_test_utils.DICT)
  parameters = agent.collect_policy.action(time_step).info['dist_params']
  greedy = _save_and_load(agent.policy, tmp_path)
  actions = greedy.action(time_step, ()).action
  np.testing.assert_array_equal(
      actions['jump'], np.argmax(parameters['jump']['logits'], -1)
  )
  # The greedy policy keeps to the bounds.
  spec = agent_test_utils.BOX
  location = parameters['steer']['distribution']['loc']
  np.testing.assert_allclose(
      actions['steer'], np.clip(location, spec.minimum, spec.maximum), atol=1e-6
  )


def _agent_with_memory(kind, core):
  if kind == 'R2D3':
    return slow_r2d3.build_agent(core=core, collect_epsilon=tf.Variable(0.0))
  core = slow_r2d3.CORES[core](slow_r2d3.UNITS)
  return agent_test_utils.stir(
      agent_test_utils.build_agent(sizes={'core': core})
  )


@pytest.mark.parametrize(
    ('kind', 'core', 'greedy'),
    [
        # Greedy ones of RND-PPO: tests/training/recurrent_run_test.py.
        ('RND-PPO', 'lstm', False),
        ('R2D3', 'gru', True),
    ],
)
def test_saved_policies_remember(tmp_path, kind, core, greedy):
  agent = _agent_with_memory(kind, core)
  policy = agent.policy if greedy else agent.collect_policy
  policy_saver.PolicySaver(policy, batch_size=None).save(str(tmp_path))
  load = saved_policy.SavedPolicy if greedy else tf.saved_model.load
  loaded = load(str(tmp_path))
  chosen = set()
  for batch_size in (1, 5):  # Of a saved policy it was one for ever (#660).
    states = [p.get_initial_state(batch_size) for p in (policy, loaded)]
    _assert_close(*map(tf.nest.flatten, states))
    assert not any(map(np.any, tf.nest.flatten(states)))
    random = np.random.RandomState(batch_size)
    for i in range(10):
      observation = tf.constant(
          10 * random.normal(size=[batch_size, 3]), tf.float32
      )
      step = ts.transition(observation, tf.zeros([batch_size]))
      if i in (0, 6):
        step = ts.restart(observation, batch_size)
      steps = [
          p.action(step, state)
          for p, state in zip((policy, loaded), states, strict=True)
      ]
      if greedy or kind == 'R2D3':
        np.testing.assert_array_equal(steps[0].action, steps[1].action)
        chosen.update(steps[0].action.numpy())
      for part in ('info', 'state'):
        found = [tf.nest.flatten(getattr(s, part)) for s in steps]
        _assert_close(*found, tolerance=1e-5)
      states = [s.state for s in steps]
      assert np.abs(tf.nest.flatten(states)[0]).max() > 0.01
  assert len(chosen) != 1
