# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Three small tasks that only an agent with a memory can solve.

A reset draws one of two cues, and only the first observation differs between
them. The last action must fit the cue, so that a policy without a memory
succeeds in at most half of the episodes.

Recall needs a memory alone. In TMaze (Bakker, 2001) the agent first walks to
the place of the answer. CueLock also needs exploration: a code of 8 symbols
before the answer, which random actions do not find, so that demonstrations
help.

`expert_action()` of each task achieves the highest return. For a batch from
`load_environment`, `env.gymnasium_vector_env.call('expert_action')` returns the
actions of all environments.
"""

from typing import Any

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents.tasks import render_modes

_PIXELS = 16  # Height and width of a cell of a picture.


class MemoryTask(gymnasium.Env):
  """The base class of the three tasks: cue, step counter and ends.

  Constructors raise SetupError for arguments out of range.

  The observation of a termination is zeros. The info of the last step of an
  episode has `is_success`; other infos are empty. Pictures show the current
  observation, a cell for each number, and so not the cue.
  """

  ends_by_itself = True  # No time limit is needed.

  metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 4}

  def __init__(
      self,
      num_entries: int,
      num_actions: int,
      limit_env_steps: int | None,
      render_mode: str | None,
  ):
    render_modes.check_pictures(render_mode)
    self.observation_space = spaces.Box(0.0, 1.0, (num_entries,), np.float32)
    self.action_space = spaces.Discrete(num_actions)
    self.render_mode = render_mode
    self._limit_env_steps = limit_env_steps
    self._cue = -1  # 0 or 1 from the first reset on.
    self._shown = self._blank()  # The last observation.
    self._ended = False
    self._num_env_steps = 0  # Of this episode.

  def reset(
      self,
      *,
      seed: int | None = None,
      options: dict[str, Any] | None = None,
  ) -> tuple[np.ndarray, dict[str, Any]]:
    super().reset(seed=seed)
    self._cue = int(self.np_random.integers(2))
    self._ended = False
    self._num_env_steps = 0
    self._start()
    self._shown = self._observation()
    # A copy: the caller may write into it.
    return self._shown.copy(), {}

  def step(
      self, action: int
  ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
    if self._cue < 0 or self._ended:
      raise gymnasium.error.ResetNeeded('Call reset() first.')
    if not self.action_space.contains(action):
      raise gymnasium.error.InvalidAction(
          f'An action of {self.action_space} is needed; got {action!r}.'
      )
    reward, terminated, success = self._act(int(action))
    self._num_env_steps += 1
    truncated = (
        not terminated and self._num_env_steps == self._limit_env_steps
    )
    self._ended = terminated or truncated
    info = {'is_success': success} if self._ended else {}
    self._shown = self._blank() if terminated else self._observation()
    return self._shown.copy(), reward, terminated, truncated, info

  def expert_action(self) -> int:
    """Returns the best next action.

    After the end of an episode it is 0: the next step of a batch begins the
    next episode and ignores its action.

    Raises:
      gymnasium.error.ResetNeeded: Before the first reset.
    """
    if self._cue < 0:
      raise gymnasium.error.ResetNeeded('Call reset() first.')
    return 0 if self._ended else self._expert_action()

  def render(self) -> np.ndarray | None:
    if self.render_mode is None:
      return None
    if self._cue < 0:
      raise gymnasium.error.ResetNeeded('Call reset() before render().')
    row = np.uint8(255 * self._shown)
    cells = np.kron(row, np.ones([_PIXELS, _PIXELS], np.uint8))  # [H, W].
    return np.repeat(cells[..., np.newaxis], 3, axis=-1)

  def _blank(self) -> np.ndarray:
    return np.zeros(self.observation_space.shape, np.float32)

  def _start(self) -> None:
    """Begins an episode; the cue and the step counter are already set."""

  def _observation(self) -> np.ndarray:
    """Returns a new array: the observation of a step before the end."""
    raise NotImplementedError

  def _act(self, action: int) -> tuple[float, bool, bool]:
    """Applies an action; the step counter does not count it yet.

    Returns:
      The reward, whether the task ends, and whether it is solved.
    """
    raise NotImplementedError

  def _expert_action(self) -> int:
    """Returns the best next action within an episode."""
    raise NotImplementedError


@gin.configurable(module='rnd_agents')
class Recall(MemoryTask):
  """A cue, a wait, and the question which cue it was.

  The observation, float32 [4], has a single one: entry 0 or 1 is the cue, at
  t = 0; entry 2 a blank, at t = 1, ..., delay; entry 3 the question, at
  t = delay + 1. Only the action at the question counts: the number of the cue
  pays 1, the other action -1. Episodes terminate after delay + 2 steps.
  """

  def __init__(self, delay_env_steps: int = 10, render_mode: str | None = None):
    """Creates a Recall.

    Args:
      delay_env_steps: Number of blanks between cue and question, at least 0.
      render_mode: None, or 'rgb_array' for pictures.
    """
    _check_at_least(0, delay_env_steps=delay_env_steps)
    super().__init__(4, 2, None, render_mode)
    self._question_at = delay_env_steps + 1

  def _observation(self) -> np.ndarray:
    observation = self._blank()
    if self._num_env_steps == 0:
      observation[self._cue] = 1.0
    else:
      observation[2 + self._asks()] = 1.0
    return observation

  def _asks(self) -> bool:
    return self._num_env_steps == self._question_at

  def _act(self, action: int) -> tuple[float, bool, bool]:
    if not self._asks():
      return 0.0, False, False
    success = action == self._cue
    return (1.0 if success else -1.0), True, success

  def _expert_action(self) -> int:
    return self._cue if self._asks() else 0


@gin.configurable(module='rnd_agents')
class TMaze(MemoryTask):
  """A corridor with a sign at its start, and a turn at its end.

  The agent starts in the first of `length` cells in a row. East of the last one
  is the junction, where it must turn north or south as the sign showed.
  Actions: NORTH 0, EAST 1, SOUTH 2, WEST 3.

  | where | action | | reward |
  |---|---|---|---|
  | corridor | east | a cell on | 0 |
  | junction | the turn of the sign | success, the end | 4 |
  | junction | the other turn | the end | -0.1 |
  | corridor, junction | west | a cell back; stays in the first | -0.1 |
  | corridor | north, south | stays | -0.1 |
  | junction | east | stays | -0.1 |

  The observation, float32 [3], is 011 at t = 0 if the sign shows north and 110
  if south, 101 in the corridor and 010 at the junction. The best episodes are
  length + 1 steps long and return 4. After `limit_env_steps` an episode is
  truncated.

  Source: Bakker, "Reinforcement Learning with Long Short-Term Memory", 2001,
  with its observations and the rewards of the turns. Differences: there the
  sign is visible in the first cell at any time, here at t = 0 only; there
  standing still costs 0.1, here going west does, too; and here is a time limit.
  """

  NORTH, EAST, SOUTH, WEST = range(4)
  SUCCESS_REWARD = 4.0
  MISTAKE_REWARD = -0.1

  def __init__(
      self,
      length: int = 10,
      limit_env_steps: int = 40,
      render_mode: str | None = None,
  ):
    """Creates a TMaze.

    Args:
      length: Steps east from the start to the junction, at least 1.
      limit_env_steps: Steps after which episodes are truncated; more than
        `length`.
      render_mode: None, or 'rgb_array' for pictures.
    """
    _check_at_least(1, length=length)
    # Turning is also a step.
    _check_at_least(length + 1, limit_env_steps=limit_env_steps)
    super().__init__(3, 4, limit_env_steps, render_mode)
    self._length = length

  def _start(self) -> None:
    self._cell = 0

  def _observation(self) -> np.ndarray:
    if self._num_env_steps == 0:
      sign = [0, 1, 1] if self._turn() == self.NORTH else [1, 1, 0]
      return np.array(sign, np.float32)
    at_junction = self._cell == self._length
    return np.array([0, 1, 0] if at_junction else [1, 0, 1], np.float32)

  def _turn(self) -> int:
    return (self.NORTH, self.SOUTH)[self._cue]

  def _act(self, action: int) -> tuple[float, bool, bool]:
    at_junction = self._cell == self._length
    if action == self.EAST and not at_junction:
      self._cell += 1
      return 0.0, False, False
    if action == self.WEST:
      self._cell = max(self._cell - 1, 0)
      return self.MISTAKE_REWARD, False, False
    if at_junction and action == self._turn():
      return self.SUCCESS_REWARD, True, True
    ended = at_junction and action != self.EAST
    return self.MISTAKE_REWARD, ended, False

  def _expert_action(self) -> int:
    return self.EAST if self._cell < self._length else self._turn()


@gin.configurable(module='rnd_agents')
class CueLock(MemoryTask):
  """A cue, a lock with a secret code, and the question which cue it was.

  The code is the same in every episode. At t = 0 the cue is visible, and the
  action does not count. At t = 1, ..., code_length the action must be the next
  symbol of the code, or the episode ends. At t = code_length + 1 the agent
  answers which cue it was: an even action answers cue 0, an odd one cue 1. The
  right answer pays 1, and all other rewards are 0. The best episodes have
  code_length + 2 steps; all episodes end in termination.

  The observation, float32 [code_length + 3], has a single one: entry 0 or 1 for
  the cue, entry 1 + t at t > 0, the last one for the question. So a policy
  without a memory can open the lock, and then answers right in half of the
  cases. Random actions succeed with probability num_symbols^-code_length / 2.
  """

  def __init__(
      self,
      num_symbols: int = 4,
      code_length: int = 8,
      code_seed: int = 0,
      render_mode: str | None = None,
  ):
    """Creates a CueLock.

    Args:
      num_symbols: Number of symbols and actions, at least 2.
      code_length: Symbols of the code, at least 1.
      code_seed: Seed of the code: train and evaluate with the same one.
      render_mode: None, or 'rgb_array' for pictures.
    """
    _check_at_least(2, num_symbols=num_symbols)
    _check_at_least(1, code_length=code_length)
    _check_at_least(0, code_seed=code_seed)
    super().__init__(code_length + 3, num_symbols, None, render_mode)
    # RandomState, since its numbers do not change with NumPy's version.
    random_state = np.random.RandomState(code_seed)
    code = random_state.randint(num_symbols, size=code_length)
    self._code = tuple(code.tolist())

  @property
  def code(self) -> tuple[int, ...]:
    """Symbols that open the lock."""
    return self._code

  def _observation(self) -> np.ndarray:
    observation = self._blank()
    t = self._num_env_steps
    observation[self._cue if t == 0 else 1 + t] = 1.0
    return observation

  def _act(self, action: int) -> tuple[float, bool, bool]:
    if self._num_env_steps == 0:
      return 0.0, False, False
    position = self._num_env_steps - 1
    if position < len(self._code):
      return 0.0, action != self._code[position], False
    success = action % 2 == self._cue
    return float(success), True, success

  def _expert_action(self) -> int:
    if self._num_env_steps == 0:
      return 0
    return (*self._code, self._cue)[self._num_env_steps - 1]


def _check_at_least(least: int, **number: Any) -> None:
  """Raises SetupError unless `number` is an integer from `least`."""
  ((name, value),) = number.items()
  if not isinstance(value, (int, np.integer)) or value < least:
    raise errors.SetupError(
        f'{name} must be an integer, at least {least}, not {value!r}.'
    )
