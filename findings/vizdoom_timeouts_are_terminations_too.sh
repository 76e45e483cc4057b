#!/usr/bin/env bash
# ViZDoom 1.3.2, its Gymnasium environments: an episode that ends by its time limit is
# truncated AND terminated, and its last observation is black, with all game variables 0.
#
# Since 1.3.0 an argument, True by default, treats the timeout of an episode as a
# truncation. But `terminated` is still set wherever the game has ended, and the game ends
# at its timeout. So code that does as Gymnasium's documentation says, `target = r + gamma *
# V(s') * (not terminated)`, learns that nothing follows the limit; and code that looks at
# `truncated` first gives V a black picture and, where the health is among the variables,
# that of a dead player, who has 68 of 100 here.
#
# One would guess that `terminated` is False at a timeout, as in Gymnasium's `TimeLimit`,
# and that the last observation shows the game. Set the limit with `TimeLimit`, below that
# of the game (`max_episode_steps` = timeout / frame_skip - 1): then both are right.
#
# Source: vizdoom/gymnasium_wrapper/base_gymnasium_env.py, `step` and
# `__collect_observations`, and the docstring of `treat_episode_timeout_as_truncation`;
# Gymnasium's documentation, "Handling time limits". Seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'vizdoom==1.3.2' 'gymnasium==1.4.0' 'numpy==2.3.5'

cd "$folder"  # The game writes its settings here.
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import vizdoom
import vizdoom.gymnasium_wrapper

LIMIT = 100  # Tics of the game, after the first ten.


def last_two(limit_of_gymnasium):
  """Plays an episode without moving; returns what its last two steps said."""
  env = gymnasium.make(
      'VizdoomHealthGathering-v1',
      episode_timeout=LIMIT,
      max_episode_steps=limit_of_gymnasium,
  )
  game = env.unwrapped.game
  env.reset(seed=0)
  told = []
  while not told or not (told[-1]['terminated'] or told[-1]['truncated']):
    observation, reward, terminated, truncated, _ = env.step(0)
    told.append(
        dict(
            screen=float(observation['screen'].mean()),
            health=float(observation['gamevariables'][0]),
            dead=game.is_player_dead(),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
        )
    )
  assert vizdoom.GameVariable.HEALTH in game.get_available_game_variables()
  env.close()
  print(f'time limit of Gymnasium: {limit_of_gymnasium}, {len(told)} steps')
  for each in told[-2:]:
    print('  ', each)
  return told[-2:]


before, last = last_two(None)
# A reward of 1 a step for ever, and a V that knows it: what the last step is worth.
gamma = 0.99
value = 1 / (1 - gamma)
target = last['reward'] + gamma * value * (not last['terminated'])
print(f'target of the last step {target:.1f}, of the others {1 + gamma * value:.1f}')
as_described = (
    last['terminated']
    and last['truncated']
    and not last['dead']
    and last['screen'] == last['health'] == 0.0
    and before['screen'] > 5
    and before['health'] > 50
    and target == 1.0
)
_, limited = last_two(LIMIT - 1)
as_described &= (
    limited['truncated']
    and not limited['terminated']
    and limited['screen'] > 5
    and limited['health'] > 50
)
sys.exit(not as_described)
PROGRAM
