# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""A policy that whitens observations for another one."""

from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents.statistics import running_statistics


class NormalizingPolicy(tf_policy.TFPolicy):
  """Acts by another policy, which sees whitened observations.

  The statistics are among its variables, and so in saved policies.
  """

  def __init__(
      self,
      policy: tf_policy.TFPolicy,
      time_step_spec: ts.TimeStep,
      observation_normalizer: running_statistics.ObservationNormalizer,
      name: str = 'NormalizingPolicy',
  ):
    """Creates the policy.

    Args:
      policy: A policy of observations that are whitened.
      time_step_spec: A `TimeStep` spec of what environments show.
      observation_normalizer: Whitens them.
      name: Name of the policy.
    """
    super().__init__(
        time_step_spec,
        policy.action_spec,
        policy_state_spec=policy.policy_state_spec,
        info_spec=policy.info_spec,
        clip=False,
        name=name,
    )
    self._policy = policy
    self._observation_normalizer = observation_normalizer

  def _get_initial_state(self, batch_size: types.Int) -> types.NestedTensor:
    return self._policy.get_initial_state(batch_size)

  def _whitened(self, time_step: ts.TimeStep) -> ts.TimeStep:
    return time_step._replace(
        observation=self._observation_normalizer.normalize(
            time_step.observation
        )
    )

  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    return self._policy.distribution(self._whitened(time_step), policy_state)

  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    return self._policy.action(self._whitened(time_step), policy_state, seed)
