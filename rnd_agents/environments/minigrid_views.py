# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selects what of a MiniGrid observation is a place, for curiosities."""

import gin
import tensorflow as tf
from tf_agents.typing import types

from rnd_agents import errors

# Of minigrid: 11 kinds, 6 colours and 3 states of a cell.
_SIZES = (11, 6, 3)
_EMPTY_CELL = (1, 0, 0)
_KEY, _BALL, _BOX = 5, 6, 7


@gin.configurable(module='rnd_agents', denylist=['observation'])
def minigrid_without_movables(
    observation: types.NestedTensor,
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

  Returns:
    The same nest.

  Raises:
    InvalidValue: For other observations.
  """
  if isinstance(observation, dict) and 'image' in observation:
    image = minigrid_without_movables(observation['image'])
    return dict(observation, image=image)
  shape = getattr(observation, 'shape', tf.TensorShape([]))
  depth = shape[-1] if _is_view(shape) else None
  if depth == sum(_SIZES):
    kinds = tf.argmax(observation[..., : _SIZES[0]], axis=-1)
    empty = tf.concat(
        [tf.one_hot(i, size) for i, size in zip(_EMPTY_CELL, _SIZES)], axis=0
    )
  elif depth == len(_SIZES):
    kinds, empty = observation[..., 0], tf.constant(_EMPTY_CELL)
  else:
    raise errors.InvalidValue(
        'minigrid_without_movables needs cells of MiniGrid, [W, W, 20] or'
        " [W, W, 3], or a dict with them as 'image'; got the shape"
        f' {tf.nest.map_structure(lambda x: x.shape, observation)}.'
    )
  kinds = tf.cast(kinds, tf.int32)
  width = shape[-2]
  # The agent stands in the middle of the last row of its view.
  is_own = (tf.range(width)[:, tf.newaxis] == width // 2) & (
      tf.range(width) == width - 1
  )
  is_movable = (kinds == _KEY) | (kinds == _BALL) | (kinds == _BOX)
  return tf.where(
      (is_movable & ~is_own)[..., tf.newaxis],
      tf.cast(empty, observation.dtype),
      observation,
  )


def _is_view(shape: tf.TensorShape) -> bool:
  """Returns whether a shape may be [outer..., W, W, numbers of a cell]."""
  # Pictures of MiniGrid have an even width, but for odd sizes of tiles.
  return shape.rank > 2 and shape[-3] == shape[-2] and shape[-2] % 2 == 1
