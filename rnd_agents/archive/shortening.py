# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes detours out of the best trajectories of an archive.

Random actions find trajectories that go in circles, which teach little. If a
shorter way of no lower score is known to a cell of a trajectory, that way
replaces its beginning. States of one cell may differ, so that each such
trajectory is played, as long as it comes to the same cells as before: it must
end in the same cell with no lower score.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from rnd_agents import errors
from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import returning


class Trajectory(NamedTuple):
  """A trajectory that was played from the beginning of its episode.

  Attributes:
    actions: The T actions, as `returning.Actions` packs them.
    keys: Keys of the states, [T + 1].
    scores: Sums of rewards up to the states, [T + 1].
  """

  actions: bytes
  keys: list[Hashable | None]
  scores: list[float]

  @property
  def length(self) -> int:
    """Number of steps, T."""
    return len(self.keys) - 1


def best_trajectory(
    returner: returning.Returner,
    archive: archive_lib.Archive,
    world: int,
    max_env_steps: int,
) -> Trajectory:
  """Returns the best trajectory of a world, with fewer detours.

  The archive stays as it is. Its trajectory is played first, and must have the
  score and the length that the archive says.

  Args:
    returner: Its first environment plays.
    archive: An archive with a best trajectory of the world.
    world: Number of the world.
    max_env_steps: Steps after which no further try begins; 0 for no tries.

  Raises:
    NotPutBack: If the trajectory has another score when it is played again.
  """
  cell = archive.best(world)
  if cell is None:
    raise errors.InvalidValue(f'World {world} has no trajectory yet.')
  node = int(archive.column('node')[cell])
  best = _play(returner, world, archive.actions_to(node))
  score, length = (archive.column(name)[cell] for name in ('score', 'length'))
  if best.length != length or not np.isclose(best.scores[-1], score, 1e-6):
    raise returning.NotPutBack(
        f'The best trajectory of world {world} has score'
        f' {best.scores[-1]:.6g} in {best.length} steps when it is played again'
        f' from its beginning, and had {score:.6g} in {length}: copies of the'
        " environment's state leave something out, so that"
        ' explore.snapshot_memory_mb must be 0, in a new folder.'
    )
  num_steps, tried = 0, {best.actions}
  found = True
  while found:
    found = False
    for way in _shorter_ways(archive, returner.actions, world, best):
      if num_steps >= max_env_steps:
        return best
      rest = best.actions[way.time * returner.actions.num_bytes :]
      data = way.actions + rest
      if data in tried:
        continue
      tried.add(data)
      leads_on, played = _leads_on(
          returner, world, way, rest, best.keys[way.time :]
      )
      num_steps += played
      if not leads_on:
        continue
      other = _play(returner, world, data)
      num_steps += other.length
      arrives = other.keys[-1] == best.keys[-1]
      if arrives and other.scores[-1] >= best.scores[-1]:
        best, found = other, True
        break
  return best


class _Way(NamedTuple):
  """A shorter way to a state of a trajectory.

  Attributes:
    time: Time of the state in the trajectory.
    actions: Packed actions from the beginning of the episode.
    cell: Cell of the archive to which it leads; None for a way of the
      trajectory itself.
  """

  time: int
  actions: bytes
  cell: int | None


def _shorter_ways(
    archive: archive_lib.Archive,
    actions: returning.Actions,
    world: int,
    trajectory: Trajectory,
) -> list[_Way]:
  """Returns the ways that save steps, those that save the most first."""
  size = actions.num_bytes
  # Score and actions of the first time, by key.
  own: dict[Hashable | None, tuple[float, bytes]] = {}
  found: list[_Way] = []
  for t, (key, score) in enumerate(
      zip(trajectory.keys, trajectory.scores, strict=True)
  ):
    known, before = own.setdefault(key, (score, trajectory.actions[: t * size]))
    ways = [(known, _Way(t, before, None))]
    cell = archive.cell_of(world, key)
    if cell is not None and archive.column('length')[cell] < t:
      node = int(archive.column('node')[cell])
      way = _Way(t, archive.actions_to(node), cell)
      ways.append((archive.column('score')[cell], way))
    found += [
        way
        for known, way in ways
        if known >= score and len(way.actions) < t * size
    ]
  return sorted(found, key=lambda way: len(way.actions) - way.time * size)


def _leads_on(
    returner: returning.Returner,
    world: int,
    way: _Way,
    rest: bytes,
    keys: list[Hashable | None],
) -> tuple[bool, int]:
  """Plays the rest of a trajectory after another way to its beginning.

  Args:
    returner: Its first environment plays.
    world: Number of the world.
    way: The way.
    rest: Packed actions after it.
    keys: Keys of the states from the end of the way to the end of the
      trajectory.

  Returns:
    Whether the rest leads to the same end over states of the same keys, or
    ends the episode as they do; and the number of steps that this takes.
  """
  num_replayed = 0
  if way.cell is None:
    returner.reset(0, world)
    rest = way.actions + rest
  else:
    returner.put_back(0, way.cell)
    # Not `replayed_env_steps`: a resumed exploration has dropped its snapshots,
    # and finds what another would.
    if not returner.uses_snapshots:
      num_replayed = len(way.actions) // returner.actions.num_bytes
  actions = returner.actions.unpack(rest)
  joins_at = len(actions) + 1 - len(keys)
  for t, action in enumerate(actions, 1):
    observation, _, ended = returner.step(0, action)
    if ended:
      return keys[-1] == archive_lib.ENDED, num_replayed + t
    if t >= joins_at and returner.key(0, observation) != keys[t - joins_at]:
      return False, num_replayed + t
  return True, num_replayed + len(actions)


def _play(returner: returning.Returner, world: int, data: bytes) -> Trajectory:
  """Plays packed actions, up to the end of the episode."""
  keys: list[Hashable | None] = [returner.key(0, returner.reset(0, world))]
  scores = [0.0]
  for action in returner.actions.unpack(data):
    observation, reward, ended = returner.step(0, action)
    scores.append(scores[-1] + reward)
    keys.append(
        archive_lib.ENDED if ended else returner.key(0, observation)
    )
    if ended:
      break
  length = len(keys) - 1
  return Trajectory(data[: length * returner.actions.num_bytes], keys, scores)
