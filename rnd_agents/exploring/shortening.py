# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes detours out of the best trajectories of an archive.

What random actions find goes in circles, and is little to learn from. Where a
trajectory comes to a cell to which a shorter way is known, of no lower score,
that way takes the place of its beginning. States of one cell may differ, so
that each such trajectory is played: it must end in the same cell with no lower
score.
"""

from typing import Hashable, List, NamedTuple, Tuple

from rnd_agents.exploring import archive as archive_lib
from rnd_agents.exploring import returning


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
    for data in _shorter(archive, returner.actions, world, best):
      if num_steps >= max_env_steps:
        return best
      if data in tried:
        continue
      tried.add(data)
      other = _play(returner, world, data)
      num_steps += other.length
      arrives = other.keys[-1] == best.keys[-1]
      if arrives and other.scores[-1] >= best.scores[-1]:
        best, found = other, True
        break
  return best


def _shorter(archive, actions, world, trajectory):
  """Returns shorter trajectories to try, the shortest first."""
  size = actions.num_bytes
  own = {}  # By key: score and actions of the first time.
  found: List[Tuple[int, bytes]] = []
  for t, (key, score) in enumerate(
      zip(trajectory.keys, trajectory.scores, strict=True)
  ):
    ways = [own.setdefault(key, (score, trajectory.actions[: t * size]))]
    cell = archive.cell_of(world, key)
    if cell is not None and archive.column('length')[cell] < t:
      node = int(archive.column('node')[cell])
      ways.append((archive.column('score')[cell], archive.actions_to(node)))
    rest = trajectory.actions[t * size :]
    found += [way + rest for known, way in ways if known >= score]
  shorter = [data for data in found if len(data) < len(trajectory.actions)]
  return sorted(shorter, key=len)


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
