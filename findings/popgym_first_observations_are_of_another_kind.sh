#!/usr/bin/env bash
# POPGym 1.0.7: in two families of tasks the first observation of each episode does not
# mean what all later ones mean.
#
# * `VelocityOnlyCartPole` hides the positions of cart and pole and shows their speeds.
#   `reset` does the opposite: it shows the two positions and hides the speeds. So what
#   the task hides is given away, and who adds up the speeds from there on knows the
#   positions to 0.001 for the whole episode, where 0.05 is the best without it. A
#   policy that takes the first observation for speeds reads an angle as a speed.
# * In the labyrinths the 3 x 3 cells that the agent sees are moved by one if it stands
#   at the left or the upper border, where half of all episodes begin: what should be
#   outside is left out, and the walls that fill the picture come at the other side. The
#   cell of the agent is not in the middle, and the only way out is shown as a wall. At
#   the right and the lower border, and everywhere inside, the picture is right.
#
# One would guess: one meaning for each entry of an observation. Memory is what this
# suite measures, and the first observation is the one that the longest memory holds;
# spaces, shapes and types are right, so that no check of an environment shows it.
#
# Controls: `PositionOnlyCartPole`, whose first observation is like the others, and the
# true state of the environments.
#
# Source: popgym/envs/velocity_only_cartpole.py (`reset` takes the entries 0 and 2,
# `step` 1 and 3), popgym/core/maze.py (`local_view` pads only at the end); seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'popgym==1.0.7' 'gymnasium==1.3.0' 'numpy==2.3.5' 'mazelib==0.9.16'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import sys

import numpy as np
from popgym.envs import labyrinth_escape
from popgym.envs import position_only_cartpole
from popgym.envs import velocity_only_cartpole

SEEDS = 200
POSITIONS, SPEEDS = (0, 2), (1, 3)


def shown(env_class):
  """Which entries of the state are in the first and in later observations?"""
  kinds = {'first': set(), 'later': set()}
  for seed in range(SEEDS):
    env = env_class()
    for moment in kinds:
      if moment == 'first':
        observation, _ = env.reset(seed=seed)
      else:
        observation = env.step(seed % 2)[0]
      state = np.array(env.state, np.float32)
      kinds[moment].add(tuple(
          int(np.flatnonzero(np.isclose(state, x, atol=1e-7))[0])
          for x in observation
      ))
  return kinds


def reckon(starts_from_first):
  """The largest error of positions that are added up from observed speeds."""
  error = 0
  for seed in range(SEEDS):
    env = velocity_only_cartpole.VelocityOnlyCartPoleHard()
    first, _ = env.reset(seed=seed)
    guess = np.array(first, float) if starts_from_first else np.zeros(2)
    speeds = np.zeros(2)  # The first ones are not shown; they are within 0.05.
    done = False
    while not done:
      # A controller that sees the state, for episodes of some length.
      x, v, angle, turn = env.state
      push = int(0.1 * x + 0.3 * v + 3 * angle + turn > 0)
      observation, _, terminated, truncated, _ = env.step(push)
      guess = guess + env.tau * speeds
      speeds = np.array(observation, float)
      error = max(error, np.abs(guess - np.array(env.state)[[0, 2]]).max())
      done = terminated or truncated
  return error


as_described = True
for env_class, first, later in (
    (position_only_cartpole.PositionOnlyCartPole, POSITIONS, POSITIONS),
    (velocity_only_cartpole.VelocityOnlyCartPole, POSITIONS, SPEEDS),
):
  kinds = shown(env_class)
  print(f'{env_class.__name__}: entries of the state in the first observation'
        f' {kinds["first"]}, later {kinds["later"]}')
  as_described &= kinds == {'first': {first}, 'later': {later}}
from_first, from_zero = reckon(True), reckon(False)
print(f'largest error of positions added up from speeds: {from_first:.4f} from the'
      f' first observation, {from_zero:.4f} from 0')
as_described &= from_first < 0.0015 and from_zero > 0.04

WALL, START = 1, 2
PLACES = (1, 0), (1, 2), (0, 1), (2, 1)  # In the picture, for the four actions.
right, total = collections.Counter(), collections.Counter()
way_is_wall = 0
for seed in range(SEEDS):
  env = labyrinth_escape.LabyrinthEscapeEasy()
  observation, _ = env.reset(seed=seed)
  picture = observation[:9].reshape(3, 3)
  row, column = env.position
  border = ('left' if column == 0 else 'upper' if row == 0
            else 'right' if column == len(env.maze.grid) - 1 else 'lower')
  can_go = [env.move(action) != env.position for action in range(4)]
  looks_free = [picture[place] != WALL for place in PLACES]
  assert sum(can_go) == 1
  total[border] += 1
  right[border] += can_go == looks_free and picture[1, 1] == START
  way_is_wall += not looks_free[can_go.index(True)]
  if border == 'left' and total[border] == 1:
    around = np.pad(env.maze.grid, 1, constant_values=WALL)
    print('an episode that begins at the left border; shown\n', picture,
          '\naround the agent\n', around[row:row + 3, column:column + 3])
print('first pictures of the labyrinth that are right:',
      ', '.join(f'{b} border {right[b]} of {n}' for b, n in sorted(total.items())))
print(f'the only way out is shown as a wall in {way_is_wall} of {SEEDS} episodes')
for border, number in total.items():
  as_described &= number > 20
  as_described &= right[border] == (number if border in ('right', 'lower') else 0)
as_described &= way_is_wall == total['left'] + total['upper']
sys.exit(not as_described)
PROGRAM
