# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the states that environments visit, for heat maps."""

from collections.abc import Sequence
import copy
from typing import Any

from absl import logging
import numpy as np
import tensorflow as tf
from tf_agents.trajectories import time_step as ts
from tf_agents.typing import types

from rnd_agents import action_masks
from rnd_agents.plotting import heat_maps

PLANE = 'plane'
BOARD = 'board'
GRID = 'grid'
ROOMS = 'rooms'
_NOTHING = 'nothing'

# Width and height of a grid that is drawn cell by cell.
_LARGEST_GRID = 1_000
_CELLS = (50, 50)  # Of a plane: y, x.
# Vector steps kept before they are counted: one call of NumPy for all of them.
_MAX_PENDING = 256
# Larger bounds do not describe a range.
_LARGEST_BOUND = 1e6
_LABELS = {'MountainCar': ('Position', 'Velocity')}


class VisitCounts:
  """Counts visits of states, in environments whose states can be drawn.

  It counts the first of these kinds that fits the first time step:

  * `rooms`: `info['room']`, as of Montezuma's Revenge;
  * `grid`: `info['position']`, an array (x, y), as of MiniGrid; the info of the
    first reset may have the `grid_size`, (width, height); positions beyond
    1,000 are ignored;
  * `plane`: observations of two numbers, in 50 x 50 cells between the bounds of
    the observation space; numbers outside count in the cell at the edge. In a
    nest the entry `position`, or else the only one of two bounded numbers;
  * `board`: observations [H, W] with a single one among zeros, as of DeepSea.

  Register `observe` as a step observer of a `VectorPyEnvironment`: it keeps
  references and counts once in 256 steps. Every time step counts as a visit,
  also the last of an episode.

  `state` and `from_states` pass the counts of several collectors to another
  process, which draws them as one picture without their environments.
  """

  def __init__(
      self,
      observation_spec: types.NestedArraySpec | None = None,
      name: str = '',
  ):
    """Creates the counts.

    Args:
      observation_spec: Spec of the environment's observations, an `ArraySpec`
        or a nest of them; None for an unknown one.
      name: Name of the environment, for the title.
    """
    self._name = name
    self._kind: str | None = None  # Not known before the first time step.
    self._least_shape = (1, 1)  # Of the counts, but of a plane.
    self._counts = np.zeros((0, 0), np.int64)  # [H, W]; rooms: [1, 24].
    self._low: np.ndarray | None = None  # [2], of a plane.
    self._high: np.ndarray | None = None
    self._leaf_name = 'observation'
    self._pending: list[np.ndarray] = []  # Arrays [n, ...].
    observation_spec = action_masks.without_mask(observation_spec)
    self._observation_shape = getattr(observation_spec, 'shape', None)
    leaves = tf.nest.flatten(observation_spec)
    bounds = {i: _bounds(spec) for i, spec in enumerate(leaves)}
    planes = {i: found for i, found in bounds.items() if found is not None}
    if len(planes) > 1:
      planes = {i: planes[i] for i in planes if leaves[i].name == 'position'}
    self._leaf = 0  # Of a plane: which of the observations, flat.
    if len(planes) == 1:
      [(self._leaf, (self._low, self._high))] = planes.items()
      self._leaf_name = leaves[self._leaf].name or 'observation'

  @classmethod
  def from_states(cls, states: Sequence[dict[str, Any]]) -> 'VisitCounts':
    """Returns the sum of counts of several shards, without an environment.

    Args:
      states: Results of `state()`, at least one, for the same environment.
    """
    parts = [cls() for _ in states]
    for part, state in zip(parts, states):
      part.restore(state)
    total, *others = [part for part in parts if part._kind] or parts[:1]
    for part in others:
      part._count_pending()
      total._counts = _sum(total._counts, part._counts)
    return total

  @property
  def kind(self) -> str | None:
    """Kind of states: 'plane', 'board', 'grid' or 'rooms'; None if unknown."""
    return None if self._kind == _NOTHING else self._kind

  def observe(self, time_step: ts.TimeStep, infos: dict[str, Any]) -> None:
    """Counts a time step.

    Args:
      time_step: `TimeStep` of NumPy arrays [B, ...]. It keeps references: do
        not write to them later.
      infos: Gymnasium's infos of a vector environment.
    """
    observation = action_masks.without_mask(time_step.observation)
    if self._kind is None:
      self._decide(observation, infos)
    if self._kind == _NOTHING:
      return
    if self._kind == PLANE:
      values = tf.nest.flatten(observation)[self._leaf]
    elif self._kind == BOARD:
      values = _squares(observation)
    else:
      key = 'room' if self._kind == ROOMS else 'position'
      values = infos.get(key)
      # Gymnasium's mask of the environments with this entry.
      shape = () if self._kind == ROOMS else (2,)
      if not _are_integers(values, shape):
        values = None
      elif f'_{key}' in infos:
        values = values[infos[f'_{key}']]
    if values is not None:
      self._pending.append(values)
      if len(self._pending) >= _MAX_PENDING:
        self._count_pending()

  def counts(self) -> np.ndarray:
    """Returns the visits, int64 [H, W]; rooms: [24]; before any visit [0, 0].

    The first row of a plane is at the bottom, that of a grid at the top.
    """
    self._count_pending()
    counts = self._counts
    return (counts[0] if self._kind == ROOMS else counts).copy()

  def state(self) -> dict[str, Any]:
    """Returns a dict of arrays and plain values that `restore` takes."""
    return copy.deepcopy(vars(self))

  def restore(self, state: dict[str, Any]) -> None:
    """Restores the result of `state()` for the same environment."""
    vars(self).update(copy.deepcopy(state))

  def image(self) -> np.ndarray | None:
    """Returns the heat map, uint8 [480, 640, 3]; None before any visit."""
    self._count_pending()
    counts, low, high = self._counts, self._low, self._high
    if not counts.any():
      return None
    title = f'{self._name}: {counts.sum():,} visits'.lstrip(': ')
    if self._kind == ROOMS:
      rooms = np.count_nonzero(counts)
      return heat_maps.rooms_image(
          counts[0], f'{title}, {rooms} of {heat_maps.NUM_ROOMS} rooms'
      )
    if self._kind != PLANE or low is None or high is None:
      return heat_maps.grid_image(counts, title)
    x_label, y_label = _LABELS.get(
        self._name.partition('-')[0],
        (f'{self._leaf_name}[0]', f'{self._leaf_name}[1]'),
    )
    return heat_maps.visitation_image(
        counts, x_label, y_label, (low[0], high[0], low[1], high[1]), title
    )

  def _decide(
      self, observation: types.NestedArray, infos: dict[str, Any]
  ) -> None:
    """Decides what to count, from the first time step."""
    shape = self._observation_shape
    self._kind = _NOTHING
    # Infos with these names may mean something else: checked.
    if _are_integers(infos.get('room'), (), heat_maps.NUM_ROOMS):
      self._kind = ROOMS
      self._least_shape = (1, heat_maps.NUM_ROOMS)
    elif _are_integers(infos.get('position'), (2,), _LARGEST_GRID):
      self._kind = GRID
      sizes: Any = infos.get('grid_size')
      if _are_integers(sizes, (2,), _LARGEST_GRID):
        self._least_shape = tuple(sizes.max(axis=0)[::-1].tolist())
    elif self._low is not None:
      self._kind = PLANE
    elif shape is not None and len(shape) == 2:
      board = np.asarray(observation)
      if np.isin(board, (0, 1)).all() and (board.sum(axis=(1, 2)) == 1).all():
        self._kind = BOARD
        self._least_shape = tuple(shape)
    position = infos.get('position')
    if self._kind == _NOTHING and position is not None:
      logging.info(
          "No heat map: info['position'] is drawn if it is an array of two"
          ' integers, the cell (x, y), below %d. Two numbers of a plane are'
          ' drawn if they are an observation with bounds.',
          _LARGEST_GRID,
      )

  def _count_pending(self) -> None:
    """Adds the pending steps to the counts."""
    if not self._pending:
      return
    values = np.concatenate(self._pending)
    self._pending = []
    least_shape = self._least_shape
    if self._kind == PLANE:
      least_shape, num_cells = _CELLS, np.array(_CELLS[::-1])
      assert self._low is not None and self._high is not None
      share = (values - self._low) / (self._high - self._low)
      values = np.floor(share * num_cells).astype(np.int64)
      values = np.clip(values, 0, num_cells - 1)
    elif self._kind == ROOMS:
      values = values[values < heat_maps.NUM_ROOMS]
      values = np.stack([values, np.zeros_like(values)], axis=1)
    elif self._kind == GRID:
      values = values[(values < _LARGEST_GRID).all(axis=1)]
    values = values[(values >= 0).all(axis=1)]
    add = heat_maps.cell_counts(values, least_shape=least_shape)
    self._counts = _sum(self._counts, add)


