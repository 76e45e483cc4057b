# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TD3 whose noise does not depend on the units of the actions."""

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.agents.td3 import td3_agent
from tf_agents.networks import network
from tf_agents.policies import actor_policy
from tf_agents.typing import types

from rnd_agents.networks import encoders


class ScaledTd3Agent(td3_agent.Td3Agent):
  """TD3 with noise in halves of the actions' ranges, and targets within them.

  As in its authors' program (Fujimoto et al., 2018, arXiv 1802.09477, sections
  5.3 and 6.1). `Td3Agent` draws noise in the units of the action spec: 0.2
  moves an action of [-0.1, 0.1] beyond its bounds and one of [-100, 100]
  hardly. And it does not clip noisy target actions to the bounds: critics tell
  the value of actions that nobody can take, and that none was trained on. Its
  collect policy draws one noise for all environments of a batch.
  """

  def __init__(
      self,
      *args: Any,
      target_actor_network: network.Network,
      exploration_noise_std: float,
      target_policy_noise: float,
      target_policy_noise_clip: float,
      **kwargs: Any,
  ):
    """Creates the agent.

    Args:
      *args: As for `Td3Agent`.
      target_actor_network: As for `Td3Agent`.
      exploration_noise_std: Deviation of the noise of collected actions, of
        half the range of each.
      target_policy_noise: The same of target actions.
      target_policy_noise_clip: Largest size of that noise.
      **kwargs: As for `Td3Agent`.
    """
    super().__init__(
        *args,
        target_actor_network=target_actor_network,
        target_policy_noise=0.0,
        **kwargs,
    )
    # The parent adds noise of deviation 0 to that of this network.
    self._target_actor_network = _NoisyActor(
        target_actor_network,
        self.action_spec,
        target_policy_noise,
        target_policy_noise_clip,
    )
    self._collect_policy = actor_policy.ActorPolicy(
        self.time_step_spec,
        self.action_spec,
        actor_network=_NoisyActor(
            self._actor_network,
            self.action_spec,
            exploration_noise_std,
        ),
        clip=False,
    )


class _NoisyActor(network.Network):
  """The actions of an actor with normal noise, within their bounds."""

  def __init__(
      self,
      actor: network.Network,
      action_spec: types.NestedTensorSpec,
      noise_std: float,
      noise_clip: float = float('inf'),
  ):
    """Creates the network.

    Args:
      actor: Network of actions [B, ...].
      action_spec: Their bounds.
      noise_std: Deviation of the noise, of half the range of each action.
      noise_clip: Largest size of the noise, of the same half.
    """
    super().__init__(
        encoders.environment_spec(actor), state_spec=(), name='NoisyActor'
    )
    self._actor = actor
    self._action_spec = action_spec
    self._noise = tfp.distributions.Normal(0.0, noise_std)
    self._noise_clip = noise_clip
    self.create_variables()

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[types.NestedTensor, types.NestedTensor]:
    actions, network_state = self._actor(
        observation, step_type, network_state, training=training
    )
    actions = tf.nest.map_structure(self._add_noise, actions, self._action_spec)
    return actions, network_state

  def _add_noise(
      self, action: tf.Tensor, spec: types.BoundedTensorSpec
  ) -> tf.Tensor:
    noise = tf.clip_by_value(
        self._noise.sample(tf.shape(action)),
        -self._noise_clip,
        self._noise_clip,
    )
    half_range = (spec.maximum - spec.minimum) / 2
    return tf.clip_by_value(
        action + tf.cast(noise, action.dtype) * half_range,
        spec.minimum,
        spec.maximum,
    )
