# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A loss on the policy's trunk, and what the agent makes of it."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.ppo import ppo_actor_network
from tf_agents.trajectories import time_step as ts

from rnd_agents import action_masks
from rnd_agents import agents
from rnd_agents import errors
from rnd_agents import networks
from rnd_agents.agents import auxiliary_loss
from tests.agents import agent_test_utils as utils

_LEARNING_RATE = 0.1
_COEFFICIENT = 0.5


def _agent(action_spec=utils.DISCRETE, has_loss=True, nets=None, **settings):
  tf.random.set_seed(0)
  loss = None
  if has_loss:
    loss = auxiliary_loss.InverseDynamics(
        action_spec, 8, _COEFFICIENT, fc_layer_params=(6,)
    )
  return utils.build_agent(
      action_spec=action_spec, nets=nets, auxiliary_loss=loss, **settings
  )


def _slow_loss(agent, experience, weights):
  """The mean loss, a loop over transitions with the layers spelled out."""
  first, bias, second, last_bias = agent._auxiliary_loss.trainable_variables
  encoder = agent.actor_net.actor_critic._encoder
  observations = agent._observation_normalizer.normalize(experience.observation)
  total, num = 0.0, 0
  for b, t in np.ndindex(*experience.step_type[:, :-1].shape):
    if experience.step_type[b, t] == ts.StepType.LAST:
      continue
    before, after = (
        encoder(observations[b, i][tf.newaxis])[0][0] for i in (t, t + 1)
    )
    hidden = tf.concat([before, after], 0)[tf.newaxis] @ first + bias
    output = (tf.nn.relu(hidden) @ second + last_bias)[0]
    if agent.action_spec.dtype.is_integer:
      chosen = output[int(experience.action[b, t])]
      error = tf.math.log(tf.reduce_sum(tf.exp(output))) - chosen
    else:
      middle, half = np.array([0.0, 2.0]), np.array([1.0, 2.0])
      wanted = (experience.action[b, t].numpy() - middle) / half
      error = 0.5 * tf.reduce_sum((output - wanted.astype(np.float32)) ** 2)
    total += weights[b, t] * error
    num += 1
  return total / num


@pytest.mark.parametrize(
    ('action_spec', 'core'), [(utils.DISCRETE, None), (utils.BOX, 4)]
)
def test_an_update_has_the_slow_gradient_of_the_loss(
    tmp_path, action_spec, core
):
  settings = dict(
      num_epochs=1,
      num_minibatches=1,
      predictor_proportion=1.0,
      normalize_observations=True,
  )
  agent, plain = pair = [
      _agent(
          action_spec,
          has_loss,
          sizes={} if core is None else {'core': networks.GRUCore(core)},
          optimizer=tf.keras.optimizers.SGD(_LEARNING_RATE),
          **settings,
      )
      for has_loss in (True, False)
  ]
  shared = len(plain._ppo_variables)
  assert len(agent._ppo_variables) == shared + 4
  for a, b in zip(agent._ppo_variables, plain._ppo_variables, strict=False):
    b.assign(a)
  plain.curiosity.rnd_network.variables[0].assign(
      agent.curiosity.rnd_network.variables[0]
  )
  experience = utils.rollout(agent, ('FMMTFM', 'MLFTFM'))
  for each in pair:
    each.update_observation_statistics(experience.observation * 3.0)
  weights = tf.random.stateless_uniform(experience.reward.shape, [1, 2], 0.5, 2)
  with tf.GradientTape() as tape:
    loss = _COEFFICIENT * _slow_loss(agent, experience, weights)
  gradients = tape.gradient(loss, agent._ppo_variables)
  before = [variable.numpy() for variable in agent._ppo_variables]
  info = agent.train(experience, weights)
  plain.train(experience, weights)

  np.testing.assert_allclose(info.extra.auxiliary_loss, loss, rtol=1e-4)
  num_trained = 0
  for i, (variable, gradient) in enumerate(
      zip(agent._ppo_variables, gradients, strict=True)
  ):
    without = plain._ppo_variables[i] if i < shared else before[i]
    change = 0.0 if gradient is None else -_LEARNING_RATE * gradient
    np.testing.assert_allclose(variable - without, change, atol=2e-5)
    num_trained += gradient is not None and bool(np.any(gradient != 0))
  assert num_trained == 2 + 4  # Kernel and bias of the trunk, and its own.
  # A checkpoint has them.
  path = tf.train.Checkpoint(agent=agent).write(str(tmp_path / 'checkpoint'))
  reader = tf.train.load_checkpoint(path)
  saved = [reader.get_tensor(x) for x in reader.get_variable_to_shape_map()]
  for variable in agent._auxiliary_loss.trainable_variables:
    assert any(np.array_equal(variable, value) for value in saved)


def test_a_coefficient_of_0_is_no_loss():
  specs = ts.time_step_spec(utils.FLAT), utils.DISCRETE
  found = []
  for coefficient in (None, 0.0, 0.1):
    tf.random.set_seed(7)
    auxiliary_loss_fn = None
    if coefficient is not None:
      auxiliary_loss_fn = functools.partial(
          agents.create_inverse_dynamics, coefficient=coefficient
      )
    found.append(
        agents.create_rnd_ppo_agent(*specs, auxiliary_loss_fn=auxiliary_loss_fn)
    )
  without, zero, some = found
  assert zero._loss_names == without._loss_names
  assert 'auxiliary_loss' in some._loss_names
  # Also what is drawn after the networks.
  pairs = zip(
      [*zero.variables, zero._shuffling.state],
      [*without.variables, without._shuffling.state],
      strict=True,
  )
  for a, b in pairs:
    np.testing.assert_array_equal(a, b)
  with pytest.raises(errors.InvalidValue, match='coefficient .*-1'):
    agents.create_inverse_dynamics(*specs, 8, coefficient=-1.0)


def test_refuses_what_has_no_trunk_for_it():
  nets = utils.small_networks(utils.FLAT, utils.DISCRETE)._asdict()
  actor_net = ppo_actor_network.PPOActorNetwork().create_sequential_actor_net(
      (4,), utils.DISCRETE
  )
  with pytest.raises(errors.InvalidValue, match='networks of create_networks'):
    _agent(nets={**nets, 'actor_net': actor_net})
  with pytest.raises(errors.InvalidType, match='AuxiliaryLoss.*InverseDyn'):
    utils.build_agent(nets=nets, auxiliary_loss=0.1)
  with pytest.raises(errors.InvalidValue, match='action mask'):
    _agent(
        observation_spec=action_masks.ObservationWithMask(
            utils.FLAT, tf.TensorSpec([3], tf.uint8)
        ),
        rnd_observation_fn=None,
    )
  with tf.distribute.MirroredStrategy(['/cpu:0']).scope():
    with pytest.raises(errors.InvalidValue, match='num_devices = 1'):
      _agent(nets=nets)
