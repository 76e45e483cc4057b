# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What minibatches are drawn from: transitions, or chunks of them."""

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


class Minibatch(NamedTuple):
  """Rows of one optimizer step.

  Attributes:
    rows: tensors by name, [m, ...] of transitions or [m, L, ...] of chunks.
    counts: float [m] or [m, L], of mean 1: how much each row counts; 0 for
      what is no sample. None where all count alike.
    states: nest [m, ...] of what the networks remember before the first row.
    transitions: int [n]: rows in random order; curiosities, which have no
      memory, learn from the transitions that begin in them.
  """

  rows: types.NestedTensor
  counts: Optional[tf.Tensor]
  states: types.NestedTensor
  transitions: tf.Tensor


class Transitions:
  """Every valid row is a sample by itself: for feed-forward networks."""

  def __init__(self, valid):
    """Takes booleans [B, T+1]: the rows of a rollout that are valid."""
    # [M]: boundaries between episodes and padding are no samples.
    self.indices = tf.squeeze(tf.where(tf.reshape(valid, [-1])), axis=-1)

  def minibatch(self, rows, chosen):
    """Returns the `Minibatch` of the chosen ones of `indices`, [m]."""
    return Minibatch(rows.gather(_FIELDS, chosen), None, (), chosen)


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

  def __init__(self, valid, settings, policy, generator):
    """Cuts a rollout.

    Args:
      valid: Booleans [B, T+1]: the rows that begin a transition.
      settings: `SequenceSettings`.
      policy: An `RNDPPOPolicy`, which unrolls the networks.
      generator: A `tf.random.Generator`.
    """
    self._policy = policy
    self._generator = generator
    num_environments = valid.shape[0] or tf.shape(valid)[0]
    num_rows = valid.shape[1] or tf.shape(valid)[1]
    chunks = settings.cut(num_rows - 1)  # The last row has no transition.
    first_rows = tf.range(num_environments) * num_rows

    def of_all(steps):
      """[C, L] steps of one environment -> rows [B * C, L] of all."""
      length = steps.shape[1] or tf.shape(steps)[1]
      return tf.reshape(
          first_rows[:, tf.newaxis, tf.newaxis] + steps, [-1, length]
      )

    self._steps = of_all(chunks.steps)
    self._weights = tf.gather(
        tf.reshape(tf.cast(valid, tf.float32), [-1]), self._steps
    ) * tf.tile(chunks.weights, [num_environments, 1])
    self._burn_in = None
    if settings.burn_in_length:
      self._burn_in = of_all(chunks.burn_in)
      self._has_burn_in = tf.tile(chunks.has_burn_in, [num_environments])
    # [M]: those with a sample at least.
    self.indices = tf.squeeze(
        tf.where(tf.reduce_any(self._weights > 0, axis=1)), axis=-1
    )

  def minibatch(self, rows, chosen):
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
        rows.gather(_FIELDS, steps),
        counts,
        self._states(rows, chosen),
        transitions,
    )

  def _states(self, rows, chosen):
    """States [m, ...] at the first steps of the chosen chunks."""
    stored = self._stored(rows, tf.gather(self._steps[:, 0], chosen))
    if self._burn_in is None:
      return stored
    burn_in = tf.gather(self._burn_in, chosen)  # [m, b].
    batch = rows.gather(('observation', 'step_type'), burn_in)
    return sequences.warm_up(
        self._policy.states_after,
        batch['observation'],
        batch['step_type'],
        self._stored(rows, burn_in[:, 0]),
        stored,
        tf.gather(self._has_burn_in, chosen),
    )

  def _stored(self, rows, indices):
    """States that were stored with rows [m]; 0 where none were."""
    if 'network_state' not in rows:
      return self._policy.get_initial_state(tf.size(indices))
    at = rows.gather(('network_state',), indices)
    return self._policy.unpack_state(at['network_state'])
