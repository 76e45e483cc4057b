# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of rollouts that one update learns from."""

import tensorflow as tf
from tf_agents.trajectories import time_step as ts

from rnd_agents.curiosity import transitions as transitions_lib


class Rows(dict):
  """Tensors [R, ...] by name: rollouts [B, T+1] as R = B (T + 1) rows.

  The rows of one environment follow on each other:

      observation, step_type, action   as collected
      old_log_probability              of the action, when it was collected
      advantage                        of all streams together
      returns, old_values              [R, N], of each stream
      network_state                    before the row, where it was stored
      constants                        of each curiosity, of the transition
      next_observation                 where that is not in the next row
      weight                           of the transition, where there are any

  The last row of an environment begins no transition: what stands there of
  transitions is 0.
  """

  @classmethod
  def of_rollout(cls, experience, old_log_probability, streams, constants):
    """Returns the rows of a rollout.

    Args:
      experience: A `Trajectory` [B, T+1].
      old_log_probability: Of its actions, [B, T+1].
      streams: `return_streams.Streams` of its T transitions.
      constants: A list of `Curiosity.constants` [B, T, ...], one a curiosity.
    """
    rows = cls._as_collected(experience, old_log_probability)
    of_transitions = dict(
        advantage=streams.advantages,
        returns=streams.returns,
        old_values=streams.values,
        constants=constants,
    )
    rows.update(
        transitions_lib.merge_time(
            tf.nest.map_structure(add_empty_row, of_transitions)
        )
    )
    return rows

  @classmethod
  def of_preprocessed(
      cls, experience, old_log_probability, return_names, value_names
  ):
    """Returns the rows of what `preprocess_sequence` and a `PPOLearner` made.

    Args:
      experience: A `Trajectory` [B, T] of the agent's `training_data_spec`.
      old_log_probability: Of its actions, [B, T].
      return_names: Names of the streams' returns in the policy info.
      value_names: Names of their values.
    """
    info = experience.policy_info

    def of_streams(names):
      return tf.stack([info[name] for name in names], axis=-1)

    rows = cls._as_collected(experience, old_log_probability)
    rows.update(
        transitions_lib.merge_time(
            dict(
                advantage=info['advantage'],
                returns=of_streams(return_names),
                old_values=of_streams(value_names),
                next_observation=info['next_observation'],
            )
        )
    )
    return rows

  @classmethod
  def _as_collected(cls, experience, old_log_probability):
    collected = dict(
        observation=experience.observation,
        step_type=experience.step_type,
        action=experience.action,
        old_log_probability=old_log_probability,
    )
    if 'network_state' in experience.policy_info:
      collected['network_state'] = experience.policy_info['network_state']
    return cls(transitions_lib.merge_time(collected))

  def gather(self, names, indices):
    """Returns those of the named tensors that there are, at indices."""
    return {
        name: tf.nest.map_structure(lambda x: tf.gather(x, indices), self[name])
        for name in names
        if name in self
    }

  def transitions(self, begins):
    """Returns the curiosities' `Transitions` that begin in rows.

    Args:
      begins: Integers [M]: rows in which a transition begins. A rollout's next
        observation stands in the row after it, so it is not kept twice.
    """
    at = self.gather(
        ('observation', 'action', 'step_type', 'next_observation'), begins
    )
    if 'next_observation' not in at:
      after = self.gather(('observation',), begins + 1)
      at['next_observation'] = after['observation']
    return transitions_lib.Transitions(
        next_observation=at['next_observation'],
        observation=at['observation'],
        action=at['action'],
        is_first=tf.equal(at['step_type'], ts.StepType.FIRST),
    )


def add_empty_row(x):
  """[B, T, ...] -> [B, T+1, ...]: 0 for the last row, of no transition."""
  return tf.concat([x, tf.zeros_like(x[:, :1])], axis=1)


def row_weights(weights, step_types):
  """Weights [], [B] or [B, T] as one weight a row, [B, T]."""
  weights = tf.convert_to_tensor(weights, tf.float32)
  if weights.shape.rank == 1:
    weights = weights[:, tf.newaxis]
  return weights * tf.ones_like(step_types, tf.float32)
