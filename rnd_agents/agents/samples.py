# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What minibatches are drawn from: transitions, or chunks of them.

A rollout comes as rows: a dict of tensors [R, ...], R = B (T + 1), in which the
rows of one environment follow on each other:

    observation, step_type, action   as collected
    old_log_probability              of the action, when it was collected
    advantage                        of both streams together
    returns, old_values              [R, 2], extrinsic and intrinsic
    valid                            1 where a transition begins, else 0
    network_state                    before the row, where it was stored
    target_features                  of what the row leads to, with RND
    next_observation                 what the row leads to, where that is not
                                     the next row
    weight                           of the sample, where there are any
"""

from typing import NamedTuple, Optional

import tensorflow as tf
from tf_agents.typing import types

from rnd_agents.replay import sequences

# What the policy objective reads of a row.
_FIELDS = (
    'observation',
    'step_type',
    'action',
    'old_log_probability',
    'advantage',
    'returns',
    'old_values',
    'weight',
)


def merge_outer(nest):
  """[B, T, ...] -> [B * T, ...] in every tensor of a nest."""
  return tf.nest.map_structure(
      lambda x: tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0)), nest
  )


def flatten_transitions(nest):
  """[B, T, ...] -> [B * (T+1), ...]: 0 for the last row, of no transition."""
  return merge_outer(
      tf.nest.map_structure(
          lambda x: tf.concat([x, tf.zeros_like(x[:, :1])], axis=1), nest
      )
  )


def rows_of_rollout(experience, streams, old_log_probability):
  """Rows of a rollout.

  Args:
    experience: A `Trajectory` [B, T+1].
    streams: `return_streams.Streams` of its T transitions.
    old_log_probability: Of its actions, [B, T+1].

  Returns:
    Rows, without those of RND and the weights.
  """
  rows = _collected_rows(experience, old_log_probability)
  rows.update(
      flatten_transitions(
          dict(
              advantage=streams.advantages,
              returns=streams.returns,
              old_values=streams.values,
              valid=tf.cast(streams.valid, tf.float32),
          )
      )
  )
  return rows


def rows_of_preprocessed(experience, old_log_probability):
  """Rows of what `preprocess_sequence` and a `PPOLearner` made, [B, T]."""
  info = experience.policy_info
  rows = _collected_rows(experience, old_log_probability)
  rows.update(
      merge_outer(
          dict(
              advantage=info['advantage'],
              returns=tf.stack([info['return'], info['intrinsic_return']], -1),
              old_values=tf.stack(
                  [
                      info['value_prediction'],
                      info['intrinsic_value_prediction'],
                  ],
                  -1,
              ),
              valid=info['valid_mask'],
              next_observation=info['next_observation'],
          )
      )
  )
  return rows


def _collected_rows(experience, old_log_probability):
  collected = dict(
      observation=experience.observation,
      step_type=experience.step_type,
      action=experience.action,
      old_log_probability=old_log_probability,
  )
  if 'network_state' in experience.policy_info:
    collected['network_state'] = experience.policy_info['network_state']
  return merge_outer(collected)


def row_weights(weights, step_types):
  """Weights [], [B] or [B, T] as one weight a row, [B * T]."""
  weights = tf.convert_to_tensor(weights, tf.float32)
  if weights.shape.rank == 1:
    weights = weights[:, tf.newaxis]
  return tf.reshape(weights * tf.ones_like(step_types, tf.float32), [-1])


class Minibatch(NamedTuple):
  """Rows of one optimizer step.

  Attributes:
    rows: tensors by name, [m, ...] of transitions or [m, L, ...] of chunks.
    counts: float [m] or [m, L], of mean 1: how much each row counts; 0 for
      what is no sample. None where all count alike.
    states: nest [m, ...] of what the networks remember before the first row.
    transitions: int [n]: the rows, in random order, that the predictor may
      learn from; RND has no memory.
  """

  rows: types.NestedTensor
  counts: Optional[tf.Tensor]
  states: types.NestedTensor
  transitions: tf.Tensor


class Transitions:
  """Every valid row is a sample by itself: for feed-forward networks."""

  def __init__(self, rows):
    """Takes the rows of a rollout."""
    self._rows = rows
    # [M]: boundaries between episodes and padding are no samples.
    self.indices = tf.squeeze(tf.where(rows['valid'] > 0), axis=-1)

  def minibatch(self, chosen):
    """Returns the `Minibatch` of the chosen ones of `indices`, [m]."""
    return Minibatch(_gather(self._rows, chosen), None, (), chosen)


class SequenceSettings(NamedTuple):
  """How a rollout is cut for recurrent networks; see `RNDPPOAgent`."""

  recurrent_state_init: str = 'stored'
  unroll_length: Optional[int] = None
  burn_in_length: int = 0
  unroll_remainder: str = 'pad'

  @property
  def cutting(self):
    """These settings as `sequences.SequenceSettings`."""
    return sequences.SequenceSettings(
        self.unroll_length,
        self.burn_in_length,
        remainder=self.unroll_remainder,
    )

  def cut(self, num_steps):
    """The `sequences.Chunks` of a rollout."""
    return sequences.cut(num_steps, self.cutting)


class Chunks:
  """A sample is a chunk of a rollout: for recurrent networks."""

  def __init__(self, rows, num_rows, settings, policy, generator):
    """Cuts a rollout.

    Args:
      rows: Rows of a rollout, by name; `network_state` among them where states
        are stored.
      num_rows: T + 1, rows of each environment.
      settings: `SequenceSettings`.
      policy: An `RNDPPOPolicy`, which unrolls the networks.
      generator: A `tf.random.Generator`.
    """
    self._rows = rows
    self._policy = policy
    self._generator = generator
    chunks = settings.cut(num_rows - 1)  # The last row has no transition.
    num_environments = tf.shape(rows['valid'])[0] // num_rows
    first_rows = tf.range(num_environments) * num_rows

    def of_all(steps):
      """[C, L] steps of one environment -> rows [B * C, L] of all."""
      length = steps.shape[1] or tf.shape(steps)[1]
      return tf.reshape(
          first_rows[:, tf.newaxis, tf.newaxis] + steps, [-1, length]
      )

    self._steps = of_all(chunks.steps)
    self._weights = tf.gather(rows['valid'], self._steps) * tf.tile(
        chunks.weights, [num_environments, 1]
    )
    self._burn_in = None
    if settings.burn_in_length:
      self._burn_in = of_all(chunks.burn_in)
      self._has_burn_in = tf.tile(chunks.has_burn_in, [num_environments])
    # [M]: those with a sample at least.
    self.indices = tf.squeeze(
        tf.where(tf.reduce_any(self._weights > 0, axis=1)), axis=-1
    )

  def minibatch(self, chosen):
    """Returns the `Minibatch` of the chosen ones of `indices`, [m]."""
    steps = tf.gather(self._steps, chosen)  # [m, L].
    weights = tf.gather(self._weights, chosen)
    # The mean over all entries is then the mean over those that count.
    counts = weights / tf.reduce_mean(weights)
    transitions = tf.random.experimental.stateless_shuffle(
        tf.boolean_mask(steps, weights > 0),
        self._generator.make_seeds(1)[:, 0],
    )
    return Minibatch(
        _gather(self._rows, steps), counts, self._states(chosen), transitions
    )

  def _states(self, chosen):
    """States [m, ...] at the first steps of the chosen chunks."""
    stored = self._stored(tf.gather(self._steps[:, 0], chosen))
    if self._burn_in is None:
      return stored
    rows = tf.gather(self._burn_in, chosen)  # [m, b].
    batch = _gather(self._rows, rows)
    return sequences.warm_up(
        self._policy.states_after,
        batch['observation'],
        batch['step_type'],
        self._stored(rows[:, 0]),
        stored,
        tf.gather(self._has_burn_in, chosen),
    )

  def _stored(self, rows):
    """States that were stored with rows [m]; 0 where none were."""
    if 'network_state' not in self._rows:
      return self._policy.get_initial_state(tf.size(rows))
    return self._policy.unpack_state(
        tf.nest.map_structure(
            lambda x: tf.gather(x, rows), self._rows['network_state']
        )
    )


def _gather(rows, indices):
  """The fields of the objective at indices of any shape."""
  return {
      name: tf.nest.map_structure(lambda x: tf.gather(x, indices), rows[name])
      for name in _FIELDS
      if name in rows
  }
