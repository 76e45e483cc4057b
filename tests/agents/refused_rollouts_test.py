# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What an update refuses before it changes anything, and what it ignores."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.statistics import finite
from tests.agents import agent_test_utils
from tests.agents import slow_r2d3

# Of a PPOLearner.
_BY_LEARNER = dict(
    compute_value_and_advantage_in_train=False,
    update_normalizers_in_train=False,
    num_epochs=1,
)
_REFUSALS = (errors.InvalidValue, tf.errors.InvalidArgumentError)


def _state(agent):
  """Everything that an update may change."""
  variables = [*agent.variables, agent.train_step_counter]
  generator = getattr(agent, '_shuffling', None)
  if generator is not None:
    variables.append(generator.state)
  for optimizer in agent.optimizers:
    variables += optimizer.variables
  return [variable.numpy() for variable in variables]


def _spoiled(experience, name, value, place=2, step=5):
  """The experience with one wrong number."""

  def spoil(x):
    x = x.numpy()
    x[place, step] = value
    return tf.constant(x)

  if name in experience.policy_info:
    info = dict(experience.policy_info)
    info[name] = tf.nest.map_structure(spoil, info[name])
    return experience.replace(policy_info=info)
  return experience.replace(
      **{name: tf.nest.map_structure(spoil, getattr(experience, name))}
  )


class _Refusing:
  """Asserts that a method refuses and changes nothing, in a graph as well."""

  def __init__(self, agent, method, in_graph=True):
    self._agent = agent
    # A graph of its own would be most of the time of each case.
    self._calls = [method, *[common.function(method)] * in_graph]

  def __call__(self, experience, *words):
    before = _state(self._agent)
    messages = []
    for call, error in zip(self._calls, _REFUSALS):
      with pytest.raises(error) as caught:
        call(experience)
      for word in ('Refused: ', *words):
        assert word in str(caught.value), str(caught.value)[-600:]
      for old, new in zip(before, _state(self._agent), strict=True):
        np.testing.assert_array_equal(old, new)
      messages.append(finite.refusal_message(caught.value))
    # A run tells the user one sentence of TensorFlow's page.
    assert messages[0] == messages[-1]


_WRONG = [
    ('observation', np.nan, 'observation is nan'),
    ('observation', -np.inf, 'observation is -inf'),
    ('reward', np.nan, 'reward is nan'),
    ('reward', 1e30, 'normalize_rewards'),
    ('discount', np.nan, 'discount is nan'),
    ('action', np.nan, 'action is nan'),
    ('dist_params', np.nan, 'dist_params'),
]


def test_a_rollout_that_is_not_finite_changes_nothing():
  agent = agent_test_utils.build_agent(
      action_spec=agent_test_utils.BOX, normalize_observations=True
  )
  rollout = agent_test_utils.rollout(agent)
  refuses = _Refusing(agent, agent.train)
  for name, value, words in _WRONG:
    refuses(_spoiled(rollout, name, value), words, 'place 2', 'step 5')
  assert np.isfinite(agent.train(rollout).loss)


def test_a_recurrent_rollout_that_is_not_finite_changes_nothing():
  agent = agent_test_utils.build_agent(
      sizes={'core': networks.GRUCore(5), 'activation': tf.nn.relu},
      normalize_rewards=True,
  )
  agent_test_utils.stir(agent, size=10.0)
  rollout = agent_test_utils.rollout(agent)
  refuses = _Refusing(agent, agent.train, in_graph=False)
  where = 'place 2', 'step 5'
  refuses(_spoiled(rollout, 'network_state', np.nan), 'network_state', *where)
  # Of an observation that is finite, which nothing need bound.
  refuses(_spoiled(rollout, 'observation', 3e38), 'value is', *where)
  # A policy that gave NaN is named, and not the action that TensorFlow samples
  # from logits that are NaN.
  wrong = _spoiled(rollout, 'dist_params', np.nan)
  refuses(_spoiled(wrong, 'action', 3), 'dist_params', *where)
  # Rewards of any size can be normalized.
  rollout = rollout.replace(reward=1e29 * rollout.reward)
  assert np.isfinite(agent.train(rollout).loss)


def test_a_policy_that_gives_nan_is_named():
  agent = agent_test_utils.build_agent()
  for act in (agent.collect_policy.action,
              common.function(agent.collect_policy.action)):
    with pytest.raises(_REFUSALS, match='policy.*NaN'):
      act(ts.restart(tf.fill([4, 3], np.float32('nan')), 4))


