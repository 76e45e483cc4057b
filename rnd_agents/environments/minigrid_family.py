# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""MiniGrid and BabyAI tasks with observations for a network, and an expert."""

import collections
import functools
from typing import Any, Dict, NamedTuple, Optional

import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents.environments import failures
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization

# MiniGrid's numbers, of directions 0 east, 1 south, 2 west, 3 north.
_LEFT, _RIGHT, _FORWARD, _PICK_UP, _TOGGLE = 0, 1, 2, 3, 5
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
OBSERVATIONS = ('one_hot', 'pixels', 'dict')


@gin.configurable(module='rnd_agents', allowlist=['observation', 'tile_size'])
def load_minigrid(
    env_id: str,
    num_environments: int = 1,
    *,
    max_episode_steps: Optional[int] = None,
    env_kwargs: Optional[Dict[str, Any]] = None,
    observation: str = 'one_hot',
    tile_size: int = 8,
    **batch_arguments,
) -> vector_environment.VectorPyEnvironment:
  """Makes copies of a MiniGrid task, stepped as one batch.

  The agent sees the 7 x 7 cells before it. The cells hold numbers of kinds,
  colours and states, whose order means nothing, so that they come as

  * 'one_hot': uint8 [7, 7, 20], 0 or 1: 11 kinds, 6 colours, 3 states;
  * 'pixels': uint8 [7 tile_size, 7 tile_size, 3], drawn;
  * 'dict': direction and numbers as MiniGrid gives them, without the mission,
    which is text.

  Args:
    env_id: such as 'MiniGrid-DoorKey-8x8-v0'.
    num_environments: how many.
    max_episode_steps: as in `load_environment`; MiniGrid's own limit stays, and
      `env_kwargs={'max_steps': ...}` is what moves it.
    env_kwargs: for the task's constructor.
    observation: one of the three above.
    tile_size: pixels a cell.
    **batch_arguments: `seed`, `seeding`, `vectorization` ('sync' or 'async'),
      `wrappers` (around the encoding), `reward_fn`, `success_key`,
      `lives_key`, `life_discount`, `step_timeout_s`, as in `load_environment`.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentSetupError: an unknown id, or an argument out of range.
    MissingPackageError: `pip install "rnd_agents[minigrid]"` is needed.
  """
  if observation not in OBSERVATIONS:
    raise failures.EnvironmentSetupError(
        f'observation must be one of {OBSERVATIONS}, not {observation!r}.'
    )
  failures.import_extra('minigrid', 'minigrid', env_id)
  env_kwargs = dict(env_kwargs or {})
  if max_episode_steps is not None:
    env_kwargs['max_episode_steps'] = max_episode_steps
  return vectorization.make_batch(
      functools.partial(
          _make_single, env_id, env_kwargs, observation, tile_size
      ),
      vectorization.default_name(env_id),
      num_environments=num_environments,
      **batch_arguments,
  )


def _make_single(env_id, env_kwargs, observation, tile_size):
  """Returns one task."""
  from minigrid import wrappers  # pylint: disable=import-outside-toplevel

  with failures.explained(env_id, env_kwargs):
    env = gymnasium.make(env_id, disable_env_checker=True, **env_kwargs)
  if observation == 'one_hot':
    return _one_hot(wrappers.ImgObsWrapper(env))
  if observation == 'pixels':
    return wrappers.ImgObsWrapper(
        wrappers.RGBImgPartialObsWrapper(env, tile_size)
    )
  return env


def _one_hot(env):
  """Encodes the three numbers of each cell, as OneHotPartialObsWrapper does.

  That one loops over cells, for a third of the time of a step; and its bounds
  are 0 and 255, by which networks divide.
  """
  from minigrid.core import constants  # pylint: disable=import-outside-toplevel

  codes = [
      np.eye(len(numbers), dtype=np.uint8)
      for numbers in (
          constants.OBJECT_TO_IDX,
          constants.COLOR_TO_IDX,
          constants.STATE_TO_IDX,
      )
  ]
  shape = (*env.observation_space.shape[:2], sum(map(len, codes)))
  return gymnasium.wrappers.TransformObservation(
      env,
      lambda cells: np.concatenate(
          [code[cells[..., i]] for i, code in enumerate(codes)], axis=-1
      ),
      spaces.Box(0, 1, shape, np.uint8),
  )


class _State(NamedTuple):
  """The position of the agent and its changes to the grid.

  Attributes:
    x: from the left.
    y: from the top.
    direction: 0 to 3.
    taken: position of the key in its hands, or that of the one it held before
      the plan, None; () if it holds nothing.
    opened: positions of the doors that it opened, a frozenset.
  """

  x: int
  y: int
  direction: int
  taken: tuple
  opened: frozenset


@gin.configurable(module='rnd_agents', denylist=['env'])
class MiniGridExpert(gymnasium.Wrapper):
  """Adds `expert_action()` to tasks such as MiniGrid-DoorKey-5x5-v0.

  It sees the whole grid, and plans at each call, breadth first. It picks
  up keys, opens doors and walks to a goal; anything else in the way counts as
  a wall. No other wrapper may renumber the actions.

    load_environment.wrappers = [@MiniGridExpert]
  """

  def expert_action(self) -> int:
    """Returns the first action of a shortest way to a goal.

    At a goal this is 0: the step of a batch that begins the next episode
    ignores its action.

    Raises:
      ValueError: no goal can be reached by keys and doors alone.
    """
    env = self.unwrapped
    start = _State(
        *(int(i) for i in env.agent_pos),
        int(env.agent_dir),
        () if env.carrying is None else (None,),
        frozenset(),
    )
    # How the search came to a state: the first action of all on the way.
    first_actions = {start: 0}
    queue = collections.deque([start])
    while queue:
      state = queue.popleft()
      cell = env.grid.get(state.x, state.y)
      if cell is not None and cell.type == 'goal':
        return first_actions[state]
      for action, after in _moves(env, state):
        if after not in first_actions:
          first_actions[after] = (
              action if state is start else first_actions[state]
          )
          queue.append(after)
    raise errors.InvalidValue(
        'MiniGridExpert found no way to a goal: it can pick up one key, open'
        ' doors and walk.'
    )


def _moves(env, state):
  """Yields pairs of an action that may help and the state after it."""
  yield _LEFT, state._replace(direction=(state.direction - 1) % 4)
  yield _RIGHT, state._replace(direction=(state.direction + 1) % 4)
  dx, dy = _STEPS[state.direction]
  place = state.x + dx, state.y + dy
  cell = env.grid.get(*place)
  kind = None if cell is None else cell.type
  if kind is None or kind == 'goal' or kind == 'floor':
    walks = True
  elif kind == 'door':
    walks = cell.is_open or place in state.opened
    if not walks and (not cell.is_locked or _key_fits(env, state, cell)):
      yield _TOGGLE, state._replace(opened=state.opened | {place})
  elif kind == 'key':
    walks = place in state.taken
    if not state.taken:
      yield _PICK_UP, state._replace(taken=(place,))
  else:
    walks = False
  if walks:
    yield _FORWARD, state._replace(x=place[0], y=place[1])


def _key_fits(env, state, door):
  """Returns whether the agent has the key of a door."""
  if not state.taken:
    return False
  place = state.taken[0]
  held = env.carrying if place is None else env.grid.get(*place)
  return held.type == 'key' and held.color == door.color
