# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records one episode as a video.

An evaluation does not render: the seed and the actions of its best episode are
replayed with rendering. That gives the same episode if the seed determines the
environment. For other environments the result has the return of the video.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import subprocess
import time
from typing import Any, NamedTuple

from absl import logging
import gin
import gymnasium
import numpy as np

from rnd_agents import errors
from rnd_agents.environments import episode_log
from rnd_agents.environments import failures
from rnd_agents.environments import loaders
from rnd_agents.environments import vector_environment
from rnd_agents.evaluation import evaluator

_MAX_FRAMES = 9
_DEFAULT_FPS = 30


class RecordingError(errors.UserError, RuntimeError):
  """A video cannot be made."""


class Recording(NamedTuple):
  """A video.

  Attributes:
    return_: Sum of the environment's own rewards.
    length_env_steps: Number of transitions; there is one more frame.
    path: Path of the file.
    frames: At most 9 frames at equal distances, with the first and the last: a
      list of uint8 [height, width, 3].
    matches: Whether length and return are those of the requested episode; None
      if the video had to end before.
  """

  return_: float
  length_env_steps: int
  path: str
  frames: list[np.ndarray]
  matches: bool | None


def rendering_environment(
    scope: str = 'eval', **arguments: Any
) -> vector_environment.VectorPyEnvironment:
  """Loads one environment as gin binds it, but with rendering.

  Args:
    scope: The gin scope of its `load_environment`.
    **arguments: Further arguments of `load_environment`.

  Returns:
    A `VectorPyEnvironment` of one environment.

  Raises:
    RecordingError: If the environment does not render, or has several agents.
  """
  with gin.config_scope(scope):
    bound = gin.get_bindings(loaders.load_environment)
    if {**bound, **arguments}.get('num_agents') is not None:
      raise RecordingError(
          'A video plays one agent again, and load_environment.num_agents puts'
          ' several into each environment: set train_eval.record_video = False,'
          ' or leave --video out.'
      )
    given = arguments.pop('env_kwargs', None) or bound.get('env_kwargs') or {}

    def env_kwargs(place: int) -> dict[str, Any]:
      kwargs = given(place) if callable(given) else given
      return dict(kwargs, render_mode='rgb_array')

    try:
      return loaders.load_environment(
          num_environments=1,
          # Own vector environments do not render.
          vectorization='sync',
          env_kwargs=env_kwargs if callable(given) else env_kwargs(0),
          **arguments,
      )
    except Exception as error:  # Constructors raise many kinds.
      raise RecordingError(
          'The environment cannot be made with render_mode=rgb_array:'
          f' {errors.message_of(error)}'
      ) from error


def record_episode(
    make_environment: Callable[[], vector_environment.VectorPyEnvironment],
    episode: episode_log.Episode,
    path: str,
    max_wall_time_s: float | None = None,
) -> Recording:
  """Replays an episode of an evaluation and writes it as an MP4.

  The file gets its name when it is complete. There is a frame for the first
  time step and for each one after it.

  Args:
    make_environment: Called once, returns a `VectorPyEnvironment` of one
      environment with render_mode 'rgb_array', such as `rendering_environment`;
      it is closed.
    episode: An `Episode` of `Evaluator.run`. If return or length of the replay
      differ, a warning is logged and `matches` is False.
    path: Path of the video, ending in .mp4.
    max_wall_time_s: Longest time in seconds, after which the video ends and is
      not compared; None for no limit. MuJoCo without a GPU draws five frames
      per second.

  Returns:
    A `Recording`.

  Raises:
    MissingPackage: If imageio-ffmpeg is missing.
    RecordingError: If the environment does not render, or fails, or the file
      cannot be written.
    InvalidValue: If the episode does not have its seed and actions.
  """
  seed = episode.seed
  if episode.actions is None or seed is None:
    raise errors.InvalidValue(
        'A video needs seed and actions of its episode: take one that'
        ' Evaluator.run returned.'
    )
  ffmpeg = _find_ffmpeg()
  environment = make_environment()
  try:
    if environment.batch_size != 1:
      raise RecordingError(
          f'A video needs one environment, not {environment.batch_size}.'
      )
    metadata = environment.gymnasium_vector_env.metadata
    fps = metadata.get('render_fps') or _DEFAULT_FPS  # It may be None.
    with _writing(ffmpeg, path, fps) as write:
      return_, length, has_ended, frames = _replay(
          environment, episode, seed, write, max_wall_time_s
      )
  except OSError as error:
    raise RecordingError(
        f'{path} could not be written: {error.strerror}.'
    ) from error
  except failures.EnvironmentFailure as error:
    raise RecordingError(str(error)) from error
  finally:
    environment.close()
  if not has_ended and length < episode.length_env_steps:
    matches = None
    logging.warning('%s ends before the episode, at step %d.', path, length)
  else:
    # An evaluation cuts what has no end of its own, as a time limit does.
    matches = (return_, length) == (
        episode.return_, episode.length_env_steps
    ) and (has_ended or not episode.terminated)
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
  return Recording(return_, length, path, frames, matches)


