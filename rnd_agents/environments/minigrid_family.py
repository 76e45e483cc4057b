# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads MiniGrid and BabyAI tasks, encoded for networks; an expert for them."""

import collections
from collections.abc import Callable, Iterator
import functools
from typing import Any, NamedTuple

from absl import logging
import gin
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents import ranges
from rnd_agents import words
from rnd_agents.environments import envpool_family
from rnd_agents.environments import episode_replay
from rnd_agents.environments import failures
from rnd_agents.environments import gymnasium_spaces
from rnd_agents.environments import vector_environment
from rnd_agents.environments import vectorization

# MiniGrid's actions; directions are 0 east, 1 south, 2 west, 3 north.
_LEFT, _RIGHT, _FORWARD, _PICK_UP, _TOGGLE = 0, 1, 2, 3, 5
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
OBSERVATIONS = ('one_hot', 'pixels', 'dict')
MISSIONS = (None, 'words')
_ODD = ranges.Range(lambda x: x >= 3 and x % 2 == 1, 'an odd integer from 3')
# Words of all missions of minigrid 3.1: those of its wrapper
# DictObservationSpaceWrapper, then those that only BabyAI's instructions have.
# Saved policies depend on their order: append new ones.
_VOCABULARY = words.Vocabulary(
    'red green blue yellow purple grey unseen empty wall floor box key ball'
    ' door goal agent lava pick avoid get find put use open go fetch reach'
    ' unlock traverse up the a at , square and then to of rooms near opening'
    ' must you matching end hallway object from room maze'
    ' after behind front in left next on right your'.split()
)
# BabyAI's longest sentence: four instructions of up to 15 words.
_MISSION_LENGTH = 64


@gin.configurable(
    module='rnd_agents', allowlist=['observation', 'tile_size', 'mission']
)
def load_minigrid(
    env_id: str,
    num_environments: int = 1,
    *,
    max_episode_steps: int | None = None,
    env_kwargs: dict[str, Any] | None = None,
    observation: str = 'one_hot',
    tile_size: int = 8,
    mission: str | None = None,
    **batch_arguments: Any,
) -> vector_environment.VectorPyEnvironment:
  """Makes copies of a MiniGrid task, stepped as one batch.

  The agent sees the 7 x 7 cells before it. The cells hold numbers of kinds,
  colours and states, whose order has no meaning. Observations are one of

  * 'one_hot': uint8 [7, 7, 20], 0 or 1: 11 kinds, 6 colours, 3 states;
  * 'pixels': uint8 [7 tile_size, 7 tile_size, 3], drawn;
  * 'dict': direction and numbers as MiniGrid gives them, without the mission,
    which is text.

  In tasks such as 'MiniGrid-Fetch-5x5-N2-v0' and BabyAI's, the mission says
  what to do. With `mission='words'` observations are dicts of 'image' (and
  'direction') and 'mission': the numbers of the mission's words, uint8 [64], 0
  after the last one and 1 for unknown words. Networks embed them.

  Args:
    env_id: Id such as 'MiniGrid-DoorKey-8x8-v0'.
    num_environments: Number of copies.
    max_episode_steps: As in `load_environment`; it does not change MiniGrid's
      own limit, `env_kwargs={'max_steps': ...}` does.
    env_kwargs: Arguments of the task's constructor.
    observation: One of the three above.
    tile_size: Width and height of a cell in pixels.
    mission: 'words' to observe the mission; None not to.
    **batch_arguments: `seed`, `seeding`, `vectorization` (with 'envpool'
      neither `wrappers` nor `seeding` nor 'pixels'),
      `wrappers` (around the encoding), `reward_fn`, `success_key`,
      `lives_key`, `life_discount`, `info_keys`, `step_timeout_s`, as in
      `load_environment`.

  Returns:
    A batched PyEnvironment.

  Raises:
    EnvironmentSetupError: If the id is unknown, or an argument out of range.
    MissingPackageError: If `pip install "rnd_agents[minigrid]"` is needed.
  """
  if observation not in OBSERVATIONS:
    raise failures.EnvironmentSetupError(
        f'observation must be one of {OBSERVATIONS}, not {observation!r}.'
    )
  if mission not in MISSIONS:
    raise failures.EnvironmentSetupError(
        f'mission must be one of {MISSIONS}, not {mission!r}.'
    )
  env_kwargs = dict(env_kwargs or {})
  ranges.check(dict(tile_size=ranges.COUNT), locals(), 'load_minigrid.')
  ranges.check(
      dict(agent_view_size=_ODD), env_kwargs, 'load_environment.env_kwargs: '
  )
  failures.import_extra('minigrid', 'minigrid', env_id)
  if observation != 'dict' or mission is not None:
    _check_wrappers(batch_arguments.get('wrappers', ()))
  if max_episode_steps is not None:
    env_kwargs['max_episode_steps'] = max_episode_steps
  return vectorization.make_batch(
      functools.partial(
          _make_single, env_id, env_kwargs, observation, tile_size, mission
      ),
      vectorization.default_name(env_id),
      functools.partial(_make_pool, env_id, env_kwargs, observation, mission)
      if batch_arguments.get('vectorization') == 'envpool'
      else None,
      num_environments=num_environments,
      **batch_arguments,
  )


