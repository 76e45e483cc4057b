# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of videos of episodes."""

import itertools
import os
import sys

import gin
import numpy as np
import pytest

from rnd_agents import errors
from rnd_agents.environments import episode_log
from rnd_agents.environments import loaders
from rnd_agents.evaluation import video
from tests import environments_for_tests

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


class Brighter(environments_for_tests.Steps):
  """Of seed s: 3 + s steps that pay the action, each frame a bit brighter."""

  metadata = {'render_modes': ['rgb_array'], 'render_fps': 12}

  def __init__(self, render_mode=None, gain=10, frame_shape=(33, 35, 3)):
    super().__init__(
        length=lambda env: 3 + (env.seed or 0),
        reward=lambda env: float(env.action),
    )
    self.render_mode = render_mode
    self._gain = gain
    self._frame_shape = frame_shape

  def render(self):
    if self._frame_shape is None:
      raise OSError('no display')
    return np.full(self._frame_shape, self._gain * self.num_steps, np.uint8)


class Timeless(Brighter):
  """Does not know how fast it is."""

  metadata = {'render_modes': ['rgb_array'], 'render_fps': None}


def _maker(**env_kwargs):
  return lambda: loaders.load_environment(
      Brighter, 1, env_kwargs={'render_mode': 'rgb_array', **env_kwargs}
  )


def _episode(seed, actions, return_=None):
  """That an evaluation played `actions` from `seed`, and what it got."""
  return episode_log.Episode(
      environment_index=0,
      return_=float(sum(actions)) if return_ is None else return_,
      length_env_steps=len(actions),
      terminated=True,
      success=None,
      seed=seed,
      actions=np.array(actions),
  )


def test_a_frame_for_each_time_step(tmp_path):
  path = str(tmp_path / 'new' / 'film.mp4')
  recording = video.record_episode(
      _maker(), _episode(4, [0, 1, 2, 3, 4, 3, 2]), path
  )
  assert recording.length_env_steps == 7
  assert recording.return_ == 15.0
  assert recording.path == path
  assert recording.matches is True
  assert [frame[0, 0, 0] for frame in recording.frames] == [
      0, 10, 20, 30, 40, 50, 60, 70]
  assert recording.frames[0].shape == (33, 35, 3)
  fps, frames = _read(path)
  assert fps == 12
  # Even, as H.264 wants it: black below and to the right. The rest is as it
  # was but for the compression.
  assert frames.shape == (8, 34, 36, 3)
  np.testing.assert_allclose(
      [frame[:30, :30].mean() for frame in frames], 10 * np.arange(8), atol=2
  )
  assert os.listdir(tmp_path / 'new') == ['film.mp4']


@pytest.mark.parametrize(
    ('episode', 'return_', 'length'),
    [
        (_episode(1, [1, 2, 3, 4], return_=7.0), 10.0, 4),
        (_episode(1, [1, 2, 3, 4, 0]), 10.0, 4),  # Ends before.
        (_episode(1, [1, 2, 3]), 6.0, 3),  # Does not end.
    ],
)
def test_another_episode_than_that_of_the_evaluation(
    tmp_path, caplog, episode, return_, length
):
  recording = video.record_episode(
      _maker(), episode, str(tmp_path / 'film.mp4')
  )
  assert recording.return_ == return_
  assert recording.length_env_steps == length
  assert recording.matches is False
  assert 'seed' in caplog.text


def test_an_episode_that_the_evaluation_has_cut(tmp_path, caplog):
  episode = _episode(1, [1, 2, 3])._replace(terminated=False)
  recording = video.record_episode(_maker(), episode, str(tmp_path / 'f.mp4'))
  assert recording.length_env_steps == 3
  assert recording.matches is True
  assert 'seed' not in caplog.text


def test_an_episode_without_actions(tmp_path):
  episode = _episode(1, [1, 2, 3, 4])._replace(actions=None)
  with pytest.raises(ValueError, match='one that Evaluator.run returned'):
    video.record_episode(_maker(), episode, str(tmp_path / 'f.mp4'))
  assert not os.listdir(tmp_path)


def test_a_video_that_takes_too_long_ends_before_the_episode(tmp_path, caplog):
  recording = video.record_episode(
      _maker(), _episode(90, [1] * 93), str(tmp_path / 'f.mp4'),
      max_wall_time_s=0.0,
  )
  assert recording.length_env_steps == 1
  assert recording.return_ == 1.0
  assert recording.matches is None
  assert recording.frames[-1][0, 0, 0] == 10
  assert 'ends before the episode, at step 1' in caplog.text


