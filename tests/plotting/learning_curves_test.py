# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import csv

from matplotlib import image
import numpy as np
import pytest

from rnd_agents import run_files
from rnd_agents.plotting import learning_curves
from rnd_agents.plotting import statistics
from tests.plotting import fake_runs


def _line(axes, label):
  """The data of the line with this label, [2, n]."""
  lines = [line for line in axes.lines if line.get_label() == label]
  assert len(lines) == 1, [line.get_label() for line in axes.lines]
  return np.array(lines[0].get_data(), float)


def _band(collection):
  """(x, low, high) of a fill_between, as a set."""
  vertices = collection.get_paths()[0].vertices
  return {(x, vertices[vertices[:, 0] == x, 1].min(),
           vertices[vertices[:, 0] == x, 1].max()) for x in vertices[:, 0]}


def _texts(legend):
  return [text.get_text() for text in legend.get_texts()]


def _tick_labels(axis):
  return [tick.get_text() for tick in axis.get_ticklabels()]


def _rows(num_iterations, **metrics):
  """Training rows; each metric is a function of the iteration."""
  return [
      {'phase': 'train', 'iteration': i, 'env_steps': 1000 * i,
       **{name: metric(i) for name, metric in metrics.items()}}
      for i in range(1, num_iterations + 1)]


_EVALUATIONS = [
    {'phase': 'eval', 'iteration': i, 'env_steps': 1000 * i,
     'return_mean': i, 'return_min': i - 1, 'return_max': i + 2,
     'success_rate': i / 4}
    for i in (0, 2, 4)]


def test_plot_run(tmp_path):
  rows = _rows(4, return_mean=lambda i: 10.0 * i,
               bonus_mean=lambda i: 10.0**-i)
  root_dir = fake_runs.write(tmp_path / 'run', rows + _EVALUATIONS)
  out = tmp_path / 'new_folder' / 'curve.png'

  fig = learning_curves.plot_run(root_dir, str(out), title='DeepSea-10')

  returns, bonus, success = fig.axes
  np.testing.assert_array_equal(
      _line(returns, 'training'), [[1000, 2000, 3000, 4000], [10, 20, 30, 40]])
  np.testing.assert_array_equal(
      _line(returns, 'evaluation'), [[0, 2000, 4000], [0, 2, 4]])
  assert _band(returns.collections[0]) == {
      (0, -1, 2), (2000, 1, 4), (4000, 3, 6)}
  np.testing.assert_allclose(
      bonus.lines[0].get_ydata(), [1e-1, 1e-2, 1e-3, 1e-4])
  assert bonus.get_yscale() == 'log'
  assert {'0.1', '0.01', '0.001', '0.0001'} <= set(_tick_labels(bonus.yaxis))
  np.testing.assert_array_equal(
      _line(success, 'evaluation'), [[0, 2000, 4000], [0, 0.5, 1]])
  assert success.get_ylim()[0] < 0 and success.get_ylim()[1] > 1
  assert fig.get_suptitle() == 'DeepSea-10'
  assert _texts(fig.legends[0]) == [
      'training', 'evaluation', 'worst to best episode']
  assert {'0', '1k', '4k'} <= set(_tick_labels(returns.xaxis))
  assert success.get_xlabel() == 'Environment steps'
  assert image.imread(out).shape[:2] == (504, 1200)


def test_plot_run_without_bonus_and_success(tmp_path):
  root_dir = fake_runs.write(
      tmp_path, _rows(3, return_mean=lambda i: -float(i)))
  fig = learning_curves.plot_run(root_dir, str(tmp_path / 'curve.png'))
  (returns,) = fig.axes
  np.testing.assert_array_equal(
      _line(returns, 'training'), [[1000, 2000, 3000], [-1, -2, -3]])
  assert _texts(fig.legends[0]) == ['training']
  assert fig.get_suptitle() == ''


@pytest.mark.parametrize(('metric', 'label'), [
    ('bonus_mean', 'Bonus, mean'), ('success_rate', 'Success rate')])
def test_plot_run_with_one_of_them(tmp_path, metric, label):
  root_dir = fake_runs.write(
      tmp_path, _rows(2, **{metric: lambda i: i / 8}))
  fig = learning_curves.plot_run(root_dir, str(tmp_path / 'curve.png'))
  returns, other = fig.axes
  assert other.get_ylabel() == label
  np.testing.assert_array_equal(other.lines[0].get_ydata(), [1 / 8, 2 / 8])
  assert [text.get_text() for text in returns.texts] == [
      'no episode has ended yet']


def test_plot_run_with_a_bonus_of_zero(tmp_path):
  root_dir = fake_runs.write(
      tmp_path, _rows(3, bonus_mean=lambda i: float(i - 1)))
  fig = learning_curves.plot_run(root_dir, str(tmp_path / 'curve.png'))
  assert fig.axes[1].get_yscale() == 'linear'
  np.testing.assert_array_equal(fig.axes[1].lines[0].get_ydata(), [0, 1, 2])


