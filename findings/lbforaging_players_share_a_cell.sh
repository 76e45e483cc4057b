#!/usr/bin/env bash
# lbforaging 2.0.0: two players can stand in one cell, though a move into a taken cell is
# refused.
#
# A step gathers the players by the cell each one wants. Where it is more than one, they all
# stay. A player that stays because of this keeps its cell, but was counted at the cell it
# wanted: a third player that moves into this cell is alone there, and moves.
#
# * Three players in a row of a board, the first two on both sides of an empty cell, which both
#   want. The third follows the second: it ends in the cell of the second.
# * 3000 steps with random actions on 8 x 8 cells: players share a cell after 0.1 % of the
#   steps with three players, 1.4 % with six and 2.9 % with eight; never with two.
# * From a shared cell both load: food of level 4 beside them is taken by two players of level
#   2 that need only one of its four sides.
#
# One would guess: at most one player arrives at a cell, as a comment of the code says, and
# players that load together stand on different sides of the food. All players of a step move
# at once, and a player that follows another one that can move does so.
#
# Controls: the same three players, with the first one staying: nobody shares a cell; the moves
# with players sent back until no cell is shared, written here.
#
# Source: lbforaging/foraging/environment.py (`ForagingEnv.step`); seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'lbforaging==2.0.0' 'gymnasium==0.29.1' 'numpy==1.26.4'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
from collections import Counter
import sys

from lbforaging.foraging import ForagingEnv

NONE, NORTH, SOUTH, WEST, EAST, LOAD = range(6)
MOVES = {NORTH: (-1, 0), SOUTH: (1, 0), WEST: (0, -1), EAST: (0, 1)}
STEPS = 3000
as_described = True


def board(players):
  return ForagingEnv(
      players=players, min_player_level=1, max_player_level=2, min_food_level=1,
      max_food_level=None, field_size=(8, 8), max_num_food=3, sight=2, max_episode_steps=50,
      force_coop=False,
  )


def cells(env):
  return [tuple(int(part) for part in player.position) for player in env.players]


def sent_back(starts, wanted):
  """Returns the cells after all that want a taken cell, or the same, are sent back."""
  ends = list(wanted)
  while True:
    count = Counter(ends)
    back = [i for i, end in enumerate(ends) if count[end] > 1 and end != starts[i]]
    if not back:
      return ends
    for i in back:
      ends[i] = starts[i]


for actions, name in (([EAST, WEST, WEST], 'both want it'), ([NONE, WEST, WEST], 'one stays')):
  env = board(3)
  env.reset(seed=0)
  env.field[:] = 0
  env.field[1, 3] = 4  # Beside the cell that will be shared.
  env.field[7, 7] = 1  # Far away, for the game to go on.
  for player, column in zip(env.players, (1, 3, 4)):
    player.position = (2, column)
    player.level = 2
  env._gen_valid_moves()
  starts = cells(env)
  env.step(actions)
  wanted = [
      (start[0] + MOVES.get(action, (0, 0))[0], start[1] + MOVES.get(action, (0, 0))[1])
      for start, action in zip(starts, actions)
  ]
  print(f'{name}: from {starts} to {cells(env)}, sent back {sent_back(starts, wanted)}')
  shared = len(set(cells(env))) < 3
  as_described &= shared == (name == 'both want it')
  if shared:
    as_described &= cells(env) == [(2, 1), (2, 3), (2, 3)]
    as_described &= sent_back(starts, wanted) == starts
    _, rewards, *_ = env.step([NONE, LOAD, LOAD])
    print(f'both load from the shared cell: rewards {rewards}, food of level'
          f' {env.field[1, 3]} is left beside it')
    as_described &= env.field[1, 3] == 0 and rewards[1] == rewards[2] > 0
  else:
    as_described &= cells(env) == sent_back(starts, wanted)

for players in 2, 3, 4, 6, 8:
  env = board(players)
  env.action_space.seed(0)
  env.reset(seed=0)
  shared = 0
  for _ in range(STEPS):
    _, _, done, _, _ = env.step(env.action_space.sample())
    shared += len(set(cells(env))) < players
    if done:
      env.reset()
  print(f'{players} players: a cell is shared after {shared / STEPS:.2%} of {STEPS} steps')
  as_described &= (shared > 0) == (players > 2)
as_described &= shared > 0.01 * STEPS
sys.exit(not as_described)
PROGRAM
