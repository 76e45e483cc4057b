# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
from matplotlib import image
import numpy as np
import pytest

from rnd_agents.plotting import panels


def _run(*values):
  """A run with a point every ten steps."""
  return 10 * np.arange(len(values)), np.array(values, np.float64)


def test_a_panel_for_each_metric(tmp_path):
  losses = {'ppo': [_run(2.0, 1e-3)], 'rnd': [_run(1.0, 1e-4)]}
  returns = {'ppo': [_run(0, 1)], 'rnd': [_run(0, 4)]}
  out = tmp_path / 'out.png'

  fig = panels.draw([
      panels.make(losses, 'policy_loss', 'train'),
      panels.make(returns, 'return_mean', 'train', ylabel='R'),
      panels.make({'rnd': [_run(2, 3)]}, 'bonus_mean', 'train'),
  ], str(out), title='Venture')

  loss, returns, bonus = fig.axes
  # A loss that fell ten thousandfold is drawn by factors, what hardly moved or
  # is no loss is not.
  assert [axes.get_yscale() for axes in fig.axes] == ['log', 'linear', 'linear']
  assert [axes.get_ylabel() for axes in fig.axes] == [
      'Policy loss (train)', 'R', 'Bonus mean (train)']
  np.testing.assert_array_equal(loss.lines[1].get_ydata(), [1.0, 1e-4])
  np.testing.assert_array_equal(returns.lines[0].get_ydata(), [0, 1])
  np.testing.assert_array_equal(bonus.lines[0].get_ydata(), [2, 3])
  # One colour for a group, wherever it is drawn.
  assert bonus.lines[0].get_color() == loss.lines[1].get_color()
  assert bonus.lines[0].get_color() != loss.lines[0].get_color()
  (legend,) = fig.legends
  assert [text.get_text() for text in legend.get_texts()] == [
      'ppo (1 seed)', 'rnd (1 seed)']
  assert fig.get_suptitle() == 'Venture'
  below = legend.get_window_extent()
  for axes in fig.axes:
    assert below.y1 <= axes.xaxis.label.get_window_extent().y0
  assert image.imread(out).shape[:2] == (828, 1344)


def test_losses_of_any_sign_have_a_linear_axis(tmp_path):
  run = _run(-100.0, 100.0)
  fig = panels.draw(
      [panels.make({'g': [run]}, 'policy_loss', 'train')],
      str(tmp_path / 'out.png'))
  assert fig.axes[0].get_yscale() == 'linear'


@pytest.mark.parametrize(('metric', 'expected'), [
    ('extrinsic_value_loss', True), ('bonus_max', True),
    ('intrinsic_return_mean', False), ('rooms_visited_max', False)])
def test_which_metrics_vary_by_factors(metric, expected):
  assert panels.varies_by_factors(metric) == expected
