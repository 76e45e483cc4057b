# Copyright 2026 The rnd_agents Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the policy of a run goes in Montezuma's first room, and why.

    python -m benchmarks.room_map --root_dir=RUN [--root_dir=ANOTHER] --out=FILE

Plays with the policy and the curiosity of each run's newest checkpoint and
draws, cell by cell: the share of the steps, the mean normalised bonus and the
mean intrinsic value. Prints how often a reward was found, and what a lost life
costs: the intrinsic value where the next life begins, beside that of all steps.
24,000 steps of a run take a minute of a core.
"""

import os
from typing import NamedTuple

from absl import app
from absl import flags
import numpy as np

from benchmarks import checkpoint_play
from rnd_agents.environments import wrappers
from rnd_agents.plotting import drawing
from rnd_agents.plotting import heat_maps

# Bytes of the console's memory: where the player is. y grows upwards.
_X_ADDRESS, _Y_ADDRESS = 42, 43
_FIRST_ROOM = 1
_X_RANGE, _Y_RANGE, _CELL = (0, 160), (130, 270), 10


class PlayerPosition(wrappers.InfoWrapper):
  """Adds the player's position in the room to the info."""

  def _told(self, begins):
    del begins
    ram = self.unwrapped.ale.getRAM()
    return {'x': int(ram[_X_ADDRESS]), 'y': int(ram[_Y_ADDRESS])}


class Steps(NamedTuple):
  """What happened at each step, arrays [T, B]."""

  x: np.ndarray
  y: np.ndarray
  room: np.ndarray
  lives: np.ndarray
  reward: np.ndarray  # That led to the step.
  bonus: np.ndarray  # Normalised.
  intrinsic_value: np.ndarray

  @property
  def begins_life(self):
    """Whether a life begins with the step, but for the first of a game."""
    return checkpoint_play.lost_lives(self.lives) & (self.lives > 0)


def play(root_dir, num_env_steps, seed):
  """Plays with the newest checkpoint of a run of RND-PPO; returns `Steps`."""

  def look(time_step, info):
    del time_step
    # The last is ALE's own.
    return {name: info[name] for name in ('x', 'y', 'room', 'lives')}

  return Steps(
      **checkpoint_play.play(
          root_dir,
          num_env_steps,
          seed,
          [wrappers.RoomsVisited, PlayerPosition],
          look,
      )
  )


def mean_map(x, y, values):
  """Means of values in cells of the room; NaN where there are none.

  Args:
    x: Positions in the units of the console's memory, [N].
    y: The same, upwards.
    values: [N].

  Returns:
    (means, counts), floats [rows, columns], the lowest row first.
  """
  edges = [np.arange(a, b + 1, _CELL) for a, b in (_Y_RANGE, _X_RANGE)]
  counts = np.histogram2d(y, x, edges)[0]
  sums = np.histogram2d(y, x, edges, weights=values)[0]
  with np.errstate(invalid='ignore'):
    return sums / counts, counts


def _say(name, steps):
  begins = steps.begins_life
  print(
      f'{name}: {begins.size} steps; {(steps.reward > 0).sum()} rewards, up to'
      f' {steps.reward.max():.0f}; {begins.sum()} deaths before the last'
      f' of a game; mean bonus {steps.bonus.mean():.4f}; mean intrinsic value'
      f' {steps.intrinsic_value.mean():.3f}, where the next life begins'
      f' {steps.intrinsic_value[begins].mean():.3f}',
      flush=True,
  )


def _draw(runs, out):
  """Draws a row of three maps for each (name, `Steps`)."""
  fig = drawing.new_figure((13, 3.6 * len(runs)))
  grid = fig.subplots(len(runs), 3, squeeze=False)
  for row, (name, steps) in zip(grid, runs):
    here = steps.room == _FIRST_ROOM
    at = steps.x[here], steps.y[here]
    bonus, counts = mean_map(*at, steps.bonus[here])
    value, _ = mean_map(*at, steps.intrinsic_value[here])
    counts[counts == 0] = np.nan
    maps = {
        'share of the steps, %': 100 * counts / steps.x.size,
        'mean normalised bonus': bonus,
        'mean intrinsic value': value,
    }
    for axes, (title, cells) in zip(row, maps.items()):
      image = axes.imshow(
          cells, origin='lower', extent=(*_X_RANGE, *_Y_RANGE), aspect='auto'
      )
      axes.set_facecolor(heat_maps.BACKGROUND)
      axes.set_title(f'{name}: {title}', fontsize=9)
      fig.colorbar(image, ax=axes)
  drawing.save_figure(fig, out)


def main(argv):
  del argv
  runs = []
  for root_dir in flags.FLAGS.root_dir:
    name = os.path.basename(os.path.normpath(root_dir))
    steps = play(root_dir, flags.FLAGS.num_env_steps, flags.FLAGS.seed)
    _say(name, steps)
    runs.append((name, steps))
  _draw(runs, flags.FLAGS.out)


if __name__ == '__main__':
  flags.DEFINE_multi_string('root_dir', None, 'Folder of a run.', required=True)
  flags.DEFINE_string('out', None, 'Picture to write.', required=True)
  flags.DEFINE_integer('num_env_steps', 24_000, 'Of all environments.')
  flags.DEFINE_integer('seed', 0, 'Of environments and actions.')
  app.run(main)
