#!/usr/bin/env bash
# minigrid 3.2.0: the exploration bonus of `ActionBonus` is not of the state in which an
# action is taken, but of the state after it.
#
# The key of its counts is the agent's place and direction after the step, with the
# action. For turns it makes no difference, as each leads to one place and direction
# from one. For "forward" it does: the step onto a cell and the bump into the wall
# behind it end at the same place with the same action, so that both share a count, and
# a pair that was never tried gets 1 / sqrt(2) and less instead of 1. The more an agent
# bumps, the less is paid for the way there.
#
# With random moves in MiniGrid-Empty-5x5-v0 (and no goal reached) more than a fifth of
# the bonuses are wrong, and one of ten first tries is not paid as one.
#
# One would guess, and the documentation says: a reward for less visited (state, action)
# pairs; the code calls the count "for this (s, a) pair". `PositionBonus` beside it is
# of the cell that is reached, as it says.
#
# Source: minigrid/wrappers.py (`ActionBonus.step` reads `agent_pos` and `agent_dir`
# after `env.step`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'minigrid==3.2.0' 'gymnasium==1.4.0' 'numpy==2.4.6'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import math
import sys

import gymnasium
import minigrid  # Registers the environments.
from minigrid.wrappers import ActionBonus
import numpy as np

LEFT, RIGHT, FORWARD = range(3)
STEPS = 3000


def state_of(env):
  agent = env.unwrapped
  return *map(int, agent.agent_pos), int(agent.agent_dir)


# Two steps to the right lead to the wall.
env = ActionBonus(gymnasium.make('MiniGrid-Empty-5x5-v0'))
env.reset(seed=0)
as_described = True
for expected_state, expected_bonus in (
    ((1, 1, 0), 1), ((2, 1, 0), 1), ((3, 1, 0), 1 / math.sqrt(2)),
):
  state = state_of(env)
  bonus = env.step(FORWARD)[1]
  print(f'first "forward" at {state[:2]}: bonus {bonus:.3f}')
  as_described &= state == expected_state and math.isclose(bonus, expected_bonus)

for name, share, first_share in (
    ('MiniGrid-Empty-5x5-v0', 0.2, 0.08), ('MiniGrid-FourRooms-v0', 0.08, 0.02),
):
  env = ActionBonus(gymnasium.make(name))
  random = np.random.default_rng(0)
  before, after = collections.Counter(), collections.Counter()
  wrong = first = wrong_first = compared = 0
  env.reset(seed=0)
  for _ in range(STEPS):
    action = int(random.integers(3))
    pair = state_of(env), action
    _, bonus, terminated, truncated, _ = env.step(action)
    before[pair] += 1
    after[state_of(env), action] += 1
    if not terminated:  # The goal has its own reward.
      compared += 1
      right = 1 / math.sqrt(before[pair])
      is_wrong = not math.isclose(bonus, right)
      wrong += is_wrong
      first += before[pair] == 1
      wrong_first += is_wrong and before[pair] == 1
      reached = 1 / math.sqrt(after[state_of(env), action])
      as_described &= math.isclose(bonus, reached)
    if terminated or truncated:
      env.reset(seed=0)
  print(f'{name}: {wrong} of {compared} bonuses are not of the pair; {wrong_first} of'
        f' {first} first tries are paid as later ones')
  as_described &= wrong / compared > share and wrong_first / first > first_share
sys.exit(not as_described)
PROGRAM
