# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records one episode as a video.

An evaluation does not render: of its best episode the seed and the actions are
known, and are replayed with rendering. That gives the same episode wherever the
seed decides the environment; some environments do not repeat, and the result
says which return the video shows.
"""

import contextlib
import os
import subprocess
import time
from typing import List, NamedTuple, Optional

from absl import logging
import gin
import numpy as np
import tensorflow as tf

from rnd_agents import errors as user_errors
from rnd_agents.environments import errors
from rnd_agents.environments import loaders
from rnd_agents.evaluation import episode_player

MAX_FRAMES = 9
_DEFAULT_FPS = 30


class RecordingError(user_errors.UserError, RuntimeError):
  """A video that cannot be made; the message says why."""


class Recording(NamedTuple):
  """A video.

  Attributes:
    return_: sum of the rewards as the environment gave them.
    length_env_steps: number of transitions; there is one frame more.
    path: of the file.
    frames: at most 9 of the frames, evenly spread, the first and the last among
      them: list of uint8 [height, width, 3].
    matches: whether it is the episode that was asked for, by its length and
      its return; None if the video had to end before.
  """

  return_: float
  length_env_steps: int
  path: str
  frames: List[np.ndarray]
  matches: Optional[bool]


def rendering_environment(scope='eval', **arguments):
  """Loads one environment that renders, as gin binds it otherwise.

  Args:
    scope: The gin scope of its `load_environment`.
    **arguments: More for `load_environment`.

  Returns:
    A `VectorPyEnvironment` of one environment.

  Raises:
    RecordingError: If the environment has no pictures to show.
  """
  # A video is silent; pygame would look for a sound card and complain.
  os.environ.setdefault('SDL_AUDIODRIVER', 'dummy')
  if 'DISPLAY' not in os.environ:
    os.environ.setdefault('MUJOCO_GL', 'egl')
  with gin.config_scope(scope):
    bound = gin.get_bindings(loaders.load_environment)
    env_kwargs = dict(
        arguments.pop('env_kwargs', None) or bound.get('env_kwargs') or {},
        render_mode='rgb_array',
    )
    try:
      return loaders.load_environment(
          num_environments=1,
          # Vector environments of their own play on many and render none.
          vectorization='sync',
          env_kwargs=env_kwargs,
          **arguments,
      )
    except Exception as error:  # Constructors raise many kinds.
      raise RecordingError(
          'The environment cannot be made with render_mode=rgb_array:'
          f' {errors.message_of(error)}'
      ) from error


def record_episode(make_environment, episode, path, max_wall_time_s=None):
  """Replays an episode of an evaluation and writes it as an MP4.

  The file gets its name when it is complete. There is a frame for the first
  time step and for each one after it.

  Args:
    make_environment: Called once, returns a `VectorPyEnvironment` of one
      environment with render_mode 'rgb_array', such as `rendering_environment`;
      it is closed.
    episode: An `Episode` of `Evaluator.run`: its seed, its actions and what
      came of them. Where the replay comes out otherwise, a warning is
      logged and `matches` is False.
    path: Of the video, ending in .mp4.
    max_wall_time_s: The video ends here if the episode does not, and is not
      compared; None for any time. MuJoCo without a GPU draws five frames a
      second.

  Returns:
    A `Recording`.

  Raises:
    ImportError: If imageio-ffmpeg is missing.
    RecordingError: If the environment does not render, or fails, or the file
      cannot be written.
    ValueError: If the episode is none of an evaluation.
  """
  if episode.actions is None or episode.seed is None:
    raise user_errors.InvalidValue(
        'A video needs seed and actions of its episode: take one that'
        ' Evaluator.run returned.'
    )
  ffmpeg = _find_ffmpeg()
  environment = make_environment()
  try:
    if environment.batch_size != 1:
      raise RecordingError(
          f'A video is of one environment, not of {environment.batch_size}.'
      )
    with _VideoWriter(ffmpeg, path, _fps(environment)) as writer:
      return_, length, has_ended = _replay(
          environment, episode, writer, max_wall_time_s
      )
  except OSError as error:
    raise RecordingError(
        f'{path} could not be written: {error.strerror}.'
    ) from error
  except errors.EnvironmentFailure as error:
    raise RecordingError(str(error)) from error
  finally:
    environment.close()
  if not has_ended and length < episode.length_env_steps:
    matches = None
    logging.warning('%s ends before the episode, at step %d.', path, length)
  else:
    matches = (has_ended, return_, length) == (
        True, episode.return_, episode.length_env_steps
    )
    if not matches:
      logging.warning(
          'The episode with seed %d, played again, returned %g in %d steps and'
          ' not %g in %d: the seed does not decide the environment. %s shows'
          ' the replay.',
          episode.seed,
          return_,
          length,
          episode.return_,
          episode.length_env_steps,
          path,
      )
  return Recording(return_, length, path, writer.selection(), matches)


class _ReplayActor:
  """Plays the given actions in one environment; its state is the step."""

  def __init__(self, actions):
    self._actions = actions

  def initial_state(self, batch_size):
    del batch_size
    return 0

  def act(self, time_step, state, wanted=None):
    del time_step, wanted
    action = tf.nest.map_structure(
        lambda a: a[state : state + 1], self._actions
    )
    return action, state + 1


def _replay(environment, episode, writer, max_wall_time_s):
  """Returns the return and the length of the replay and whether it ended."""
  start_s = time.monotonic()
  rewards = []  # Of each time step, that of the reset included.

  def observe(time_step, infos):
    del infos
    writer.add(_frame(environment))
    rewards.append(float(time_step.reward[0]))

  def should_stop():
    length = len(rewards) - 1
    return length == episode.length_env_steps or (
        length > 0
        and max_wall_time_s is not None
        and time.monotonic() - start_s > max_wall_time_s
    )

  environment.add_step_observer(observe)
  played = list(
      episode_player.play(
          environment,
          _ReplayActor(episode.actions),
          [episode.seed],
          should_stop=should_stop,
      )
  )
  if played:
    # Not the sum of `reward`, which may be scaled and is float32.
    return played[0].episode.return_, len(rewards) - 1, True
  return sum(rewards), len(rewards) - 1, False


def _frame(environment):
  """Returns the rendered frame, uint8 [height, width, 3]."""
  try:
    frame = np.asarray(environment.render()[0])
  except Exception as error:  # MuJoCo without a display, and many others.
    raise RecordingError(
        f'{environment.name} does not render ({type(error).__name__}: {error}).'
        ' MuJoCo without a display needs MUJOCO_GL=egl in the environment.'
    ) from error
  if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
    raise RecordingError(
        f'{environment.name} renders {frame.dtype} {list(frame.shape)} and not'
        ' uint8 [height, width, 3].'
    )
  return frame


def _fps(environment):
  metadata = environment.gymnasium_vector_env.metadata
  return metadata.get('render_fps') or _DEFAULT_FPS  # It may be None.


class _VideoWriter:
  """Writes frames to a file as they come and keeps a few of them."""

  def __init__(self, ffmpeg, path, fps):
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    self._ffmpeg = ffmpeg
    self._fps = fps
    self._path = path
    self._aside = os.path.join(folder, f'.{name}.new')
    self._process = None  # The size of a frame comes first.
    self._kept = []
    self._last = None
    self._stride = 1
    self._count = 0

  def add(self, frame):
    """Adds a frame; odd sizes, which H.264 lacks, are padded."""
    height, width, _ = frame.shape
    if height % 2 or width % 2:
      padding = [(0, height % 2), (0, width % 2), (0, 0)]
      self._write(np.pad(frame, padding, mode='edge'))
    else:
      self._write(frame)
    if self._count % self._stride == 0:
      self._kept.append(frame)
      if len(self._kept) > 8 * MAX_FRAMES:
        # However long the video, a few frames of it are in memory.
        self._kept = self._kept[::2]
        self._stride *= 2
    self._last = frame
    self._count += 1

  def selection(self):
    """Returns at most MAX_FRAMES frames, from the first to the last."""
    frames = list(self._kept)
    if (self._count - 1) % self._stride:
      frames.append(self._last)
    places = np.linspace(0, len(frames) - 1, min(MAX_FRAMES, len(frames)))
    return [frames[round(place)] for place in places]

  def _write(self, frame):
    if self._process is None:
      self._start(frame.shape)
    with contextlib.suppress(BrokenPipeError):  # `_close` raises the cause.
      self._process.stdin.write(np.ascontiguousarray(frame))

  def _start(self, shape):
    height, width, _ = shape
    source = f'-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {self._fps}'
    target = '-an -c:v libx264 -preset veryfast -pix_fmt yuv420p -f mp4'
    self._process = subprocess.Popen(
        [
            self._ffmpeg, '-y', '-loglevel', 'error', *source.split(), '-i',
            '-', *target.split(), self._aside,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # A Ctrl-C is not for it.
    )

  def _close(self):
    """Waits until the file is whole; raises RecordingError if it is not."""
    with contextlib.suppress(BrokenPipeError):
      self._process.stdin.close()
    message = self._process.stderr.read().decode(errors='replace')
    self._process.stderr.close()
    if self._process.wait():
      lines = message.strip().splitlines() or ['no message']
      raise RecordingError(
          f'{self._path} could not be written by FFmpeg: {lines[-1]}'
      )

  def __enter__(self):
    return self

  def __exit__(self, error_type, error, traceback):
    try:
      if self._process is not None:
        self._close()
      if error is None:
        os.replace(self._aside, self._path)
    finally:
      with contextlib.suppress(OSError):
        os.remove(self._aside)


def _find_ffmpeg():
  """Returns the path of the program that comes with imageio-ffmpeg."""
  try:
    import imageio_ffmpeg

    return imageio_ffmpeg.get_ffmpeg_exe()
  except (ImportError, RuntimeError) as error:
    raise user_errors.MissingPackage(
        'Videos need imageio-ffmpeg: pip install "rnd_agents[video]"'
    ) from error
