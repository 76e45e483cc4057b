# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the states that environments visit, for heat maps."""

import numpy as np

from rnd_agents.plotting import heat_maps

PLANE = 'plane'
BOARD = 'board'
GRID = 'grid'
ROOMS = 'rooms'

# Width and height of a grid that is drawn cell by cell.
_LARGEST_GRID = 1_000
_CELLS = (50, 50)  # Of a plane: y, x.
# Vector steps kept before they are counted: one call of NumPy for all of them.
_MAX_PENDING = 256
# Larger bounds are not meant as a range.
_LARGEST_BOUND = 1e6
_LABELS = {'MountainCar': ('Position', 'Velocity')}


class VisitCounts:
  """Counts visits of states, in environments whose states can be drawn.

  What is counted, the first that fits:

  * `rooms`: `info['room']`, as of Montezuma's Revenge;
  * `grid`: `info['position']` (x, y), as of MiniGrid;
  * `plane`: observations of two numbers, in 50 x 50 cells between the bounds of
    the observation space. Where that has none, between the least and the
    greatest number of the first 256 steps and a tenth more at each side; what
    lies outside counts in the cell at the edge;
  * `board`: observations [H, W] with a single one in zeros, as of DeepSea.

  `observe` is made to be called at each step of a `VectorPyEnvironment`
  (`add_step_observer`): it keeps a reference, and the counting is done once in
  256 steps. Every time step counts as a visit, also the last of an episode.

  `state` and `from_states` carry counts to another process, which draws those
  of several collectors as one picture, without their environments.
  """

  def __init__(self, observation_spec=None, name=''):
    """Creates the counts.

    Args:
      observation_spec: Of the environment, an `ArraySpec` or a nest of them.
      name: Of the environment, for the title.
    """
    self._name = name
    self._kind = None  # Not known before there are infos.
    self._is_undrawable = False
    self._grid_shape = (1, 1)  # Of a grid, at least.
    self._counts = np.zeros((0, 0), np.int64)  # [H, W]; rooms: [1, 24].
    self._low = self._high = None  # [2], of a plane.
    self._pending = []  # Arrays [n, ...].
    shape = getattr(observation_spec, 'shape', None)
    self._observation_shape = None if shape is None else tuple(shape)
    if self._observation_shape == (2,):
      low, high = (
          np.broadcast_to(getattr(observation_spec, bound, np.inf), 2)
          for bound in ('minimum', 'maximum')
      )
      if (np.abs([low, high]) < _LARGEST_BOUND).all() and (low < high).all():
        self._low, self._high = low.astype(np.float64), high.astype(np.float64)

  @classmethod
  def create(cls, environment):
    """Returns the counts for a `VectorPyEnvironment`, or None.

    Args:
      environment: Only asked for its specs, its name and its last infos.

    Returns:
      None if what the environment observes is no plane and no board and its
      infos, if it has been reset, hold neither position nor room.
    """
    counts = cls(environment.observation_spec(), environment.name)
    infos = environment.get_info()
    shape = counts._observation_shape
    drawable = shape is not None and (shape == (2,) or len(shape) == 2)
    if infos and not drawable and not {'room', 'position'} & set(infos):
      return None
    return counts

  @classmethod
  def from_states(cls, states):
    """Returns the sum of counts of several shards, without an environment.

    Planes without bounds may have been counted in different ranges. The sum is
    then over the range around all of them, in which the visits of a cell go to
    where its centre lies.

    Args:
      states: Of `state()`, at least one, all of the same environment.
    """
    parts = []
    for state in states:
      parts.append(cls(name=state['name']))
      parts[-1]._observation_shape = state['observation_shape']
      parts[-1].restore(state)
    parts = [part for part in parts if part._kind is not None] or parts[:1]
    total = parts[0]
    if len(parts) == 1:
      return total
    counted = [part._counted() for part in parts]
    total._pending = []
    if total._kind == PLANE:
      total._low = np.min([low for _, low, _ in counted], axis=0)
      total._high = np.max([high for _, _, high in counted], axis=0)
      total._counts = sum(
          _moved(*part, total._low, total._high) for part in counted
      )
    else:
      total._counts = counted[0][0]
      for counts, _, _ in counted[1:]:
        total._counts = _sum(total._counts, counts)
    return total

  @property
  def kind(self):
    """'plane', 'board', 'grid' or 'rooms'; None while nothing fits."""
    return self._kind

  def observe(self, time_step, infos):
    """Counts a time step.

    Args:
      time_step: Of NumPy arrays with the axes [B, ...]. They are kept, so they
        must not be written to later.
      infos: Gymnasium's, of a vector environment.
    """
    if self._kind is None and not self._is_undrawable:
      self._kind = self._decide(time_step.observation, infos)
      # The first time step has it, or none has.
      self._is_undrawable = self._kind is None
    if self._kind is None:
      return
    if self._kind == GRID and self._grid_shape == (1, 1):
      sizes = infos.get('grid_size')
      if _are_integers(sizes, 2, _LARGEST_GRID):
        sizes = [size for size in sizes if size is not None]
        width, height = np.max(np.array(sizes), axis=0).tolist()
        self._grid_shape = (max(height, 1), max(width, 1))
    if self._kind == PLANE:
      values = time_step.observation
    elif self._kind == BOARD:
      values = _squares(time_step.observation)
    else:
      values = _from_infos(infos, 'room' if self._kind == ROOMS else 'position')
    if values is not None:
      self._pending.append(values)
      if len(self._pending) >= _MAX_PENDING:
        self._count_pending()

  def counts(self):
    """Returns visits, int64: [H, W], of rooms [24]; [0, 0] before any.

    The first row of a plane is the lowest, that of a grid the one on top.
    """
    counts, _, _ = self._counted()
    return (counts[0] if self._kind == ROOMS else counts).copy()

  def state(self):
    """Returns a dict of arrays and plain values that `restore` takes."""
    return dict(
        name=self._name,
        observation_shape=self._observation_shape,
        kind=self._kind,
        grid_shape=self._grid_shape,
        counts=self._counts.copy(),
        low=self._low,
        high=self._high,
        pending=np.concatenate(self._pending) if self._pending else None,
        num_pending=len(self._pending),
    )

  def restore(self, state):
    """Restores the counts of `state()`, of the same environment."""
    self._kind = state['kind']
    self._grid_shape = state['grid_shape']
    self._counts = state['counts'].copy()
    self._low, self._high = state['low'], state['high']
    pending = state['pending']
    # In as many pieces as before, so that they are counted when they would be.
    self._pending = [] if pending is None else np.array_split(
        pending, state['num_pending'])

  def image(self, title=None):
    """Returns the heat map, uint8 [480, 640, 3]; None before the first visit.

    Args:
      title: Above it; None makes one of the environment's name.
    """
    counts, low, high = self._counted()
    if not counts.any():
      return None
    if title is None:
      title = f'{self._name}: {counts.sum():,} visits'.lstrip(': ')
    if self._kind == ROOMS:
      rooms = np.count_nonzero(counts)
      return heat_maps.rooms_image(
          counts[0], f'{title}, {rooms} of {heat_maps.NUM_ROOMS} rooms'
      )
    if self._kind != PLANE:
      return heat_maps.grid_image(counts, title)
    x_label, y_label = next(
        (labels for start, labels in _LABELS.items()
         if self._name.startswith(start)),
        ('observation[0]', 'observation[1]'),
    )
    return heat_maps.visitation_image(
        counts, x_label, y_label, (low[0], high[0], low[1], high[1]), title
    )

  def _decide(self, observation, infos):
    """Returns what to count, from the first time step."""
    # Of another environment's infos of these names nothing is known.
    if _are_integers(infos.get('room'), 1, heat_maps.NUM_ROOMS):
      return ROOMS
    if _are_integers(infos.get('position'), 2, _LARGEST_GRID):
      return GRID
    if self._observation_shape == (2,):
      return PLANE
    if self._observation_shape and len(self._observation_shape) == 2:
      board = np.asarray(observation)
      if (np.isin(board, (0, 1)).all()
          and (board.sum(axis=(1, 2)) == 1).all()):
        return BOARD
    return None

  def _counted(self):
    """Returns visits [H, W] and, of a plane, the bounds low and high [2]."""
    if self._kind == PLANE and self._low is None and self._pending:
      # Looking must not decide the range before its time, or a run that is
      # looked at more often would count otherwise.
      values = np.concatenate(self._pending)
      low, high = _range(values)
      return _plane_counts(values, low, high), low, high
    self._count_pending()
    return self._counts, self._low, self._high

  def _count_pending(self):
    """Moves what is pending into the counts."""
    if not self._pending:
      return
    values = np.concatenate(self._pending)
    self._pending = []
    if self._kind == PLANE:
      if self._low is None:
        self._low, self._high = _range(values)
      add = _plane_counts(values, self._low, self._high)
    elif self._kind == ROOMS:
      inside = (values >= 0) & (values < heat_maps.NUM_ROOMS)
      add = np.bincount(
          values[inside].astype(np.int64), minlength=heat_maps.NUM_ROOMS
      )[np.newaxis]
    else:
      least = (
          self._observation_shape if self._kind == BOARD else self._grid_shape
      )
      add = _grid_counts(values, least)
    self._counts = _sum(self._counts, add)


