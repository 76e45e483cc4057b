# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rollouts of a level that decides only at some of the steps.

Between two decisions lie as many steps as a goal took. A row of the upper level
has the sum of gamma^k d_1 ... d_k r_k over them, which ends with a lost life,
and a discount of gamma^(n-1) d_1 ... d_n, so that an agent with the discount
factor gamma learns from a semi-Markov decision process (Sutton, Precup and
Singh, 1999, section 3.2).
"""

from typing import NamedTuple

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.typing import types

from rnd_agents.ops import discounting
from rnd_agents.statistics import running_statistics


class _Row(NamedTuple):
  """Parts of a row that a decision keeps, [B, ...] or [B, M, ...]."""

  step_type: tf.Tensor
  observation: types.NestedTensor
  action: types.NestedTensor
  policy_info: types.NestedTensor


class _Sums(NamedTuple):
  """Sums over the steps of a decision so far, floats [B] or [B, M].

  Attributes:
    reward: sum of gamma^k d_1 ... d_k r_k.
    discount: gamma^(n-1) d_1 ... d_n.
    weight: gamma^n d_1 ... d_n.
  """

  reward: tf.Tensor
  discount: tf.Tensor
  weight: tf.Tensor


class Decisions(tf.Module):
  """Makes rollouts of decisions from rollouts of steps.

  A decision that a rollout leaves open is kept, and continues in the next one:
  entry b of every rollout belongs to environment b.
  """

  def __init__(
      self,
      spec: trajectory.Trajectory,
      discount_factor: float,
      name: str = 'Decisions',
  ):
    """Creates the memory of an open decision for each environment.

    Args:
      spec: A `Trajectory` spec: `collect_data_spec` of the upper agent.
      discount_factor: gamma.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._discount_factor = float(discount_factor)
    self._open = running_statistics.EnvironmentRows((
        _Row(spec.step_type, spec.observation, spec.action, spec.policy_info),
        _Sums(*[tf.TensorSpec([], tf.float32)] * 3),
        tf.TensorSpec([], tf.bool),  # Whether there is an open decision.
    ))

  def __call__(
      self, experience: trajectory.Trajectory, is_decision: tf.Tensor
  ) -> tuple[trajectory.Trajectory, tf.Tensor]:
    """Returns the rollout of decisions that ends where this one does.

    Args:
      experience: A `Trajectory` [B, T+1] of steps, with goals for actions. Its
        first row is the last one of the rollout before, or begins an episode.
      is_decision: Booleans [B, T+1].

    Returns:
      A tuple of a `Trajectory` [B, N+1], the decisions and ends of episodes of
      each environment, in order; and booleans [B, N+1]: which of them are
      complete, each in one rollout. N+1 is the number of the environment with
      the most. The others begin with LAST rows as padding, which begin no
      transition and have the policy info of the first row after them. The last
      row of each environment is not complete: it is open, or comes again as the
      first row of the next rollout.
    """
    rows, sums, is_kept = self._joined(experience, is_decision)
    decided, was_kept = _aligned((rows, sums), is_kept)
    # Padding gets the policy info of the first row after it.
    first_rows = tf.argmax(tf.cast(was_kept, tf.int32), axis=1)[:, tf.newaxis]
    columns = tf.range(tf.shape(was_kept, tf.int64)[1])
    columns = tf.maximum(columns, first_rows)
    # A decision stays open unless the last row is one itself.
    is_open = ~is_kept[:, -1]
    last = tf.nest.map_structure(lambda x: x[:, -1], decided)
    self._open.assign((*last, is_open & was_kept[:, -1]))
    rows, sums = decided
    step_type = tf.where(was_kept, rows.step_type, ts.StepType.LAST)
    decided = trajectory.Trajectory(
        step_type=step_type,
        observation=rows.observation,
        action=rows.action,
        policy_info=tf.nest.map_structure(
            lambda x: tf.gather(x, columns, batch_dims=1), rows.policy_info
        ),
        next_step_type=tf.concat([step_type[:, 1:], step_type[:, -1:]], axis=1),
        reward=sums.reward,
        discount=sums.discount,
    )
    return decided, without_last(was_kept)

  def _joined(
      self, experience: trajectory.Trajectory, is_decision: tf.Tensor
  ) -> tuple[_Row, _Sums, tf.Tensor]:
    """Returns rows, sums and which rows are kept, with the open decision."""
    opened_row, opened_sums, was_open = self._open.read(
        tf.shape(experience.step_type)[0]
    )

    def after(opened: tf.Tensor, following: tf.Tensor) -> tf.Tensor:
      return tf.concat([opened[:, tf.newaxis], following], axis=1)

    rows = tf.nest.map_structure(
        after,
        opened_row,
        _Row(
            experience.step_type,
            experience.observation,
            experience.action,
            experience.policy_info,
        ),
    )
    # Steps of a new episode do not continue an old decision.
    was_open &= ~tf.equal(experience.step_type[:, 0], ts.StepType.FIRST)
    is_last = tf.equal(experience.step_type, ts.StepType.LAST)
    is_kept = after(was_open, is_decision | is_last)
    # The transition from the last row is not known yet.
    reward, discount = experience.reward[:, :-1], experience.discount[:, :-1]
    weight = self._discount_factor * discount
    return rows, self._sums(
        tf.nest.map_structure(
            after, opened_sums, _Sums(reward, discount, weight)
        ),
        is_kept,
    ), is_kept

  def _sums(self, of_steps: _Sums, is_kept: tf.Tensor) -> _Sums:
    """Returns sums [B, M+1] from each row to the next one that is kept."""
    continues = 1.0 - tf.cast(is_kept[:, 1:], tf.float32)
    continues = tf.pad(continues[:, :-1], [[0, 0], [0, 1]])

    def product(factors: tf.Tensor, inner: types.Float) -> tf.Tensor:
      return discounting.reverse_linear_recurrence(
          factors * (1.0 - continues), factors * inner * continues
      )

    gamma = self._discount_factor
    return tf.nest.map_structure(
        lambda x: tf.pad(x, [[0, 0], [0, 1]]),
        _Sums(
            discounting.reverse_linear_recurrence(
                of_steps.reward, of_steps.weight * continues
            ),
            product(of_steps.discount, gamma),
            product(of_steps.weight, 1.0),
        ),
    )


def without_last(mask: tf.Tensor) -> tf.Tensor:
  """Returns booleans [B, T] with False in the last column."""
  return tf.concat([mask[:, :-1], tf.zeros_like(mask[:, -1:])], axis=1)


def _aligned(
    nest: tuple[_Row, _Sums], is_kept: tf.Tensor
) -> tuple[tuple[_Row, _Sums], tf.Tensor]:
  """Moves the kept rows of [B, M, ...] to the end, in order.

  Args:
    nest: Tensors [B, M, ...].
    is_kept: Booleans [B, M].

  Returns:
    A tuple (nest of tensors [B, N, ...], booleans [B, N]: which rows are kept
    ones). N is the largest number of kept rows of an environment.
  """
  most = tf.reduce_max(tf.reduce_sum(tf.cast(is_kept, tf.int32), axis=1))
  order = tf.argsort(tf.cast(is_kept, tf.int32), axis=1, stable=True)
  order = order[:, tf.shape(order)[1] - most :]
  return tf.nest.map_structure(
      lambda x: tf.gather(x, order, batch_dims=1), (nest, is_kept)
  )
