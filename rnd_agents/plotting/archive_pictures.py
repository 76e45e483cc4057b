# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an archive: its growth, and a map of its cells."""

from typing import Any, Hashable, Optional, Sequence

import numpy as np

from rnd_agents import run_files
from rnd_agents.plotting import drawing
from rnd_agents.plotting import heat_maps

_MAX_MAP_SIDE = 500


def draw_curves(root_dir: str, out: str) -> Any:
  """Draws cells and the best score against environment steps.

  Args:
    root_dir: folder of an archive exploration.
    out: file to write.

  Returns:
    The matplotlib figure.
  """
  rows = run_files.read_rows(root_dir)
  fig = drawing.new_figure()
  panels = (('cells', 'Cells'), ('best_score', 'Best score'))
  for i, (metric, label) in enumerate(panels):
    axes = fig.add_subplot(1, 2, i + 1)
    x, y = run_files.series(rows, 'train', metric)
    marker = '.' if x.size == 1 else None
    axes.plot(x, y, color=drawing.COLORS[i], linewidth=1.5, marker=marker)
    if not x.size:
      axes.text(0.5, 0.5, 'none yet', ha='center', transform=axes.transAxes)
    axes.set_ylabel(label)
    drawing.style(axes)
    drawing.step_axis(axes)
  drawing.save(fig, out)
  return fig


def visits_by_position(
    keys: Sequence[Hashable], visits: np.ndarray
) -> Optional[np.ndarray]:
  """Returns the visits of each position, [H, W]; None if keys have none.

  Args:
    keys: of cells: tuples whose first two entries are whole numbers, x and y,
      count; others do not. The least x and y are those of [0, 0].
    visits: of cells.
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
  x, y, count = np.array(found, np.int64).T
  x, y = x - x.min(), y - y.min()
  if max(x.max(), y.max()) >= _MAX_MAP_SIDE:
    return None
  counts = np.zeros([y.max() + 1, x.max() + 1], np.int64)
  np.add.at(counts, (y, x), count)
  return counts


def draw_map(counts: np.ndarray, out: str) -> None:
  """Draws `visits_by_position` of all worlds together to a PNG file."""
  heat_maps.save(heat_maps.grid_image(counts, 'Visits of the archive'), out)
