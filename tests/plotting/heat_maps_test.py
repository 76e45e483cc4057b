# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
import matplotlib
from matplotlib import colors
import numpy as np
import pytest

from rnd_agents.plotting import heat_maps


def _pixels(image, color):
  """Where the picture has a colour: int [n, 2] (y, x), the colour bar out."""
  color = np.round(255 * np.array(colors.to_rgb(color))).astype(int)
  near = (np.abs(image.astype(int) - color) <= 1).all(axis=2)
  near[:, 540:] = False
  return np.argwhere(near)


def _color(share):
  """The colour of a count at this share of the logarithmic range."""
  return matplotlib.colormaps[heat_maps.COLOR_MAP](share)[:3]


def _centre(image, color):
  return np.median(_pixels(image, color), axis=0)


def test_plane_has_logarithmic_colours_at_the_right_places():
  counts = np.array([[0, 1], [10, 100]])  # Lowest y first.
  image = heat_maps.visitation_image(counts, 'x', 'y', (0, 2, 0, 2), 'title')
  assert image.shape == (480, 640, 3)
  assert image.dtype == np.uint8
  # log 10 is the half of log 100. The darkest is 1, and 0 is no colour at all.
  zero, one, ten, hundred = (
      _centre(image, color)
      for color in (heat_maps.BACKGROUND, _color(0.0), _color(0.5), _color(1.0))
  )
  assert zero[1] < one[1] and ten[1] < hundred[1]  # Left of.
  assert ten[0] < zero[0] and hundred[0] < one[0]  # Above.
  areas = [
      len(_pixels(image, color))
      for color in (heat_maps.BACKGROUND, _color(0.0), _color(0.5), _color(1.0))
  ]
  assert min(areas) > 0.8 * max(areas) > 10_000  # A quarter of the plane each.


def test_grid_has_its_first_row_on_top():
  counts = np.array([[0, 1], [0, 100]])
  image = heat_maps.grid_image(counts, 'title')
  one, hundred = _centre(image, _color(0.0)), _centre(image, _color(1.0))
  zero = _centre(image, heat_maps.BACKGROUND)
  assert one[0] < hundred[0]
  assert abs(one[1] - hundred[1]) < 5
  assert zero[1] < one[1]


def test_lines_do_not_hide_the_cells_of_a_large_grid():
  counts = np.zeros([400, 400], int)
  counts[200:] = 1
  image = heat_maps.grid_image(counts, 'title')
  areas = [
      len(_pixels(image, color))
      for color in (heat_maps.BACKGROUND, _color(0.0))
  ]
  assert min(areas) > 0.9 * max(areas) > 30_000  # Half of the grid each.


def test_visits_of_an_archive_lie_at_their_positions(monkeypatch):
  monkeypatch.setattr(heat_maps, 'grid_image', lambda counts, _: counts)
  keys = [(3, 5), (3, 5, 1, 'x'), (4, 7), None, b'hash', (0.5, 1), 'text']
  counts = heat_maps.archive_image(keys, np.arange(1, 8))
  np.testing.assert_array_equal(counts, [[3, 0], [0, 0], [0, 3]])
  assert heat_maps.archive_image([b'x'], np.ones(1)) is None
  assert heat_maps.archive_image([(0, 0), (0, 500)], np.ones(2)) is None
  hashes = [(2**64, 0), (3, 2**65)]
  assert heat_maps.archive_image(hashes, np.ones(2)) is None


def test_rooms_lie_as_a_pyramid():
  def centre(room):
    counts = np.zeros(24, int)
    counts[room] = 7
    image = heat_maps.rooms_image(counts, 'title')
    area = len(_pixels(image, _color(1.0)))
    assert area > 1_000
    # 23 rooms are grey, however many that is in pixels.
    grey = len(_pixels(image, heat_maps.BACKGROUND))
    assert grey == pytest.approx(23 * area, rel=0.25)
    return _centre(image, _color(1.0))

  start, below, left, right = (centre(room) for room in (1, 5, 15, 23))
  assert start[0] < below[0] < left[0] == right[0]
  assert abs(start[1] - below[1]) < 3
  assert abs((left[1] + right[1]) / 2 - start[1]) < 3
  assert [len(floor) for floor in heat_maps.ROOM_FLOORS] == [3, 5, 7, 9]


def test_short_numbers():
  assert [
      heat_maps._short(n) for n in (1, 999, 1000, 1234, 12_345, 123_456, 5e6)
  ] == ['1', '999', '1k', '1.2k', '12k', '123k', '5M']
  # Where rounding adds a digit.
  assert [
      heat_maps._short(n) for n in (9_960, 99_499, 99_500, 999_499, 999_500)
  ] == ['10k', '99k', '100k', '999k', '1M']


def test_saved_picture_reads_back(tmp_path):
  image = np.random.default_rng(0).integers(0, 256, [6, 4, 3], np.uint8)
  path = tmp_path / 'new' / 'a.png'
  heat_maps.save_image(image, str(path))
  from matplotlib import image as matplotlib_image

  read = matplotlib_image.imread(path)[..., :3]
  np.testing.assert_array_equal(np.round(255 * read), image)
  assert [p.name for p in path.parent.iterdir()] == ['a.png']


def test_nothing_is_cut_off_at_the_edge():
  counts = np.arange(100).reshape(10, 10) * 1_000_000
  extent = (-1234.5, 1234.5, -0.00125, 0.00125)
  title = 'ALE/MontezumaRevenge-v5: 100,000,000 visits, 24 of 24 rooms'
  for image in (
      heat_maps.visitation_image(
          counts, 'Position', 'observation[1]', extent, title
      ),
      heat_maps.grid_image(counts, title),
      heat_maps.rooms_image(np.arange(24), title),
  ):
    for edge in (image[0], image[-1], image[:, 0], image[:, -1]):
      np.testing.assert_array_equal(edge, 255)