def _are_integers(values, rank, limit):
  """Returns whether values are integers [B] or [B, 2] within a limit."""
  if isinstance(values, np.ndarray) and values.dtype == object:
    # Tuples, and None where there is nothing.
    try:
      values = np.array([value for value in values if value is not None])
    except ValueError:  # Of several lengths.
      return False
  if not isinstance(values, np.ndarray) or values.ndim != rank:
    return False
  if rank == 2 and values.shape[1] != 2:
    return False
  return values.dtype.kind in 'iu' and bool((np.abs(values) < limit).all())


def _squares(boards):
  """Returns where the ones are, int [n, 2] (x, y), leaving out empty boards."""
  flat = boards.reshape(len(boards), -1)
  places = flat.argmax(axis=1)
  places = places[flat[np.arange(len(flat)), places] > 0]
  y, x = np.divmod(places, boards.shape[2])
  return np.stack([x, y], axis=1)


def _from_infos(infos, key):
  """Returns the values of environments that gave one, None if none did."""
  values = infos.get(key)
  if values is None:
    return None
  # Gymnasium's mask of the environments that gave it.
  given = infos.get(f'_{key}')
  if given is not None and not given.all():
    values = values[given]
  if values.dtype == object:  # Tuples.
    values = [value for value in values if value is not None]
    return np.array(values) if values else None
  return values


