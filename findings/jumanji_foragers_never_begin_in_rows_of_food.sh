#!/usr/bin/env bash
# Jumanji 1.1.2 beside lb-foraging 2.0.0: in `LevelBasedForaging` no agent begins in a row
# whose number is a coordinate of some food, and a failed load fines everybody.
#
# * The generator is to keep agents off the cells of the food. It indexes the mask of
#   cells with an array of (row, column) pairs, which takes each NUMBER for a row: for food
#   at (2, 5) it blocks the rows 2 and 5, whole. With two foods on 8 x 8 (`-v0`, all
#   defaults) 41 of 100 agents begin in the first or the last row, where 25 should, and no
#   agent beside a food in its own row. With six foods it is 87 of 100. Columns are
#   uniform, so that the task is not symmetric.
# * `penalty`, which is 0 by default, is for agents that load a food together and are too
#   weak. Jumanji takes it from ALL agents, wherever they are and whatever they did, and
#   with `normalize_reward`, the default, divides it by the level of those who tried and by
#   the sum of all levels of food. In lb-foraging it is taken from those who tried,
#   as it is. One weak agent of three: -0.02 for each of the three, and -0.1 for one.
# * An agent cannot move to a cell that another leaves in the same step. In lb-foraging
#   a row of agents moves on, and two neighbours may change places.
#
# One would guess: what the documentation says, that agents begin on any cell without food,
# and the rules of lb-foraging, which it names as the original and by which its results
# are compared. Positions, levels and rewards for food are all valid, and rewards for food
# are equal.
#
# Controls: lb-foraging's own resets and steps; each agent on a free cell, by NumPy.
#
# Source: jumanji/environments/routing/lbf/generator.py (`__call__`), env.py (`get_reward_per_food`: the penalty is a
# scalar beside the levels of all agents), utils.py (`simulate_agent_movement`); seen by
# this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jumanji==1.1.2' 'lbforaging==2.0.0' 'jax==0.10.2' 'numpy==2.4.6' 'gymnasium==1.4.0'

JAX_PLATFORMS=cpu MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import jax
import jax.numpy as jnp
import jumanji
from jumanji.environments.routing.lbf.env import LevelBasedForaging
from jumanji.environments.routing.lbf.generator import RandomGenerator
from jumanji.environments.routing.lbf.types import Agent
from jumanji.environments.routing.lbf.types import Food
from jumanji.environments.routing.lbf.types import State
import lbforaging  # Registers the environments.
from lbforaging.foraging.environment import ForagingEnv
import numpy as np

SIZE, EPISODES = 8, 1000
NONE, UP, DOWN, LEFT, RIGHT, LOAD = range(6)
as_described = True


def describe(name, agents, foods):
  """Prints and returns shares of agents by the row in which they begin."""
  edge = np.isin(agents[..., 0], (0, SIZE - 1)).mean()
  numbers = foods.reshape(len(foods), 1, -1)
  blocked = (agents[..., :1] == numbers).any(axis=-1).mean()
  same_row = (agents[:, :, None, 0] == foods[:, None, :, 0])
  beside = same_row & (abs(agents[:, :, None, 1] - foods[:, None, :, 1]) == 1)
  print(f'{name}: {edge:.3f} in the first or last row, {blocked:.3f} in a row that has'
        f' the number of a coordinate of food; {beside.any(-1).mean():.3f} in a row'
        ' beside food')
  return edge, blocked, beside.any()


def by_hand(foods, agents):
  random = np.random.default_rng(0)
  places = []
  for rows in foods:
    free = np.ones((SIZE, SIZE), bool)
    free[tuple(rows.T)] = False
    cells = np.argwhere(free)
    places.append(cells[random.choice(len(cells), agents, replace=False)])
  return np.array(places)


for name, reset in (
    ('LevelBasedForaging-v0', jumanji.make('LevelBasedForaging-v0').reset),
    ('with six foods', LevelBasedForaging(RandomGenerator(
        grid_size=SIZE, fov=SIZE, num_agents=2, num_food=6, force_coop=True
    )).reset),
):
  state, _ = jax.jit(jax.vmap(reset))(jax.random.split(jax.random.PRNGKey(0), EPISODES))
  agents, foods = [np.asarray(x.position) for x in (state.agents, state.food_items)]
  edge, blocked, beside = describe(name, agents, foods)
  as_described &= blocked == 0 and not beside and edge > 0.38
  edge, blocked, beside = describe('  its foods, free cells', by_hand(foods, 2), foods)
  as_described &= blocked > 0.3 and beside and edge < 0.32

