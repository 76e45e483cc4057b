# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes detours out of the best trajectories of an archive.

What random actions find goes in circles, and is little to learn from. Where a
trajectory comes to a cell to which a shorter way is known, of no lower score,
that way takes the place of its beginning. States of one cell may differ, so
that each such trajectory is played, as far as it comes to the cells of the one
before: it must end in the same cell with no lower score.
"""

from typing import Hashable, List, NamedTuple, Optional

from rnd_agents.archive import archive as archive_lib
from rnd_agents.archive import returning


class Trajectory(NamedTuple):
  """A trajectory that was played from the beginning of its episode.

  Attributes:
    actions: bytes, as `returning.Actions` packs them.
    keys: [T + 1], of the states.
    scores: [T + 1], sums of rewards up to them.
  """

  actions: bytes
  keys: List[Hashable]
  scores: List[float]

  @property
  def length(self) -> int:
    """T."""
    return len(self.keys) - 1


def best_trajectory(
    returner: returning.Returner,
    archive: archive_lib.Archive,
    world: int,
    max_env_steps: int,
) -> Trajectory:
  """Returns the best trajectory of a world, with fewer detours.

  The archive stays as it is.

  Args:
    returner: whose first environment plays.
    archive: with a best trajectory of the world.
    world: its number.
    max_env_steps: no further try begins after so many steps; 0 for none.
  """
  node = int(archive.column('node')[archive.best(world)])
  best = _play(returner, world, archive.actions_to(node))
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
    time: of the state.
    actions: from the beginning of the episode.
    cell: of the archive to which it leads; None if it is the trajectory's own.
  """

  time: int
  actions: bytes
  cell: Optional[int]


def _shorter_ways(archive, actions, world, trajectory):
  """Returns the ways that save steps, those that save the most first."""
  size = actions.num_bytes
  own = {}  # By key: score and actions of the first time.
  found: List[_Way] = []
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


def _leads_on(returner, world, way, rest, keys):
  """Plays the rest of a trajectory after another way to its beginning.

  Args:
    returner: whose first environment plays.
    world: where.
    way: a `_Way`.
    rest: packed actions.
    keys: of the states from the end of the way on.

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


def _play(returner, world, data):
  """Plays packed actions, up to the end of the episode; a Trajectory."""
  keys = [returner.key(0, returner.reset(0, world))]
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