def _range(values):
  """Returns the range of a plane without bounds: low [2] and high [2]."""
  low, high = values.min(axis=0), values.max(axis=0)
  margin = np.maximum(0.1 * (high - low), 1e-6)
  return (low - margin).astype(np.float64), (high + margin).astype(np.float64)


def _moved(counts, low, high, new_low, new_high):
  """Returns counts of a plane, [H, W], between other bounds."""
  if np.array_equal(low, new_low) and np.array_equal(high, new_high):
    return counts
  y, x = np.nonzero(counts)
  centres = low + (np.stack([x, y], axis=1) + 0.5) / _CELLS[::-1] * (high - low)
  return _plane_counts(centres, new_low, new_high, counts[y, x])


def _plane_counts(values, low, high, weights=None):
  """Returns counts of points [n, 2] (x, y), int64 [H, W]."""
  height, width = _CELLS
  cells = np.array([width, height])
  index = np.floor((values - low) / (high - low) * cells).astype(np.int64)
  index = np.clip(index, 0, cells - 1)
  return np.bincount(
      index[:, 1] * width + index[:, 0], weights, minlength=height * width
  ).reshape(height, width).astype(np.int64)


def _grid_counts(positions, least_shape):
  """Returns counts of cells [n, 2] (x, y), int64 [H, W], as large as needed."""
  positions = positions.astype(np.int64).reshape(-1, 2)
  positions = positions[(positions >= 0).all(axis=1)]
  width, height = np.max(positions, axis=0, initial=0) + 1
  height, width = max(height, least_shape[0]), max(width, least_shape[1])
  return np.bincount(
      positions[:, 1] * width + positions[:, 0], minlength=height * width
  ).reshape(height, width)


def _sum(a, b):
  """Returns a + b, counts of different sizes, aligned at the first cell."""
  total = np.zeros(np.maximum(a.shape, b.shape), np.int64)
  total[: a.shape[0], : a.shape[1]] += a
  total[: b.shape[0], : b.shape[1]] += b
  return total
