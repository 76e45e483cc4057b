# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Heat maps of visits: of planes, grids and the rooms of Montezuma's Revenge.

Colours are logarithmic in the count, because the start of an episode is visited
thousands of times as often as its frontier. States that were never visited have
the colour of the background, not the darkest one.
"""

from collections.abc import Hashable, Sequence
import os
from typing import Any

import numpy as np

from rnd_agents import files
from rnd_agents.plotting import drawing

# Not white, so that the plane differs from the paper around it.
BACKGROUND = '#e8e8e8'
COLOR_MAP = 'viridis'

# The 24 rooms of Montezuma's Revenge: a pyramid of four floors. A room's number
# is byte 3 of the console's memory; the game starts in room 1.
ROOM_FLOORS = (range(0, 3), range(3, 8), range(8, 15), range(15, 24))
NUM_ROOMS = 24

_SIZE_INCHES = (6.4, 4.8)
_DPI = 100
# Room for tick labels such as -0.00125.
_MARGINS = dict(left=0.18, right=0.98, bottom=0.12, top=0.92)
_MAX_LABELLED_CELLS = 150
_MAX_LINED_SIDE = 64  # Lines between smaller cells would hide them.
_MAX_ARCHIVE_SIDE = 500


def visitation_image(
    counts: np.ndarray,
    x_label: str,
    y_label: str,
    extent: tuple[float, float, float, float],
    title: str,
) -> np.ndarray:
  """Draws visits to a plane, such as that of two-dimensional observations.

  Args:
    counts: [H, W], visits of each cell; row 0 is the lowest y.
    x_label: Below the plane.
    y_label: Beside it.
    extent: x of the left and the right edge, y of the lower and the upper edge.
    title: Above it.

  Returns:
    The picture, uint8 [480, 640, 3], as of the functions below.
  """
  fig, axes = _new_figure(title)
  mesh = _draw_cells(axes, counts, origin='lower', extent=extent, aspect='auto')
  axes.set_xlabel(x_label)
  axes.set_ylabel(y_label)
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def grid_image(counts: np.ndarray, title: str) -> np.ndarray:
  """Draws visits to the cells of a grid world such as MiniGrid's.

  Args:
    counts: [H, W], visits of the cell in row y and column x; row 0 is on top,
      as in MiniGrid. Small grids show the numbers too.
    title: Above it.
  """
  from matplotlib import ticker

  fig, axes = _new_figure(title)
  mesh = _draw_cells(axes, counts, origin='upper', aspect='equal')
  height, width = counts.shape
  for axis in (axes.xaxis, axes.yaxis):
    axis.set_major_locator(ticker.MaxNLocator(integer=True))
  if max(height, width) <= _MAX_LINED_SIDE:
    axes.set_xticks(np.arange(-0.5, width), minor=True)
    axes.set_yticks(np.arange(-0.5, height), minor=True)
    axes.grid(which='minor', color='white', linewidth=0.8)
    axes.tick_params(which='minor', length=0)
  if counts.size <= _MAX_LABELLED_CELLS:
    for y, x in np.argwhere(counts > 0):
      _write_in_cell(axes, mesh, x, y, counts[y, x], _short(counts[y, x]))
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def cell_counts(
    positions: np.ndarray,
    visits: np.ndarray | None = None,
    least_shape: tuple[int, int] = (1, 1),
) -> np.ndarray:
  """Returns the visits of cells, int64 [H, W], for `grid_image`.

  Args:
    positions: x and y of cells, at least 0, int [n, 2].
    visits: Visits of each position, [n]; None for one visit each.
    least_shape: Smallest H and W; the counts are as large as needed.
  """
  x, y = positions.astype(np.int64).T
  height = max(y.max(initial=0) + 1, least_shape[0])
  width = max(x.max(initial=0) + 1, least_shape[1])
  counts = np.bincount(y * width + x, visits, minlength=height * width)
  return counts.astype(np.int64).reshape(height, width)


def archive_image(
    keys: Sequence[Hashable], visits: np.ndarray
) -> np.ndarray | None:
  """Draws visits to the cells of an archive, of all worlds together.

  Args:
    keys: Keys of the cells. Only tuples that begin with two integers, x and y,
      are drawn; the least x and y are at the left and at the top.
    visits: Visits of the cells.

  Returns:
    The picture; None if no key has a position, or they lie far apart.
  """
  found = [
      (key[0], key[1], count)
      for key, count in zip(keys, visits.tolist(), strict=True)
      if isinstance(key, tuple)
      and len(key) >= 2
      and all(isinstance(number, int) for number in key[:2])
  ]
  if not found:
    return None
  x, y, totals = zip(*found)
  left, top = min(x), min(y)  # Python's integers: hashes may exceed 64 bits.
  if max(max(x) - left, max(y) - top) >= _MAX_ARCHIVE_SIDE:
    return None
  positions = np.array([(a - left, b - top) for a, b in zip(x, y)])
  counts = cell_counts(positions, np.array(totals))
  return grid_image(counts, 'Visits of the archive')


def rooms_image(counts: np.ndarray, title: str) -> np.ndarray:
  """Draws visits to the rooms of Montezuma's Revenge in their pyramid.

  Args:
    counts: [24], visits by number of the room, which is shown.
    title: Above it.
  """
  from matplotlib import patches

  width = len(ROOM_FLOORS[-1])
  rooms = np.full((len(ROOM_FLOORS), width), -1)  # -1: outside of the pyramid.
  for row, floor in zip(rooms, ROOM_FLOORS):
    start = (width - len(floor)) // 2
    row[start : start + len(floor)] = floor
  fig, axes = _new_figure(title)
  axes.set_axis_off()
  mesh = _draw_cells(
      axes, counts[rooms], origin='upper', aspect=1.3, outside=rooms < 0
  )
  for y, x in np.argwhere(rooms >= 0):
    axes.add_patch(
        patches.Rectangle(
            (x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor='white', linewidth=2
        )
    )
    room = rooms[y, x]
    _write_in_cell(axes, mesh, x, y, counts[room], str(room))
  _color_bar(fig, axes, mesh)
  return _rendered(fig)


def save_image(image: np.ndarray, path: str) -> None:
  """Writes a picture as PNG, never leaving half of one.

  Args:
    image: uint8 [H, W, 3].
    path: File name; its folder is made where needed.
  """
  from matplotlib import image as matplotlib_image

  os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
  with files.replacing(path, 'wb') as file:
    matplotlib_image.imsave(file, image, format='png')


def _new_figure(title: str) -> tuple[Any, Any]:
  # A layout that looks for its margins draws everything twice.
  fig = drawing.new_figure(_SIZE_INCHES, _DPI, layout=None)
  fig.subplots_adjust(**_MARGINS)
  axes = fig.add_subplot()
  fig.suptitle(title)
  return fig, axes


def _draw_cells(
    axes: Any, counts: np.ndarray, outside: np.ndarray | None = None,
    **kwargs: Any
) -> Any:
  """Draws the cells; those of the mask `outside` stay white."""
  import matplotlib
  from matplotlib import colors

  color_map = matplotlib.colormaps[COLOR_MAP]
  # At least two, or a single visit everywhere would leave no range.
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


def _write_in_cell(
    axes: Any, mesh: Any, x: int, y: int, count: float, text: str
) -> None:
  """Writes dark letters on light cells, white ones on dark cells."""
  red, green, blue, _ = mesh.to_rgba(count) if count > 0 else (1, 1, 1, 1)
  light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
  axes.text(
      x, y, text, ha='center', va='center', fontsize=8,
      color='0.25' if light else 'white',
  )


def _short(count: float) -> str:
  """Returns a count in at most four characters: 1234567 is '1.2M'."""
  for size, unit in ((1e9, 'G'), (1e6, 'M'), (1e3, 'k')):
    if count >= 0.9995 * size:  # 999,500 is rounded to a million.
      digits = '.2g' if count < 99.5 * size else '.0f'
      return f'{count / size:{digits}}{unit}'
  return f'{count:.0f}'


def _rendered(fig: Any) -> np.ndarray:
  """Returns the pixels of a figure, uint8 [H, W, 3]."""
  from matplotlib.backends import backend_agg

  canvas = backend_agg.FigureCanvasAgg(fig)
  canvas.draw()
  return np.array(canvas.buffer_rgba())[..., :3]
