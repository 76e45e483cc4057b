# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses numbers that are not finite before anything learns from them."""

import functools
import re

import tensorflow as tf
from tf_agents.utils import nest_utils

from rnd_agents import errors

_REFUSED = 'Refused: '


def check(numbers, outer_rank=2, mask=None, largest=None, advice=''):
  """Refuses a batch that holds a NaN or an infinity.

  Args:
    numbers: Nests of tensors [B, ...], or [B, T, ...], by name. What is not
      floating is finite and costs nothing.
    outer_rank: 1 for [B], 2 for [B, T]; messages name no third dimension.
    mask: Booleans [B] or [B, T]: which numbers count. None for all.
    largest: Largest size allowed; None for any finite one, infinity to refuse
      NaN alone.
    advice: What to do, with a space before it.

  Returns:
    A list for `tf.control_dependencies`: what must not happen after a refusal
    goes under it.

  Raises:
    InvalidValue: If a number is refused, as for `require`.
  """
  leaves = [
      (f'{name}/{path}' if path else name, tf.convert_to_tensor(leaf))
      for name, nest in numbers.items()
      for path, leaf in nest_utils.flatten_with_joined_paths(nest)
  ]
  leaves = [(name, leaf) for name, leaf in leaves if leaf.dtype.is_floating]
  good = [_is_good(leaf, mask, largest) for _, leaf in leaves]
  all_good = [tf.reduce_all(each) for each in good]

  def message():
    fault = tf.constant('')
    for (name, leaf), each, is_good in zip(
        leaves[::-1], good[::-1], all_good[::-1], strict=True
    ):
      fault = tf.cond(
          is_good,
          lambda fault=fault: fault,
          lambda name=name, leaf=leaf, each=each: _fault(
              name, leaf, each, outer_rank
          ),
      )
    return tf.strings.join([fault, '. Nothing has changed.', advice])

  return require(tf.reduce_all(all_good), message) if leaves else []


def require(condition, message):
  """Raises `InvalidValue` unless a condition holds.

  In a graph that cannot be: there it is a `tf.errors.InvalidArgumentError`, of
  which `message_of` finds the message.

  Args:
    condition: A boolean scalar.
    message: Function that returns a string tensor.

  Returns:
    A list for `tf.control_dependencies`.

  Raises:
    InvalidValue: If the condition does not hold, when executing eagerly.
  """
  if tf.executing_eagerly():
    if not condition:
      raise errors.InvalidValue(_REFUSED + message().numpy().decode())
    return []

  def refuse():
    refusal = tf.debugging.Assert(False, [_REFUSED + message()])
    with tf.control_dependencies([refusal]):
      return tf.constant(False)

  return [tf.cond(condition, lambda: tf.constant(True), refuse)]


def without_nan(name, values):
  """Returns a floating tensor, or refuses it as `require` does.

  NaN and plus infinity are refused. In a graph that is one look at the tensor
  and no branch, for what runs in each step of an environment.

  Args:
    name: Of the tensor, for the message.
    values: The tensor.
  """
  message = f'{name} is NaN or infinite, and no action can be drawn'
  if tf.executing_eagerly():
    good = tf.reduce_all(values < float('inf'))  # NaN is not less, either.
    require(good, lambda: tf.constant(message))
    return values
  # Minus infinity is the logit of an action that is not allowed.
  look = tf.debugging.check_numerics(tf.nn.relu(values), _REFUSED + message)
  with tf.control_dependencies([look]):
    return tf.identity(values)


def message_of(error):
  """Returns the message of a refusal in a graph; None for another error."""
  match = re.search(rf'{_REFUSED}[^\]\n]*', str(error))
  return match and match.group()


def _is_good(leaf, mask, largest):
  """Which numbers of a leaf are not refused, booleans."""
  if largest is None:
    good = tf.math.is_finite(leaf)
  else:
    good = tf.abs(leaf) <= tf.cast(largest, leaf.dtype)
  if mask is None:
    return good
  mask = tf.convert_to_tensor(mask)
  inner = [1] * (leaf.shape.rank - mask.shape.rank)
  shape = tf.concat([tf.shape(mask), tf.constant(inner, tf.int32)], axis=0)
  return good | tf.reshape(~mask, shape)


def _fault(name, leaf, good, outer_rank):
  """The first number that is refused, in words."""
  index = tf.where(~good)[0]
  words = [
      f'{name} is ',
      tf.strings.as_string(tf.gather_nd(leaf, index), shortest=True),
      ' at place ',
      tf.strings.as_string(index[0]),
      ' of the batch',
  ]
  if outer_rank > 1:
    words += [', step ', tf.strings.as_string(index[1])]
  return tf.strings.join(words)


def refuses_sequences(train):
  """Decorates a `_train` of replayed sequences [B, T] with a check of them."""

  @functools.wraps(train)
  def checked(self, experience, weights=None, network_state=None, **others):
    numbers = dict(
        observation=experience.observation,
        weights=() if weights is None else weights,
        network_state=() if network_state is None else network_state,
    )
    of_steps = dict(reward=experience.reward, discount=experience.discount)
    with tf.control_dependencies([
        *check(numbers, outer_rank=1),
        *check(of_steps, mask=~experience.is_boundary(), largest=1e15),
    ]):
      return train(self, experience, weights, network_state, **others)

  return checked
