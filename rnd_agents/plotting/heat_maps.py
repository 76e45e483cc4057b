# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where an agent has been: counts of visits as pictures.

Colours are logarithmic in the count, from one visit to the most, because the
start of an episode is seen thousands of times as often as its frontier. What
was never visited has the colour of the background and not the darkest one.
"""

import os
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from rnd_agents.plotting import drawing

# Not white, so that the plane can be told from the paper around it.
BACKGROUND = '#e8e8e8'
COLOR_MAP = 'viridis'

# The 24 rooms of Montezuma's Revenge: a pyramid of four floors. A room's number
# is byte 3 of the console's memory; the game starts in room 1.
ROOM_FLOORS = (
    range(0, 3),
    range(3, 8),
    range(8, 15),
    range(15, 24),
)
NUM_ROOMS = 24

_SIZE_INCHES = (6.4, 4.8)
_DPI = 100
_MAX_LABELLED_CELLS = 150


def visitation_image(
    counts: np.ndarray,
    x_label: str = '',
    y_label: str = '',
    extent: Optional[Tuple[float, float, float, float]] = None,
    title: Optional[str] = None,
) -> np.ndarray:
  """Draws visits to a plane, such as that of two-dimensional observations.

  Args:
    counts: [H, W], visits of each cell; row 0 is the lowest y.
    x_label: Below the plane.
    y_label: Beside it.
    extent: x of the left and of the right edge, y of the lower and of the upper
      one; None numbers the cells.
    title: Above it.

  Returns:
    The picture, uint8 [480, 640, 3].

  Raises:
    ValueError: If `counts` is no plane of numbers that are zero or above.
  """
  counts = _checked(counts)
  fig, axes = _new_figure(title)
  mesh = _draw_cells(axes, counts, origin='lower', extent=extent, aspect='auto')
  axes.set_xlabel(x_label)
  axes.set_ylabel(y_label)
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def grid_image(
    counts: np.ndarray, title: Optional[str] = None
) -> np.ndarray:
  """Draws visits to the cells of a grid world such as MiniGrid's.

  Args:
    counts: [H, W], visits of the cell in row y and column x; row 0 is on top,
      as MiniGrid has it. Small grids show the numbers too.
    title: Above it.

  Returns:
    The picture, uint8 [480, 640, 3].

  Raises:
    ValueError: As for `visitation_image`.
  """
  from matplotlib import ticker

  counts = _checked(counts)
  fig, axes = _new_figure(title)
  mesh = _draw_cells(axes, counts, origin='upper', aspect='equal')
  height, width = counts.shape
  for axis in (axes.xaxis, axes.yaxis):
    axis.set_major_locator(ticker.MaxNLocator(integer=True))
  axes.set_xticks(np.arange(-0.5, width), minor=True)
  axes.set_yticks(np.arange(-0.5, height), minor=True)
  axes.grid(which='minor', color='white', linewidth=0.8)
  axes.tick_params(which='minor', length=0)
  if counts.size <= _MAX_LABELLED_CELLS:
    for y, x in np.argwhere(counts > 0):
      _write_in_cell(axes, mesh, x, y, counts[y, x], _short(counts[y, x]))
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def rooms_image(
    counts_by_room: Sequence[int], title: Optional[str] = None
) -> np.ndarray:
  """Draws visits to the rooms of Montezuma's Revenge, as the pyramid lies.

  Args:
    counts_by_room: [24], visits by number of the room; fewer are filled up with
      zeros.
    title: Above it; None says how many rooms were visited.

  Returns:
    The picture, uint8 [480, 640, 3]: each room with its number.

  Raises:
    ValueError: If there are more than 24, or a count is below zero.
  """
  counts_by_room = np.asarray(counts_by_room)
  if counts_by_room.ndim != 1 or counts_by_room.size > NUM_ROOMS:
    raise ValueError(
        f'counts_by_room must have at most {NUM_ROOMS} counts, got shape '
        f'{counts_by_room.shape}.'
    )
  full = np.zeros(NUM_ROOMS, np.int64)
  full[: counts_by_room.size] = counts_by_room
  _checked(full[np.newaxis])
  if title is None:
    title = f'{np.count_nonzero(full)} of {NUM_ROOMS} rooms visited'
  width = len(ROOM_FLOORS[-1])
  cells = np.ma.masked_all((len(ROOM_FLOORS), width), np.float64)
  places = {}
  for y, floor in enumerate(ROOM_FLOORS):
    for x, room in enumerate(floor, start=(width - len(floor)) // 2):
      cells[y, x] = full[room]
      places[room] = (x, y)
  fig, axes = _new_figure(title)
  axes.set_axis_off()
  mesh = _draw_cells(
      axes, cells.filled(0.0), origin='upper', aspect=1.3, outside=cells.mask
  )
  for room, (x, y) in places.items():
    axes.add_patch(_frame(x, y))
    _write_in_cell(axes, mesh, x, y, full[room], str(room))
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def save(image: np.ndarray, path: str) -> None:
  """Writes a picture as PNG, beside its name first, so that it is never half.

  Args:
    image: uint8 [H, W, 3].
    path: File name; its folder is made where needed.
  """
  from matplotlib import image as matplotlib_image

  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
  aside = f'{path}.new'
  matplotlib_image.imsave(aside, image, format='png')
  os.replace(aside, path)


def _checked(counts: np.ndarray) -> np.ndarray:
  counts = np.asarray(counts)
  if counts.ndim != 2 or counts.size == 0:
    raise ValueError(f'counts must be [H, W], got shape {counts.shape}.')
  if not np.isfinite(counts).all() or (counts < 0).any():
    raise ValueError('Counts of visits must be finite and not below zero.')
  return counts


def _new_figure(title: Optional[str]) -> Tuple[Any, Any]:
  fig = drawing.new_figure(_SIZE_INCHES, _DPI)
  axes = fig.add_subplot()
  if title is not None:
    axes.set_title(title)
  return fig, axes


def _draw_cells(
    axes: Any, counts: np.ndarray, outside: Optional[np.ndarray] = None,
    **kwargs: Any
) -> Any:
  """The coloured cells; those of the mask `outside` stay white."""
  import matplotlib
  from matplotlib import colors

  color_map = matplotlib.colormaps[COLOR_MAP]
  # With a single visit everywhere there is no range; two is the next count.
  norm = colors.LogNorm(vmin=1, vmax=max(counts.max(), 2))
  pixels = color_map(norm(np.maximum(counts, 1)))  # [H, W, 4]
  pixels[counts == 0] = colors.to_rgba(BACKGROUND)
  if outside is not None:
    pixels[outside] = 1.0
  axes.imshow(pixels, interpolation='nearest', **kwargs)
  return matplotlib.cm.ScalarMappable(norm, color_map)


def _color_bar(fig: Any, axes: Any, mesh: Any) -> None:
  from matplotlib import ticker

  bar = fig.colorbar(mesh, ax=axes, shrink=0.9)
  bar.set_label('Visits (environment steps)')
  bar.ax.yaxis.set_major_formatter(ticker.EngFormatter(sep=''))
  bar.ax.yaxis.set_minor_formatter(ticker.NullFormatter())


def _frame(x: int, y: int) -> Any:
  from matplotlib import patches

  return patches.Rectangle(
      (x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor='white', linewidth=2
  )


def _write_in_cell(
    axes: Any, mesh: Any, x: int, y: int, count: float, text: str
) -> None:
  """Dark letters on light cells, white ones on dark cells."""
  red, green, blue, _ = mesh.to_rgba(count) if count > 0 else (1, 1, 1, 1)
  light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
  axes.text(
      x, y, text, ha='center', va='center', fontsize=8,
      color='0.25' if light else 'white',
  )


def _short(count: float) -> str:
  """1234567 -> '1.2M'."""
  for size, unit in ((1e9, 'G'), (1e6, 'M'), (1e3, 'k')):
    if count >= size:
      return f'{count / size:.2g}{unit}' if count < 100 * size else (
          f'{count / size:.0f}{unit}')
  return f'{count:.0f}'


def _rendered(fig: Any) -> np.ndarray:
  """The figure's pixels, uint8 [H, W, 3]."""
  from matplotlib.backends import backend_agg

  canvas = backend_agg.FigureCanvasAgg(fig)
  canvas.draw()
  return np.array(canvas.buffer_rgba())[..., :3]
