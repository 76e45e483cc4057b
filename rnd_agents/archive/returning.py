# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Puts environments back to the end of a trajectory of the archive."""

import collections
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any
import zlib

from absl import logging
import gymnasium
from gymnasium import spaces
import numpy as np

from rnd_agents import errors
from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import cells
from rnd_agents.archive import snapshots
from rnd_agents.environments import environment_rules
from rnd_agents.environments import failures

KeyFn = Callable[[Any, gymnasium.Env], Hashable]
# Steps that are played twice to see whether an environment repeats itself.
_CHECKED_STEPS = 200
# Steps between the snapshots that are checked, and after each.
_SNAPSHOT_INTERVAL = 10
_ADVICE = (
    'Archive exploration needs an environment that gives the same episode for'
    ' the same seed and actions (python -m rnd_agents.environments.check names'
    ' what is random in it).'
)


class NotPutBack(failures.EnvironmentSetupError):
  """An environment that does not repeat its episodes."""


class Actions:
  """The actions of a Discrete, MultiDiscrete or bounded Box space.

  Attributes:
    space: The space of one environment.
    num_bytes: Size of a packed action.
  """

  def __init__(self, space: spaces.Space):
    """Creates the object.

    Args:
      space: The space of one environment.

    Raises:
      InvalidType: If the space is of another kind.
      InvalidValue: If a bound is infinite.
    """
    if not isinstance(
        space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)
    ):
      raise errors.InvalidType(
          'Archive exploration needs actions of a Discrete, MultiDiscrete or'
          f' Box space, not {space}.'
      )
    if isinstance(space, spaces.Box) and not space.is_bounded():
      raise errors.InvalidValue(
          f'Random actions need bounds, and {space} has none: rescale the'
          ' actions in a wrapper.'
      )
    self.space = space
    self._dtype = np.dtype(space.dtype)
    if isinstance(space, spaces.Discrete) and space.start >= 0:
      # A byte an action, for most of them.
      self._dtype = np.min_scalar_type(int(space.start + space.n - 1))
    self.num_bytes = self._dtype.itemsize * int(np.prod(space.shape, dtype=int))

  def sample(self, rng: np.random.Generator) -> Any:
    """Returns a uniformly random action."""
    space = self.space
    if isinstance(space, spaces.Discrete):
      return space.dtype.type(rng.integers(space.n) + space.start)
    if isinstance(space, spaces.MultiDiscrete):
      return (rng.integers(space.nvec) + space.start).astype(space.dtype)
    if space.dtype.kind == 'f':
      return rng.uniform(space.low, space.high).astype(space.dtype)
    return rng.integers(space.low, space.high, space.shape, space.dtype, True)

  def pack(self, actions: Sequence[Any]) -> bytes:
    """Returns actions as bytes, to be joined with those of later actions."""
    return np.array(actions, self._dtype).tobytes()

  def unpack(self, data: bytes) -> np.ndarray:
    """Returns the actions of `pack`, [T, ...], of the space's dtype."""
    flat = np.frombuffer(data, self._dtype).astype(self.space.dtype)
    return flat.reshape(-1, *self.space.shape)


