# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Policies whose random numbers are part of a checkpoint."""

import abc
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types


class ComposedPolicy(tf_policy.TFPolicy):
  """A policy that acts by other policies, its parts."""

  @abc.abstractmethod
  def map_parts(
      self, function: Callable[[tf_policy.TFPolicy], tf_policy.TFPolicy]
  ) -> tf_policy.TFPolicy:
    """Returns the policy with each part replaced by `function(part)`."""


def seeded(
    policy: tf_policy.TFPolicy, generator: tf.random.Generator
) -> tf_policy.TFPolicy:
  """Returns the policy with all of its parts sampling with a generator."""
  if isinstance(policy, ComposedPolicy):
    return policy.map_parts(lambda part: seeded(part, generator))
  return SeededPolicy(policy, generator)


def uniform(
    policy: tf_policy.TFPolicy, generator: tf.random.Generator
) -> tf_policy.TFPolicy:
  """Returns the policy with uniformly random actions, in all of its parts."""
  if isinstance(policy, ComposedPolicy):
    return policy.map_parts(lambda part: uniform(part, generator))
  return UniformPolicy(policy, generator)


class SeededPolicy(tf_policy.TFPolicy):
  """Samples another policy's actions with a generator of its own.

  TF-Agents' policies sample by operations that keep their position inside the
  kernel, where no checkpoint reaches it: a process that resumes would draw
  other actions than the one that was killed.
  """

  def __init__(
      self, policy: tf_policy.TFPolicy, generator: tf.random.Generator
  ):
    """Creates the policy.

    Args:
      policy: A policy with a distribution.
      generator: A `tf.random.Generator`; whoever saves checkpoints tracks it.
    """
    super().__init__(
        policy.time_step_spec,
        policy.action_spec,
        policy_state_spec=policy.policy_state_spec,
        info_spec=policy.info_spec,
        clip=False,
        name=type(self).__name__,
    )
    self._policy = policy
    self._generator = generator

  def _get_initial_state(self, batch_size: types.Int) -> types.NestedTensor:
    return self._policy.get_initial_state(batch_size)

  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    return self._policy.distribution(time_step, policy_state)

  def _action(
      self,
      time_step: ts.TimeStep,
      policy_state: types.NestedTensor,
      seed: types.Seed | None,
  ) -> policy_step.PolicyStep:
    step = self._policy.distribution(time_step, policy_state)
    return step._replace(
        action=tf.nest.pack_sequence_as(
            step.action, self._draw(time_step, step)
        )
    )

  def _draw(
      self, time_step: ts.TimeStep, step: policy_step.PolicyStep
  ) -> list[tf.Tensor]:
    """Returns actions [B, ...], one for each leaf of the action spec."""
    distributions = tf.nest.flatten(step.action)
    # TensorFlow Probability takes two int32 for a seed without a state.
    seeds = self._generator.uniform_full_int(
        [len(distributions), 2], dtype=tf.int32
    )
    # `RNDPPOPolicy` refuses NaN there: no environment is to see what was drawn.
    with tf.control_dependencies(tf.nest.flatten(step.info)):
      return [
          distribution.sample(seed=seeds[i])
          for i, distribution in enumerate(distributions)
      ]


class UniformPolicy(SeededPolicy):
  """Draws actions evenly between the bounds of the action spec.

  Policy state and policy info are those of another policy that sees the same
  time steps: a replay stores the memory of a recurrent policy with random
  actions, too.
  """

  def _distribution(
      self, time_step: ts.TimeStep, policy_state: types.NestedTensor
  ) -> policy_step.PolicyStep:
    raise NotImplementedError('UniformPolicy only has actions.')

  def _draw(
      self, time_step: ts.TimeStep, step: policy_step.PolicyStep
  ) -> list[tf.Tensor]:
    outer_dims = tf.shape(time_step.step_type)
    # `TFPyEnvironment` must not step before it has returned the time step.
    with tf.control_dependencies(tf.nest.flatten(time_step)):
      return [
          self._draw_leaf(spec, outer_dims)
          for spec in tf.nest.flatten(self.action_spec)
      ]

  def _draw_leaf(
      self, spec: types.BoundedTensorSpec, outer_dims: tf.Tensor
  ) -> tf.Tensor:
    """Draws actions [B, ...] of one `BoundedTensorSpec`."""
    low, high = (
        np.asarray(bound, np.float64) for bound in (spec.minimum, spec.maximum)
    )
    drawn = self._generator.uniform(
        tf.concat([outer_dims, spec.shape], axis=0), dtype=tf.float64
    )
    if spec.dtype.is_integer:
      drawn = tf.floor(low + drawn * (high - low + 1.0))
    else:
      # As TF-Agents samples actions without bounds.
      low, high = np.clip([low, high], spec.dtype.min / 8, spec.dtype.max / 8)
      drawn = low + drawn * (high - low)
    return tf.cast(tf.minimum(drawn, high), spec.dtype)
