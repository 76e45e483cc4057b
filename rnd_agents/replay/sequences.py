# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cuts rollouts and episodes into sequences of one length.

A recurrent network learns from sequences: their steps stay together and in
order, and minibatches are drawn over sequences. With burn-in (Kapturowski et
al., 2019, section 3) the steps before a sequence are unrolled first, only to
bring the stored state of an older network nearer to what the network of now
would have. `cut` returns indices of the chunks of a rollout, for PPO;
`episode_cutter` cuts episodes while they go on, for a replay.
"""

import numbers
from typing import NamedTuple, Optional

import tensorflow as tf
from tf_agents.utils import nest_utils

from rnd_agents import errors

REMAINDERS = ('pad', 'fill', 'drop', 'shift')


class SequenceSettings(NamedTuple):
  """How rollouts or episodes are cut into sequences.

  Attributes:
    unroll_length: U, the trained steps of a sequence; None for a whole rollout.
    burn_in_length: b, the steps before them that only warm the state.
    period: Steps from the first trained step of a sequence to that of the next
      one; None for unroll_length, so that each step is trained in one sequence.
      Less, and the sequences overlap (R2D2: half of unroll_length).
    remainder: What becomes of the last steps, which are too few for a sequence.
      Of six steps at unroll_length=4:

          pad:   [[1, 2, 3, 4], [5, 6, -, -]]
          fill:  [[1, 2, 3, 4], [5, 6, 6, 6]]
          drop:  [[1, 2, 3, 4]]
          shift: [[1, 2, 3, 4], [3, 4, 5, 6]]

      'drop' loses the reward at the end of most episodes. 'shift' pads what is
      shorter than U. 'fill' adds to the weight of the step that it repeats.
  """

  unroll_length: Optional[int]
  burn_in_length: int = 0
  period: Optional[int] = None
  remainder: str = 'pad'

  @property
  def num_frames(self):
    """L, the frames of a sequence of an episode: one more than its steps."""
    return self.burn_in_length + self.unroll_length + 1

  @property
  def stride(self):
    """`period` as a number."""
    return self.unroll_length if self.period is None else self.period

  def check(self, owner='SequenceSettings', of_rollouts=False, **names):
    """Checks the settings.

    Args:
      owner: Whose arguments the settings are, for the messages.
      of_rollouts: Whether unroll_length may be None, as for `cut`.
      **names: Names of the owner's arguments, where they are not those of the
        settings: period='window_period'.

    Raises:
      TypeError: If a length is not an integer.
      ValueError: If a setting is out of range.
    """
    names = {name: f'{owner}.{names.get(name, name)}' for name in self._fields}
    for name, least, is_optional in (
        ('unroll_length', 1, of_rollouts),
        ('burn_in_length', 0, False),
        ('period', 1, True),
    ):
      value = getattr(self, name)
      if value is None and is_optional:
        continue
      if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise errors.InvalidType(
            f'{names[name]} must be an integer number of steps from {least},'
            f' got {value!r}.'
        )
      if value < least:
        words = f'{names[name]} must be at least {least}, got {value}.'
        raise errors.InvalidValue(words)
    if self.unroll_length is None and self.burn_in_length:
      raise errors.InvalidValue(
          f'{names["burn_in_length"]}={self.burn_in_length} needs'
          f' {names["unroll_length"]}: a rollout that is not cut has no steps'
          ' before it.'
      )
    if self.unroll_length is not None and self.stride > self.unroll_length:
      raise errors.InvalidValue(
          f'{names["period"]}={self.period} is more than'
          f' {names["unroll_length"]}={self.unroll_length}: the steps between'
          ' two sequences would never be trained. Lower it.'
      )
    if self.remainder not in REMAINDERS:
      raise errors.InvalidValue(
          f'{names["remainder"]} must be one of {REMAINDERS}, got'
          f' {self.remainder!r}.'
      )


def _starts(num_steps, settings):
  """Returns the first trained step of each sequence.

  Args:
    num_steps: T, an integer or an int32 tensor [].
    settings: `SequenceSettings` with an unroll_length.

  Returns:
    int32 [C], ascending. Under 'pad' and 'fill' the last sequence may end after
    the T steps.
  """
  others = num_steps - settings.unroll_length  # Steps after the first sequence.
  if settings.remainder == 'drop':
    return tf.range(0, tf.maximum(others + 1, 0), settings.stride)
  last = last_start(tf.maximum(others, 0), settings)
  starts = tf.range(0, last + settings.stride, settings.stride)
  return tf.minimum(starts, last)


def last_start(others, settings):
  """Returns the first trained step of the sequence with the last steps.

  Args:
    others: Steps after those of the first sequence, integers from 0.
    settings: `SequenceSettings` that do not drop these steps.
  """
  if settings.remainder == 'shift':
    return others
  return -(-others // settings.stride) * settings.stride


class Chunks(NamedTuple):
  """Indices of the steps of C chunks in the rollout that they are cut from.

  Attributes:
    steps: int32 [C, U]: index of each step, the last one's where none is left.
    weights: float32 [C, U]: how often each step counts. A step counts once, in
      the first chunk that has it; under 'fill' the last one for its repeats
      too, at its own place, where the state is the one that it had.
    burn_in: int32 [C, b]: the steps before each chunk, 0 where there are none.
    has_burn_in: bool [C]: whether all b of them exist.
  """

  steps: tf.Tensor
  weights: tf.Tensor
  burn_in: tf.Tensor
  has_burn_in: tf.Tensor


def cut(num_steps, settings):
  """Cuts a rollout into chunks.

  The steps of a burn-in belong to the chunk before as well: all are learned
  from. A chunk nearer to the start than its burn-in is long has none.

  Args:
    num_steps: T, an integer or an integer tensor [].
    settings: `SequenceSettings`.

  Returns:
    `Chunks`.

  Raises:
    TypeError: If a length is not an integer.
    ValueError: If a setting is out of range, or num_steps below 1.
  """
  settings.check(of_rollouts=True)
  if tf.is_tensor(num_steps):
    num_steps = tf.cast(num_steps, tf.int32)
  else:
    num_steps = int(num_steps)
    if num_steps < 1:
      words = f'A rollout has 1 step at least, not {num_steps}.'
      raise errors.InvalidValue(words)
  length = settings.unroll_length
  length = num_steps if length is None else int(length)
  settings = settings._replace(unroll_length=length)
  burn_in_length = int(settings.burn_in_length)
  first_steps = _starts(num_steps, settings)
  steps = first_steps[:, tf.newaxis] + tf.range(length)
  # Where the chunk before ends; it has counted the steps up to there.
  ends = tf.concat([[0], first_steps[:-1] + length], axis=0)
  counts = (steps >= ends[:, tf.newaxis]) & (steps < num_steps)
  weights = tf.cast(counts, tf.float32)
  if settings.remainder == 'fill':
    repeats = tf.cast(steps >= num_steps, tf.float32)
    repeats = tf.reduce_sum(repeats, axis=1, keepdims=True)
    weights += tf.where(tf.equal(steps, num_steps - 1), repeats, 0.0)
  return Chunks(
      steps=tf.minimum(steps, num_steps - 1),
      weights=weights,
      burn_in=tf.maximum(
          first_steps[:, tf.newaxis] + tf.range(-burn_in_length, 0), 0
      ),
      has_burn_in=first_steps >= burn_in_length,
  )


def warm_up(unroll, observations, step_types, before, stored, has_burn_in):
  """Returns the states of chunks after their burn-in.

  Args:
    unroll: A function of (observations, step types, states) that returns the
      states after the last step.
    observations: A nest of tensors [M, b, ...]: the burn-in of M chunks.
    step_types: Integer tensor [M, b].
    before: Nest of tensors [M, ...]: stored with the first step of a burn-in.
    stored: The same, stored with the first step of a chunk.
    has_burn_in: Booleans [M].

  Returns:
    A nest like `stored`: the state after the burn-in where there is one, else
    `stored`. No gradient flows through it.
  """
  warmed = unroll(observations, step_types, before)
  states = nest_utils.where(has_burn_in, warmed, stored)
  return tf.nest.map_structure(tf.stop_gradient, states)
