# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cuts rollouts and episodes into sequences of one length.

A recurrent network learns from sequences: their steps stay together and in
order, and minibatches are drawn over sequences. With burn-in (Kapturowski et
al., 2019, section 3) the steps before a sequence are unrolled first, only to
bring the stored state of an older network nearer to that of the present one.
`cut` returns indices of the chunks of a rollout, for PPO; `episode_cutter` cuts
episodes while they are collected, for a replay.
"""

from collections.abc import Callable
import numbers
from typing import NamedTuple, TypeVar

import numpy as np
import tensorflow as tf
from tf_agents.typing import types
from tf_agents.utils import nest_utils

from rnd_agents import errors

REMAINDERS = ('pad', 'fill', 'drop', 'shift')
_Integers = TypeVar('_Integers', tf.Tensor, np.ndarray)


class SequenceSettings(NamedTuple):
  """How rollouts or episodes are cut into sequences.

  Attributes:
    unroll_length: U, number of trained steps of a sequence; None for a whole
      rollout.
    burn_in_length: b, number of steps before them that only warm up the state.
    period: Steps from the first trained step of a sequence to that of the next
      one; None for unroll_length, so that each step is trained in one sequence.
      With a lower one the sequences overlap (R2D2: half of unroll_length).
    remainder: Treatment of the last steps, which are too few for a sequence.
      With six steps and unroll_length=4:

          pad:   [[1, 2, 3, 4], [5, 6, -, -]]
          fill:  [[1, 2, 3, 4], [5, 6, 6, 6]]
          drop:  [[1, 2, 3, 4]]
          shift: [[1, 2, 3, 4], [3, 4, 5, 6]]

      'drop' loses the reward at the end of most episodes. 'shift' pads what is
      shorter than U. 'fill' adds to the weight of the step that it repeats.
  """

  unroll_length: int | None
  burn_in_length: int = 0
  period: int | None = None
  remainder: str = 'pad'

  @property
  def num_frames(self) -> int:
    """L, number of frames of a sequence: one more than its steps."""
    return self.burn_in_length + (self.unroll_length or 0) + 1

  @property
  def stride(self) -> int:
    """Steps from the first trained step of a sequence to that of the next."""
    stride = self.unroll_length if self.period is None else self.period
    return 0 if stride is None else stride

  def check(
      self,
      owner: str = 'SequenceSettings',
      of_rollouts: bool = False,
      **names: str,
  ) -> None:
    """Checks the settings.

    Args:
      owner: Name of the function or class with these arguments, for messages.
      of_rollouts: Whether unroll_length may be None, as for `cut`.
      **names: Names of the owner's arguments, where they differ from those of
        the settings: period='window_period'.

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
          f' {names["unroll_length"]}: there are no steps before a whole'
          ' rollout.'
      )
    if self.unroll_length and self.stride > self.unroll_length:
      raise errors.InvalidValue(
          f'{names["period"]}={self.period} is more than'
          f' {names["unroll_length"]}={self.unroll_length}: the steps between'
          ' two sequences would never be trained. Lower it.'
      )
    if self.remainder not in REMAINDERS:
      raise errors.InvalidValue(
          f'{names["remainder"]} must be one of {REMAINDERS}, got'
          f" {self.remainder!r} (DI-engine's 'null_padding' is 'pad' here, and"
          " its 'last' is 'shift')."
      )


def _starts(
    num_steps: int | tf.Tensor, length: int, settings: SequenceSettings
) -> tf.Tensor:
  """Returns the first trained step of each sequence.

  Args:
    num_steps: T, an integer or an int32 tensor [].
    length: U.
    settings: `SequenceSettings`.

  Returns:
    int32 [C], ascending. Under 'pad' and 'fill' the last sequence may end after
    the T steps.
  """
  others = num_steps - length  # Steps after the first sequence.
  if settings.remainder == 'drop':
    return tf.range(0, tf.maximum(others + 1, 0), settings.stride)
  last = last_start(tf.maximum(others, 0), settings)
  starts = tf.range(0, last + settings.stride, settings.stride)
  return tf.minimum(starts, last)


def last_start(others: _Integers, settings: SequenceSettings) -> _Integers:
  """Returns the first trained step of the sequence with the last steps.

  Args:
    others: Number of steps after the first sequence, integers from 0.
    settings: `SequenceSettings` whose remainder is not 'drop'.
  """
  if settings.remainder == 'shift':
    return others
  return -(-others // settings.stride) * settings.stride


class Chunks(NamedTuple):
  """Indices of the steps of C chunks in the rollout that they are cut from.

  Attributes:
    steps: int32 [C, U]: index of each step; that of the last step where there
      are no more steps.
    weights: float32 [C, U]: how often each step counts. A step counts once, in
      the first chunk that has it. Under 'fill' the last step counts for its
      repeats too, at its own place, where the state is right.
    burn_in: int32 [C, b]: the steps before each chunk, 0 where there are none.
    has_burn_in: bool [C]: whether all b of them exist.
  """

  steps: tf.Tensor
  weights: tf.Tensor
  burn_in: tf.Tensor
  has_burn_in: tf.Tensor


def cut(num_steps: int | tf.Tensor, settings: SequenceSettings) -> Chunks:
  """Cuts a rollout into chunks.

  The steps of a burn-in are trained as well, in the chunk before. A chunk has
  no burn-in if fewer steps than its length are before it.

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
      raise errors.InvalidValue(
          f'A rollout has at least 1 step, got {num_steps}.'
      )
  length = num_steps
  if settings.unroll_length is not None:
    length = int(settings.unroll_length)
  settings = settings._replace(unroll_length=length)
  burn_in_length = int(settings.burn_in_length)
  first_steps = _starts(num_steps, length, settings)
  steps = first_steps[:, tf.newaxis] + tf.range(length)
  # End of the chunk before, which has counted the steps up to there.
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


def warm_up(
    unroll: Callable[
        [types.NestedTensor, tf.Tensor, types.NestedTensor], types.NestedTensor
    ],
    observations: types.NestedTensor,
    step_types: tf.Tensor,
    before: types.NestedTensor,
    stored: types.NestedTensor,
    has_burn_in: tf.Tensor,
) -> types.NestedTensor:
  """Returns the states of chunks after their burn-in.

  Args:
    unroll: A function of (observations, step types, states) that returns the
      states after the last step.
    observations: A nest of tensors [M, b, ...]: the burn-in of M chunks.
    step_types: Integer tensor [M, b].
    before: Nest of tensors [M, ...]: states stored with the first steps of the
      burn-in.
    stored: States stored with the first steps of the chunks.
    has_burn_in: Booleans [M].

  Returns:
    A nest like `stored`: the state after the burn-in where there is one, else
    `stored`. No gradient passes.
  """
  warmed = unroll(observations, step_types, before)
  states = nest_utils.where(has_burn_in, warmed, stored)
  return tf.nest.map_structure(tf.stop_gradient, states)
