# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of filming episodes."""

import itertools
import os
import sys

import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.policies import random_tf_policy

from rnd_agents.environments import loaders
from rnd_agents.evaluation import video

imageio_ffmpeg = pytest.importorskip('imageio_ffmpeg')


def _read(path):
  """Frames per second, and the frames, uint8 [n, height, width, 3]."""
  reader = imageio_ffmpeg.read_frames(path)
  meta = next(reader)
  width, height = meta['size']
  frames = [
      np.frombuffer(frame, np.uint8).reshape(height, width, 3)
      for frame in reader
  ]
  return meta['fps'], np.stack(frames)


class Brighter(gymnasium.Env):
  """Of seed s: 3 + s steps that pay the action, each frame a bit brighter."""

  metadata = {'render_modes': ['rgb_array'], 'render_fps': 12}
  observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
  action_space = gymnasium.spaces.Discrete(5)

  def __init__(self, render_mode=None, gain=10, frame_shape=(33, 35, 3)):
    self.render_mode = render_mode
    self._gain = gain
    self._frame_shape = frame_shape

  def reset(self, *, seed=None, options=None):
    self._step = 0
    self._length = 3 + (seed or 0)
    return np.zeros(1, np.float32), {}

  def step(self, action):
    self._step += 1
    end = self._step == self._length
    return np.zeros(1, np.float32), float(action), end, False, {}

  def render(self):
    if self._frame_shape is None:
      raise OSError('no display')
    return np.full(self._frame_shape, self._gain * self._step, np.uint8)


class Row(random_tf_policy.RandomTFPolicy):
  """In row i of the batch the action i."""

  def _action(self, time_step, policy_state, seed):
    step = super()._action(time_step, policy_state, seed)
    return step._replace(
        action=tf.range(tf.shape(step.action)[0], dtype=tf.int64)
    )


def _maker(**env_kwargs):
  return lambda: loaders.load_environment(
      Brighter, 1, env_kwargs={'render_mode': 'rgb_array', **env_kwargs}
  )


@pytest.fixture(name='policy', scope='module')
def _policy():
  tf_env = tf_py_environment.TFPyEnvironment(
      loaders.load_environment(Brighter, 1)
  )
  return Row(tf_env.time_step_spec(), tf_env.action_spec())


def test_a_frame_for_each_time_step(policy, tmp_path):
  path = str(tmp_path / 'new' / 'film.mp4')
  recording = video.record_episode(_maker(), policy, 4, path)
  assert recording.length_env_steps == 7
  assert recording.return_ == 0.0
  assert recording.path == path
  assert recording.matches is None
  assert [frame[0, 0, 0] for frame in recording.frames] == [
      0, 10, 20, 30, 40, 50, 60, 70]
  assert recording.frames[0].shape == (33, 35, 3)
  fps, frames = _read(path)
  assert fps == 12
  # Even, as H.264 wants it, and the rest is as it was but for the compression.
  assert frames.shape == (8, 34, 36, 3)
  np.testing.assert_allclose(
      [frame.mean() for frame in frames], 10 * np.arange(8), atol=2
  )
  assert os.listdir(tmp_path / 'new') == ['film.mp4']


def test_the_row_of_the_evaluation_acts(policy, tmp_path):
  path = str(tmp_path / 'film.mp4')
  for expected, matches in ((4 * 2.0, True), (7.0, False)):
    recording = video.record_episode(
        _maker(), policy, 1, path, expected_return=expected, batch_size=3, row=2
    )
    assert recording.return_ == 4 * 2.0
    assert recording.matches is matches


def test_an_episode_without_end_is_cut(policy, tmp_path):
  recording = video.record_episode(
      _maker(), policy, 90, str(tmp_path / 'f.mp4'), max_env_steps=5,
      batch_size=2, row=1,
  )
  assert recording.length_env_steps == 5
  assert recording.return_ == 5.0
  assert recording.frames[-1][0, 0, 0] == 50


@pytest.mark.parametrize(
    ('frame_shape', 'message'),
    [
        (None, r'does not render \(OSError: no display\)'),
        ((4, 4), r'renders uint8 \[4, 4\]'),
    ],
)
def test_what_does_not_render_says_so_and_leaves_no_file(
    policy, tmp_path, frame_shape, message
):
  with pytest.raises(video.RecordingError, match=message):
    video.record_episode(
        _maker(frame_shape=frame_shape), policy, 0, str(tmp_path / 'f.mp4')
    )
  assert not os.listdir(tmp_path)


def test_rendering_environment_keeps_what_gin_binds():
  try:
    gin.bind_parameter('eval/load_environment.env', Brighter)
    gin.bind_parameter('load_environment.env_kwargs', {'gain': 3})
    gin.bind_parameter('eval/load_environment.vectorization', 'async')
    environment = video.rendering_environment()
    assert environment.batch_size == 1
    environment.reset()
    environment.step([0])
    assert environment.render()[0, 0, 0, 0] == 3
    environment.close()
    with pytest.raises(video.RecordingError, match='render_mode=rgb_array'):
      video.rendering_environment(None, env='rnd_agents/DeepSea-v0')
  finally:
    gin.clear_config()


@pytest.mark.parametrize('length', [1, 2, 9, 10, 40, 1000, 4501])
def test_nine_frames_from_first_to_last_however_long(tmp_path, length):
  film = video._Film('no program', str(tmp_path / 'f.mp4'), 30)
  film._write = lambda frame: None
  for i in range(length):
    film.add(np.full([1, 1, 3], i))
    assert len(film._kept) <= 72
  shown = [int(frame[0, 0, 0]) for frame in film.selection()]
  assert len(shown) == min(length, 9)
  assert (shown[0], shown[-1]) == (0, length - 1)
  gaps = [b - a for a, b in itertools.pairwise(shown)]
  if length >= 40:
    np.testing.assert_allclose(gaps, (length - 1) / 8, rtol=0.35)


def test_a_file_that_cannot_be_written_says_so(policy, tmp_path):
  (tmp_path / '.f.mp4.new').mkdir()  # In the way.
  with pytest.raises(video.RecordingError) as error:
    video.record_episode(_maker(), policy, 2, str(tmp_path / 'f.mp4'))
  assert 'f.mp4 could not be written by FFmpeg' in str(error.value)
  assert 'Is a directory' in str(error.value)
  (tmp_path / 'file').touch()
  with pytest.raises(video.RecordingError, match='written: File exists'):
    video.record_episode(_maker(), policy, 2, str(tmp_path / 'file' / 'f.mp4'))


def test_without_imageio_the_error_says_what_to_install(monkeypatch, policy):
  monkeypatch.setitem(sys.modules, 'imageio_ffmpeg', None)
  with pytest.raises(ImportError, match=r'pip install "rnd_agents\[video\]"'):
    video.record_episode(_maker(), policy, 0, 'f.mp4')
