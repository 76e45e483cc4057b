# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Policies whose random numbers are part of a checkpoint."""

import abc
from typing import Callable

import tensorflow as tf
from tf_agents.policies import tf_policy


class ComposedPolicy(tf_policy.TFPolicy):
  """A policy that acts by other policies, its parts."""

  @abc.abstractmethod
  def map_parts(
      self, function: Callable[[tf_policy.TFPolicy], tf_policy.TFPolicy]
  ) -> tf_policy.TFPolicy:
    """Returns the same policy with `function` of each part in its place."""


def seeded(
    policy: tf_policy.TFPolicy, generator: tf.random.Generator
) -> tf_policy.TFPolicy:
  """Returns the policy, sampling with a generator; so do all of its parts."""
  if isinstance(policy, ComposedPolicy):
    return policy.map_parts(lambda part: seeded(part, generator))
  return SeededPolicy(policy, generator)


class SeededPolicy(tf_policy.TFPolicy):
  """Samples another policy's actions with a generator of its own.

  TF-Agents' policies sample by operations that keep their position inside the
  kernel, where no checkpoint reaches it: a process that resumes would draw
  other actions than the one that was killed.
  """

  def __init__(self, policy, generator):
    """Creates the policy.

    Args:
      policy: A `TFPolicy` with a distribution.
      generator: A `tf.random.Generator`; whoever saves checkpoints tracks it.
    """
    super().__init__(
        policy.time_step_spec,
        policy.action_spec,
        policy_state_spec=policy.policy_state_spec,
        info_spec=policy.info_spec,
        clip=False,
        name='SeededPolicy',
    )
    self._policy = policy
    self._generator = generator

  def _get_initial_state(self, batch_size):
    return self._policy.get_initial_state(batch_size)

  def _distribution(self, time_step, policy_state):
    return self._policy.distribution(time_step, policy_state)

  def _action(self, time_step, policy_state, seed):
    step = self._policy.distribution(time_step, policy_state)
    distributions = tf.nest.flatten(step.action)
    # TensorFlow Probability takes two int32 for a seed without a state.
    seeds = self._generator.uniform_full_int(
        [len(distributions), 2], dtype=tf.int32
    )
    # `RNDPPOPolicy` refuses NaN there: no environment is to see what was drawn.
    with tf.control_dependencies(tf.nest.flatten(step.info)):
      actions = [
          distribution.sample(seed=seeds[i])
          for i, distribution in enumerate(distributions)
      ]
    return step._replace(
        action=tf.nest.pack_sequence_as(step.action, actions)
    )
