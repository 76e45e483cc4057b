#!/usr/bin/env bash
# PettingZoo 1.27.0: `knights_archers_zombies_v11` plays another game from the same
# seed after it has played one.
#
# Two new environments play one game from one seed and the same actions. An
# environment that has played it plays another one from the same seed: something
# of the last game stays. What puts a game back by its seed and its actions (a
# resumed run, a video of an evaluation) shows another one, and nothing says so.
#
# One would guess: `reset(seed=s)` begins the game of seed s, as in the API's
# documentation, and as in mpe2's `simple_spread_v3`.
#
# Source: seen by this script. It fails if the games are equal.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'pettingzoo==1.27.0' 'gymnasium==1.3.0' 'numpy==2.3.5' 'pygame-ce==2.5.8'

SDL_VIDEODRIVER=dummy "$folder/venv/bin/python" - 2>/dev/null <<'PROGRAM'
import numpy as np
from pettingzoo.butterfly import knights_archers_zombies_v11

SEED, STEPS = 3, 150


def game(env):
  """Observations of each agent and step, by seed and fixed actions."""
  seen, _ = env.reset(seed=SEED)
  shown = [seen]
  for t in range(STEPS):
    actions = {
        agent: (7 * t + 3 * i + t // 5) % 6
        for i, agent in enumerate(env.possible_agents)
        if agent in env.agents
    }
    if not actions:
      break
    shown.append(env.step(actions)[0])
  return shown


def first_difference(one, other):
  for t, (a, b) in enumerate(zip(one, other)):
    if a.keys() != b.keys() or any((a[k] != b[k]).any() for k in a):
      return t
  return None if len(one) == len(other) else min(len(one), len(other))


first, second = (
    knights_archers_zombies_v11.parallel_env(max_cycles=200) for _ in range(2)
)
games = game(first), game(second), game(first)
new = first_difference(games[0], games[1])
again = first_difference(games[0], games[2])
print('two new environments differ at step', new)
print('one environment, played again, differs at step', again)
raise SystemExit(0 if new is None and again is not None else 1)
PROGRAM