@gin.configurable(module='rnd_agents', denylist=['env'])
class RecordEpisodes(gymnasium.Wrapper):
  """Records each episode as an MP4, for `load_environment.wrappers`.

  The files are `directory/file_name_000000.mp4` and so on; numbers that are
  there are not used again, so that a batch may share a directory. A file gets
  its frames at the end of its episode, at a reset or when the environment is
  closed. Needs render_mode 'rgb_array' in `load_environment.env_kwargs`.
  """

  def __init__(
      self, env: gymnasium.Env, directory: str, file_name: str = 'episode'
  ):
    super().__init__(env)
    if env.render_mode != 'rgb_array':
      raise errors.SetupError(
          'RecordEpisodes needs rendered frames: set'
          " load_environment.env_kwargs = {'render_mode': 'rgb_array'}."
      )
    self._path = os.path.join(directory, file_name)  # Begin of all names.
    self._fps = self.metadata.get('render_fps') or _DEFAULT_FPS
    self._ffmpeg = _find_ffmpeg()
    self._number = 0
    self._file = contextlib.ExitStack()
    self._write: Callable[[np.ndarray], None] | None = None
    os.makedirs(directory, exist_ok=True)

  def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    self._finish()
    result = self.env.reset(**kwargs)
    path = self._reserved_path()
    self._write = self._file.enter_context(
        _writing(self._ffmpeg, path, self._fps)
    )
    self._write(self.render())
    return result

  def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    result = self.env.step(action)
    if self._write is not None:
      self._write(self.render())
    if result[2] or result[3]:
      self._finish()
    return result

  def close(self) -> None:
    self._finish()
    self.env.close()

  def _finish(self) -> None:
    self._write = None
    self._file.close()

  def _reserved_path(self) -> str:
    """Creates an empty file of the next number; returns its path."""
    while True:
      path = f'{self._path}_{self._number:06d}.mp4'
      self._number += 1
      with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return path


def _replay(
    environment: vector_environment.VectorPyEnvironment,
    episode: episode_log.Episode,
    seed: int,
    write: Callable[[np.ndarray], None],
    max_wall_time_s: float | None,
) -> tuple[float, int, bool, list[np.ndarray]]:
  """Returns return, length, whether it ended, and some frames of a replay."""
  start_s = time.monotonic()
  shown = np.linspace(0, episode.length_env_steps, _MAX_FRAMES).round()
  frames = []
  steps = evaluator.replay_steps(environment, seed, episode.actions)
  for length, time_step in enumerate(steps):
    frame = _frame(environment)
    write(frame)
    is_late = (
        max_wall_time_s is not None
        and time.monotonic() - start_s > max_wall_time_s
    )
    ends = time_step.is_last()[0] or (length > 0 and is_late)
    if ends or length in shown:
      frames.append(frame)
    if ends:
      break
  played = environment.pop_episodes()
  # Rewards of time steps may be scaled and are float32.
  return_ = (
      played[0].return_ if played else float(environment.running_returns()[0])
  )
  return return_, length, bool(played), frames


def _frame(environment: vector_environment.VectorPyEnvironment) -> np.ndarray:
  """Returns the rendered frame, uint8 [height, width, 3]."""
  try:
    frame = np.asarray(environment.render())[0]
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


@contextlib.contextmanager
def _writing(
    ffmpeg: str, path: str, fps: float
) -> Iterator[Callable[[np.ndarray], None]]:
  """Yields a function that writes frames; the file is complete at the end."""
  folder, name = os.path.split(os.path.abspath(path))
  os.makedirs(folder, exist_ok=True)
  aside = os.path.join(folder, f'.{name}.new')
  process = None

  def write(frame: np.ndarray) -> None:
    nonlocal process
    if process is None:  # The first one has the size.
      height, width, _ = frame.shape
      source = f'-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps} -i -'
      # H.264 has even sizes only.
      target = (
          '-an -c:v libx264 -preset veryfast -pix_fmt yuv420p -vf'
          ' pad=ceil(iw/2)*2:ceil(ih/2)*2 -f mp4'
      )
      process = subprocess.Popen(
          [ffmpeg, '-y', '-loglevel', 'error', *source.split(),
           *target.split(), aside],
          stdin=subprocess.PIPE,
          stdout=subprocess.DEVNULL,
          stderr=subprocess.PIPE,
          start_new_session=True,  # A Ctrl-C is not for it.
      )
    with contextlib.suppress(BrokenPipeError):  # Its message says why.
      assert process.stdin is not None
      process.stdin.write(np.ascontiguousarray(frame).data)

  try:
    yield write
    if process is not None:
      _, message = process.communicate()
      if process.returncode:
        lines = message.decode(errors='replace').split('\n')
        raise RecordingError(
            f'{path} could not be written by FFmpeg: {" ".join(lines)}'
        )
    os.replace(aside, path)
  finally:
    if process is not None:
      process.kill()
      process.communicate()
    with contextlib.suppress(OSError):
      os.remove(aside)


def _find_ffmpeg() -> str:
  """Returns the path of the program that comes with imageio-ffmpeg."""
  try:
    import imageio_ffmpeg

    return imageio_ffmpeg.get_ffmpeg_exe()
  except (ImportError, RuntimeError) as error:
    raise errors.MissingPackage(
        'Videos need imageio-ffmpeg: pip install "rnd_agents[video]"'
    ) from error