def _bounds(spec: Any) -> tuple[np.ndarray, np.ndarray] | None:
  """Returns the bounds of an observation of two numbers; None for others."""
  if getattr(spec, 'shape', None) != (2,):
    return None
  low, high = (
      np.broadcast_to(getattr(spec, bound, np.inf), 2).astype(np.float64)
      for bound in ('minimum', 'maximum')
  )
  has_range = (np.abs([low, high]) < _LARGEST_BOUND).all()
  return (low, high) if has_range and (low < high).all() else None


def _are_integers(
    values: Any, shape: tuple[int, ...], limit: int | None = None
) -> bool:
  """Returns whether values are integers [B, *shape] within a limit."""
  return (
      isinstance(values, np.ndarray)
      and values.shape[1:] == shape
      and values.dtype.kind in 'iu'
      and (limit is None or bool((np.abs(values) < limit).all()))
  )


def _squares(boards: np.ndarray) -> np.ndarray:
  """Returns the places (x, y) of the ones, int [n, 2], without empty boards."""
  flat = boards.reshape(len(boards), -1)
  places = flat.argmax(axis=1)
  places = places[flat[np.arange(len(flat)), places] > 0]
  y, x = np.divmod(places, boards.shape[2])
  return np.stack([x, y], axis=1)


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
  """Returns a + b, counts of different sizes, aligned at the first cell."""
  total = np.zeros(np.maximum(a.shape, b.shape), np.int64)
  total[: a.shape[0], : a.shape[1]] += a
  total[: b.shape[0], : b.shape[1]] += b
  return total
