# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
from matplotlib import image
import numpy as np
import pytest

from rnd_agents.plotting import panels
from tests.plotting import fake_runs


def _run(root_dir, **metrics):
  """A run with a point every ten steps."""
  names = list(metrics)
  return fake_runs.write(root_dir, [
      {'phase': 'train', 'iteration': i, 'env_steps': 10 * i,
       **dict(zip(names, values, strict=True))}
      for i, values in enumerate(zip(*metrics.values()))])


def test_a_panel_for_each_metric(tmp_path):
  rnd = _run(tmp_path / 'rnd', policy_loss=[1.0, 1e-4], return_mean=[0, 4],
             bonus_mean=[2.0, 3.0])
  ppo = _run(tmp_path / 'ppo', policy_loss=[2.0, 1e-3], return_mean=[0, 1])
  both = {'ppo': [ppo], 'rnd': [rnd]}
  out = tmp_path / 'out.png'

  fig = panels.draw([
      panels.make(both, 'policy_loss', 'train'),
      panels.make(both, 'return_mean', 'train', ylabel='R'),
      panels.make({'rnd': [rnd]}, 'bonus_mean', 'train'),
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
  run = _run(tmp_path, policy_loss=[-100.0, 100.0])
  fig = panels.draw(
      [panels.make({'g': [run]}, 'policy_loss', 'train')],
      str(tmp_path / 'out.png'))
  assert fig.axes[0].get_yscale() == 'linear'


@pytest.mark.parametrize(('metric', 'expected'), [
    ('extrinsic_value_loss', True), ('bonus_max', True),
    ('intrinsic_return_mean', False), ('rooms_visited_max', False)])
def test_which_metrics_vary_by_factors(metric, expected):
  assert panels.varies_by_factors(metric) == expected