def test_plot_run_smooths_long_training(tmp_path):
  # 250 iterations, so that the mean is over 5 neighbours: of 0 and 1 in turn
  # 2/5 and 3/5, and 1/3 over the first three.
  root_dir = fake_runs.write(
      tmp_path, _rows(250, return_mean=lambda i: (i + 1) % 2))
  fig = learning_curves.plot_run(root_dir, str(tmp_path / 'curve.png'))
  raw = fig.axes[0].lines[0].get_ydata()
  np.testing.assert_array_equal(raw[:4], [0, 1, 0, 1])
  x, smooth = _line(fig.axes[0], 'training (moving mean)')
  assert x.size == 250
  np.testing.assert_allclose(smooth[:5], [1 / 3, 1 / 2, 2 / 5, 3 / 5, 2 / 5])


def _read_csv(path):
  with open(path, newline='', encoding='utf-8') as file:
    return list(csv.reader(file))


def _plot_groups(
    groups, out, metric='return_mean', phase='eval', title=None):
  """Draws one panel of the runs in the folders of each group."""
  runs = {
      label: [run_files.read_metrics(run, phase, metric) for run in folders]
      for label, folders in groups.items()}
  panel = learning_curves.make_panel(runs, metric, phase)
  return learning_curves.draw_panels([panel], out, title)


def test_plot_groups(tmp_path):
  groups = {
      'rnd': [fake_runs.evaluations(tmp_path / f'r{i}', [0, 1_000_000], [i, y])
              for i, y in enumerate([2.0, 4.0, 4.0, 4.5, 30.0])],
      '_ppo': [fake_runs.evaluations(tmp_path / 'p', [0, 500_000], [1, 0.25])],
  }
  out = tmp_path / 'a.b' / 'groups.png'

  fig = _plot_groups(groups, str(out), title='DeepSea')

  (axes,) = fig.axes
  legend = axes.get_legend()
  assert _texts(legend) == ['rnd (5 seeds)', ' _ppo (1 seed)']
  assert legend.get_title().get_text() == 'IQM, 95 % interval'
  np.testing.assert_allclose(
      _line(axes, 'rnd (5 seeds)'), [[0, 1_000_000], [2, 12.5 / 3]])
  np.testing.assert_allclose(
      _line(axes, ' _ppo (1 seed)'), [[0, 500_000], [1, 0.25]])
  assert len(axes.lines) == 2  # All runs are whole: nothing is dotted.
  assert axes.lines[0].get_color() != axes.lines[1].get_color()
  assert axes.get_title() == 'DeepSea'
  assert axes.get_ylabel() == 'Evaluation return'
  assert {'0', '200k', '1M'} <= set(_tick_labels(axes.xaxis))

  header, *rows = _read_csv(tmp_path / 'a.b' / 'groups.csv')
  assert header[:6] == [
      'label', 'env_steps', 'iqm', 'low', 'high', 'num_runs']
  assert {tuple(row[6:]) for row in rows} == {
      ('curve', 'eval', 'return_mean', '', '')}
  assert [row[:2] + row[5:6] for row in rows] == [
      ['rnd', '0', '5'], ['rnd', '1000000', '5'],
      ['_ppo', '0', '1'], ['_ppo', '500000', '1']]
  np.testing.assert_allclose(
      [float(row[2]) for row in rows], [2, 12.5 / 3, 1, 0.25], rtol=1e-15)
  assert [row[3:5] for row in rows[2:]] == [['', '']] * 2
  band = sorted((float(row[1]), float(row[3]), float(row[4]))
                for row in rows[:2])
  assert sorted(_band(axes.collections[0])) == band
  for (_, low, high), iqm in zip(band, (2, 12.5 / 3)):
    assert low < iqm < high
  assert image.imread(out).shape[:2] == (504, 1200)


def _written_width(text, plain):
  """Widths in pixels of a text, and of one that is written as it is."""
  before = text.get_window_extent().width
  text.set_parse_math(False)
  text.set_text(plain)
  return before, text.get_window_extent().width


# Of formulas, the first is drawn in italics and the second is wrong.
@pytest.mark.parametrize('name', ['od$d_na$me', r'$\foo$'])
def test_names_with_dollars_are_no_formulas(tmp_path, name):
  groups = {name: [(np.array([0, 1]), np.array([0.0, 1.0]))]}
  panel = learning_curves.make_panel(groups, name)
  fig = learning_curves.draw_panels([panel], str(tmp_path / 'out.png'))
  (axes,) = fig.axes
  (label,) = axes.get_legend().get_texts()
  for text, plain in (
      (label, f'{name} (1 seed)'),
      (axes.yaxis.label, f'{name.replace("_", " ").capitalize()} (eval)'),
  ):
    width, expected = _written_width(text, plain)
    assert width == expected > 0