def _check_wrappers(wrappers: vectorization.Wrappers) -> None:
  """Raises EnvironmentSetupError for those that need MiniGrid's own dicts."""
  vectorization.check_wrappers(wrappers)
  for wrapper in wrappers:
    kind = getattr(wrapper, 'func', wrapper)  # Of a functools.partial.
    if (
        getattr(kind, '__module__', '') == 'minigrid.wrappers'
        and isinstance(kind, type)
        and issubclass(kind, gymnasium.ObservationWrapper)
    ):
      raise failures.EnvironmentSetupError(
          f"{kind.__name__} changes MiniGrid's own observations, which are"
          ' encoded before wrappers see them: bind load_environment.'
          "preprocessing = False, or load_minigrid.observation = 'dict'."
          " Another view is env_kwargs={'agent_view_size': N}."
      )


def _make_single(
    env_id: str,
    env_kwargs: dict[str, Any],
    observation: str,
    tile_size: int,
    mission: str | None,
) -> gymnasium.Env:
  """Returns one task with its encoding."""
  from minigrid import wrappers  # pylint: disable=import-outside-toplevel

  with failures.explained(env_id, env_kwargs):
    task = env = gymnasium.make(env_id, disable_env_checker=True, **env_kwargs)
  if observation == 'pixels':
    env = wrappers.RGBImgPartialObsWrapper(env, tile_size)
  if observation != 'dict':
    env = wrappers.ImgObsWrapper(env)
  if observation == 'one_hot':
    env = _one_hot(env)
  if mission is not None:
    return _with_mission(env, task)
  if says_the_task(task):
    failures.say_once(  # Not for every copy.
        logging.info,
        (env_id, 'mission'),
        'The mission of %s says what to do, such as %r, and is not observed:'
        " load_minigrid.mission = 'words' shows it.",
        env_id,
        task.observation_space['mission'].sample(),
    )
  return env


def _make_pool(
    env_id: str,
    env_kwargs: dict[str, Any],
    observation: str,
    mission: str | None,
    num_environments: int,
) -> envpool_family.PoolVectorEnv:
  """Returns a pool of envpool with the encoding of `_make_single`."""
  if observation == 'pixels':
    raise failures.EnvironmentSetupError(
        "vectorization='envpool' draws no pictures: use 'sync', or another"
        ' load_minigrid.observation.'
    )
  original = _make_single(env_id, env_kwargs, observation, 1, mission)
  limits = ('max_steps', 'max_episode_steps')
  settings = {k: v for k, v in env_kwargs.items() if k not in limits}
  default = envpool_family.check_settings(env_id, settings).max_episode_steps
  limit = env_kwargs.get('max_episode_steps')
  reward = None
  # BabyAI's own limit depends on the instruction.
  if default or 'max_steps' in env_kwargs:
    max_steps = original.unwrapped.max_steps
    settings['max_episode_steps'] = max_steps + 1
    limit = min(limit or max_steps, max_steps)

    def reward(rewards: np.ndarray, steps: np.ndarray) -> np.ndarray:
      return np.where(rewards > 0, 1 - 0.9 * (steps / max_steps), rewards)

  is_dict = mission is not None or observation == 'dict'
  encode = _one_hot_encoder() if observation == 'one_hot' else None
  has_blue_boxes = env_id.startswith('MiniGrid-ObstructedMaze')

  def observe(parts: dict[str, np.ndarray], steps: np.ndarray) -> Any:
    del steps
    image = parts['image']
    if has_blue_boxes:
      image = _with_grey_boxes(image)
    if encode is not None:
      image = encode(image)
    if not is_dict:
      return image
    parts = dict(parts, image=image)
    text = parts.pop('mission')
    if mission is not None:
      parts['mission'] = np.stack([_encoded(row.tobytes()) for row in text])
    return parts

  pool = envpool_family.PoolVectorEnv(
      env_id,
      num_environments,
      settings,
      limit,
      observation_space=original.observation_space,
      action_space=original.action_space,
      observe=observe,
      reward=reward,
      rewarded_ends=True,
      reward_bounds=episode_replay.reward_bounds_of(original),
  )
  original.close()
  return pool


