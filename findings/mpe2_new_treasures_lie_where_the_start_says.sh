#!/usr/bin/env bash
# mpe2 1.1.1: in `collect_treasure_v1` the first observation says where the next four
# treasures will appear: at 0.95 times coordinates of the agents at the start.
#
# A treasure that is picked up comes back one step later "at a new random location". The
# world draws the place from a copy of the environment's generator, and the copy is made
# before the agents are placed. So it gives the same numbers once more, in each episode,
# with a seed or without one. By the order of the draws, with the default numbers of agents:
#
# * the first new treasure lies at 0.95 * (y of collector 0, x of collector 1),
# * the second at 0.95 * (y of collector 2, x of collector 3),
# * the third at 0.95 times the place where collector 4 began,
# * the fourth at 0.95 times the place where the first deposit began.
#
# Every agent sees the positions of all. An agent with a memory, or a critic with the
# state, can learn where to wait, and a team that is compared by its returns is compared
# by that, too. A model that is trained on such episodes learns a rule of the generator.
# In place of noise it is a part of the task that nobody wrote down.
#
# One would guess: new places are independent of what was seen, and repeat by the seed.
# They do repeat, and each place for itself is uniform, so that neither a histogram nor
# a check of seeds shows it.
#
# Controls: the same episodes, with a generator of its own for the world after each reset:
# no place is foretold, and the distances are those of independent points.
#
# Source: mpe2/collect_treasure/collect_treasure.py (`ExtendedWorld.np_random` copies what
# it is given; `reset_world` sets it in its first line); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'mpe2==1.1.1' 'pettingzoo==1.27.0' 'gymnasium==1.4.0' 'numpy==2.4.6' \
  'scipy==1.17.1' 'pygame-ce==2.5.8'

PYGAME_HIDE_SUPPORT_PROMPT=1 SDL_VIDEODRIVER=dummy "$folder/venv/bin/python" \
  -W ignore - <<'PROGRAM'
import sys

import numpy as np
from mpe2 import collect_treasure_v1

EPISODES, SEEDED = 60, 30
LEFT, RIGHT, DOWN, UP = range(1, 5)


def toward(observation, agent, world):
  """The move of a collector to its nearest treasure or deposit; others stay."""
  if not agent.collector:
    return 0
  position = observation[:2]
  if agent.holding is None:
    goals = [x.state.p_pos for x in world.landmarks if x.alive]
  else:
    goals = [
        x.state.p_pos for x in world.agents
        if not x.collector and x.d_i == agent.holding
    ]
  if not goals:
    return 0
  x, y = min((goal - position for goal in goals), key=np.linalg.norm)
  if abs(x) > abs(y):
    return RIGHT if x > 0 else LEFT
  return UP if y > 0 else DOWN


def places(own_generator):
  """New places of treasures, and those that the first observations foretell."""
  env = collect_treasure_v1.parallel_env()
  seen, foretold = [], []
  for episode in range(EPISODES):
    observations, _ = env.reset(seed=episode if episode < SEEDED else None)
    world = env.unwrapped.world
    if own_generator:
      world.np_random = np.random.default_rng(1000 + episode)
    start = [observations[name][:2] for name in env.agents]  # Own positions.
    assert len(start) == 8
    told = [
        0.95 * np.array(each) for each in (
            (start[0][1], start[1][0]), (start[2][1], start[3][0]), start[4], start[6]
        )
    ]
    new = []
    while env.agents:
      gone = [not each.alive for each in world.landmarks]
      observations, *_ = env.step({
          agent.name: toward(observations[agent.name], agent, world)
          for agent in world.agents
      })
      new += [
          each.state.p_pos.copy() for each, was_gone in zip(world.landmarks, gone)
          if was_gone
      ]
    number = min(len(new), len(told))
    seen += new[:number]
    foretold += told[:number]
  return np.array(seen), np.array(foretold)


as_described = True
for name, own_generator in (('mpe2', False), ('a generator of its own', True)):
  seen, foretold = places(own_generator)
  distances = np.linalg.norm(seen - foretold, axis=1)
  shuffled = np.linalg.norm(seen - np.roll(foretold, 1, axis=0), axis=1)
  exact = (distances < 1e-6).mean()
  print(f'{name}: {exact:.3f} of {len(seen)} new treasures lie where the first observation'
        f' says, mean distance {distances.mean():.3f}, to another one\'s place'
        f' {shuffled.mean():.3f}; spread of coordinates {seen.std(axis=0).round(2)}')
  as_described &= len(seen) > 200 and exact == (not own_generator)
  # Uniform between -0.95 and 0.95, and points that have nothing to do with each other.
  as_described &= bool((abs(seen.std(axis=0) - 0.95 / 3**0.5) < 0.06).all())
  for each in (shuffled, distances)[: 1 + own_generator]:
    as_described &= abs(each.mean() - 0.5214 * 1.9) < 0.12  # Two points in a square.
sys.exit(not as_described)
PROGRAM
