#!/usr/bin/env bash
# gymnax 1.0.1: in the pictures of `FourRooms-misc` (`use_visual_obs=True`) the agent
# is shown at another place than where it is, which can be in a wall. The goal is left
# out.
#
# The picture has the walls in one channel and the agent in the other. Walls are stored
# by row and column, the agent is drawn by column and row. The map is not symmetric, as
# the wall between the right rooms is a row lower than the one between the left rooms:
#
# * 9 of the 104 cells are shown in a wall, and most others where the agent is not;
# * an action moves the agent in the picture to another side: "up" moves it left;
# * in 116 of 416 pairs of a cell and an action the agent moves into what the picture
#   shows as a wall, or stays before what it shows as free. For one who knows that the
#   agent is mirrored, and mirrors the action too, it is still 46.
#
# The goal is not in the picture. With `resample_goal_pos=True`, which draws a new goal
# for each episode, nothing shows where it is. Observations without pictures have agent
# and goal, as row and column, and the drawing of `render` has both at the right
# places.
#
# One would guess: pictures of what `render` draws. A network can still learn the
# default task (one goal, each cell has its own picture), so that nothing fails; what
# it cannot use is what pictures are for, that walls are beside the agent.
#
# Source: gymnax/environments/misc/rooms.py (`get_obs`, `render`); seen by this script,
# which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# gymnax imports six and does not ask for it.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gymnax==1.0.1' 'gymnasium==1.3.0' 'jax==0.10.2' 'jaxlib==0.10.2' \
  'flax==0.12.8' 'numpy==2.4.6' 'six==1.17.0'

JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnax
from gymnax.environments.misc import rooms
import jax
import jax.numpy as jnp
import numpy as np

KEY = jax.random.key(0)
env, params = gymnax.make('FourRooms-misc', use_visual_obs=True)
params = params.replace(fail_prob=0.0)  # An action does what it says.
cells = np.array(env.coords)
actions = range(env.num_actions)


def state_of(position):
  return rooms.EnvState(
      pos=jnp.array(position), goal=jnp.array([1, 1]), time=0
  )


def place_in(picture):
  (place,) = np.argwhere(np.array(picture)[..., 1] == 1)
  return place


step = jax.jit(env.step_env)
observe = jax.jit(env.get_obs)
walls = np.array(observe(state_of(cells[0])))[..., 0]
assert np.array_equal(walls == 0, env.env_map) and len(cells) == (walls == 0).sum()
in_wall, wrong, mirrored_wrong = [], 0, 0
as_described = True
for cell in cells:
  place = place_in(observe(state_of(cell)))
  as_described &= np.array_equal(place, cell[::-1])
  if walls[tuple(place)]:
    in_wall.append(tuple(map(int, cell)))
  for action in actions:
    picture, state, *_ = step(KEY, state_of(cell), action, params)
    moves = not np.array_equal(state.pos, cell)
    # What is beside the agent in the picture, in the direction of the action.
    direction = np.array(env.directions[action])
    wrong += moves == bool(walls[tuple(place + direction)])
    mirrored_wrong += moves == bool(walls[tuple(place + direction[::-1])])
    if moves:
      shown = place_in(picture) - place
      as_described &= np.array_equal(shown, direction[::-1])

pairs = len(cells) * len(actions)
as_described &= (len(in_wall), wrong, mirrored_wrong) == (9, 116, 46)
print(f'{len(in_wall)} of {len(cells)} cells are shown in a wall: {in_wall}')
print(f'pairs of a cell and an action, of {pairs}, in which the cell beside the agent'
      f' is a wall and it moves, or is free and it does not: {wrong} as it is drawn,'
      f' {mirrored_wrong} if one mirrors the action')

params = params.replace(resample_goal_pos=True)
pictures, goals = [], set()
for seed in range(20):
  picture, state = env.reset(jax.random.key(seed), params)
  pictures.append(np.array(picture))
  goals.add(tuple(state.goal.tolist()))
same = all(np.array_equal(picture, pictures[0]) for picture in pictures)
print(f'{len(goals)} goals in 20 episodes; all first pictures are the same: {same}')
as_described &= same and len(goals) > 10
sys.exit(not as_described)
PROGRAM
