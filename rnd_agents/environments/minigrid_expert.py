# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""An expert that finds shortest ways through MiniGrid's rooms and doors."""

import collections
from typing import NamedTuple

import gin
import gymnasium

from rnd_agents import errors

# MiniGrid's numbers, of directions 0 east, 1 south, 2 west, 3 north.
_LEFT, _RIGHT, _FORWARD, _PICK_UP, _TOGGLE = 0, 1, 2, 3, 5
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


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