def test_plot_groups_dots_what_few_runs_reached(tmp_path):
  runs = [fake_runs.evaluations(tmp_path / 'a', [0, 10, 20, 30], [0, 2, 4, 6]),
          fake_runs.evaluations(tmp_path / 'b', [0, 10], [2, 4])]
  fig = _plot_groups({'g': runs}, str(tmp_path / 'out.png'))
  solid, dotted = fig.axes[0].lines
  np.testing.assert_allclose(solid.get_ydata(), [1, 3, np.nan, np.nan])
  np.testing.assert_allclose(dotted.get_ydata(), [np.nan, 3, 4, 6])
  assert (solid.get_linestyle(), dotted.get_linestyle()) == ('-', ':')
  assert solid.get_color() == dotted.get_color()
  counts = [row[5] for row in _read_csv(tmp_path / 'out.csv')[1:]]
  assert counts == ['2', '2', '1', '1']


def test_plot_groups_tells_many_apart(tmp_path):
  run = fake_runs.evaluations(tmp_path / 'run', [0, 1], [0, 1])
  fig = _plot_groups(
      {str(i): [run] for i in range(15)}, str(tmp_path / 'out.png'))
  looks = {(line.get_color(), line.get_linestyle())
           for line in fig.axes[0].lines}
  assert len(looks) == 15


def test_legends_cover_nothing(tmp_path):
  groups = {
      f'a label of some length {i}':
          [fake_runs.evaluations(tmp_path / str(i), [0, 1], [i, 1])]
      for i in range(8)}
  fig = _plot_groups(groups, str(tmp_path / 'out.png'))
  (axes,) = fig.axes
  legend = axes.get_legend().get_window_extent()
  plot = axes.get_window_extent()
  assert plot.x1 <= legend.x0 and legend.x1 <= fig.bbox.x1
  assert plot.width > 0.4 * fig.bbox.width

  root_dir = fake_runs.write(
      tmp_path / 'run', _rows(4, return_mean=float) + _EVALUATIONS)
  fig = learning_curves.plot_run(root_dir, str(tmp_path / 'out.png'))
  legend = fig.legends[0].get_window_extent()
  for axes in fig.axes:
    assert legend.y1 <= axes.xaxis.label.get_window_extent().y0


def _run(*values):
  """A run with a point every ten steps."""
  return 10 * np.arange(len(values)), np.array(values, np.float64)


def test_a_panel_for_each_metric(tmp_path):
  losses = {'ppo': [_run(2.0, 1e-3)], 'rnd': [_run(1.0, 1e-4)]}
  returns = {'ppo': [_run(0, 1)], 'rnd': [_run(0, 4)]}
  out = tmp_path / 'out.png'

  fig = learning_curves.draw_panels([
      learning_curves.make_panel(losses, 'policy_loss', 'train'),
      learning_curves.make_panel(returns, 'return_mean', 'train'),
      learning_curves.make_panel({'rnd': [_run(2, 3)]}, 'bonus_mean', 'train'),
  ], str(out), title='Venture')

  loss, returns, bonus = fig.axes
  # A loss that fell ten thousandfold is drawn by factors, what hardly moved or
  # is no loss is not.
  assert [axes.get_yscale() for axes in fig.axes] == ['log', 'linear', 'linear']
  assert [axes.get_ylabel() for axes in fig.axes] == [
      'Policy loss (train)', 'Training return', 'Bonus mean (train)']
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
  fig = learning_curves.draw_panels(
      [learning_curves.make_panel({'g': [run]}, 'policy_loss', 'train')],
      str(tmp_path / 'out.png'))
  assert fig.axes[0].get_yscale() == 'linear'


@pytest.mark.parametrize('num_panels', [1, 2])
def test_a_legend_of_many_curves_is_whole(tmp_path, num_panels):
  steps = np.arange(3.0)
  curve = statistics.GroupCurve(
      steps, steps, steps, steps, np.ones(3), steps[np.newaxis]
  )
  curves = {f'some_experiment_{i}': curve for i in range(28)}
  panel = learning_curves.Panel('return_mean', 'eval', curves)
  fig = learning_curves.draw_panels(
      [panel] * num_panels, str(tmp_path / 'many.png')
  )
  (legend,) = fig.legends or [axes.get_legend() for axes in fig.axes]
  fig.draw_without_rendering()
  box, page = legend.get_window_extent(), fig.bbox
  assert len(legend.get_texts()) == 28
  assert 0 <= box.y0 < box.y1 <= page.height
  assert 0 <= box.x0 < box.x1 <= page.width
  assert all(axes.bbox.height > 100 for axes in fig.axes)