def test_a_ppo_learner_is_told_before_its_statistics_move():
  agent = agent_test_utils.build_agent(normalize_rewards=True, **_BY_LEARNER)
  rollout = agent_test_utils.rollout(agent)
  preprocess = _Refusing(agent, agent.preprocess_sequence)
  for name in ('observation', 'reward', 'value_prediction'):
    preprocess(_spoiled(rollout, name, np.nan), f'{name} is nan', 'place 2')
  observed = _spoiled(rollout, 'observation', np.nan).observation
  _Refusing(agent, agent.update_observation_normalizer)(observed, 'place 2')
  rewards = _spoiled(rollout, 'reward', np.nan).reward
  _Refusing(agent, agent.update_reward_normalizer)(rewards, 'step 5')
  # A loop of one's own may spoil what was preprocessed.
  processed = agent.preprocess_sequence(rollout)
  _Refusing(agent, agent.train)(
      _spoiled(processed, 'advantage', np.nan), 'advantage is nan'
  )


def test_statistics_refuse_observations_that_are_not_finite():
  agent = agent_test_utils.build_agent(normalize_observations=True)
  observations = agent_test_utils.sample(agent_test_utils.FLAT, [4], 1).numpy()
  observations[3, 1] = np.nan
  _Refusing(agent, agent.update_observation_statistics)(
      tf.constant(observations), 'observation is nan', 'place 3'
  )


def test_replayed_sequences_that_are_not_finite_change_nothing():
  agent = slow_r2d3.build_agent()
  sequences = slow_r2d3.sequences()
  refuses = _Refusing(agent, agent.train)
  for name in ('observation', 'reward', 'discount'):
    wrong = _spoiled(sequences, name, np.nan, 1, 2)
    refuses(wrong, f'{name} is nan', 'place 1')
  last_step, boundary = 3, 4
  wrong = _spoiled(sequences, 'reward', np.inf, 1, last_step)
  refuses(wrong, 'reward is inf', 'step 3')
  # The reward of a boundary row belongs to no transition.
  harmless = _spoiled(sequences, 'reward', np.nan, 1, boundary)
  expected, found = agent.loss(sequences), agent.train(harmless)
  np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-5)


# Boundary rows and the last row.


@pytest.mark.parametrize('core', [None, networks.GRUCore])
def test_garbage_in_rows_without_a_transition_changes_nothing(core):
  """Their action, policy info, reward and discount are nobody's."""
  results = []
  for garbage in (None, np.nan, 1e30):
    agent = agent_test_utils.build_agent(
        normalize_rewards=core is None,
        normalize_advantages=True,
        sizes={'core': core and core(5)},
        num_epochs=1,
        num_minibatches=2,
    )
    experience = agent_test_utils.rollout(agent)
    if garbage is not None:
      no_transition = (experience.step_type == ts.StepType.LAST).numpy()
      no_transition[:, -1] = True

      assert no_transition.sum() == 4 + 6

      def spoil(x, garbage=garbage, where=no_transition):
        return tf.where(
            where.reshape(where.shape + (1,) * (x.shape.rank - 2)), garbage, x
        )

      experience = experience.replace(
          action=spoil(experience.action, tf.constant(1, tf.int64)),
          reward=spoil(experience.reward),
          discount=spoil(experience.discount),
          policy_info=dict(
              experience.policy_info,
              dist_params=tf.nest.map_structure(
                  spoil, experience.policy_info['dist_params']
              ),
          ),
      )
    info = agent.train(experience)
    results.append([*tf.nest.flatten(info), *_state(agent)])
  for a, *others in zip(*results, strict=True):
    for b in others:
      np.testing.assert_array_equal(a, b)


# Weights, chunks, types.


def test_weights_are_factors_of_every_term_of_a_memory_too():
  """Half the weights, half of each loss; weights of sum 1 are no exception."""
  terms = {}
  agent = agent_test_utils.build_agent(
      optimizer=tf.keras.optimizers.SGD(0.0),
      sizes={'core': networks.GRUCore(5)},
      num_epochs=1,
      num_minibatches=1,
      predictor_proportion=1.0,
      update_normalizers_in_train=False,
  )
  experience = agent_test_utils.rollout(agent)
  for weight in (1.0, 0.5, 1 / 36):
    extra = agent.train(experience, weights=tf.constant(weight)).extra
    terms[weight] = np.array([
        extra.policy_gradient_loss,
        extra.extrinsic_value_loss,
        extra.intrinsic_value_loss,
        extra.entropy_regularization_loss,
        extra.rnd_loss,
    ])
  for weight in (0.5, 1 / 36):
    np.testing.assert_allclose(terms[weight], weight * terms[1.0], rtol=1e-5)
  assert np.abs(terms[1.0]).min() > 1e-4


@pytest.mark.parametrize('core', [None, networks.GRUCore])
def test_too_few_samples_are_refused_before_statistics_move(core):
  agent = agent_test_utils.build_agent(
      sizes={'core': core and core(5)}, num_minibatches=5 if core else 40
  )
  _Refusing(agent, agent.train, in_graph=core is None)(
      agent_test_utils.rollout(agent), 'chunks of them, than minibatches'
  )


def test_float64_actions_are_refused_in_a_sentence():
  spec = tensor_spec.BoundedTensorSpec([2], tf.float64, -1.0, 1.0)
  with pytest.raises(errors.InvalidType, match='float64.*float32'):
    agent_test_utils.build_agent(action_spec=spec)
