# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides how networks see each observation.

The one place that decides it, by the dtype, bounds and shape of the spec:

| spec | what networks see |
|---|---|
| words (`rnd_agents.words`) | a GRU over vectors that are learned |
| integer scalar of up to 4096 values | one-hot |
| integers of 2 values, booleans | 0 and 1 |
| integers of 3 to 64 values | one-hot of each |
| integers of 65 to 8192 values in a grid [h, w] | a random code of each |
| bytes, or numbers from 0 to 255, in a picture | divided by 255 |
| other integers of up to 256 values | scaled to [0, 1]; whitened if asked for |
| integers of more values | whitened by the agent |
| floating numbers | as they are; whitened if asked for |

Pictures and grids become [h, w, channels] and pass convolutions, whether they
are [h, w, c], channels or frames first [c, h, w], grey [h, w], or stacks
[k, h, w, c], [k, c, h, w] and [h, w, c, k] of up to 16 frames. Everything else
is flattened.
"""

from collections.abc import Iterator, Sequence
import functools
import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import words

# Sides of the smallest grid that passes convolutions, and of the smallest [h,
# w] of bytes that is a grey picture: smaller ones are stacks of vectors.
SMALLEST_GRID = 5
SMALLEST_GREY = 16
_MOST_CHANNELS = 16  # More are the height of a picture.
_LARGEST_SCALAR = 4096  # Values of a scalar that is one-hot.
_LARGEST_ONE_HOT = 64  # Values of each entry of an array that is one-hot.
# Numbers into which an array of integers may grow: a vector, a grid.
_LARGEST_VECTOR, _LARGEST_IMAGE = 4096, 2**17
_LARGEST_CODE = 8192
_CODE_SIZE = 16
LARGEST_RAW = 100  # Floating numbers above saturate units.
_LARGEST_PLANE = 32  # Bytes of [h, w, c] up to this are codes, not brightness.

ONE_HOT, CODES, PIXELS, WORDS = 'one-hot', 'codes', 'pixels', 'words'
FLAGS, NUMBERS, FLOATS = 'flags', 'numbers', 'floats'


class Treatment(NamedTuple):
  """How one observation is shown to networks.

  Attributes:
    kind: ONE_HOT, CODES (random ones), PIXELS (divided by 255), FLAGS (0 and
      1), NUMBERS (integers that are scaled or whitened), FLOATS, or WORDS,
      which have a layer of their own (`keras_layers.WordsInput`).
    shape: Shape of the observation.
    low: Its least value.
    high: Its largest value.
    axes: Axes of a picture or grid in the order height, width, and those that
      become channels; None for everything else.
  """

  kind: str
  shape: tuple[int, ...]
  low: float
  high: float
  axes: tuple[int, ...] | None

  @property
  def depth(self) -> int:
    """Numbers into which each entry, or all words together, are encoded."""
    if self.kind == CODES:
      return _CODE_SIZE
    if self.kind in (ONE_HOT, WORDS):
      return int(self.high - self.low) + 1
    return 1

  @property
  def encoded_shape(self) -> tuple[int, ...]:
    """Shape of what `encode` returns, for one observation."""
    if self.axes is not None:
      height, width, *channels = (self.shape[axis] for axis in self.axes)
      return height, width, math.prod(channels) * self.depth
    if self.kind == ONE_HOT:
      return (math.prod(self.shape) * self.depth,)
    return (self.depth,) if self.kind == WORDS else self.shape

  @property
  def keeps_layout(self) -> bool:
    """Whether `encode` returns what it is given."""
    return self.kind not in (ONE_HOT, CODES, WORDS) and self.axes in (
        None, (0, 1, 2)
    )

  @property
  def is_wide(self) -> bool:
    """Whether it holds integers whose bounds give no scale."""
    return self.kind == NUMBERS and self.high - self.low >= 256

  @property
  def scale(self) -> float:
    """Factor on what `encode` returns."""
    return 1.0 / 255.0 if self.kind == PIXELS else 1.0

  def encode(self, value: tf.Tensor) -> tf.Tensor:
    """Returns one-hot or random codes, and pictures as [h, w, channels].

    Of words it returns which there are.

    Args:
      value: A tensor [outer..., *shape].

    Returns:
      A tensor [outer..., *encoded_shape]: float32 if entries are encoded, else
      of the dtype of `value`.
    """
    if self.keeps_layout:
      return value
    value = tf.convert_to_tensor(value)
    num_outer = value.shape.rank - len(self.shape)
    outer_shape = tf.shape(value)[:num_outer]
    static_shape = value.shape[:num_outer]
    if self.axes is not None:
      order = [num_outer + axis for axis in self.axes]
      value = tf.transpose(value, [*range(num_outer), *order])
    if self.kind in (ONE_HOT, CODES, WORDS):
      indices = tf.cast(value, tf.int64) - int(self.low)
      value = (
          tf.gather(_random_codes(int(self.high - self.low) + 1), indices)
          if self.kind == CODES
          else tf.one_hot(indices, self.depth)
      )
      if self.kind == WORDS:
        value = tf.reduce_max(value, axis=-2)
    value = tf.reshape(value, tf.concat([outer_shape, self.encoded_shape], 0))
    return tf.ensure_shape(value, static_shape.concatenate(self.encoded_shape))


def treatment(spec: Any) -> Treatment:
  """Returns the treatment of an observation.

  Args:
    spec: A TensorSpec or an ArraySpec, bounded or not.
  """
  dtype = np.dtype(getattr(spec.dtype, 'as_numpy_dtype', spec.dtype))
  shape = tuple(spec.shape)
  low, high = _bounds(spec, dtype)
  axes = image_axes(shape)
  num_values = high - low + 1

  def result(kind: str, own_axes: tuple[int, ...] | None = axes) -> Treatment:
    return Treatment(kind, shape, low, high, own_axes)

  if words.is_words(spec):
    return Treatment(WORDS, shape, 0, high, None)
  grid_axes = axes
  if len(shape) == 2 and min(shape) >= SMALLEST_GRID:
    grid_axes = (0, 1)
  is_grey = len(shape) == 2 and min(shape) >= SMALLEST_GREY
  if dtype.kind == 'f':
    is_picture = (low, high) == (0, 255) and (axes or is_grey)
    return result(PIXELS, grid_axes) if is_picture else result(FLOATS)
  if not shape and dtype.kind != 'b':
    return result(ONE_HOT if num_values <= _LARGEST_SCALAR else NUMBERS)
  if num_values <= 2:
    return result(FLAGS)
  is_brightness = (
      low >= 0 and _LARGEST_PLANE < high
      if dtype == np.uint8
      else (low, high) == (0, 255)
  )
  if is_brightness and (axes or is_grey):
    return result(PIXELS, grid_axes)
  size = math.prod(shape) * num_values
  if num_values <= _LARGEST_ONE_HOT:
    if grid_axes and size <= _LARGEST_IMAGE:
      return result(ONE_HOT, grid_axes)
    if not grid_axes and size <= _LARGEST_VECTOR:
      return result(ONE_HOT)
  # Small arrays of bytes are rather numbers than names of things.
  is_named = dtype != np.uint8 or num_values <= _LARGEST_ONE_HOT
  if grid_axes == (0, 1) and is_named and num_values <= _LARGEST_CODE:
    return result(CODES, grid_axes)
  return result(NUMBERS)


def image_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
  """Returns the axes of a picture: height, width, then those of channels.

  Args:
    shape: Shape of an observation.

  Returns:
    (0, 1, 2) for [h, w, c], and other orders for channels first and for stacks;
    None for shapes of other ranks, and for stacks of anything else.
  """
  if len(shape) == 3:
    return (1, 2, 0) if _is_channels_first(*shape) else (0, 1, 2)
  inner = image_axes(shape[1:]) if len(shape) == 4 else None
  if inner is None:
    return None
  if shape[0] > _MOST_CHANNELS >= max(shape[2:]) and shape[1] >= SMALLEST_GRID:
    return 0, 1, 2, 3
  if shape[0] <= _MOST_CHANNELS:
    height, width, channels = (axis + 1 for axis in inner)
    if min(shape[height], shape[width]) >= SMALLEST_GRID:
      return height, width, 0, channels
  return None


def _is_channels_first(first: int, second: int, third: int) -> bool:
  """Returns whether sizes are those of [c, h, w] rather than [h, w, c]."""
  shorter = min(second, third)
  if shorter < SMALLEST_GRID:
    return False
  return (
      first < SMALLEST_GRID  # Too few for a height.
      or second == third != first
      or (first <= _MOST_CHANNELS and 4 * first <= shorter)
  )


def network_spec(
    observation_spec: types.NestedTensorSpec
) -> types.NestedTensorSpec:
  """Returns the specs of networks' inputs: float32 where NUMBERS are.

  Whoever calls the network may whiten these; `scaled` serves those who do not.
  """
  return tf.nest.map_structure(
      lambda spec: tf.TensorSpec(spec.shape, tf.float32, spec.name)
      if treatment(spec).kind == NUMBERS
      else spec,
      observation_spec,
  )


def scaled(
    observations: types.NestedTensor, observation_spec: types.NestedTensorSpec
) -> types.NestedTensor:
  """Returns observations with integer NUMBERS scaled by their bounds to [0, 1].

  Args:
    observations: A nest of tensors [outer..., *shape]. Floating ones have been
      whitened, and are returned as they are.
    observation_spec: A nest of tensor specs.
  """

  def leaf(spec: tf.TensorSpec, value: tf.Tensor) -> tf.Tensor:
    own = treatment(spec)
    if own.kind != NUMBERS or tf.as_dtype(value.dtype).is_floating:
      return value
    value = tf.cast(value, tf.float64)
    return tf.cast((value - own.low) / (own.high - own.low), tf.float32)

  return tf.nest.map_structure(leaf, observation_spec, observations)


def whitened_leaves(
    observation_spec: types.NestedTensorSpec,
    input_spec: types.NestedTensorSpec,
    normalize_observations: bool,
) -> list[bool]:
  """Returns which observations an agent whitens, flat.

  Args:
    observation_spec: A nest of tensor specs.
    input_spec: The network's `input_tensor_spec`: integers that it takes as
      integers are left alone.
    normalize_observations: Whether to whiten all numbers; otherwise only those
      integers whose bounds give no scale.
  """

  def is_whitened(spec: tf.TensorSpec, own_input: tf.TensorSpec) -> bool:
    own = treatment(spec)
    if own.kind == NUMBERS and own_input.dtype.is_floating:
      return normalize_observations or own.is_wide
    return own.kind == FLOATS and normalize_observations

  return [
      is_whitened(*pair)
      for pair in zip(
          tf.nest.flatten(observation_spec),
          tf.nest.flatten(input_spec),
          strict=True,
      )
  ]


def describe_observations(
    observation_spec: types.NestedSpec, whitened: Sequence[bool] | None = None
) -> Iterator[str]:
  """Yields a line for each observation that says what networks see of it.

  Args:
    observation_spec: A nest of tensor or array specs.
    whitened: Which of them the agent whitens, flat, or [] for none; None if
      there is no agent.
  """
  flat = tf.nest.flatten(observation_spec)
  for i, spec in enumerate(flat):
    own = treatment(spec)
    dtype = getattr(spec.dtype, 'name', spec.dtype)
    if _is_whitened(own, i, whitened):
      seen = 'whitened by running moments'
    elif own.kind == WORDS:
      seen = 'words, each a vector that is learned, in turn by a GRU'
    elif own.kind == ONE_HOT:
      seen = f'one-hot of {own.depth}'
    elif own.kind == CODES:
      seen = f'a random code of {own.depth} numbers for each value'
    elif own.kind == PIXELS:
      seen = 'divided by 255'
    elif own.kind == NUMBERS and not own.low:
      seen = f'divided by {own.high:.0f}'
    elif own.kind == NUMBERS:
      seen = 'scaled to 0..1'
    else:
      seen = 'as it is'
    if whitened is None and own.kind in (FLOATS, NUMBERS) and not own.is_wide:
      seen += ' (whitened with normalize_observations)'
    form = 'dense'
    if own.axes and min(own.encoded_shape[:2]) >= SMALLEST_GRID:
      form = f'a picture {list(own.encoded_shape)}'
    yield (
        f'observation {spec.name or "observation"!r}: {dtype}'
        f' {list(own.shape)}, values {_brief(own.low)}..{_brief(own.high)}:'
        f' {seen}, {form}'
    )


def out_of_scale(
    observation_spec: types.NestedSpec,
    largest: Sequence[float],
    whitened: Sequence[bool] | None = None,
) -> Iterator[str]:
  """Yields a sentence for each observation that networks see out of scale.

  Args:
    observation_spec: A nest of tensor or array specs.
    largest: The largest absolute value seen of each leaf, flat.
    whitened: As for `describe_observations`.
  """
  for i, spec in enumerate(tf.nest.flatten(observation_spec)):
    own = treatment(spec)
    if _is_whitened(own, i, whitened):
      continue
    if own.kind == FLOATS and largest[i] > LARGEST_RAW:
      yield (
          f'observation {spec.name!r} reaches {largest[i]:.4g}, and networks'
          ' see it as it is'
      )
    elif own.is_wide:
      yield (
          f'observation {spec.name!r} may be anything from {_brief(own.low)} to'
          f' {_brief(own.high)} by its space, which gives no scale, and is not'
          ' whitened'
      )


def _is_whitened(
    own: Treatment, index: int, whitened: Sequence[bool] | None
) -> bool:
  if whitened is None:
    return own.is_wide
  return bool(whitened) and whitened[index]


def _bounds(spec: Any, dtype: np.dtype) -> tuple[float, float]:
  """Returns the least and the largest value; ints for integers."""
  number = float if dtype.kind == 'f' else int
  if dtype.kind == 'b':
    return 0, 1
  minimum = np.asarray(getattr(spec, 'minimum', ()))
  if minimum.size:
    return number(minimum.min()), number(np.max(spec.maximum))
  if dtype.kind == 'f':
    return -math.inf, math.inf
  limits = np.iinfo(dtype)
  return int(limits.min), int(limits.max)


def _brief(bound: float) -> str:
  if abs(bound) > 1e30:
    return '-inf' if bound < 0 else 'inf'
  return f'{bound:g}' if isinstance(bound, float) else str(bound)


@functools.lru_cache(maxsize=8)
def _random_codes(num_values: int) -> np.ndarray:
  """Returns float32 [num_values, 16]: always the same, of variance 1."""
  generator = np.random.default_rng(0)
  return generator.standard_normal([num_values, _CODE_SIZE], np.float32)
