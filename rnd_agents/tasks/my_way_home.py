# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""My Way Home: find a vest in a maze of rooms, seen from inside, in ViZDoom.

Source: Kempka et al., 2016 (arXiv 1605.02097), and the package `vizdoom`, whose
map this is; Pathak et al., 2017 (arXiv 1705.05363), section 4, for the starts
far from the vest, which are those of the maps in their repository.
"""

from collections.abc import Iterator
import contextlib
import functools
import glob
import operator
import os
import signal
import subprocess
from typing import Any

import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents.tasks import render_modes

_SIDE = 40  # Of an observation, in pixels.
_ROWS, _COLUMNS = 3, 4  # Of the game's pixels, for one of an observation.
_TICS = 4  # Of the game in a step, as of Pathak et al.
_SQUARE = 64.0  # Side of a square of `squares_visited`, in the map's units.
# ((x, y), (least, largest heading in degrees)) of a start.
_STARTS = dict(
    sparse=((240, -176), (0, 3)),
    very_sparse=((544, -672), (177, 183)),
)
_RANDOM = 'random'
# Of the buttons forward, left, right and turn by degrees.
_ACTIONS = ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
_NOTHING = list(_ACTIONS[0])
_RANGES = dict(max_steps=ranges.COUNT, stack_size=ranges.COUNT)


class MyWayHome(gymnasium.Env):
  """A maze of ViZDoom, whose vest is found in the last of its rooms.

  Observations are uint8 [40, 40, stack_size], the newest frame last, grey:
  means of 3 x 4 pixels of the game. Actions are Discrete(4): do nothing, walk
  ahead, turn left, turn right, each for four tics of the game. The reward is 1
  for the vest, which terminates the episode, and 0 for every other step; after
  `max_steps` an episode is truncated.

  An episode begins, by `start`, in any of the rooms ('random'), or in one far
  from the vest ('sparse', 'very_sparse'), with the places and headings of the
  maps of Pathak et al., 2017. They say that the shortest ways from these
  take some 270 and 350 steps; trained policies take 120 from the first here.

  Infos have `squares_visited`, the number of squares of 64 x 64 units of the
  map that the episode has been in; a room is 160 wide.
  """

  ends_by_itself = True  # No time limit is needed.

  metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 9}

  def __init__(
      self,
      start: str = 'sparse',
      max_steps: int = 525,
      stack_size: int = 4,
      render_mode: str | None = None,
  ):
    """Creates the environment, and starts a process of the game.

    Args:
      start: Where episodes begin: 'random', 'sparse' or 'very_sparse'.
      max_steps: Steps after which an episode is truncated.
      stack_size: Number of frames of an observation; before the first one of an
        episode they are black.
      render_mode: 'rgb_array' for pictures of 120 x 160 pixels, or None.

    Raises:
      InvalidType: If an argument has a wrong type.
      InvalidValue: If an argument is out of range.
    """
    # The package is optional.
    import vizdoom

    ranges.check(_RANGES, dict(max_steps=max_steps, stack_size=stack_size))
    if start not in (_RANDOM, *_STARTS):
      raise errors.InvalidValue(
          f'start must be {_RANDOM!r}, {" or ".join(map(repr, _STARTS))}, not'
          f' {start!r}.'
      )
    render_modes.check_pictures(render_mode)
    self.render_mode = render_mode
    self._start = start
    self._max_steps = max_steps
    self.observation_space = spaces.Box(
        0, 255, (_SIDE, _SIDE, stack_size), np.uint8
    )
    self.action_space = spaces.Discrete(len(_ACTIONS))
    self._is_seeded = False
    self._num_steps = 0
    self._squares: set[tuple[int, int]] = set()
    self._picture = np.zeros([_SIDE * _ROWS, _SIDE * _COLUMNS], np.uint8)
    self._stack = np.zeros(self.observation_space.shape, np.uint8)
    self._game = _start_game(vizdoom)
    self._reaper = _start_reaper(self._game.get_instance_id())

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    super().reset(seed=seed)
    if seed is not None:
      seed = operator.index(seed)
    elif not self._is_seeded:
      seed = int(self.np_random.integers(2**31 - 1))
    if seed is not None:
      self._game.set_seed(seed % 2**32)
      self._is_seeded = True
    self._game.new_episode()
    if self._start != _RANDOM:
      (x, y), (least, largest) = _STARTS[self._start]
      self._game.send_game_command(f'warp {x} {y}')
      self._game.make_action(_NOTHING, 1)
      now = self._game.get_state().game_variables[2]
      heading = self.np_random.integers(least, largest + 1)
      # Positive turns are to the right, and headings grow to the left.
      self._game.make_action([*_NOTHING[:-1], now - heading], 1)
    self._num_steps = 0
    self._squares = set()
    self._stack = np.zeros_like(self._stack)
    return self._observe()

  def _observe(self) -> tuple[np.ndarray, dict[str, Any]]:
    """Returns the observation and the info of where the player is."""
    state = self._game.get_state()
    if state is not None:  # Else the game has ended: its last view stays.
      self._picture = state.screen_buffer
      x, y, _ = state.game_variables
      self._squares.add((int(x // _SQUARE), int(y // _SQUARE)))
    # A new array: who was given the old one may keep it.
    self._stack = np.concatenate(
        [self._stack[..., 1:], _smaller(self._picture)[..., np.newaxis]],
        axis=-1,
    )
    return self._stack, dict(squares_visited=len(self._squares))

  def step(
      self, action: Any
  ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
    reward = self._game.make_action(list(_ACTIONS[int(action)]), _TICS)
    self._num_steps += 1
    # The game ends some tics after the vest is found.
    terminated = reward > 0 or self._game.is_episode_finished()
    observation, info = self._observe()
    return (
        observation,
        float(reward),
        terminated,
        not terminated and self._num_steps >= self._max_steps,
        info,
    )

  def render(self) -> np.ndarray | None:
    if self.render_mode is None:
      return None
    return np.repeat(self._picture[..., np.newaxis], 3, axis=-1)

  def close(self) -> None:
    self._reaper.kill()
    self._reaper.wait()
    self._game.close()


def _smaller(picture: np.ndarray) -> np.ndarray:
  """Returns means of a picture's blocks, rounded down, uint8 [40, 40]."""
  # By slices: a sum over axes of a few pixels takes five times as long.
  add = functools.partial(functools.reduce, np.add)
  rows = add(picture[i::_ROWS].astype(np.uint16) for i in range(_ROWS))
  sums = add(rows[:, i::_COLUMNS] for i in range(_COLUMNS))
  return (sums // (_ROWS * _COLUMNS)).astype(np.uint8)


def _start_game(vizdoom: Any) -> Any:
  """Starts the game's process; returns its `DoomGame`."""
  game = vizdoom.DoomGame()
  game.load_config(os.path.join(vizdoom.scenarios_path, 'my_way_home.cfg'))
  game.set_available_buttons([
      vizdoom.Button.MOVE_FORWARD,
      vizdoom.Button.TURN_LEFT,
      vizdoom.Button.TURN_RIGHT,
      vizdoom.Button.TURN_LEFT_RIGHT_DELTA,
  ])
  game.set_available_game_variables([
      vizdoom.GameVariable.POSITION_X,
      vizdoom.GameVariable.POSITION_Y,
      vizdoom.GameVariable.ANGLE,
  ])
  game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
  game.set_screen_format(vizdoom.ScreenFormat.GRAY8)
  game.set_window_visible(False)
  game.set_living_reward(0)
  # The last frame of a limit of the game's own would be missing.
  game.set_episode_timeout(0)
  game.add_game_args('+sv_cheats 1')  # For `warp`.
  # Else it writes its settings to the working directory.
  game.set_doom_config_path(os.devnull)
  with _signals_of_a_stop_held():
    game.init()
  with contextlib.suppress(OSError):
    os.rmdir('_vizdoom')  # It is empty, and in the folder of the user.
  return game


@contextlib.contextmanager
def _signals_of_a_stop_held() -> Iterator[None]:
  """Makes processes that start in a block deaf to the signals of a stop.

  Ctrl-C and a system that shuts down signal all processes of a run: it needs
  its games until it has saved itself. They end by `close`, or by the reaper.
  """
  # A process inherits what is held, and its program keeps it.
  signals = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
  before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
  try:
    yield
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_reaper(instance_id: str) -> subprocess.Popen:
  """Starts a shell that ends a game when this process has ended.

  Else the game of a process that was killed waits for it for ever. Does
  nothing where /proc does not list the children of a process.

  Args:
    instance_id: The id of the game, which is also in the names of its files of
      shared memory.
  """
  # `read` ends when nobody can write any more.
  script = 'read _; kill -9 "$0"; rm -f /dev/shm/ViZDoom*"$1"'
  return subprocess.Popen(
      ['/bin/sh', '-c', script, _process_of(instance_id), instance_id],
      stdin=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      start_new_session=True,  # Not to be interrupted by Ctrl-C, too.
  )


def _process_of(instance_id: str) -> str:
  """Returns the child process with an id in its command; '' if unknown."""
  for path in glob.glob('/proc/self/task/*/children'):
    with contextlib.suppress(OSError):  # A thread or a process has ended.
      with open(path, encoding='ascii') as file:
        children = file.read().split()
      for process in children:
        with open(f'/proc/{process}/cmdline', 'rb') as command:
          if instance_id.encode() in command.read().split(b'\0'):
            return process
  return ''
