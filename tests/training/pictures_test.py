# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pictures that a run leaves."""

import os
import pickle

import gin
import imageio_ffmpeg
import numpy as np
import tensorflow as tf

from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.training import gin_files
from rnd_agents.training import trainer
from rnd_agents.training import watching
from tests.training import tiny_runs


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


def test_mountain_car_leaves_its_heat_map_and_film(tmp_path):
  gin.clear_config()
  gin_files.parse(
      [],
      (
          *tiny_runs.SETTINGS,
          "load_environment.env = 'MountainCar-v0'",
          'load_environment.max_episode_steps = 20',
          'train_eval.num_env_steps = 300',
      ),
  )
  result = trainer.train_eval(os.fspath(tmp_path), seed=5)
  (step, (visits,)) = _images(tmp_path / 'train')['visits']
  assert step == result.env_steps
  saved = tf.io.decode_png((tmp_path / 'visits.png').read_bytes()).numpy()
  np.testing.assert_array_equal(saved[..., :3], visits)
  # A random car stays in the valley: most cells of the plane are empty, and
  # those that are not are of more than one colour.
  colours, counts = np.unique(visits.reshape(-1, 3), axis=0, return_counts=True)
  assert len(colours) > 20 and counts.max() < visits[..., 0].size
  films = os.listdir(tmp_path / 'videos')
  assert [name.partition('_seed_')[0] for name in films] == [
      f'env_steps_{result.env_steps}_return_-20'
  ]
  film = os.fspath(tmp_path / 'videos' / films[0])
  assert imageio_ffmpeg.count_frames_and_secs(film)[0] == 21
  (step, frames) = _images(tmp_path / 'eval')['best_episode']
  assert step == result.env_steps
  assert len(frames) == 9 and frames[0].shape == (400, 600, 3)
  assert (frames[0] != frames[-1]).any()  # The car moves.


def test_a_policy_that_draws_is_filmed_with_its_draws(tmp_path, caplog):
  gin.clear_config()
  gin_files.parse(
      [],
      (
          *tiny_runs.SETTINGS,
          "load_environment.env = 'CartPole-v1'",
          'RNDPPOAgent.greedy_eval = False',
          'train_eval.num_env_steps = 300',
          'train_eval.num_eval_episodes = 4',
      ),
  )
  trainer.train_eval(os.fspath(tmp_path), seed=5)
  (name,) = os.listdir(tmp_path / 'videos')
  return_ = float(name.partition('_return_')[2].partition('_')[0])
  film = os.fspath(tmp_path / 'videos' / name)
  # CartPole pays 1 a step; the first frame comes before the first.
  assert imageio_ffmpeg.count_frames_and_secs(film)[0] == return_ + 1
  assert 'played again, returned' not in caplog.text


def _best(return_):
  """Episodes of an evaluation, the second of which is the best."""
  episode = vector_environment.Episode(
      0, return_, 3, True, None, seed=7, actions=np.zeros([3], np.int64)
  )
  return [episode._replace(return_=return_ - 1.0), episode]


def test_the_best_episode_waits_until_there_is_time(tmp_path, monkeypatch):
  films = []
  monkeypatch.setattr(
      watching.Watcher,
      '_film',
      lambda self, log, env_steps, episode: films.append(
          (env_steps, episode.return_)
      ),
  )
  environment = loaders.load_environment('CartPole-v1', 1)

  def watcher():
    return watching.Watcher(tmp_path, environment, time_share=0.0)

  first = watcher()
  for env_steps, return_ in ((10, 5.0), (20, 9.0), (30, 6.0)):
    first.see(env_steps, _best(return_))
    first.after_evaluation(None, env_steps, 1.0, _best(return_), done=False)
  assert not films
  second = watcher()  # The run is resumed.
  second.restore(pickle.loads(pickle.dumps(first.state())))
  second.see(40, _best(7.0))
  second.after_evaluation(None, 40, 1.0, _best(7.0), done=True)
  assert films == [(20, 9.0), (40, 7.0)]
  # A better one at the very end is one film.
  films.clear()
  second.see(50, _best(11.0))
  second.after_evaluation(None, 50, 1.0, _best(11.0), done=True)
  assert films == [(50, 11.0)]


def test_an_environment_that_shows_nothing_costs_nothing_but_a_line(
    tmp_path, caplog
):
  caplog.set_level('INFO', logger='absl')
  gin.clear_config()
  gin_files.parse(
      ['deep_sea'],
      (
          *tiny_runs.SETTINGS,
          "load_environment.env = 'rnd_agents/DeepSea-v0'",
          'DEEP_SEA_SIZE = 4',
          'train_eval.num_env_steps = 300',
      ),
  )
  assert trainer.train_eval(os.fspath(tmp_path), seed=5).finished
  assert 'No films: ' in caplog.text
  assert not (tmp_path / 'videos').exists()
  (_, (board,)) = _images(tmp_path / 'train')['visits']
  assert len(np.unique(board.reshape(-1, 3), axis=0)) > 4