def _with_grey_boxes(cells: np.ndarray) -> np.ndarray:
  """Returns cells [..., 3] with the boxes of minigrid's ObstructedMaze.

  Boxes that hide keys are blue in envpool and grey in minigrid, where nothing
  else differs but the first room of the tasks called Full.
  """
  from minigrid.core import constants  # pylint: disable=import-outside-toplevel

  cells = cells.copy()
  is_box = cells[..., 0] == constants.OBJECT_TO_IDX['box']
  cells[..., 1][is_box] = constants.COLOR_TO_IDX['grey']
  return cells


@functools.lru_cache(maxsize=4096)
def _encoded(mission: bytes) -> np.ndarray:
  """Returns the numbers of the words of a mission, padded with zero bytes."""
  text = mission.rstrip(b'\0').decode()
  return _VOCABULARY.encode(text, _MISSION_LENGTH)


def says_the_task(env: gymnasium.Env) -> bool:
  """Returns whether a MiniGrid task has other missions in other episodes."""
  space = env.unwrapped.observation_space
  mission = space.get('mission') if isinstance(space, spaces.Dict) else None
  return (
      type(mission).__name__ == 'BabyAIMissionSpace'
      or getattr(mission, 'ordered_placeholders', None) is not None
  )


def _with_mission(env: gymnasium.Env, task: gymnasium.Env) -> gymnasium.Env:
  """Adds the words of the mission to the observations."""
  space = env.observation_space
  parts = (
      {key: part for key, part in space.items() if key != 'mission'}
      if isinstance(space, spaces.Dict)
      else dict(image=space)
  )

  def observe(observation: Any) -> dict[str, Any]:
    if not isinstance(space, spaces.Dict):
      observation = dict(image=observation)
    ids = _VOCABULARY.encode(task.unwrapped.mission, _MISSION_LENGTH)
    return dict(observation, mission=ids)

  mission = gymnasium_spaces.Words(_VOCABULARY.num_ids, _MISSION_LENGTH)
  return gymnasium.wrappers.TransformObservation(
      env, observe, spaces.Dict(**parts, mission=mission)
  )


def _one_hot(env: gymnasium.Env) -> gymnasium.Env:
  """Encodes the three numbers of each cell, as OneHotPartialObsWrapper does.

  That wrapper loops over cells, which takes a third of the time of a step; and
  its bounds are 0 and 255, by which networks divide.
  """
  encode = _one_hot_encoder()
  shape = encode(np.zeros(env.observation_space.shape, np.uint8)).shape
  return gymnasium.wrappers.TransformObservation(
      env, encode, spaces.Box(0, 1, shape, np.uint8)
  )


def _one_hot_encoder() -> Callable[[np.ndarray], np.ndarray]:
  """Returns a function of cells [..., 3] that returns their one-hots."""
  from minigrid.core import constants  # pylint: disable=import-outside-toplevel

  codes = [
      np.eye(len(numbers), dtype=np.uint8)
      for numbers in (
          constants.OBJECT_TO_IDX,
          constants.COLOR_TO_IDX,
          constants.STATE_TO_IDX,
      )
  ]
  return lambda cells: np.concatenate(
      [code[cells[..., i]] for i, code in enumerate(codes)], axis=-1
  )


class _State(NamedTuple):
  """The position of the agent and its changes to the grid.

  Attributes:
    x: Column, from the left.
    y: Row, from the top.
    direction: 0 to 3.
    taken: Tuple of the position of the key that it holds; None stands for the
      key that it held before the plan. () if it holds nothing.
    opened: Positions of the doors that it opened.
  """

  x: int
  y: int
  direction: int
  taken: tuple[Any, ...]
  opened: frozenset[tuple[int, int]]


@gin.configurable(module='rnd_agents', denylist=['env'])
class MiniGridExpert(gymnasium.Wrapper):
  """Adds `expert_action()` to tasks such as MiniGrid-DoorKey-5x5-v0.

  The expert sees the whole grid and plans at each call, breadth first. It picks
  up keys, opens doors and walks to a goal; everything else is an obstacle. Do
  not combine it with wrappers that renumber the actions.

    load_environment.wrappers = [@MiniGridExpert]
  """

  def expert_action(self) -> int:
    """Returns the first action of a shortest path to a goal.

    At a goal it is 0: the next step of a batch begins the next episode and
    ignores its action.

    Raises:
      InvalidValue: If no goal can be reached by keys and doors alone.
    """
    env = self.unwrapped
    x, y = env.agent_pos
    start = _State(
        int(x),
        int(y),
        int(env.agent_dir),
        () if env.carrying is None else (None,),
        frozenset(),
    )
    # The first action on the path to each state.
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


def _moves(env: Any, state: _State) -> Iterator[tuple[int, _State]]:
  """Yields pairs of a useful action and the state after it."""
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


def _key_fits(env: Any, state: _State, door: Any) -> bool:
  """Returns whether the agent has the key of a door."""
  if not state.taken:
    return False
  place = state.taken[0]
  held = env.carrying if place is None else env.grid.get(*place)
  return held.type == 'key' and held.color == door.color