@pytest.mark.parametrize(
    ('frame_shape', 'message'),
    [
        (None, 'render.*OSError: no display'),
        ((4, 4), r'renders uint8 \[4, 4\]'),
    ],
)
def test_what_does_not_render_says_so_and_leaves_no_file(
    tmp_path, frame_shape, message
):
  with pytest.raises(video.RecordingError, match=message):
    video.record_episode(
        _maker(frame_shape=frame_shape),
        _episode(0, [0, 0, 0]),
        str(tmp_path / 'f.mp4'),
    )
  assert not os.listdir(tmp_path)


def test_rendering_environment_keeps_what_gin_binds():
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
  gin.bind_parameter('load_environment.num_agents', 2)
  with pytest.raises(video.RecordingError, match='num_agents.*record_video'):
    video.rendering_environment()


@pytest.mark.parametrize('length', [3, 8, 9, 40, 100])
def test_nine_frames_from_first_to_last_however_long(tmp_path, length):
  recording = video.record_episode(
      _maker(gain=2), _episode(length - 3, [1] * length),
      str(tmp_path / 'f.mp4'),
  )
  steps = [int(frame[0, 0, 0]) // 2 for frame in recording.frames]
  assert len(steps) == min(length + 1, 9)
  assert (steps[0], steps[-1]) == (0, length)
  gaps = [b - a for a, b in itertools.pairwise(steps)]
  assert max(gaps) - min(gaps) <= 1


def test_a_file_that_cannot_be_written_says_so(tmp_path):
  episode = _episode(2, [0] * 5)
  (tmp_path / '.f.mp4.new').mkdir()  # In the way.
  with pytest.raises(video.RecordingError) as error:
    video.record_episode(_maker(), episode, str(tmp_path / 'f.mp4'))
  assert 'f.mp4' in str(error.value)
  assert 'Is a directory' in str(error.value)
  (tmp_path / 'file').touch()
  with pytest.raises(video.RecordingError, match='written: File exists'):
    video.record_episode(_maker(), episode, str(tmp_path / 'file' / 'f.mp4'))


def test_without_imageio_the_error_says_what_to_install(monkeypatch):
  monkeypatch.setitem(sys.modules, 'imageio_ffmpeg', None)
  with pytest.raises(ImportError, match=r'pip install "rnd_agents\[video\]"'):
    video.record_episode(_maker(), _episode(0, [0, 0, 0]), 'f.mp4')


def test_every_episode_is_a_file(tmp_path):
  env = video.RecordEpisodes(Brighter('rgb_array'), str(tmp_path), 'play')
  for seed, num_steps in ((0, 3), (2, 5), (1, 1)):
    env.reset(seed=seed)
    ends = [any(env.step(1)[2:4]) for _ in range(num_steps)]
    assert ends[-1] == (seed != 1)
  env.close()  # In the middle of the third one.
  other = video.RecordEpisodes(Brighter('rgb_array'), str(tmp_path), 'play')
  other.reset(seed=0)
  other.close()
  assert sorted(os.listdir(tmp_path)) == [
      f'play_00000{i}.mp4' for i in range(4)
  ]
  for number, length in enumerate((4, 6, 2, 1)):
    fps, frames = _read(str(tmp_path / f'play_00000{number}.mp4'))
    assert fps == 12 and len(frames) == length
    np.testing.assert_allclose(
        [frame[:30, :30].mean() for frame in frames],
        10 * np.arange(length),
        atol=2,
    )
  with pytest.raises(errors.UserError, match="'render_mode': 'rgb_array'"):
    video.RecordEpisodes(Brighter(), str(tmp_path))


def test_names_of_recordings_may_have_any_letter(tmp_path):
  folder = str(tmp_path / '50%_noise')
  env = video.RecordEpisodes(Brighter('rgb_array'), folder, '%d {}')
  for seed in range(2):
    env.reset(seed=seed)
  env.close()
  names = ['%d {}_000000.mp4', '%d {}_000001.mp4']
  assert sorted(os.listdir(folder)) == names
  assert [len(_read(os.path.join(folder, name))[1]) for name in names] == [1, 1]


def test_an_environment_without_a_rate_has_30_frames_a_second(tmp_path):
  path = str(tmp_path / 'film.mp4')
  video.record_episode(
      lambda: loaders.load_environment(
          Timeless, 1, env_kwargs={'render_mode': 'rgb_array'}
      ),
      _episode(0, [1, 2, 3]),
      path,
  )
  assert _read(path)[0] == 30
