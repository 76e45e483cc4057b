# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Coarse views: which pictures are the same place to a bonus that counts."""

import gin
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.ops import areas

_RANGES = dict(
    side=ranges.COUNT,
    levels=areas.GREY_LEVELS,
)


@gin.configurable(module='rnd_agents', denylist=['observation'])
def coarse_view(
    observation: tf.Tensor, side: int = 5, levels: int = 6
) -> tf.Tensor:
  """Returns small grey pictures with few levels, a `key_fn` for pictures.

  Each pixel is the mean of its area, as in the cells of Go-Explore (Ecoffet et
  al., 2019, arXiv 1901.10995). Bind it to what compares places:
  `CountBonus.key_fn`, or `NovelD.key_fn` for first visits of an episode.

  Args:
    observation: Bytes [outer..., H, W, C]: three channels are colours, of any
      other number the last is the newest frame.
    side: Height and width of the small pictures. Larger ones tell more places
      apart, each of which is visited less often.
    levels: Levels of grey, from 2 to 256. More of them do the same.

  Returns:
    uint8 [outer..., side, side], from 0 to levels - 1.

  Raises:
    InvalidValue: If a size is out of range, or observations are not pictures.
  """
  ranges.check(_RANGES, dict(side=side, levels=levels), 'coarse_view.')
  found = tf.nest.map_structure(tf.convert_to_tensor, observation)
  if not tf.is_tensor(found) or found.dtype != tf.uint8 or found.shape.rank < 4:
    parts = ', '.join(
        f'{each.dtype.name} {each.shape}' for each in tf.nest.flatten(found)
    )
    raise errors.InvalidValue(
        'coarse_view takes pictures, uint8 [outer..., H, W, C] with'
        f' values up to 255, got {parts}: select or convert them in a function'
        ' of your own that calls it.'
    )
  pictures = tf.cast(found, tf.float32)
  height, width, channels = pictures.shape[-3:]
  if channels == 3:
    grey = tf.reduce_mean(pictures, axis=-1)
  else:
    grey = pictures[..., -1]
  rows, columns = areas.shares(height, side), areas.shares(width, side)
  small = tf.linalg.matmul(tf.linalg.matmul(rows, grey), columns.T)
  return tf.cast(tf.floor(areas.in_levels(small, levels)), tf.uint8)
