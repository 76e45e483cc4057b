# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Raises errors for numbers that are not finite, before training on them."""

from collections.abc import Callable, Mapping
import functools
import math
import re
from typing import Any

import tensorflow as tf
from tf_agents.trajectories import trajectory
from tf_agents.typing import types
from tf_agents.utils import nest_utils

from rnd_agents import errors

# Of a reward: what is computed from it must fit into float32.
LARGEST_REWARD = 1e15
_REFUSED = 'Refused: '


def verify(
    numbers: Mapping[str, types.NestedTensor],
    outer_rank: int = 2,
    mask: tf.Tensor | None = None,
    largest: float | None = None,
    advice: str = '',
) -> list[tf.Tensor]:
  """Raises InvalidValue for a batch that holds a NaN or an infinity.

  Args:
    numbers: Nests of tensors [B, ...], or [B, T, ...], by name. Leaves that are
      not floating are ignored.
    outer_rank: 1 for [B], 2 for [B, T]; messages name these indices.
    mask: Booleans [B] or [B, T]: which numbers are checked. None for all.
    largest: Largest absolute value allowed; None for any finite one, infinity
      to allow infinities but not NaN.
    advice: What the user can do, with a space before it; end of the message.

  Returns:
    A list for `tf.control_dependencies`: operations under it run only if the
    numbers are good.

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

  def message() -> tf.Tensor:
    faults = [
        _first_fault(name, leaf, each, outer_rank)
        for (name, leaf), each in zip(leaves, good, strict=True)
    ]
    fault = tf.concat(faults, axis=0)[0]
    return tf.strings.join([fault, '. Nothing has changed.', advice])

  all_good = [tf.reduce_all(each) for each in good]
  return require(tf.reduce_all(all_good), message) if leaves else []


def require(
    condition: tf.Tensor, message: Callable[[], tf.Tensor]
) -> list[tf.Tensor]:
  """Raises `InvalidValue` unless a condition holds.

  In a graph it raises a `tf.errors.InvalidArgumentError` instead;
  `refusal_message` returns its message.

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

  def refuse() -> tf.Tensor:
    refusal = tf.debugging.Assert(False, [_REFUSED + message()])
    with tf.control_dependencies([refusal]):
      return tf.constant(False)

  return [tf.cond(condition, lambda: tf.constant(True), refuse)]


def without_nan(name: str, values: tf.Tensor) -> tf.Tensor:
  """Returns a floating tensor; raises for NaN and plus infinity.

  Raises as `require` does. In a graph it is one operation without a branch, for
  use in each step of an environment.

  Args:
    name: Name of the tensor in the message.
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


def refusal_message(error: BaseException) -> str | None:
  """Returns the message of a failed check in a graph; None for others.

  Also of `tf.debugging.check_numerics`, by which TF-Agents checks losses.
  """
  match = re.search(
      _REFUSED + r'[^\]\n]*|[^}\n]* : Tensor had [^\n]* values', str(error)
  )
  return match and match.group().strip()


def _is_good(
    leaf: tf.Tensor, mask: tf.Tensor | None, largest: float | None
) -> tf.Tensor:
  """Returns which numbers of a leaf are good, booleans."""
  if largest is None:
    good = tf.math.is_finite(leaf)
  elif math.isinf(largest):  # `enable_check_numerics` refuses it as a constant.
    good = ~tf.math.is_nan(leaf)
  else:
    good = tf.abs(leaf) <= tf.cast(largest, leaf.dtype)
  if mask is None:
    return good
  mask = tf.convert_to_tensor(mask)
  inner = [1] * (leaf.shape.rank - mask.shape.rank)
  shape = tf.concat([tf.shape(mask), tf.constant(inner, tf.int32)], axis=0)
  return good | tf.reshape(~mask, shape)


def _first_fault(
    name: str, leaf: tf.Tensor, good: tf.Tensor, outer_rank: int
) -> tf.Tensor:
  """Returns strings [1] that name the first bad number; [0] if all are good."""
  index = tf.where(~good)[:1]
  words = [
      f'{name} is ',
      tf.strings.as_string(tf.gather_nd(leaf, index), shortest=True),
      ' at place ',
      tf.strings.as_string(index[:, 0]),
      ' of the batch',
  ]
  if outer_rank > 1:
    words += [', step ', tf.strings.as_string(index[:, 1])]
  return tf.strings.join(words)


def refuses_sequences(train: Callable[..., Any]) -> Callable[..., Any]:
  """Decorates a `_train` of replayed sequences [B, T] with a check."""

  @functools.wraps(train)
  def checked(
      self: Any,
      experience: trajectory.Trajectory,
      weights: tf.Tensor | None = None,
      network_state: types.NestedTensor | None = None,
      **others: Any,
  ) -> Any:
    numbers = dict(
        observation=experience.observation,
        weights=() if weights is None else weights,
        network_state=() if network_state is None else network_state,
    )
    of_steps = dict(reward=experience.reward, discount=experience.discount)
    with tf.control_dependencies([
        *verify(numbers, outer_rank=1),
        *verify(
            of_steps,
            mask=~experience.is_boundary(),
            largest=LARGEST_REWARD,
        ),
    ]):
      return train(self, experience, weights, network_state, **others)

  return checked
