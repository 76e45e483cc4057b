# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import csv

import numpy as np
import pytest

from benchmarks import report_pictures


def _line(axes, label):
  """The data of the line with this label, [2, n]."""
  lines = [line for line in axes.lines if line.get_label() == label]
  assert len(lines) == 1, [line.get_label() for line in axes.lines]
  return np.array(lines[0].get_data(), float)


def _texts(legend):
  return [text.get_text() for text in legend.get_texts()]


def _tick_labels(axis):
  return [tick.get_text() for tick in axis.get_ticklabels()]


def _read_csv(path):
  with open(path, newline='', encoding='utf-8') as file:
    return list(csv.reader(file))


def test_plot_scaling(tmp_path):
  points = [
      (10, 100, True), (10, 300, True), (10, 900, False), (20, 700, True),
      (20, 1000, False), (20, 1000, False), (5, 40, True), (5, 60, True)]

  fig = report_pictures.plot_scaling(points, str(tmp_path / 'scaling.png'))

  (axes,) = fig.axes
  assert axes.get_yscale() == 'log'
  # Medians with unsolved = infinite: of 100, 300, inf; and 700, inf, inf.
  np.testing.assert_allclose(
      _line(axes, 'RND-PPO (5 of 8 runs solved)'),
      [[5, 10, 20], [50, 300, np.nan]])
  solved, unsolved = axes.lines[1], axes.lines[2]
  assert sorted(zip(*solved.get_data())) == [
      (5, 40), (5, 60), (10, 100), (10, 300), (20, 700)]
  assert sorted(zip(*unsolved.get_data())) == [
      (10, 900), (20, 1000), (20, 1000)]
  assert unsolved.get_marker() == '^'
  assert unsolved.get_markerfacecolor() == 'none'
  assert solved.get_marker() != '^'
  x, y = _line(axes, 'random policy: N 2^N')
  assert (x[0], x[-1]) == (5, 20)
  np.testing.assert_allclose(y, x * 2**x)
  assert axes.get_ylim() == pytest.approx((16, 2500))  # Not up to 20 * 2^20.
  assert {'100', '1k'} <= set(_tick_labels(axes.yaxis))
  assert _tick_labels(axes.xaxis) == ['5', '10', '20']
  assert _texts(axes.get_legend()) == [
      'RND-PPO (5 of 8 runs solved)', 'not solved within its budget',
      'random policy: N 2^N']
  assert _read_csv(tmp_path / 'scaling.csv')[:4] == [
      ['label', 'x', 'y', 'solved'], ['RND-PPO', '10', '100', '1'],
      ['RND-PPO', '10', '300', '1'], ['RND-PPO', '10', '900', '0']]


def test_plot_scaling_when_all_is_solved(tmp_path):
  fig = report_pictures.plot_scaling(
      [(4, 10, True)], str(tmp_path / 'out.png'))
  assert _texts(fig.axes[0].get_legend()) == [
      'RND-PPO (1 of 1 runs solved)', 'random policy: N 2^N']