original = gymnasium.make('Foraging-8x8-2p-2f-v3').unwrapped
agents, foods = [], []
for seed in range(EPISODES):
  original.reset(seed=seed)
  agents.append([player.position for player in original.players])
  foods.append(np.argwhere(original.field > 0))
edge, blocked, beside = describe('lb-foraging', np.array(agents), np.array(foods))
as_described &= blocked > 0.3 and beside and edge < 0.3


def numbers_of(values):
  return [round(float(x), 3) for x in values]


def both(places, levels, foods, actions, penalty=0.0, normalize=True):
  """Rewards and positions after one step of Jumanji and one of lb-foraging."""
  number = len(places)
  environment = LevelBasedForaging(
      RandomGenerator(grid_size=SIZE, fov=SIZE, num_agents=number, num_food=len(foods)),
      penalty=penalty, normalize_reward=normalize,
  )
  state = State(
      agents=Agent(
          id=jnp.arange(number), position=jnp.array(places), level=jnp.array(levels),
          loading=jnp.zeros(number, bool),
      ),
      food_items=Food(
          id=jnp.arange(len(foods)), position=jnp.array([place for place, _ in foods]),
          level=jnp.array([level for _, level in foods]),
          eaten=jnp.zeros(len(foods), bool),
      ),
      step_count=jnp.int32(0), key=jax.random.PRNGKey(0),
  )
  state, timestep = environment.step(state, jnp.array(actions))
  of_jumanji = np.asarray(timestep.reward), np.asarray(state.agents.position)

  game = ForagingEnv(
      players=number, min_player_level=1, max_player_level=2, min_food_level=1,
      max_food_level=9, field_size=(SIZE, SIZE), max_num_food=len(foods), sight=SIZE,
      max_episode_steps=100, force_coop=False, penalty=penalty,
      normalize_reward=normalize,
  )
  game.reset(seed=0)
  game.field[:] = 0
  for place, level in foods:
    game.field[place] = level
  game._food_spawned = float(sum(level for _, level in foods))
  for player, place, level in zip(game.players, places, levels):
    player.position, player.level = place, level
  game._gen_valid_moves()
  rewards = game.step(actions)[1]
  return of_jumanji, (
      np.array(rewards, float), np.array([player.position for player in game.players])
  )


FOODS = [((2, 2), 2), ((5, 5), 3)]
PLACES = [(2, 1), (7, 7), (0, 7)]
for normalize, share in ((True, 0.02), (False, 0.1)):
  (seen, _), (right, _) = both(
      PLACES, [1, 2, 1], FOODS, [LOAD, NONE, NONE], penalty=0.1, normalize=normalize
  )
  print(f'one agent too weak, penalty 0.1, normalize_reward={normalize}: rewards'
        f' {numbers_of(seen)}, lb-foraging {numbers_of(right)}')
  as_described &= np.allclose(seen, -share) and np.allclose(right, [-0.1, 0, 0])
(seen, _), (right, _) = both(
    [(2, 1), (2, 3), (0, 7)], [1, 2, 1], FOODS, [LOAD, LOAD, NONE], penalty=0.1
)
print(f'two are strong enough: rewards {numbers_of(seen)}, lb-foraging'
      f' {numbers_of(right)}')
as_described &= np.allclose(seen, right) and seen.max() > 0.1

for name, actions, expected in (
    ('in a row to the right', [RIGHT, RIGHT], [(0, 1), (0, 2)]),
    ('change places', [RIGHT, LEFT], [(0, 1), (0, 0)]),
):
  (_, seen), (_, right) = both([(0, 0), (0, 1)], [1, 1], FOODS, actions)
  print(f'{name}: from (0, 0) and (0, 1) to {seen.tolist()}, lb-foraging {right.tolist()}')
  as_described &= np.array_equal(right, expected) and not np.array_equal(seen, expected)
sys.exit(not as_described)
PROGRAM
