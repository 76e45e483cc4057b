# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts what a policy moves and opens in a MiniGrid task.

    python -m benchmarks.maze_events --env=MiniGrid-ObstructedMaze-2Dlhb-v1 \\
      --policy_dir=runs/RUN/policies/collect_policy

Plays minigrid's own worlds from the seeds 0 to EPISODES - 1 and prints the mean
of each count in an episode. A door that is shut again and opened counts twice.
"""

import collections

from absl import flags
import gymnasium

from benchmarks import programs
from benchmarks import tables
from rnd_agents.environments import loaders
from rnd_agents.evaluation import evaluator
from rnd_agents.evaluation import saved_policy

_ENV = flags.DEFINE_string('env', None, 'MiniGrid task.', required=True)
_POLICY_DIR = flags.DEFINE_string(
    'policy_dir', None, 'SavedModel.', required=True
)
_EPISODES = flags.DEFINE_integer('episodes', 50, 'Episodes.')

_counts = collections.Counter()


class _Events(gymnasium.Wrapper):
  """Counts the changes that each step makes."""

  def reset(self, **kwargs):
    result = self.env.reset(**kwargs)
    self._cells = {self._cell()}
    return result

  def _cell(self):
    return tuple(int(x) for x in self.unwrapped.agent_pos)

  def step(self, action):
    task = self.unwrapped
    place, held = task.front_pos, task.carrying
    thing = task.grid.get(*place)
    is_door = getattr(thing, 'type', '') == 'door'
    was_open = is_door and thing.is_open
    was_locked = is_door and thing.is_locked
    is_box = getattr(thing, 'type', '') == 'box'
    result = self.env.step(action)
    if task.carrying is not held:
      verb = 'puts down' if task.carrying is None else 'picks up'
      _counts[f'{verb} a {(held or task.carrying).type}'] += 1
    elif is_box and task.grid.get(*place) is not thing:
      _counts['opens a box'] += 1
    if is_door and thing.is_open and not was_open:
      _counts['unlocks a door' if was_locked else 'opens a door'] += 1
    cell = self._cell()
    _counts['enters a new cell'] += cell not in self._cells
    self._cells.add(cell)
    _counts['succeeds'] += result[1] > 0
    return result


def main(argv):
  del argv
  policy = saved_policy.SavedPolicy(_POLICY_DIR.value)
  # One at a time: in a batch those that have ended play on.
  environment = loaders.load_environment(_ENV.value, wrappers=[_Events])
  policy.check_fits(environment)
  evaluator.Evaluator(environment, policy, range(_EPISODES.value)).run()
  tables.print_table(
      ('in an episode', 'mean'),
      [
          (name, f'{number / _EPISODES.value:.2f}')
          for name, number in sorted(_counts.items())
      ],
  )


if __name__ == '__main__':
  programs.run(main)
