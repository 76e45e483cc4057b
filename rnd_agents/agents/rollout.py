# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of a rollout that one update learns from, and its minibatches."""

from typing import NamedTuple

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents import errors
from rnd_agents.agents import return_streams
from rnd_agents.agents import rnd_ppo_policy
from rnd_agents.curiosity import curiosity
from rnd_agents.replay import sequences


class Rows(NamedTuple):
  """Rows of rollouts: all of one update, [R, ...], or a minibatch of them.

  All rows are those of rollouts [B, T+1], R = B (T + 1), one environment after
  the other. The last row of an environment begins no transition: its entries
  about a transition are 0. A minibatch is [m, ...] single rows or [m, L, ...]
  chunks.

  Attributes:
    observation: nest of tensors, as collected.
    step_type: integers, as collected.
    action: nest of tensors, as collected.
    old_log_probability: log probability of the action when it was collected.
    advantage: combined advantage of all streams.
    returns: [R, N], return of each stream.
    old_values: [R, N], value of each stream.
    weight: factor of the losses of the transition; None for 1.
    network_state: states of recurrent networks before the row, as stored; in a
      minibatch the policy states [m, ...] before each chunk. None if nothing
      was stored.
    constants: list of the constants of the transition, one entry for each
      curiosity; None if they were not computed, and in a minibatch.
    next_observation: None if it is the observation of the next row, and in a
      minibatch.
    dist_params: parameters of the distributions by which the actions were
      collected; None without a KL penalty.
    counts: floats of mean 1: how much each row of a minibatch counts; 0 for a
      row that is not a sample. None where all rows count alike.
  """

  observation: types.NestedTensor
  step_type: tf.Tensor
  action: types.NestedTensor
  old_log_probability: tf.Tensor
  advantage: tf.Tensor
  returns: tf.Tensor
  old_values: tf.Tensor
  weight: tf.Tensor | None = None
  network_state: types.NestedTensor | None = None
  constants: types.NestedTensor | None = None
  next_observation: types.NestedTensor | None = None
  dist_params: types.NestedTensor | None = None
  counts: tf.Tensor | None = None

  def minibatch(
      self,
      indices: tf.Tensor,
      counts: tf.Tensor | None = None,
      network_state: types.NestedTensor = (),
  ) -> 'Rows':
    """Returns the rows at indices [m] or [m, L], for the policy's losses."""
    rows = self._replace(
        constants=None, next_observation=None, network_state=None
    )
    return _gather(rows, indices)._replace(
        counts=counts, network_state=network_state
    )

  def transitions(self, begins: tf.Tensor) -> tuple[
      curiosity.Transitions,
      types.NestedTensor | None,
      tf.Tensor | None,
  ]:
    """Returns the transitions that begin in rows, for curiosities.

    Args:
      begins: Integers [n]. A rollout's next observation is that of the row
        after, so it is not kept twice.

    Returns:
      A tuple (`Transitions` [n], constants, weights).
    """
    observation = action_masks.without_mask(self.observation)
    if self.next_observation is None:
      next_observation = _gather(observation, begins + 1)
    else:
      next_observation = _gather(self.next_observation, begins)
    transitions = curiosity.Transitions(
        next_observation=next_observation,
        observation=_gather(observation, begins),
        action=_gather(self.action, begins),
        is_first=tf.equal(_gather(self.step_type, begins), ts.StepType.FIRST),
    )
    return (
        transitions,
        _gather(self.constants, begins),
        _gather(self.weight, begins),
    )


class RowSampler:
  """Draws single rows, the samples of feed-forward networks."""

  def __init__(self, valid: tf.Tensor):
    """Finds the samples.

    Args:
      valid: Booleans [B, T+1]: the rows that begin a transition.
    """
    # [M]: boundaries between episodes and padding are not samples.
    self.indices = tf.squeeze(tf.where(tf.reshape(valid, [-1])), axis=-1)

  def minibatch(self, rows: Rows, chosen: tf.Tensor) -> tuple[Rows, tf.Tensor]:
    """Draws a minibatch.

    Args:
      rows: All `Rows` of the rollout.
      chosen: Some of `indices`, [m].

    Returns:
      A tuple (minibatch; integers [n], rows in random order with the
      transitions that curiosities, which have no memory, may learn from).
    """
    return rows.minibatch(chosen), chosen


