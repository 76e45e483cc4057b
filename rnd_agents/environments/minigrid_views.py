# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selects what of a MiniGrid observation is a place, for curiosities."""

from collections.abc import Sequence

import gin
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import errors
from rnd_agents import ranges

# Of minigrid: 11 kinds, 6 colours and 3 states of a cell.
_SIZES = (11, 6, 3)
_EMPTY_CELL = (1, 0, 0)
_MOVABLES = {'key': 5, 'ball': 6, 'box': 7}
_COLORS = dict(red=0, green=1, blue=2, purple=3, yellow=4, grey=5)


@gin.configurable(module='rnd_agents', denylist=['observation'])
def minigrid_without_movables(
    observation: types.NestedTensor,
    hidden: Sequence[str] = tuple(_MOVABLES),
    carried_hidden: Sequence[str] = (),
    has_carried_color: bool = True,
) -> types.NestedTensor:
  """Shows keys, balls and boxes as empty cells, but for the one carried.

  An agent that carries things about sees a new arrangement for ever, which
  hides the novelty of a door that opens. Bind it to what compares places,
  `NovelD.key_fn` and `CountBonus.key_fn`, and to what RND sees,
  `create_rnd.observation_fn`; the policy sees all.

  Args:
    observation: Observations [outer..., W, W, 20] or [outer..., W, W, 3] as
      `load_minigrid` makes them, 'one_hot' or numbers, or a dict with those as
      'image'. W is odd: the agent stands in the middle.
    hidden: Which of 'key', 'ball' and 'box' lie about unseen, with or without a
      color, such as 'green ball'. The ball that is the goal should be seen: it
      tells its room from the others, and nobody carries it about.
    carried_hidden: Which of them are not seen in the agent's hands, either.
      With a thing in hand all places are new once more.
    has_carried_color: Whether the color of what is carried is seen. Otherwise
      it is red, so that a second key does not make all places new again.

  Returns:
    The same nest.

  Raises:
    InvalidValue: For other observations and kinds of things.
  """
  ranges.check_flags(
      'minigrid_without_movables.', has_carried_color=has_carried_color
  )
  if isinstance(observation, dict) and 'image' in observation:
    image = minigrid_without_movables(
        observation['image'], hidden, carried_hidden, has_carried_color
    )
    return dict(observation, image=image)
  shape = getattr(observation, 'shape', tf.TensorShape([]))
  depth = shape[-1] if _is_view(shape) else None
  is_one_hot = depth == sum(_SIZES)
  if not is_one_hot and depth != len(_SIZES):
    raise errors.InvalidValue(
        'minigrid_without_movables needs cells of MiniGrid, [W, W, 20] or'
        " [W, W, 3], or a dict with them as 'image'; got the shape"
        f' {tf.nest.map_structure(lambda x: x.shape, observation)}.'
    )
  parts = tf.split(observation, _SIZES if is_one_hot else [1, 1, 1], axis=-1)

  def code(part: int, number: int) -> tf.Tensor:
    coded = tf.one_hot(number, _SIZES[part]) if is_one_hot else [number]
    return tf.cast(coded, observation.dtype)

  kinds, colors = (
      tf.cast(
          tf.argmax(part, axis=-1) if is_one_hot else part[..., 0], tf.int32
      )
      for part in parts[:2]
  )
  width = shape[-2]
  # The agent stands in the middle of the last row of its view.
  is_own = (tf.range(width)[:, tf.newaxis] == width // 2) & (
      tf.range(width) == width - 1
  )
  if not has_carried_color:
    is_carried = is_own & _is_one_of(kinds, colors, tuple(_MOVABLES))
    parts[1] = tf.where(
        is_carried[..., tf.newaxis], code(1, _COLORS['red']), parts[1]
    )
  is_hidden = tf.where(
      is_own,
      _is_one_of(kinds, colors, carried_hidden),
      _is_one_of(kinds, colors, hidden),
  )
  empty = [code(part, number) for part, number in enumerate(_EMPTY_CELL)]
  return tf.where(
      is_hidden[..., tf.newaxis],
      tf.concat(empty, axis=0),
      tf.concat(parts, axis=-1),
  )


def _is_one_of(
    kinds: tf.Tensor, colors: tf.Tensor, names: Sequence[str]
) -> tf.Tensor:
  """Returns which cells have a thing of one of the names."""
  found = tf.zeros_like(kinds, tf.bool)
  for name in [names] if isinstance(names, str) else names:
    color, _, kind = str(name).rpartition(' ')
    if kind not in _MOVABLES or (color and color not in _COLORS):
      raise errors.InvalidValue(
          'hidden and carried_hidden of minigrid_without_movables are lists of'
          f' {", ".join(map(repr, _MOVABLES))}, with or without a color, such'
          f" as 'green ball'; got {name!r}."
      )
    its = kinds == _MOVABLES[kind]
    if color:
      its &= colors == _COLORS[color]
    found |= its
  return found


def _is_view(shape: tf.TensorShape) -> bool:
  """Returns whether a shape may be [outer..., W, W, numbers of a cell]."""
  # Pictures of MiniGrid have an even width, but for odd sizes of tiles.
  return shape.rank > 2 and shape[-3] == shape[-2] and shape[-2] % 2 == 1
