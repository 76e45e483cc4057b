# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The PPO policy of an agent with two value heads and a curiosity."""

import tensorflow as tf
from tf_agents.agents.ppo import ppo_policy
from tf_agents.agents.ppo import ppo_utils
from tf_agents.networks import network
from tf_agents.trajectories import policy_step


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
    super().__init__(
        value_net.input_tensor_spec,
        state_spec=value_net.state_spec,
        name=name,
    )
    self.value_net = value_net
    self.built = True  # `value_net` is: its variables are this network's.

  def call(
      self, observation, step_type=None, network_state=(), training=False
  ):
    values, network_state = self.value_net(
        observation, step_type, network_state=network_state, training=training
    )
    return values[..., 0], network_state


class RNDPPOPolicy(ppo_policy.PPOPolicy):
  """A `PPOPolicy` that records both values and carries the curiosity along.

  With `collect` the policy info has, besides `dist_params`,

  * without `compute_value_and_advantage_in_train` a `value_prediction` and an
    `intrinsic_value_prediction`;
  * with `stores_state` a `network_state`: what recurrent networks remembered
    before the step, as a flat tuple.

  A SavedModel or checkpoint of a policy made with `curiosity` keeps predictor,
  target and statistics too.
  """

  def __init__(
      self,
      *args,
      value_network=None,
      curiosity=None,
      collect=True,
      stores_state=False,
      **kwargs,
  ):
    """Creates the policy.

    Args:
      *args: As for `PPOPolicy`.
      value_network: An `ExtrinsicValueNetwork`.
      curiosity: Optional `RandomNetworkDistillation` to save with the policy.
      collect: As for `PPOPolicy`.
      stores_state: Whether the policy info of recurrent networks has their
        state.
      **kwargs: As for `PPOPolicy`.
    """
    super().__init__(
        *args, value_network=value_network, collect=collect, **kwargs
    )
    self._curiosity = curiosity
    # The network whose two views actor and values are, if they are.
    shared = getattr(self._actor_network, 'actor_critic', None)
    values_of = getattr(value_network.value_net, 'actor_critic', None)
    self._shared = shared if shared is values_of else None
    self._records_values = (
        collect and not self._compute_value_and_advantage_in_train
    )
    self._build_state_spec(collect)
    self._stores_state = bool(
        collect and stores_state and self._policy_state_spec
    )
    self._build_info_spec()
    self._setup_specs()

  def _build_state_spec(self, collect):
    """One state a recurrent network, and one for both views of one."""
    spec = {}
    if self._actor_network.state_spec:
      spec['actor_network_state'] = self._actor_network.state_spec
    if collect and self._value_network.state_spec and self._shared is None:
      spec['value_network_state'] = self._value_network.state_spec
    self._policy_state_spec = spec or ()

  def _build_info_spec(self):
    if self._records_values:
      spec = self._info_spec['value_prediction']
      self._info_spec = dict(
          self._info_spec,
          intrinsic_value_prediction=tf.TensorSpec(
              spec.shape, spec.dtype, 'intrinsic_value_prediction'
          ),
      )
    if self._stores_state:
      self._info_spec = dict(
          self._info_spec,
          network_state=_pack_flat(self._policy_state_spec),
      )

  def training_info_spec(self):
    """Of the policy infos that `RNDPPOAgent.train` takes.

    They are those of the collection where it computes returns itself; else
    `preprocess_sequence` has added what it takes of the whole rollout.
    """
    if not self._records_values:
      return self.info_spec
    scalar = tf.TensorSpec([], tf.float32)
    return dict(
        self.info_spec,
        advantage=scalar,
        **{'return': scalar},
        intrinsic_return=scalar,
        valid_mask=scalar,
        next_observation=self.time_step_spec.observation,
    )

  def unpack_state(self, network_state):
    """Policy states from the `network_state` of a policy info."""
    return tf.nest.pack_sequence_as(
        self._policy_state_spec, list(network_state)
    )

  def normalize(self, observations):
    """Observations as the networks take them."""
    if self._observation_normalizer is None:
      return observations
    return self._observation_normalizer.normalize(observations)

  def values(self, observations, step_types=None, states=(), training=False):
    """Both values of raw observations.

    Args:
      observations: A nest of tensors [outer..., *shape]; of recurrent networks
        [B, T, *shape].
      step_types: Optional integer tensor [outer...].
      states: Policy states [B, ...] before the first step; () for 0.
      training: Whether the output is used for training.

    Returns:
      A float tensor [outer..., 2]: extrinsic, intrinsic.
    """
    values, _ = self._apply_value_net(
        observations, step_types, states, training
    )
    return values

  def distribution_and_values(self, observations, step_types, states=()):
    """Action distribution and both values, in one pass where they share one.

    Args:
      observations: A nest of raw tensors [M, *shape], or [M, L, *shape] to
        unroll recurrent networks.
      step_types: An integer tensor [M] or [M, L].
      states: Policy states [M, ...] before the first step; () for 0.

    Returns:
      A tuple (nest of distributions, values [M, 2] or [M, L, 2]), for training.
    """
    distributions, values, _ = self._apply_both(
        observations, step_types, states, training=True
    )
    return distributions, values

  def states_after(self, observations, step_types, states):
    """Policy states after sequences.

    Args:
      observations: A nest of raw tensors [M, L, *shape].
      step_types: An integer tensor [M, L].
      states: Policy states [M, ...] before the first step.

    Returns:
      Policy states [M, ...].
    """
    return self._apply_both(observations, step_types, states)[2]

  def _apply_both(self, observations, step_types, states, training=False):
    """Returns (distributions, both values, new policy states)."""
    if self._shared is not None:
      (distributions, values), state = self._shared(
          self.normalize(observations),
          step_types,
          network_state=_state_of('actor', states),
          training=training,
      )
      new_states = {'actor_network_state': state}
    else:
      # `network_state` has no default in TF-Agents' ActorDistributionNetwork.
      distributions, actor_state = self._actor_network(
          self.normalize(observations),
          step_types,
          network_state=_state_of('actor', states),
          training=training,
      )
      values, value_state = self._apply_value_net(
          observations, step_types, states, training
      )
      new_states = {
          'actor_network_state': actor_state,
          'value_network_state': value_state,
      }
    return distributions, values, self._kept(new_states)

  def _apply_value_net(self, observations, step_types, states, training):
    network = 'value' if self._shared is None else 'actor'
    return self._value_network.value_net(
        self.normalize(observations),
        step_types,
        network_state=_state_of(network, states),
        training=training,
    )

  def _kept(self, states):
    """Those states that the policy carries."""
    if not self._policy_state_spec:
      return ()
    return {name: states[name] for name in self._policy_state_spec}

  def _variables(self):
    variables = super()._variables()
    if self._curiosity is not None:
      variables += list(self._curiosity.variables)
    return variables

  def _distribution(self, time_step, policy_state, training=False):
    if self._policy_state_spec and not policy_state:
      policy_state = self.get_initial_state(tf.shape(time_step.step_type)[0])
    if self._records_values or 'value_network_state' in policy_state:
      distributions, values, new_states = self._apply_both(
          time_step.observation, time_step.step_type, policy_state, training
      )
    else:
      distributions, state = self._apply_actor_network(
          time_step, _state_of('actor', policy_state), training
      )
      new_states = self._kept({'actor_network_state': state})
    if not self._collect:
      return policy_step.PolicyStep(distributions, new_states, ())
    info = dict(
        dist_params=ppo_utils.get_distribution_params(
            distributions,
            legacy_distribution_network=isinstance(
                self._actor_network, network.DistributionNetwork
            ),
        )
    )
    if self._records_values:
      info['value_prediction'] = values[..., 0]
      info['intrinsic_value_prediction'] = values[..., 1]
    if self._stores_state:
      info['network_state'] = _pack_flat(policy_state)
    return policy_step.PolicyStep(distributions, new_states, info)


def _state_of(network_name, policy_states):
  """The state of the 'actor' or the 'value' network."""
  if not policy_states:
    return ()
  return policy_states.get(f'{network_name}_network_state', ())


def _pack_flat(states):
  """A nest as a tuple: Reverb's tables refuse the lists in it."""
  return tuple(tf.nest.flatten(states))
