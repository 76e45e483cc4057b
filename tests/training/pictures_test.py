# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pictures that a run leaves."""

import os
import pickle
import queue
import threading
import types

import imageio_ffmpeg
import numpy as np
import pytest
import tensorflow as tf

from rnd_agents.environments import episode_log
from rnd_agents.environments import loaders
from rnd_agents.training import pictures
from tests import tiny_runs


def _images(folder):
  """{tag: (step, [arrays])} of the pictures in event files."""
  images = {}
  for path in folder.glob('events*'):
    for event in tf.compat.v1.train.summary_iterator(os.fspath(path)):
      for value in event.summary.value:
        if value.metadata.plugin_data.plugin_name == 'images':
          _, _, *pngs = tf.make_ndarray(value.tensor)
          images[value.tag] = (
              event.step, [tf.io.decode_png(png).numpy() for png in pngs]
          )
  return images


def test_mountain_car_leaves_its_heat_map_and_video(tmp_path):
  result = tiny_runs.train(
      tmp_path,
      300,
      "load_environment.env = 'MountainCar-v0'",
      'load_environment.max_episode_steps = 20',
      'eval/load_environment.max_episode_steps = 20',
      'train_eval.record_video = True',
      settings=tiny_runs.PPO_SETTINGS,
  )
  (step, (visits,)) = _images(tmp_path / 'train')['visits']
  assert step == result.env_steps
  saved = tf.io.decode_png((tmp_path / 'visits.png').read_bytes()).numpy()
  np.testing.assert_array_equal(saved[..., :3], visits)
  # A random car stays in the valley: most cells of the plane are empty, and
  # those that are not are of more than one colour.
  colours, counts = np.unique(visits.reshape(-1, 3), axis=0, return_counts=True)
  assert len(colours) > 20 and counts.max() < visits[..., 0].size
  videos = os.listdir(tmp_path / 'videos')
  assert [name.partition('_seed_')[0] for name in videos] == [
      f'env_steps_{result.env_steps}_return_-20'
  ]
  video = os.fspath(tmp_path / 'videos' / videos[0])
  assert imageio_ffmpeg.count_frames_and_secs(video)[0] == 21
  (step, frames) = _images(tmp_path / 'eval')['best_episode']
  assert step == result.env_steps
  assert len(frames) == 9 and frames[0].shape == (400, 600, 3)
  assert (frames[0] != frames[-1]).any()  # The car moves.


def test_a_policy_that_draws_is_recorded_with_its_draws(tmp_path, caplog):
  tiny_runs.train(
      tmp_path,
      300,
      'RNDPPOAgent.greedy_eval = False',
      'train_eval.num_eval_episodes = 4',
      'train_eval.record_video = True',
      settings=tiny_runs.COUNTING_SETTINGS,
  )
  (name,) = os.listdir(tmp_path / 'videos')
  return_ = float(name.partition('_return_')[2].partition('_')[0])
  video = os.fspath(tmp_path / 'videos' / name)
  # CartPole pays 1 a step; the first frame comes before the first.
  assert imageio_ffmpeg.count_frames_and_secs(video)[0] == return_ + 1
  assert 'played again, returned' not in caplog.text


def _best(return_):
  """Episodes of an evaluation, the second of which is the best."""
  episode = episode_log.Episode(
      0, return_, 3, True, None, seed=7, actions=np.zeros([3], np.int64)
  )
  return [episode._replace(return_=return_ - 1.0), episode]


@pytest.fixture(name='recorded')
def _recorded(monkeypatch):
  """What was recorded: (environment steps, return) of each video."""
  recorded = []
  monkeypatch.setattr(
      pictures.Pictures,
      '_record',
      lambda self, run, env_steps, episode: recorded.append(
          (env_steps, episode.return_)
      ),
  )
  return recorded


def _run(env_steps, **facts):
  """A run as pictures see it."""
  facts = dict(dict(is_done=False), **facts)
  return types.SimpleNamespace(
      config=types.SimpleNamespace(record_video=True),
      evaluator=types.SimpleNamespace(
          environment=loaders.load_environment('CartPole-v1', 1)
      ),
      counters=types.SimpleNamespace(env_steps=env_steps, wall_time_s=1.0),
      collector=types.SimpleNamespace(visits=lambda: []),
      **facts,
  )


def test_the_best_episode_waits_until_there_is_time(recorded):
  first = pictures.Pictures(_run(0))
  for env_steps, return_ in ((10, 5.0), (20, 9.0), (30, 6.0)):
    first.after_evaluation(_run(env_steps), _best(return_))
  assert not recorded
  second = pictures.Pictures(_run(30))  # The run is resumed.
  second.set_state(pickle.loads(pickle.dumps(first.get_state())))
  second.after_evaluation(_run(40, is_done=True), _best(7.0))
  assert recorded == [(20, 9.0), (40, 7.0)]
  # A better one at the very end is one video.
  recorded.clear()
  second.after_evaluation(_run(50, is_done=True), _best(11.0))
  assert recorded == [(50, 11.0)]


def test_an_equally_good_episode_of_the_end_is_the_only_video(recorded):
  drawn = pictures.Pictures(_run(0))
  drawn.after_evaluation(_run(10), _best(5.0))
  drawn.after_evaluation(_run(20), _best(5.0))
  drawn.after_evaluation(_run(30, is_done=True), _best(5.0))
  assert recorded == [(30, 5.0)]


def test_matplotlib_is_imported_in_a_thread_until_there_is_time(
    recorded, monkeypatch
):
  threads = queue.Queue()
  monkeypatch.setattr(
      pictures.drawing,
      'import_matplotlib',
      lambda: threads.put(threading.current_thread()),
  )
  drawn = pictures.Pictures(_run(0))
  drawn.after_evaluation(_run(10), _best(5.0))
  drawn.after_evaluation(_run(20), _best(5.0))
  thread = threads.get(timeout=300)
  thread.join()
  assert not recorded
  assert threads.empty() and thread is not threading.main_thread()
