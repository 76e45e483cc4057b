# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies of a rollout with other goals, which it reached.

A goal that was not reached teaches little about how to reach it, but the same
steps show how to reach other goals (hindsight experience replay, Andrychowicz
et al., 2017, section 4.2). An off-policy agent may learn from the copies, since
only goals, rewards and ends change, and no actions.
"""

import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import trajectory
from tf_agents.utils import common

from rnd_agents import ranges
from rnd_agents.hierarchy import goals as goals_lib


class HindsightGoals(tf.Module):
  """Adds copies of a rollout's rows, with goals drawn in hindsight.

  As with a policy that chooses goals, one is chosen in the first row, where an
  episode begins and where the last goal was reached; but here only from goals
  that the rest of the episode in the rollout will reach.
  """

  def __init__(
      self, goals: goals_lib.Goals, num_copies: int, seed: int | None = None
  ):
    """Creates the generator of the draws.

    Args:
      goals: Goals with an `in_hindsight`.
      num_copies: Number of copies of each row.
      seed: Seed of the draws; None for one drawn by TensorFlow.

    Raises:
      InvalidValue: If `num_copies` is not an integer from 1, or the goals
        cannot tell which of them a rollout reached.
    """
    super().__init__(name='hindsight_goals')
    ranges.check(
        dict(num_copies=ranges.COUNT),
        dict(num_copies=num_copies),
        'HindsightGoals.',
    )
    goals.in_hindsight(
        tensor_spec.zero_spec_nest(goals.observation_spec, [1, 1])
    )
    self._goals = goals
    self._num_copies = int(num_copies)
    if seed is None:
      seed = tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    # Its state is part of a checkpoint.
    self._generator = tf.random.Generator.from_seed(seed)

  def __call__(
      self, experience: trajectory.Trajectory
  ) -> trajectory.Trajectory:
    """Returns a rollout [(1 + num_copies) * B, T+1]: itself, then its copies.

    Goals are drawn evenly from the candidates (`Goals.in_hindsight`) that a
    later step of the episode reaches; where there is none, from all.

    Args:
      experience: A `Trajectory` [B, T+1] with a `goal` in its policy info.
    """
    candidates = self._goals.in_hindsight(experience.observation)  # [B, C].
    num_environments, num_rows = tf.unstack(tf.shape(experience.step_type))
    is_reached = tf.map_fn(
        lambda goal: self._goals.reached_by_step(
            experience,
            tf.nest.map_structure(
                lambda x: tf.repeat(x[:, tf.newaxis], num_rows, axis=1), goal
            ),
        ),
        tf.nest.map_structure(common.transpose_batch_time, candidates),
        fn_output_signature=tf.bool,
    )
    drawn = self._draw(
        tf.transpose(is_reached, [2, 1, 0]),
        tf.transpose(experience.is_first()),
        tf.transpose(experience.is_boundary()),
    )
    environments = tf.tile(tf.range(num_environments), [self._num_copies])
    copies = tf.nest.map_structure(
        lambda x: tf.gather(x, environments), experience
    )
    goals = tf.nest.map_structure(
        lambda x: tf.gather(
            tf.gather(x, environments), tf.transpose(drawn), batch_dims=1
        ),
        candidates,
    )
    return tf.nest.map_structure(
        lambda *x: tf.concat(x, axis=0),
        experience,
        copies.replace(policy_info=dict(copies.policy_info, goal=goals)),
    )

  def _draw(
      self, is_reached: tf.Tensor, is_first: tf.Tensor, is_last: tf.Tensor
  ) -> tf.Tensor:
    """Draws the candidate of each row.

    Args:
      is_reached: Booleans [T+1, B, C]: which candidates the step from a row
        reaches.
      is_first: Booleans [T+1, B]: rows with which episodes begin.
      is_last: Booleans [T+1, B]: rows with which they end.

    Returns:
      Integers [T+1, num_copies * B].
    """
    will_be_reached = tf.scan(
        lambda later, row: row[0] | (later & ~row[1][:, tf.newaxis]),
        (is_reached, is_last),
        tf.zeros_like(is_reached[0]),
        reverse=True,
    )
    is_reached, is_first, will_be_reached = (
        tf.concat([x] * self._num_copies, axis=1)
        for x in (is_reached, is_first, will_be_reached)
    )
    # The largest Gumbel noise is an even draw.
    uniform = self._generator.uniform(tf.shape(is_reached), minval=1e-20)
    noise = -tf.math.log(-tf.math.log(uniform))
    fresh = tf.argmax(
        tf.where(will_be_reached, noise, noise - 1000.0),
        axis=2,
        output_type=tf.int32,
    )

    def hold(
        state: tuple[tf.Tensor, tf.Tensor], row: tuple[tf.Tensor, ...]
    ) -> tuple[tf.Tensor, tf.Tensor]:
      drawn, is_over = state
      fresh, is_reached, is_first = row
      drawn = tf.where(is_over | is_first, fresh, drawn)
      return drawn, tf.gather(is_reached, drawn, batch_dims=1)

    drawn, _ = tf.scan(
        hold,
        (fresh, is_reached, is_first),
        (fresh[0], tf.zeros_like(is_first[0])),
    )
    return drawn
