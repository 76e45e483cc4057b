# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of experiments, for benchmarks/report.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import ticker
import numpy as np

from benchmarks import coverage
from rnd_agents import run_files
from rnd_agents import tables
from rnd_agents.plotting import drawing
from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import learning_curves


def plot_returns(
    folders: Mapping[str, Sequence[str]], out: str, title: str
) -> None:
  """Draws greedy returns over environment steps, {label: folders of runs}."""
  runs = {
      label: [run_files.read_metrics(f, 'eval', 'return_mean') for f in found]
      for label, found in folders.items()
  }
  learning_curves.draw_panels([learning_curves.make_panel(runs)], out, title)


def plot_solved(
    ended: Mapping[str, Sequence[tuple[float, float]]], out: str, title: str
) -> None:
  """Draws the share of the seeds that have solved a task over its steps.

  Args:
    ended: {label: (steps until solved or infinity, steps of the run) of each
      seed}.
    out: the picture.
    title: its title.
  """
  figure = drawing.new_figure()
  axes = figure.subplots()
  for color, (label, runs) in zip(drawing.COLORS, ended.items(), strict=False):
    solved = sorted(step for step, _ in runs if np.isfinite(step))
    shares = [i / len(runs) for i in range(len(solved) + 1)]
    axes.step(
        [0, *solved, max(end for _, end in runs)],
        [*shares, shares[-1]],
        where='post',
        color=color,
        label=f'{label} ({len(runs)} seeds)',
    )
  axes.set(
      title=title,
      xlabel='Environment steps',
      ylabel='Share of seeds that have solved it',
      ylim=(-0.03, 1.03),
  )
  drawing.style(axes)
  drawing.step_axis(axes)
  axes.legend()
  drawing.save_figure(figure, out)


def draw_visits(folders: Mapping[str, Sequence[str]], out: str) -> None:
  """Draws the visits of the first seed of each of four agents."""
  images = [
      heat_maps.grid_image(
          coverage.read_visits(runs[0]), f'{label}: visits of seed 0'
      )
      for label, runs in folders.items()
  ]
  rows = [np.concatenate(images[i : i + 2], axis=1) for i in (0, 2)]
  heat_maps.save_image(np.concatenate(rows), out)


def plot_scaling(points: Sequence[tuple[int, int, bool]], out: str) -> Any:
  """Draws steps to solve against N, on a logarithmic y axis, beside N 2^N.

  Filled markers are runs that solved the task. Open triangles, at their
  budget, are runs that did not: the truth is somewhere above. The line is the
  median over runs, an unsolved run counting as infinite; it ends where that is
  not finite. A random policy needs N 2^N steps to meet the goal once.

  Args:
    points: (N, steps to solve, or the budget, whether it solved) of each run.
    out: File to write; the points go to the same name with '.csv'.

  Returns:
    The matplotlib figure.
  """
  x, y, solved = map(np.array, zip(*points))
  sizes = np.unique(x)
  steps = np.where(solved, y, np.inf)
  median = np.array([np.median(steps[x == size]) for size in sizes])
  median[np.isinf(median)] = np.nan
  fig = drawing.new_figure()
  axes = fig.add_subplot()
  look = dict(color=drawing.COLORS[0], marker='o')
  axes.plot(sizes, median, linewidth=1.5, markersize=7, **look,
            label=f'RND-PPO ({solved.sum()} of {solved.size} runs solved)')
  axes.plot(x[solved], y[solved], linestyle='none', markersize=5, alpha=0.4,
            **look)
  if not solved.all():
    axes.plot(x[~solved], y[~solved], color=look['color'], linestyle='none',
              marker='^', markersize=8, markerfacecolor='none',
              label='not solved within its budget')
  n = np.linspace(sizes[0], sizes[-1], 200)
  axes.plot(n, n * 2.0**n, color='0.4', linestyle='--', zorder=1,
            label='random policy: N 2^N')
  # From the runs alone: an exponential would press them flat.
  axes.set_ylim(y.min() / 2.5, y.max() * 2.5)
  drawing.log_axis(axes)
  axes.yaxis.set_major_formatter(ticker.EngFormatter(sep=''))
  drawing.style(axes)
  axes.set_xticks(sizes)
  axes.set_xlabel('Size N')
  axes.set_ylabel('Environment steps')
  axes.set_title('DeepSea: environment steps until solved')
  drawing.legend_beside(axes)
  drawing.save_figure(fig, out)
  tables.write_csv(
      drawing.csv_path(out), ('label', 'x', 'y', 'solved'),
      [('RND-PPO', *point, int(is_solved)) for *point, is_solved in points])
  return fig
