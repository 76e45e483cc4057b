# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""From long sequences to chunks of one length, and the state they begin with.

A recurrent network learns from chunks: their steps stay together and in order,
and minibatches are drawn over chunks. With burn-in (Kapturowski et al., 2019,
section 3) the steps before a chunk are unrolled first, only to bring the stored
state of an older network nearer to what the network of now would have.
"""

import numbers
from typing import NamedTuple

import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.utils import nest_utils

REMAINDERS = ('fill', 'drop', 'pad')


class Chunks(NamedTuple):
  """Where the steps of C chunks lie in the sequence they are cut from.

  Attributes:
    steps: int32 [C, L]: index of each step, the last one's where none is left.
    is_padding: bool [C, L]: True where that is no step but padding.
    weights: float32 [C, L]: how often each step counts: once, padding never. A
      step that 'fill' repeats counts for all of its repeats at its own place,
      where the state is the one that it had; they do not.
    burn_in: int32 [C, b]: the steps before each chunk, 0 where there are none.
    has_burn_in: bool [C]: whether all b of them exist.
  """

  steps: tf.Tensor
  is_padding: tf.Tensor
  weights: tf.Tensor
  burn_in: tf.Tensor
  has_burn_in: tf.Tensor


def check_arguments(
    unroll_length=None, burn_in_length=0, remainder='pad', owner='sequences'
):
  """Refuses what no sequence can be cut by.

  Args:
    unroll_length: As for `cut`.
    burn_in_length: As for `cut`.
    remainder: As for `cut`.
    owner: Whose arguments they are, for the message.

  Raises:
    TypeError: If a length is no number.
    ValueError: If an argument is out of range.
  """
  if unroll_length is not None:
    _check_length(f'{owner}.unroll_length', unroll_length, 1)
  _check_length(f'{owner}.burn_in_length', burn_in_length, 0)
  if burn_in_length and unroll_length is None:
    raise ValueError(
        f'{owner}.burn_in_length={burn_in_length} needs an unroll_length: a'
        ' sequence that is not cut has no steps before it.'
    )
  if remainder not in REMAINDERS:
    raise ValueError(
        f'{owner}: the remainder of a sequence can be one of {REMAINDERS}, not'
        f' {remainder!r}.'
    )


def _check_length(name, value, least):
  if isinstance(value, bool) or not isinstance(value, numbers.Integral):
    raise TypeError(
        f'{name} must be an integer number of steps from {least}, got'
        f' {value!r}.'
    )
  if value < least:
    raise ValueError(f'{name} must be at least {least}, got {value}.')


def cut(num_steps, unroll_length=None, burn_in_length=0, remainder='pad'):
  """Cuts one sequence into chunks that follow on each other.

  Of six steps at an unroll length of 4:

      fill: [[1, 2, 3, 4], [5, 6, 6, 6]]
      drop: [[1, 2, 3, 4]]
      pad:  [[1, 2, 3, 4], [5, 6, -, -]]

  The steps of the burn-in belong to the chunk before as well: all are learned
  from. A chunk nearer to the start than its burn-in is long has none.

  Args:
    num_steps: Length of the sequence, an integer or an integer tensor [].
    unroll_length: L, the steps of a chunk; None for the whole sequence.
    burn_in_length: b, steps that only warm the state.
    remainder: What becomes of a last chunk that is too short: 'fill' repeats
      the last step, 'drop' leaves it out, 'pad' masks what is missing.

  Returns:
    `Chunks`.

  Raises:
    TypeError: If a length is no number.
    ValueError: If an argument is out of range.
  """
  check_arguments(unroll_length, burn_in_length, remainder)
  if tf.is_tensor(num_steps):
    num_steps = tf.cast(num_steps, tf.int32)
  else:
    num_steps = int(num_steps)
    if num_steps < 1:
      raise ValueError(f'A sequence has 1 step at least, not {num_steps}.')
  length = num_steps if unroll_length is None else int(unroll_length)
  if remainder == 'drop':
    num_chunks = num_steps // length
  else:
    num_chunks = (num_steps + length - 1) // length
  starts = tf.range(num_chunks)[:, tf.newaxis] * length
  steps = starts + tf.range(length)
  missing = steps >= num_steps
  weights = 1.0 - tf.cast(missing, tf.float32)
  if remainder == 'fill':
    repeats = tf.reduce_sum(1.0 - weights, axis=1, keepdims=True)
    weights += tf.where(tf.equal(steps, num_steps - 1), repeats, 0.0)
  return Chunks(
      steps=tf.minimum(steps, num_steps - 1),
      is_padding=missing if remainder == 'pad' else tf.zeros_like(missing),
      weights=weights,
      burn_in=tf.maximum(
          starts - int(burn_in_length) + tf.range(int(burn_in_length)), 0
      ),
      has_burn_in=starts[:, 0] >= int(burn_in_length),
  )


def take(trajectory, chunks):
  """The steps of chunks as trajectories.

  Padding is the end of an episode and nothing else: reward 0, discount 0, step
  type LAST.

  Args:
    trajectory: A `Trajectory` [B, T].
    chunks: `Chunks` of T steps.

  Returns:
    A `Trajectory` [B * C, L]; the chunks of a sequence follow on each other.
  """

  def gather(x):
    x = tf.gather(x, chunks.steps, axis=1)  # [B, C, L, ...]
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], axis=0))

  taken = tf.nest.map_structure(gather, trajectory)
  batch_size = tf.shape(trajectory.discount)[0]
  masked = tf.tile(chunks.is_padding, [batch_size, 1])  # [B * C, L]

  def mask(x, padding):
    shape = tf.concat([tf.shape(masked), [1] * (x.shape.rank - 2)], axis=0)
    return tf.where(tf.reshape(masked, shape), tf.cast(padding, x.dtype), x)

  return taken.replace(
      step_type=mask(taken.step_type, ts.StepType.LAST),
      next_step_type=mask(taken.next_step_type, ts.StepType.FIRST),
      reward=mask(taken.reward, 0.0),
      discount=mask(taken.discount, 0.0),
  )


def warm_up(unroll, observations, step_types, before, stored, has_burn_in):
  """States that chunks begin with after their burn-in.

  Args:
    unroll: A function of (observations, step types, states) that returns the
      states after the last step.
    observations: A nest of tensors [M, b, ...]: the burn-in of M chunks.
    step_types: Integer tensor [M, b].
    before: Nest of tensors [M, ...]: stored with the first step of a burn-in.
    stored: The same, stored with the first step of a chunk.
    has_burn_in: Booleans [M].

  Returns:
    A nest like `stored`: the state after the burn-in, where there is one. No
    gradient flows through it.
  """
  warmed = unroll(observations, step_types, before)
  states = nest_utils.where(has_burn_in, warmed, stored)
  return tf.nest.map_structure(tf.stop_gradient, states)
