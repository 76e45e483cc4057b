#!/usr/bin/env bash
# crafter 1.8.3: the same seed and actions give other episodes in other processes,
# and a picture changes what follows.
#
# Creatures of a part of the world are kept in a Python set, whose order depends on
# their addresses in memory; the one that disappears is drawn by its place in that
# order. And at night the noise of a picture is drawn from the generator that moves
# the creatures, by `render` as by `step`: a program that films an episode plays
# another one. A recorded list of actions is no record of an episode.
#
# One would guess: `crafter.Env(seed=s)` and its actions determine the episode, and
# `render` shows it without changing it.
#
# Source: crafter/engine.py (`World._chunks`, `LocalView._noise`) and crafter/env.py
# (`_balance_object`); seen by this script. It fails if all processes play the same
# episode, or if a picture at night leaves the generator as it was.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'crafter==1.8.3' 'numpy==2.3.5' 'imageio==2.37.2' 'pillow==12.0.0' \
  'opensimplex==0.4.5.1' 'ruamel.yaml==0.18.16'

cat > "$folder/play.py" <<'PROGRAM'
import hashlib
import random
import sys

import crafter

kept = [object() for _ in range(int(sys.argv[1]))]  # Other addresses for the rest.
env = crafter.Env(seed=5)
actions = random.Random(0)
told = hashlib.sha256()
told.update(env.reset().tobytes())
first = told.hexdigest()[:12]
for _ in range(900):
  observation, _, done, _ = env.step(actions.randrange(17))
  told.update(observation.tobytes())
  if done:
    env.reset()


def generator(env):
  return env._world.random.get_state()[1].tobytes(), (
      env._world.random.get_state()[2:]
  )


env = crafter.Env(seed=5)
env.reset()
for step in range(1, 301):
  _, _, done, _ = env.step(0)
  state = generator(env)
  env.render()
  if done or generator(env) != state:
    break
print(first, told.hexdigest()[:12], step, 'died' if done else 'changed')
PROGRAM

for number in 0 777 12345 54321 99999; do
  "$folder/venv/bin/python" "$folder/play.py" "$number"
done | tee "$folder/told"
echo 'columns: first picture; all pictures of 900 steps; first step whose `render` changes the generator'
[ "$(cut -d' ' -f1 "$folder/told" | sort -u | wc -l)" = 1 ]
[ "$(cut -d' ' -f2 "$folder/told" | sort -u | wc -l)" -gt 1 ]
grep -q ' changed' "$folder/told"
