# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Drawing functions that the pictures share: figures, axes, legends, files.

Figures are made without pyplot, so that they need no display, leave no global
state behind, and can be drawn in a training process.
"""

from collections.abc import Sequence
import contextlib
import math
import os
from typing import Any, Literal
import warnings

from rnd_agents import errors

# Okabe and Ito's palette, which colour-blind readers can distinguish, without
# its yellow (too pale for lines). Dashes differ as well.
COLORS = (
    '#0072B2',
    '#D55E00',
    '#009E73',
    '#CC79A7',
    '#E69F00',
    '#56B4E9',
    '#000000',
)
DASHES = ('-', '--', '-.')

_Layout = Literal['constrained', 'compressed', 'tight']
_SIZE_INCHES = (10.0, 4.2)
_DPI = 120
# Height of a legend below the axes for which figures have room.
_LEGEND_INCHES = 0.9


def import_matplotlib() -> None:
  """Imports matplotlib where it is installed, ahead of the first picture."""
  with contextlib.suppress(Exception):  # The first picture says why.
    new_figure()


def new_figure(
    size_inches: tuple[float, float] = _SIZE_INCHES,
    dpi: int = _DPI,
    layout: _Layout | None = 'constrained',
) -> Any:
  """Returns an empty matplotlib figure, of 1200 x 504 pixels by default."""
  try:
    from matplotlib import figure
  except ImportError as error:
    raise errors.MissingPackage(
        'Drawing needs matplotlib: pip install matplotlib'
    ) from error
  return figure.Figure(
      figsize=size_inches, dpi=dpi, layout=layout, facecolor='white'
  )


def file_types() -> Sequence[str]:
  """Returns the endings of pictures that can be written, without the dot."""
  return sorted(new_figure().canvas.get_supported_filetypes())


def csv_path(out: str) -> str:
  """Returns the name of the CSV file beside a picture."""
  return os.path.splitext(out)[0] + '.csv'


def save_figure(fig: Any, out: str) -> None:
  """Writes the figure, making its folder where needed."""
  os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
  fig.savefig(out)


def style(axes: Any) -> None:
  """Sets grid and frame."""
  axes.grid(True, alpha=0.3)
  axes.spines[['top', 'right']].set_visible(False)


def step_axis(axes: Any) -> None:
  """Makes the x axis one of environment steps: 0, 200k, 1.5M."""
  from matplotlib import ticker

  axes.xaxis.set_major_locator(
      ticker.MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=True)
  )
  axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=''))
  axes.set_xlabel('Environment steps')


def log_axis(axes: Any) -> None:
  """Makes the y axis, whose limits are final, logarithmic: 0.1, 1, 10."""
  from matplotlib import ticker

  axes.set_yscale('log')
  low, high = axes.get_ylim()
  decades = math.log10(high / low)
  subs = (1, 2, 5) if decades < 2.5 else (1,)
  axes.yaxis.set_major_locator(ticker.LogLocator(subs=subs))
  axes.yaxis.set_minor_formatter(ticker.NullFormatter())
  axes.yaxis.set_major_formatter(
      ticker.FuncFormatter(lambda value, _: f'{value:g}')
  )


def as_it_is(text: str) -> str:
  """Returns a text that matplotlib shows as it is, and not as formulas."""
  return text.replace('$', r'\$')


def legend_label(label: str) -> str:
  """Returns a label that the legend shows: matplotlib hides those with '_'."""
  return as_it_is(f' {label}' if label.startswith('_') else label)


def legend_beside(axes: Any, **kwargs: Any) -> None:
  """Puts a legend right of the axes; the figure grows to hold it."""
  legend = axes.legend(
      loc='upper left',
      bbox_to_anchor=(1.01, 1.0),
      borderaxespad=0.0,
      frameon=False,
      alignment='left',
      **kwargs,
  )
  _make_room(axes.figure, legend, 0.7)


def legend_below(
    fig: Any,
    all_axes: Sequence[Any],
    max_columns: int | None = None,
    **kwargs: Any,
) -> None:
  """Puts one legend for all axes below them, with each label once.

  The figure grows to hold what is more than three lines.
  """
  handles: dict[str, Any] = {}
  for axes in all_axes:
    for handle, label in zip(*axes.get_legend_handles_labels()):
      handles.setdefault(label, handle)
  if handles:
    legend = fig.legend(
        handles.values(),
        handles.keys(),
        loc='outside lower center',
        ncols=min(len(handles), max_columns or len(handles)),
        frameon=False,
        **kwargs,
    )
    _make_room(fig, legend, fig.get_figheight() - _LEGEND_INCHES)


def _make_room(fig: Any, legend: Any, others_inches: float) -> None:
  """Makes a figure as high as its legend and what is above and below it."""
  with warnings.catch_warnings():  # The axes have no room yet.
    warnings.simplefilter('ignore', UserWarning)
    fig.draw_without_rendering()
  legend_inches = legend.get_window_extent().height / fig.dpi
  height = max(fig.get_figheight(), legend_inches + others_inches)
  fig.set_figheight(height)