class ChunkSampler:
  """Draws chunks of a rollout, the samples of recurrent networks."""

  def __init__(
      self,
      valid: tf.Tensor,
      settings: sequences.SequenceSettings,
      policy: rnd_ppo_policy.RNDPPOPolicy,
      generator: tf.random.Generator,
  ):
    """Cuts a rollout.

    Args:
      valid: Booleans [B, T+1]: the rows that begin a transition.
      settings: How the rollout is cut.
      policy: Unrolls the networks.
      generator: Shuffles the curiosities' transitions.
    """
    self._policy = policy
    self._generator = generator
    num_environments = valid.shape[0] or tf.shape(valid)[0]
    num_rows = valid.shape[1] or tf.shape(valid)[1]
    # The last row has no transition.
    chunks = sequences.cut(num_rows - 1, settings)
    first_rows = tf.range(num_environments) * num_rows

    def of_all(steps: tf.Tensor) -> tf.Tensor:
      """Steps [C, L] of one environment -> rows [B * C, L] of all."""
      length = steps.shape[1] or tf.shape(steps)[1]
      return tf.reshape(
          first_rows[:, tf.newaxis, tf.newaxis] + steps, [-1, length]
      )

    self.steps = of_all(chunks.steps)  # Rows [B * C, L].
    self._weights = tf.gather(
        tf.reshape(tf.cast(valid, tf.float32), [-1]), self.steps
    ) * tf.tile(chunks.weights, [num_environments, 1])
    self._burn_in = None
    if settings.burn_in_length:
      self._burn_in = of_all(chunks.burn_in)
      self._has_burn_in = tf.tile(chunks.has_burn_in, [num_environments])
    # [M]: the chunks with at least one sample.
    self.indices = tf.squeeze(
        tf.where(tf.reduce_any(self._weights > 0, axis=1)), axis=-1
    )

  def minibatch(self, rows: Rows, chosen: tf.Tensor) -> tuple[Rows, tf.Tensor]:
    """Draws a minibatch, as `RowSampler.minibatch` does."""
    steps = tf.gather(self.steps, chosen)  # [m, L].
    weights = tf.gather(self._weights, chosen)
    # The mean over all entries is then the mean over those that count.
    counts = weights / tf.reduce_mean(weights)
    begins = tf.random.experimental.stateless_shuffle(
        tf.boolean_mask(steps, weights > 0),
        self._generator.make_seeds(1)[:, 0],
    )
    return rows.minibatch(steps, counts, self._states(rows, chosen)), begins

  def _states(self, rows: Rows, chosen: tf.Tensor) -> types.NestedTensor:
    """Returns the states [m, ...] at the first steps of the chosen chunks."""
    stored = self._stored(rows, tf.gather(self.steps[:, 0], chosen))
    if self._burn_in is None:
      return stored
    burn_in = tf.gather(self._burn_in, chosen)  # [m, b].
    return sequences.warm_up(
        self._policy.states_after,
        _gather(rows.observation, burn_in),
        _gather(rows.step_type, burn_in),
        self._stored(rows, burn_in[:, 0]),
        stored,
        tf.gather(self._has_burn_in, chosen),
    )

  def _stored(self, rows: Rows, indices: tf.Tensor) -> types.NestedTensor:
    """Returns the states that were stored with rows [m]; 0 if none were."""
    if rows.network_state is None:
      return self._policy.get_initial_state(tf.size(indices))
    return self._policy.unpack_state(_gather(rows.network_state, indices))


def _gather(nest: types.NestedTensor, indices: tf.Tensor) -> types.NestedTensor:
  """Returns entries of each tensor of a nest; None stays None."""
  return tf.nest.map_structure(
      lambda x: None if x is None else tf.gather(x, indices), nest
  )


def begins_transition(experience: trajectory.Trajectory) -> tf.Tensor:
  """Returns which rows [B, T+1] begin a transition; the last row does not.

  After `preprocess_sequence`, which leaves parts of rollouts, the valid mask
  says which do.
  """
  if 'valid_mask' in experience.policy_info:
    return experience.policy_info['valid_mask'] > 0
  return add_empty_row(return_streams.valid_transitions(experience))


def add_empty_row(x: tf.Tensor) -> tf.Tensor:
  """[B, T, ...] -> [B, T+1, ...]: 0 for the last row, of no transition."""
  return tf.concat([x, tf.zeros_like(x[:, :1])], axis=1)


def row_weights(weights: types.Tensor, step_types: tf.Tensor) -> tf.Tensor:
  """Weights [], [B] or [B, T] as one weight for each row, [B, T]."""
  weights = tf.convert_to_tensor(weights, tf.float32)
  if weights.shape.rank == 1:
    weights = weights[:, tf.newaxis]
  return weights * tf.ones_like(step_types, tf.float32)


def check_num_rows(experience: trajectory.Trajectory) -> None:
  """Raises InvalidValue for a rollout without a transition, if known."""
  num_rows = experience.discount.shape[1]
  if num_rows is not None and num_rows < 2:
    raise errors.InvalidValue(
        'A rollout needs at least 2 rows: T+1 rows make T transitions. For the'
        ' minibatches of a PPOLearner build the agent with'
        ' compute_value_and_advantage_in_train=False.'
    )