class Returner:
  """Steps single environments and puts them back, each to any trajectory.

  A trajectory is restored from the nearest snapshot on its way, and the rest of
  its actions are played. Without snapshots, or where none is left, that is the
  whole episode from its seed. Snapshots take at most `memory_mb`; the longest
  unused go first.

  Attributes:
    actions: The `Actions` of the environments.
    uses_snapshots: Whether they are used; `check` sets it.
    replayed_env_steps: Steps that were played to put environments back.
  """

  def __init__(
      self,
      envs: Sequence[gymnasium.Env],
      world_seeds: Sequence[int],
      archive: archive_lib.Archive,
      key_fn: KeyFn = cells.coarse_observation,
      memory_mb: float = 500.0,
  ):
    """Creates a Returner.

    Args:
      envs: Single environments, all made alike.
      world_seeds: Seed of the episode of each world.
      archive: The archive with the trajectories.
      key_fn: Key function, see `cells`.
      memory_mb: Memory for snapshots in 10^6 bytes; 0 for no snapshots.
    """
    self._envs = list(envs)
    self._world_seeds = list(world_seeds)
    self._archive = archive
    self._key_fn = key_fn
    self._snapshots = snapshots.Snapshots(self._envs)
    self._memory_bytes = memory_mb * 1e6
    self._num_bytes = 0
    # Compressed snapshots by node.
    self._kept: OrderedDict[int, bytes] = collections.OrderedDict()
    self.actions = Actions(self._envs[0].action_space)
    self.uses_snapshots = memory_mb > 0
    self.replayed_env_steps = 0

  def reset(self, index: int, world: int) -> Any:
    """Begins the episode of a world; returns the observation."""
    try:
      return self._envs[index].reset(seed=self._world_seeds[world])[0]
    except Exception as error:
      raise failures.failure_of(error, 'reset', index) from error

  def step(self, index: int, action: Any) -> tuple[Any, float, bool]:
    """Returns the observation, the reward, and whether the episode ended."""
    try:
      step = self._envs[index].step(action)
    except Exception as error:
      raise failures.failure_of(error, 'step', index) from error
    return step[0], float(step[1]), bool(step[2] or step[3])

  def key(self, index: int, observation: Any) -> Hashable:
    """Returns the key of the state that an environment is in.

    Raises:
      KeyFailure: If the key function raised, or returned something else.
    """
    name = getattr(self._key_fn, '__name__', type(self._key_fn).__name__)
    try:
      return cells.canonical(self._key_fn(observation, self._envs[index]))
    except errors.UserError as error:
      text = str(error).rstrip('.')
      raise cells.KeyFailure(f'The key function {name}: {text}.') from error
    except Exception as error:
      what = f'{type(error).__name__}: {error}'.splitlines()[0]
      raise cells.KeyFailure(
          f'The key function {name} of an observation and its environment'
          f' raised {what}.'
      ) from error

  def keep(self, index: int, node: int, observation: Any) -> None:
    """Takes a snapshot of an environment that is at the end of `node`."""
    if not self.uses_snapshots:
      return
    snapshot = self._try(self._snapshots.take, index, observation)
    if snapshot is None:
      self._do_without_snapshots()
      return
    snapshot = zlib.compress(snapshot, 1)
    self._num_bytes += len(snapshot) - len(self._kept.pop(node, b''))
    self._kept[node] = snapshot
    while self._num_bytes > self._memory_bytes:
      self._num_bytes -= len(self._kept.popitem(last=False)[1])

  def forget_removed(self) -> None:
    """Drops the snapshots of nodes that the archive has removed."""
    for node in [n for n in self._kept if n not in self._archive.nodes]:
      self._num_bytes -= len(self._kept.pop(node))

  def put_back(self, index: int, cell: int) -> Any:
    """Puts an environment where the trajectory to a cell ends.

    Returns:
      The observation there.

    Raises:
      NotPutBack: If the episode went another way than before.
    """
    archive = self._archive
    world = int(archive.column('world')[cell])
    target = node = int(archive.column('node')[cell])
    parts = []
    while node not in self._kept and archive.nodes[node].parent >= 0:
      node, data = archive.nodes[node]
      parts.append(data)
    if node in self._kept:
      self._kept.move_to_end(node)
      snapshot = zlib.decompress(self._kept[node])
      observation = self._snapshots.restore(index, snapshot)
    else:
      observation = self.reset(index, world)
    ended = False
    for action in self.actions.unpack(b''.join(reversed(parts))):
      if ended:
        break
      observation, _, ended = self.step(index, action)
      self.replayed_env_steps += 1
    if ended or self.key(index, observation) != archive.keys[cell]:
      raise NotPutBack(
          f'The episode of seed {self._world_seeds[world]} went another way'
          f' when its actions were played again. {_ADVICE}'
      )
    if node != target or node not in self._kept:
      self.keep(index, target, observation)
    return observation

  def check(self, rng: np.random.Generator) -> None:
    """Finds out how the environments can be put back.

    Plays random actions from the first world's seed in the first environment,
    then again in the last one, and once more from snapshots on the way.
    Snapshots are not used if one cannot be taken, or goes another way.

    Args:
      rng: Generator of the actions.

    Raises:
      NotPutBack: If the environment does not repeat its episode from its seed.
    """
    last = len(self._envs) - 1
    moments = [(self.reset(0, 0), 0.0, False)]
    played, taken = [], []
    for step in range(_CHECKED_STEPS):
      if self.uses_snapshots and step % _SNAPSHOT_INTERVAL == 0:
        taken.append((step, self._try(self._snapshots.take, 0)))
      played.append(self.actions.sample(rng))
      moments.append(self.step(0, played[-1]))
      if moments[-1][2]:
        break
    self.reset(0, 0)  # Must not disturb the other, where there is one.
    again = [(self.reset(last, 0), 0.0, False)]
    for action in played:
      again.append(self.step(last, action))
      if not environment_rules.equal(moments[len(again) - 1], again[-1]):
        raise NotPutBack(
            f'The environment went another way at step {len(again) - 1} when'
            f' its seed and actions were played again. {_ADVICE}'
        )
    # Each twice: what follows must not change a snapshot.
    if self.uses_snapshots and not all(
        self._try(self._repeats, last, *snapshot, played, moments)
        for snapshot in [*reversed(taken), *taken]
    ):
      self._do_without_snapshots()

  def _do_without_snapshots(self) -> None:
    self.uses_snapshots = False
    self._kept.clear()
    self._num_bytes = 0
    logging.info(
        'The environment cannot be copied: episodes are played again from'
        ' their seeds and actions.'
    )

  def _repeats(
      self,
      index: int,
      step: int,
      snapshot: bytes,
      played: list[Any],
      moments: list[Any],
  ) -> bool:
    """Returns whether a snapshot continues as the episode did."""
    self._snapshots.restore(index, snapshot)
    return all(
        environment_rules.equal(moments[t + 1], self.step(index, played[t]))
        for t in range(step, min(step + _SNAPSHOT_INTERVAL, len(played)))
    )

  def _try(self, function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the result of a function, None if it raises."""
    try:
      return function(*arguments)
    except Exception as error:  # Whatever pickling raises.
      logging.debug('No snapshot: %s', error)
      return None
