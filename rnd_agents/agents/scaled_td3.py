# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TD3 whose noise does not depend on the units of the actions."""

from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.agents.td3 import td3_agent
from tf_agents.networks import network
from tf_agents.policies import actor_policy
from tf_agents.policies import gaussian_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types


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
        _Noise(target_policy_noise, target_policy_noise_clip),
    )
    self._collect_policy = _NoisyPolicy(
        actor_policy.ActorPolicy(
            self.time_step_spec,
            self.action_spec,
            actor_network=self._actor_network,
            clip=False,
        ),
        _Noise(exploration_noise_std),
    )


class _Noise(NamedTuple):
  """Normal noise of actions, in halves of their ranges."""

  deviation: float
  limit: float = float('inf')

  def add(
      self,
      actions: types.NestedTensor,
      action_spec: types.NestedTensorSpec,
      seed: types.Seed | None = None,
  ) -> types.NestedTensor:
    """Returns actions [B, ...] with noise, within their bounds."""
    seeds = tfp.util.SeedStream(seed, salt='action_noise')
    normal = tfp.distributions.Normal(0.0, self.deviation)

    def noisy(action: tf.Tensor, spec: types.BoundedTensorSpec) -> tf.Tensor:
      noise = tf.clip_by_value(
          normal.sample(tf.shape(action), seeds()), -self.limit, self.limit
      )
      half_range = (spec.maximum - spec.minimum) / 2
      return tf.clip_by_value(
          action + tf.cast(noise, action.dtype) * half_range,
          spec.minimum,
          spec.maximum,
      )

    return tf.nest.map_structure(noisy, actions, action_spec)


class _NoisyActor(network.Network):
  """The actions of an actor with noise."""

  def __init__(
      self,
      actor: network.Network,
      action_spec: types.NestedTensorSpec,
      noise: _Noise,
  ):
    super().__init__(actor.input_tensor_spec, state_spec=(), name='NoisyActor')
    self._actor = actor
    self._action_spec = action_spec
    self._noise = noise
    self.create_variables(actor.input_tensor_spec)

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
    return self._noise.add(actions, self._action_spec), network_state


class _NoisyPolicy(gaussian_policy.GaussianPolicy):
  """The actions of a policy with noise, other in each row."""

  def __init__(self, policy: actor_policy.ActorPolicy, noise: _Noise):
    super().__init__(policy)
    self._noise = noise

  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    step = self._wrapped_policy.action(time_step, policy_state)
    return step._replace(
        action=self._noise.add(step.action, self.action_spec, seed)
    )
