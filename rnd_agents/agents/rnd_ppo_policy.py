# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The PPO policy of an agent with two value heads and a curiosity."""

import tensorflow as tf
from tf_agents.agents.ppo import ppo_policy
from tf_agents.networks import network


class ExtrinsicValueNetwork(network.Network):
  """The first head of a two-headed value network, as TF-Agents wants it.

  `PPOPolicy` and `PPOLearner` accept one value a state and nothing else.
  """

  def __init__(self, value_net, name='ExtrinsicValueNetwork'):
    """Creates the view.

    Args:
      value_net: A `Network` with outputs [..., 2]: extrinsic, intrinsic.
      name: Name of the view.
    """
    super().__init__(value_net.input_tensor_spec, state_spec=(), name=name)
    self.value_net = value_net
    self.built = True  # `value_net` is: its variables are this network's.

  def call(
      self, observation, step_type=None, network_state=(), training=False
  ):
    values, _ = self.value_net(observation, step_type, training=training)
    return values[..., 0], network_state


class RNDPPOPolicy(ppo_policy.PPOPolicy):
  """A `PPOPolicy` that records both values and carries the curiosity along.

  With `collect` and without `compute_value_and_advantage_in_train` the policy
  info has, besides `value_prediction`, an `intrinsic_value_prediction`.
  A SavedModel or checkpoint of a policy made with `curiosity` keeps predictor,
  target and statistics too.
  """

  def __init__(
      self, *args, value_network=None, curiosity=None, collect=True, **kwargs
  ):
    """Creates the policy.

    Args:
      *args: As for `PPOPolicy`.
      value_network: An `ExtrinsicValueNetwork`.
      curiosity: Optional `RandomNetworkDistillation` to save with the policy.
      collect: As for `PPOPolicy`.
      **kwargs: As for `PPOPolicy`.
    """
    super().__init__(
        *args, value_network=value_network, collect=collect, **kwargs
    )
    self._curiosity = curiosity
    self._records_values = (
        collect and not self._compute_value_and_advantage_in_train
    )
    if self._records_values:
      spec = self._info_spec['value_prediction']
      self._info_spec = dict(
          self._info_spec,
          intrinsic_value_prediction=tf.TensorSpec(
              spec.shape, spec.dtype, 'intrinsic_value_prediction'
          ),
      )
      self._setup_specs()

  def normalize(self, observations):
    """Observations as the networks take them."""
    if self._observation_normalizer is None:
      return observations
    return self._observation_normalizer.normalize(observations)

  def values(self, observations, step_types=None, training=False):
    """Both values of raw observations.

    Args:
      observations: A nest of tensors [outer..., *shape].
      step_types: Optional integer tensor [outer...].
      training: Whether the output is used for training.

    Returns:
      A float tensor [outer..., 2]: extrinsic, intrinsic.
    """
    values, _ = self._value_network.value_net(
        self.normalize(observations), step_types, training=training
    )
    return values

  def distribution_and_values(self, observations, step_types):
    """Action distribution and both values, in one pass where they share one.

    Args:
      observations: A nest of raw tensors [M, *shape].
      step_types: An integer tensor [M].

    Returns:
      A tuple (nest of distributions, values [M, 2]), for training.
    """
    inputs = self.normalize(observations)
    value_net = self._value_network.value_net
    shared = getattr(self._actor_network, 'actor_critic', None)
    if shared is not None and shared is getattr(
        value_net, 'actor_critic', None
    ):
      (distributions, values), _ = shared(inputs, step_types, training=True)
      return distributions, values
    # `network_state` has no default in TF-Agents' ActorDistributionNetwork.
    distributions, _ = self._actor_network(
        inputs, step_types, network_state=(), training=True
    )
    values, _ = value_net(inputs, step_types, network_state=(), training=True)
    return distributions, values

  def _variables(self):
    variables = super()._variables()
    if self._curiosity is not None:
      variables += list(self._curiosity.variables)
    return variables

  def _distribution(self, time_step, policy_state, training=False):
    step = super()._distribution(time_step, policy_state, training)
    if not self._records_values:
      return step
    values = self.values(time_step.observation, time_step.step_type)
    return step._replace(
        info=dict(step.info, intrinsic_value_prediction=values[..., 1])
    )


