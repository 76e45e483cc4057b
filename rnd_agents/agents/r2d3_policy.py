# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The epsilon-greedy policies of R2D3."""

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.networks import network
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.statistics import running_statistics


class EpsilonGreedyQPolicy(tf_policy.TFPolicy):
  """Takes the best action, or with probability epsilon a uniform one.

  Its distribution gives epsilon / A to every action and the rest to the best;
  A is the number of allowed actions, whose value is not the lowest one.
  A `GreedyPolicy` around it is therefore greedy, and whoever samples chooses
  the random numbers.

  With `stores_state` the policy info is a dict of `network_state`, the state of
  a recurrent network before the step, as a flat tuple.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      q_network: network.Network,
      epsilon: types.Float = 0.0,
      stores_state: bool = False,
      observation_normalizer: (
          running_statistics.ObservationNormalizer | None
      ) = None,
      mean_epsilon: bool = False,
      name: str = 'EpsilonGreedyQPolicy',
  ):
    """Creates the policy.

    Args:
      time_step_spec: A `TimeStep` spec.
      action_spec: One discrete action from 0.
      q_network: A `Network` with outputs [..., A].
      epsilon: Probability of a uniform action: a number, an array, a tensor or
        a variable; [], or [B] with one for each environment.
      stores_state: Whether the policy info has the network's state.
      observation_normalizer: Whitens observations for the network; None if it
        takes them as they are.
      mean_epsilon: Whether every row acts with the mean of `epsilon`, so that
        the batch may have any size.
      name: Name of the policy.
    """
    if not tf.is_tensor(epsilon) and not _are_probabilities(epsilon):
      raise errors.InvalidValue(
          f'epsilon must be between 0 and 1, got {epsilon}.'
      )
    info_spec: types.NestedTensorSpec = ()
    if stores_state:
      info_spec = dict(
          network_state=tuple(tf.nest.flatten(q_network.state_spec))
      )
    super().__init__(
        time_step_spec,
        action_spec,
        policy_state_spec=q_network.state_spec,
        info_spec=info_spec,
        clip=False,
        name=name,
    )
    self._q_network = q_network
    self._epsilon = epsilon
    self._mean_epsilon = mean_epsilon
    self._stores_state = stores_state
    self._observation_normalizer = observation_normalizer

  @property
  def epsilon(self) -> types.Float:
    """Epsilon as it was given to the constructor."""
    return self._epsilon

  def for_any_batch(self) -> 'EpsilonGreedyQPolicy':
    """Returns this policy with its mean epsilon, which stores no states."""
    return EpsilonGreedyQPolicy(
        self.time_step_spec,
        self.action_spec,
        self._q_network,
        self._epsilon,
        observation_normalizer=self._observation_normalizer,
        mean_epsilon=True,
    )

  @tf.autograph.experimental.do_not_convert
  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    if self._policy_state_spec and not tf.nest.flatten(policy_state):
      policy_state = self.get_initial_state(tf.shape(time_step.step_type)[0])
    observation = time_step.observation
    if self._observation_normalizer is not None:
      observation = self._observation_normalizer.normalize(observation)
    q_values, state = self._q_network(
        observation, time_step.step_type, network_state=policy_state
    )
    num_actions = q_values.shape[-1]
    epsilon = tf.cast(self._epsilon, tf.float32)
    if self._mean_epsilon:
      epsilon = tf.reduce_mean(epsilon)
    if epsilon.shape.rank:
      tf.debugging.assert_equal(
          tf.shape(epsilon)[0],
          tf.shape(q_values)[0],
          'EpsilonGreedyQPolicy.epsilon must have one entry for each'
          ' environment.',
      )
      epsilon = epsilon[:, tf.newaxis]
    best = tf.one_hot(tf.argmax(q_values, axis=-1), num_actions)
    allowed = tf.cast(q_values > q_values.dtype.min, tf.float32)
    num_allowed = tf.reduce_sum(allowed, axis=-1, keepdims=True)
    info: types.NestedTensor = ()
    if self._stores_state:
      info = dict(network_state=tuple(tf.nest.flatten(policy_state)))
    probs = epsilon * allowed / num_allowed + (1.0 - epsilon) * best
    logits = tf.where(
        probs > 0,
        tf.math.log(tf.maximum(probs, np.finfo(np.float32).tiny)),
        action_masks.IMPOSSIBLE_LOGIT,
    )
    return policy_step.PolicyStep(
        tfp.distributions.Categorical(
            logits=logits,
            dtype=self._action_spec.dtype,
        ),
        state,
        info,
    )


def epsilon_of(policy: tf_policy.TFPolicy) -> types.Float | None:
  """Returns the probability of random actions; None for other policies."""
  return policy.epsilon if isinstance(policy, EpsilonGreedyQPolicy) else None


def for_any_batch(policy: tf_policy.TFPolicy) -> tf_policy.TFPolicy:
  """Returns a policy with the mean of its epsilons, if it has some."""
  if isinstance(policy, EpsilonGreedyQPolicy):
    return policy.for_any_batch()
  return policy


def _are_probabilities(epsilon: types.Float) -> bool:
  array = np.asarray(epsilon)
  is_number = array.dtype.kind in 'biuf'
  return is_number and bool(np.all((array >= 0) & (array <= 1)))
