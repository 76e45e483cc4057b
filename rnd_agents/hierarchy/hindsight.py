# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies of a rollout with other goals, which it reached.

A goal that was not reached teaches little of how to reach it, but the same
steps show how to reach what they came to (hindsight experience replay,
Andrychowicz et al., 2017, section 4.2). An off-policy agent may learn from
them, since only goals, rewards and ends change, and not what was done.
"""

import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.utils import common

from rnd_agents import ranges


class HindsightGoals(tf.Module):
  """Adds copies of a rollout's rows, each with a goal drawn in hindsight."""

  def __init__(self, goals, num_copies, seed=None):
    """Creates `HindsightGoals`.

    Args:
      goals: `Goals` with an `in_hindsight`.
      num_copies: Copies of each row.
      seed: Of the draws; None for one drawn by TensorFlow.

    Raises:
      ValueError: If `num_copies` is not above 0, or if there is no way to tell
        what goals a rollout reached.
    """
    super().__init__(name='hindsight_goals')
    ranges.check_above_0('HindsightGoals.', num_copies=num_copies)
    goals.in_hindsight(
        tensor_spec.zero_spec_nest(goals.observation_spec, [1, 1])
    )
    self._goals = goals
    self._num_copies = num_copies
    if seed is None:
      seed = tf.random.uniform([], maxval=tf.int64.max, dtype=tf.int64)
    # Its state is part of a checkpoint.
    self._generator = tf.random.Generator.from_seed(seed)

  def __call__(self, experience):
    """Returns a rollout [(1 + num_copies) * B, T+1]: itself, then its copies.

    In each environment a copy has one goal for all its rows, drawn evenly from
    those of `Goals.in_hindsight` that a step of the rollout reached, or from
    all of them if there is none.

    Args:
      experience: A `Trajectory` [B, T+1] with a `goal` in its policy info.
    """
    num_environments, num_rows = tf.unstack(tf.shape(experience.step_type))
    candidates = self._goals.in_hindsight(experience.observation)  # [B, C].

    def of_rows(goal):
      """[b, ...] -> [b, T+1, ...]."""
      return tf.nest.map_structure(
          lambda x: tf.repeat(x[:, tf.newaxis], num_rows, axis=1), goal
      )

    was_reached = tf.map_fn(
        lambda goal: tf.reduce_any(
            self._goals.reached_by_step(experience, of_rows(goal)), axis=1
        ),
        tf.nest.map_structure(common.transpose_batch_time, candidates),
        fn_output_signature=tf.bool,
    )
    # A goal that was not reached is drawn only where none was.
    drawn = self._draw(tf.where(was_reached, 0.0, -100.0))  # [copies * B].
    environments = tf.tile(tf.range(num_environments), [self._num_copies])
    goals = tf.nest.map_structure(
        lambda x: tf.gather_nd(x, tf.stack([environments, drawn], axis=1)),
        candidates,
    )
    copies = tf.nest.map_structure(
        lambda x: tf.gather(x, environments), experience
    )
    info = dict(copies.policy_info, goal=of_rows(goals))
    return tf.nest.map_structure(
        lambda *x: tf.concat(x, axis=0),
        experience,
        copies.replace(policy_info=info),
    )

  def _draw(self, logits):
    """Draws indices of candidates, by Gumbel noise.

    Args:
      logits: Floats [C, B].

    Returns:
      Integers [num_copies * B].
    """
    num_candidates, num_environments = tf.unstack(tf.shape(logits))
    uniform = self._generator.uniform(
        [num_candidates, self._num_copies, num_environments], minval=1e-20
    )
    noisy = logits[:, tf.newaxis] - tf.math.log(-tf.math.log(uniform))
    return tf.reshape(tf.argmax(noisy, axis=0, output_type=tf.int32), [-1])
