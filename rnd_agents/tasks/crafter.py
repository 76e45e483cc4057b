# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Crafter: survive and make tools in a generated world, seen from above.

Source: Hafner, "Benchmarking the Spectrum of Agent Capabilities", 2022
(arXiv 2109.06780), and its package `crafter`, whose worlds and rules these are.
"""

import operator
from typing import Any

import gin
import gymnasium
from gymnasium import spaces
import numpy as np
import tensorflow as tf

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.tasks import render_modes

_PICTURE_SIZE = 256  # Of `render`, in pixels.
_CELLS = 9  # Across a picture; the items are in the last two rows of them.
_ITEM_ROWS = 2
_NUM_VITALS = 4  # Health, food, drink and energy come first.
_RANGES = dict(
    size=ranges.Range(lambda x: x >= 9 and x % 1 == 0, 'an integer from 9'),
    length=ranges.COUNT,
)


class Crafter(gymnasium.Env):
  """Crafter with Gymnasium's interface, whose episodes repeat.

  Observations are uint8 [size, size, 3]; actions are Discrete(17), of which 0
  does nothing. The reward is 1 for each of 22 achievements, the first time in
  the episode, and 0.1 for each unit of health gained or lost. An episode
  terminates when the health is 0, and is truncated after `length` steps.

  The info of the last step of an episode has `achievements`, {name: whether it
  was reached}, and `num_achievements`.

  After `reset(seed=S)` the world is that of `crafter.Env(seed=S)`. In the
  package, the creature that disappears is found in a set, whose order depends
  on addresses in memory: the same seed and actions give other episodes in other
  processes. Here it is found in the order of places, so that they give the same
  everywhere; and pictures of `render` change nothing, whose noise at night the
  package draws from the generator of the world.
  """

  ends_by_itself = True  # No time limit is needed.

  metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 10}

  def __init__(
      self,
      size: int = 64,
      length: int = 10_000,
      reward: bool = True,
      render_mode: str | None = None,
  ):
    """Creates a Crafter.

    Args:
      size: Height and width of observations in pixels, at least 9.
      length: Steps after which an episode is truncated.
      reward: Whether rewards are paid; else they are 0.
      render_mode: 'rgb_array' for pictures of 256 x 256 pixels, or None.

    Raises:
      InvalidType: If an argument has a wrong type.
      InvalidValue: If an argument is out of range.
    """
    # The package is optional; a file of the same name, in this folder, is not
    # what an absolute import finds.
    import crafter

    ranges.check(_RANGES, dict(size=size, length=length))
    ranges.check_flags('', reward=reward)
    render_modes.check_pictures(render_mode)
    self.render_mode = render_mode
    self._game = crafter.Env(
        size=(size, size), reward=reward, length=length, seed=0
    )
    balance_chunk = self._game._balance_chunk
    self._game._balance_chunk = lambda chunk, creatures: balance_chunk(
        chunk, sorted(creatures, key=lambda creature: tuple(creature.pos))
    )
    self.observation_space = spaces.Box(0, 255, (size, size, 3), np.uint8)
    self.action_space = spaces.Discrete(len(self._game.action_names))
    self._is_seeded = False

  @property
  def action_names(self) -> list[str]:
    """Names of the actions, in their order."""
    return list(self._game.action_names)

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    super().reset(seed=seed)
    if seed is None and not self._is_seeded:
      seed = int(self.np_random.integers(2**31 - 1))
    if seed is not None:
      # The package makes a world of its seed and the number of the episode.
      self._game._seed = operator.index(seed)
      self._game._episode = 0
      self._is_seeded = True
    return self._game.reset(), {}

  def step(
      self, action: Any
  ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
    observation, reward, is_over, details = self._game.step(int(action))
    terminated = details['discount'] == 0.0
    info: dict[str, Any] = {}
    if is_over:
      reached = {
          name: count > 0 for name, count in details['achievements'].items()
      }
      info = dict(achievements=reached, num_achievements=sum(reached.values()))
    return (
        observation, float(reward), terminated, is_over and not terminated, info
    )

  def render(self) -> np.ndarray | None:
    if self.render_mode is None:
      return None
    # The noise of the night is drawn from the generator of the world; and
    # `render` fails on each size that it is given.
    game, random = self._game, self._game._world.random
    state, size = random.get_state(), game._size
    game._size = np.array([_PICTURE_SIZE, _PICTURE_SIZE])
    picture = game.render()
    game._size = size
    random.set_state(state)
    return picture


@gin.configurable(module='rnd_agents', denylist=['observation'])
def crafter_items(observation: tf.Tensor) -> tf.Tensor:
  """Selects what the player owns from pictures of Crafter.

  That is the lower rows without health, food, drink and energy, which rise and
  fall without end. Bind it to what compares places, `NovelD.key_fn` and
  `CountBonus.key_fn`, and to what RND sees, `create_rnd.observation_fn`, so
  that a new tool is new, and a new view of the same meadow is not.

  Args:
    observation: Pictures [outer..., S, S, 3].

  Returns:
    Pictures [outer..., 2 S // 9, 9 (S // 9), 3], black where the vitals were.

  Raises:
    InvalidValue: For other observations.
  """
  shape = getattr(observation, 'shape', tf.TensorShape([]))
  if shape.rank is None or shape.rank < 3 or shape[-3] != shape[-2]:
    raise errors.InvalidValue(
        'crafter_items needs square pictures of Crafter, [S, S, 3], and got the'
        f' shape {tf.nest.map_structure(lambda x: x.shape, observation)}.'
    )
  unit = shape[-2] // _CELLS
  border = (shape[-2] - unit * _CELLS) // 2  # On each side.
  bottom = border + unit * _CELLS
  rows = slice(bottom - unit * _ITEM_ROWS, bottom)
  items = observation[..., rows, border:bottom, :]
  shown = np.ones([_ITEM_ROWS * unit, _CELLS * unit, 1], bool)
  shown[:unit, : _NUM_VITALS * unit] = False
  return tf.where(shown, items, tf.zeros_like(items))


@gin.configurable(module='rnd_agents', denylist=['observation'])
def crafter_kinds(observation: tf.Tensor) -> tf.Tensor:
  """Tells from pictures of Crafter which kinds of things the player owns.

  How many there are of each does not matter, as it does for `crafter_items`: a
  second piece of wood is nothing new, the first pickaxe is.

  Args:
    observation: Pictures [outer..., S, S, 3].

  Returns:
    uint8 [outer..., 2, 9]: 1 where the picture shows an item, else 0; 0 for
    health, food, drink and energy.

  Raises:
    InvalidValue: For other observations.
  """
  items = crafter_items(observation)
  unit = items.shape[-3] // _ITEM_ROWS
  outer = tf.shape(items)[:-3]
  slots = tf.reshape(
      items, tf.concat([outer, [_ITEM_ROWS, unit, _CELLS, unit, 3]], axis=0)
  )
  return tf.cast(tf.reduce_max(slots, axis=[-4, -2, -1]) > 0, tf.uint8)
