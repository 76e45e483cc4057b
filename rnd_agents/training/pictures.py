# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run: learning curve, heat map and videos."""

from collections.abc import Iterator, Sequence
import contextlib
import functools
import threading
import time
from typing import Any

from absl import logging
import numpy as np

from rnd_agents.environments import episode_log
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import video
from rnd_agents.evaluation import visits
from rnd_agents.plotting import drawing
from rnd_agents.plotting import heat_maps
from rnd_agents.plotting import learning_curves
from rnd_agents.tracking import loggers
from rnd_agents.training import runs

_LONGEST_VIDEO_S = 30.0
# Expected time of the first pictures; later ones take as long as the last.
_FIRST_S = 1.0
# Before the end, pictures wait until all of them together have taken at most
# this share of the run's time.
_TIME_SHARE = 0.02


class Pictures:
  """Draws after evaluations, within a share of the run's time.

  The pictures of the end are always made. A picture that fails does not stop
  the run; the log has the error.
  """

  def __init__(self, run: runs.Run):
    """Draws nothing yet."""
    environment = run.evaluator.environment
    self._records = run.config.record_video
    modes = environment.gymnasium_vector_env.metadata.get('render_modes')
    if self._records and modes is not None and 'rgb_array' not in modes:
      self._records = False
      logging.info('No videos: %s does not render.', run.name)
    self._spent_s = 0.0
    self._last_s = _FIRST_S
    self._best_return = -np.inf
    # Environment steps, and an episode of the evaluation there.
    self._to_record: tuple[int, episode_log.Episode] | None = None
    self._importing: threading.Thread | None = None

  def get_state(self) -> dict[str, Any]:
    """Returns the state for a checkpoint, picklable."""
    return dict(
        spent_s=self._spent_s,
        best_return=self._best_return,
        to_record=self._to_record,
    )

  def set_state(self, state: dict[str, Any]) -> None:
    """Restores a state of `get_state`."""
    self._spent_s = state['spent_s']
    self._best_return = state['best_return']
    self._to_record = state['to_record']

  def after_evaluation(
      self, run: runs.Run, episodes: Sequence[episode_log.Episode]
  ) -> None:
    """Draws the pictures that are due.

    Args:
      run: The run.
      episodes: The episodes of the evaluation.
    """
    is_end = run.is_done
    # The best episode so far waits until there is time to record it. An equal
    # one of the end, which is recorded in any case, takes its place.
    best = evaluator.best_episode(episodes)
    is_equal = is_end and best.return_ == self._best_return
    if self._records and (best.return_ > self._best_return or is_equal):
      self._best_return = best.return_
      self._to_record = run.counters.env_steps, best
    spent_s = self._spent_s + self._last_s
    if not is_end and spent_s > _TIME_SHARE * run.counters.wall_time_s:
      self._import_matplotlib()
      return
    start = time.monotonic()
    self._draw(run, best, is_end)
    self._last_s = time.monotonic() - start
    self._spent_s += self._last_s

  def _import_matplotlib(self) -> None:
    """Imports matplotlib while training leaves Python idle.

    This takes as long as all heat maps and curves of a small run.
    """
    if self._importing is None:
      self._importing = threading.Thread(target=drawing.import_matplotlib)
      self._importing.start()

  def _draw(
      self, run: runs.Run, best: episode_log.Episode, is_end: bool
  ) -> None:
    if not is_end:  # `experiment.run` draws the curve of the end.
      draw_curve(run)
    with _harmless('heat map'):
      _draw_visits(run)
    episodes: dict[int, episode_log.Episode] = {}
    if self._to_record is not None:
      episodes.update([self._to_record])
    if is_end and self._records:
      episodes[run.counters.env_steps] = best
    self._to_record = None
    for env_steps, episode in episodes.items():
      with _harmless('video'):
        self._record(run, env_steps, episode)

  def _record(
      self, run: runs.Run, env_steps: int, episode: episode_log.Episode
  ) -> None:
    """Records the episode by playing it again."""
    name = (
        f'env_steps_{env_steps}_return_{episode.return_:g}'
        f'_seed_{episode.seed}.mp4'
    )
    logging.info('Recording an episode of return %g.', episode.return_)
    try:
      recording = video.record_episode(
          functools.partial(
              video.rendering_environment,
              first_place=run.config.num_environments
              + run.config.num_eval_episodes,
          ),
          episode,
          run.path('videos', name),
          max_wall_time_s=_LONGEST_VIDEO_S,
      )
    except (ImportError, video.RecordingError) as error:
      self._records = False
      logging.info('No videos: %s', error)
      return
    frames = np.stack(recording.frames)
    picture = loggers.Picture(
        'eval', 'best_episode', frames, run.path('videos', name)
    )
    run.log.write_picture(picture, env_steps)


def draw_curve(run: runs.Run) -> str | None:
  """Draws the learning curve; returns its path, or None if that failed."""
  path = run.path('learning_curve.png')
  with _harmless('learning curve'):
    learning_curves.plot_run(run.root_dir, path, title=run.name)
    return path
  return None


def _draw_visits(run: runs.Run) -> None:
  states = run.collector.visits()
  image = visits.VisitCounts.from_states(states).image() if states else None
  if image is not None:
    heat_maps.save_image(image, run.path('visits.png'))
    picture = loggers.Picture('train', 'visits', image[np.newaxis])
    run.log.write_picture(picture, run.counters.env_steps)


@contextlib.contextmanager
def _harmless(name: str) -> Iterator[None]:
  """Logs the failure of a picture, and lets the run continue."""
  try:
    yield
  except Exception as error:  # pylint: disable=broad-exception-caught
    logging.warning(
        'No %s: %s: %s', name, type(error).__name__, error, exc_info=True
    )
