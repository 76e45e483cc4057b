# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run shows besides numbers: heat map, film and curve as it goes."""

import contextlib
import os
import time

from absl import logging
import numpy as np

from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import video
from rnd_agents.evaluation import visits
from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import learning_curves

_LONGEST_FILM_S = 30.0
# What the first pictures are expected to take; then it is known.
_FIRST_S = 1.0


class Watcher:
  """Draws after evaluations, within a share of the run's time.

  The pictures of the end are always made. All of them can be lost and the run
  goes on: what cannot be drawn is said once in the log.
  """

  def __init__(
      self,
      root_dir,
      train_env,
      time_share=0.02,
      record_video=True,
  ):
    """Creates the watcher.

    Args:
      root_dir: The run's folder.
      train_env: The `VectorPyEnvironment` whose visits are counted.
      time_share: Pictures on the way wait until all of them together took no
        more than this share of the run's time.
      record_video: Whether to film.
    """
    self._root_dir = root_dir
    self._name = train_env.name
    self._time_share = time_share
    self._records = record_video
    modes = train_env.gymnasium_vector_env.metadata.get('render_modes')
    if record_video and modes is not None and 'rgb_array' not in modes:
      self._records = False
      logging.info('No films: %s does not render.', self._name)
    self._spent_s = 0.0
    self._last_s = _FIRST_S
    self._best_return = -np.inf
    self._to_film = None  # (environment steps, Episode).
    self.visits = visits.VisitCounts.create(train_env)
    if self.visits is not None:
      train_env.add_step_observer(self._observe)

  def _observe(self, time_step, infos):
    if self.visits is not None:
      with self._harmless('heat map'):
        self.visits.observe(time_step, infos)
        return
      self.visits = None

  @contextlib.contextmanager
  def _harmless(self, what):
    """Lets a picture fail, and the run go on."""
    try:
      yield
    except Exception as error:  # pylint: disable=broad-exception-caught
      logging.warning(
          'No %s: %s: %s', what, type(error).__name__, error, exc_info=True
      )

  def state(self):
    """What a checkpoint keeps, picklable."""
    return dict(
        spent_s=self._spent_s,
        best_return=self._best_return,
        to_film=self._to_film,
        visits=None if self.visits is None else self.visits.state(),
    )

  def restore(self, state):
    """Goes on from `state()`."""
    self._spent_s = state['spent_s']
    self._best_return = state['best_return']
    self._to_film = state.get('to_film')  # Not of older versions.
    if self.visits is not None and state['visits'] is not None:
      self.visits.restore(state['visits'])

  def see(self, env_steps, episodes):
    """Remembers the best episode so far until there is time to film it.

    Args:
      env_steps: Environment steps so far.
      episodes: Of an evaluation.
    """
    best = evaluator.best_episode(episodes)
    if self._records and best.return_ > self._best_return:
      self._best_return = best.return_
      self._to_film = env_steps, best

  def after_evaluation(self, log, env_steps, wall_time_s, episodes, done):
    """Draws what is due, after `see`.

    Args:
      log: The run's `MetricsLog`.
      env_steps: Environment steps so far.
      wall_time_s: Seconds of the run so far.
      episodes: Of the evaluation.
      done: Whether the run ends with it.
    """
    spent_s = self._spent_s + self._last_s
    if not done and spent_s > self._time_share * wall_time_s:
      return
    start = time.monotonic()
    if not done:  # The one of the end is drawn by who ends the run.
      with self._harmless('learning curve'):
        self._draw_curve()
    with self._harmless('heat map'):
      self._draw_visits(log, env_steps)
    films = {}
    if self._to_film is not None:
      films.update([self._to_film])
    if done and self._records:
      films[env_steps] = evaluator.best_episode(episodes)
    self._to_film = None
    for film in films.items():
      with self._harmless('film'):
        self._film(log, *film)
    self._last_s = time.monotonic() - start
    self._spent_s += self._last_s

  def _draw_curve(self):
    learning_curves.plot_run(
        self._root_dir, self.picture('learning_curve.png'), title=self._name
    )

  def picture(self, name):
    """Path of a picture of the run."""
    return os.path.join(self._root_dir, name)

  def _draw_visits(self, log, env_steps):
    image = None if self.visits is None else self.visits.image()
    if image is not None:
      heat_maps.save(image, self.picture('visits.png'))
      log.write_images('train', 'visits', image[np.newaxis], env_steps)

  def _film(self, log, env_steps, episode):
    """Films the episode by playing it again."""
    name = (
        f'env_steps_{env_steps}_return_{episode.return_:g}'
        f'_seed_{episode.seed}.mp4'
    )
    logging.info('Filming an episode of return %g.', episode.return_)
    try:
      recording = video.record_episode(
          video.rendering_environment,
          episode,
          os.path.join(self._root_dir, 'videos', name),
          max_wall_time_s=_LONGEST_FILM_S,
      )
    except (ImportError, video.RecordingError) as error:
      self._records = False
      logging.info('No films: %s', error)
      return
    frames = np.stack(recording.frames)
    log.write_images('eval', 'best_episode', frames, env_steps)
