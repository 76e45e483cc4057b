# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of coarse views."""

import numpy as np
import pytest
import tensorflow as tf
from tf_agents.specs import tensor_spec

from rnd_agents import curiosity
from rnd_agents import errors
from rnd_agents.archive import cells
from rnd_agents.curiosity import curiosity as curiosity_lib


@pytest.mark.parametrize('wrap', [lambda f: f, tf.function])
@pytest.mark.parametrize('channels', [1, 3, 4])
def test_each_pixel_is_the_mean_of_its_area(wrap, channels):
  rng = np.random.default_rng(0)
  pictures = rng.integers(0, 256, [2, 3, 10, 7, channels], np.uint8)
  views = wrap(lambda x: curiosity.coarse_view(x, side=4, levels=50))(pictures)
  for i in range(2):
    for j in range(3):
      one = pictures[i, j].astype(float)
      grey = one.mean(-1) if channels == 3 else one[..., -1]
      # Each pixel as 28 x 28, so that areas hold whole ones.
      fine = np.repeat(np.repeat(grey, 28, 0), 28, 1)
      means = fine.reshape(4, 70, 4, 49).mean((1, 3))
      np.testing.assert_array_equal(
          views[i, j], np.floor(means * 50 / 256 + 1e-3)
      )
      np.testing.assert_array_equal(
          views[i, j], cells.coarse_image(pictures[i, j], 4, 4, 50)
      )
  assert np.all(curiosity.coarse_view(pictures * 0 + 255, levels=2) == 1)


def test_equal_views_share_a_count():
  spec = tensor_spec.BoundedTensorSpec([10, 10, 1], tf.uint8, 0, 255)
  counts = curiosity.CountBonus(spec, key_fn=curiosity.coarse_view)
  # 5 x 5 areas of 2 x 2 pixels and levels of 42.7: the second is the first.
  pictures = np.full([1, 3, 10, 10, 1], 100, np.uint8)
  pictures[0, 1, :, ::2] += 10
  pictures[0, 2, :, 0] += 100
  transitions = curiosity_lib.Transitions(tf.constant(pictures))
  counts.update_statistics(transitions)
  np.testing.assert_allclose(
      counts.bonus(transitions), [[3**-0.5, 3**-0.5, 2**-0.5]], rtol=1e-6
  )


@pytest.mark.parametrize(
    ('spec', 'got'),
    [
        (
            dict(picture=tf.TensorSpec([9, 9, 1], tf.uint8)),
            r'uint8 \(2, 3, 9, 9, 1\)',
        ),
        # From 0 to 1, all would be one place.
        (tf.TensorSpec([9, 9, 1], tf.float32), r'float32 \(2, 3, 9, 9, 1\)'),
        (tf.TensorSpec([], tf.uint8), r'uint8 \(2, 3\)'),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(spec, got):
  with pytest.raises(
      errors.InvalidValue, match=f'coarse_view takes .*, got {got}: '
  ) as caught:
    curiosity_lib.check_key_fn('X.key_fn', curiosity.coarse_view, spec)
  assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    'settings', [dict(side=0), dict(side=2.5), dict(levels=1), dict(levels=257)]
)
def test_sizes_that_make_no_view(settings):
  name = next(iter(settings))
  with pytest.raises(errors.InvalidValue, match=f'coarse_view.{name}'):
    curiosity.coarse_view(np.zeros([1, 9, 9, 1], np.uint8), **settings)
