# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""TF-Agents' double DQN for runs that resume, and with optimism by counts."""

from typing import Any

import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.networks import network
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import common

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.agents import r2d3_policy
from rnd_agents.curiosity import episodic_memory
from rnd_agents.networks import encoders

# Observations share their counts if their hashes agree modulo this number.
_NUM_BUCKETS = 2**17


class EpsilonDqnAgent(dqn_agent.DdqnAgent):
  """Double DQN whose collect policy has a distribution.

  So that a run can draw its actions from the generator in its checkpoints, and
  each environment can have an epsilon of its own.
  """

  def __init__(self, *args: Any, eval_epsilon: float = 0.0, **kwargs: Any):
    """Creates the agent.

    Args:
      *args: As for `DqnAgent`.
      eval_epsilon: Probability of random actions of `policy`; 0 for a greedy
        one.
      **kwargs: As for `DqnAgent`.
    """
    tf.Module.__init__(self, name=type(self).__name__)
    self._eval_epsilon = eval_epsilon
    super().__init__(*args, **kwargs)

  def _setup_policy(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      *args: Any,
  ) -> tuple[tf_policy.TFPolicy, tf_policy.TFPolicy]:
    greedy, _ = super()._setup_policy(time_step_spec, action_spec, *args)

    def epsilon_greedy(
        q_network: network.Network, epsilon: types.Float
    ) -> tf_policy.TFPolicy:
      return r2d3_policy.EpsilonGreedyQPolicy(
          time_step_spec, action_spec, q_network, epsilon
      )

    self._eval_policy = greedy
    if self._eval_epsilon:
      self._eval_policy = epsilon_greedy(self._q_network, self._eval_epsilon)
    # `DdqnAgent` takes the actions of its targets from the first one.
    return greedy, epsilon_greedy(self._acting_network(), self._epsilon_greedy)

  @property
  def policy(self) -> tf_policy.TFPolicy:
    """The policy that is evaluated and saved."""
    return self._eval_policy

  def _acting_network(self) -> network.Network:
    """Returns the network by which the collect policy acts."""
    return self._q_network


class OptimisticDqnAgent(EpsilonDqnAgent):
  """Double DQN that takes actions which it has seldom tried to be good.

  (OPIQ; Rashid et al., 2020, arXiv 2002.12174, with one C for actions and
  targets, and without the bonus.) It collects by

      Q+(s, a) = Q(s, a) + optimism / (N(s, a) + 1)^exponent

  where N counts the collected steps with this observation and action: of an
  action that was never tried the network may say anything. Targets have the
  target network's Q+ of the action that is best by the online network's. Those
  of several joined steps miss the untried actions between them. `policy` acts
  by Q alone.
  """

  def __init__(
      self,
      time_step_spec: ts.TimeStep,
      action_spec: types.NestedTensorSpec,
      *args: Any,
      optimism: float,
      optimism_exponent: float,
      **kwargs: Any,
  ):
    """Creates the agent with counts of 0.

    Args:
      time_step_spec: As for `DqnAgent`, like the other arguments.
      action_spec: As for `DqnAgent`.
      *args: As for `DqnAgent`.
      optimism: C, at least 0, on the scale of returns; 0 is double DQN.
      optimism_exponent: M, above 0.
      **kwargs: As for `DqnAgent`.
    """
    ranges.check(
        dict(optimism=ranges.AT_LEAST_0, optimism_exponent=ranges.ABOVE_0),
        dict(optimism=optimism, optimism_exponent=optimism_exponent),
        'OptimisticDqnAgent.',
    )
    tf.Module.__init__(self, name='OptimisticDqnAgent')
    num_actions = int(action_spec.maximum - action_spec.minimum) + 1
    self._tried = _TriedActions(num_actions, optimism, optimism_exponent)
    super().__init__(time_step_spec, action_spec, *args, **kwargs)

  def _acting_network(self) -> network.Network:
    return _OptimisticQNetwork(self._q_network, self._tried)

  def _compute_next_q_values(
      self, next_time_steps: ts.TimeStep, info: types.NestedTensor
  ) -> tf.Tensor:
    """Returns the target network's Q+ of the action that is best by Q+."""
    del info
    optimism = self._tried.optimism(next_time_steps.observation)
    of_actions, of_targets = (
        q_network(
            next_time_steps.observation, step_type=next_time_steps.step_type
        )[0]
        for q_network in (self._q_network, self._target_q_network)
    )
    best = tf.argmax(of_actions + optimism, axis=-1, output_type=tf.int32)
    return common.index_with_actions(of_targets + optimism, best)

  def count(
      self, row: trajectory.Trajectory, mask: tf.Tensor | None = None
  ) -> None:
    """Counts the actions of a collected row.

    Args:
      row: A `Trajectory` [B]; the action after a LAST frame does not count.
      mask: Booleans [B]: False for environments without a row; None if all
        have one.
    """
    counted = ~row.is_boundary()
    if mask is not None:
      counted &= mask
    self._tried.add(row.observation, row.action, counted)


class _TriedActions(tf.Module):
  """Counts of each action at each observation, by its hash."""

  def __init__(self, num_actions: int, scale: float, exponent: float):
    super().__init__(name='tried_actions')
    self._scale = float(scale)
    self._exponent = float(exponent)
    self.counts = tf.Variable(
        tf.zeros([_NUM_BUCKETS, num_actions], tf.int32),
        trainable=False,
        name='counts',
    )

  def _buckets(self, observation: types.NestedTensor) -> tf.Tensor:
    return tf.math.floormod(
        episodic_memory.fingerprints(observation, outer_rank=1), _NUM_BUCKETS
    )

  def optimism(self, observation: types.NestedTensor) -> tf.Tensor:
    """Returns what is added to the Q-values of observations [B], [B, A]."""
    counts = tf.gather(self.counts, self._buckets(observation))
    return self._scale * tf.pow(
        tf.cast(counts, tf.float32) + 1.0, -self._exponent
    )

  def add(
      self,
      observation: types.NestedTensor,
      action: tf.Tensor,
      counted: tf.Tensor,
  ) -> None:
    """Counts actions [B] at observations [B] where `counted` [B]."""
    where = tf.stack(
        [self._buckets(observation), tf.cast(action, tf.int64)], axis=1
    )
    where = tf.boolean_mask(where, counted)  # Other actions may be anything.
    self.counts.scatter_nd_add(where, tf.ones_like(where[:, 0], tf.int32))


class _OptimisticQNetwork(network.Network):
  """Q+ of a Q-network; its variables have the counts, for workers."""

  def __init__(self, q_network: network.Network, tried: _TriedActions):
    if tf.nest.flatten(q_network.state_spec):
      raise errors.InvalidValue(
          'create_dqn_agent.optimism needs a Q-network without a memory.'
      )
    super().__init__(
        encoders.environment_spec(q_network), name='OptimisticQNetwork'
    )
    self._q_network = q_network
    self._tried = tried

  def call(
      self,
      observation: types.NestedTensor,
      step_type: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
      training: bool = False,
  ) -> tuple[tf.Tensor, types.NestedTensor]:
    q_values, network_state = self._q_network(
        observation,
        step_type=step_type,
        network_state=network_state,
        training=training,
    )
    return q_values + self._tried.optimism(observation), network_state
