#!/usr/bin/env bash
# panda-gym 3.0.7: `PandaStack-v3` ends with success for two cubes side by side on the table,
# and for the wrong cube on top.
#
# Success is one distance of six numbers, the positions of both cubes, below 0.1. The cubes are
# 0.04 high: a second cube that lies on the table is only 0.04 too low, and 0.09 are left
# for all that is wrong on the plane.
#
# * Both cubes on the table, touching each other, around the target: the distance is 0.05, the
#   reward 0, `terminated` and `is_success` are True, for 20 of 20 goals. This is within the
#   threshold of `PandaPush-v3` for one cube.
# * The first cube on its target and the second on the table, 9 cm away: success, too.
# * The second cube below and the first on top: success, with a distance of 0.06.
# * Of 20000 pairs of cubes on the table, drawn within 10 cm of the target and not in each
#   other, 33 % are a success, and in none a cube is above another.
#
# One would guess: the task is "stacked" if one cube stands on the other; its threshold is
# twice that of the other tasks, since there are two cubes. The dense rewards have the same
# distance and tell an unstacked state by 0.04. A success rate says how often an agent
# stacks.
#
# Controls: cubes that are stacked, a success; cubes 15 cm away, none; a success where each
# cube is within half of its size of its target, which the stacked cubes have, and none of
# the others.
#
# Source: panda_gym/envs/tasks/stack.py (`Stack.is_success`); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'panda-gym==3.0.7' 'pybullet==3.2.7' 'gymnasium==0.29.1' 'numpy==1.26.4' 'scipy==1.15.3'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import numpy as np
import panda_gym  # Registers the environments.

SIZE, UPRIGHT = 0.04, np.array([0.0, 0.0, 0.0, 1.0])
as_described = True
env = gymnasium.make('PandaStack-v3')
task, sim = env.unwrapped.task, env.unwrapped.sim

# The places of both cubes, from the place of the first target on the table.
PLACES = {
    'stacked': ((0, 0, 0), (0, 0, SIZE + 0.001)),
    'side by side': ((-0.0205, 0, 0), (0.0205, 0, 0)),
    'the second 9 cm away': ((0, 0, 0), (0.09, 0, 0)),
    'the wrong one on top': ((0, 0, SIZE + 0.001), (0, 0, 0)),
    'both 15 cm away': ((-0.15, 0, 0), (-0.15, 0.05, 0)),
}
for name, places in PLACES.items():
  results, heights, distances, near = [], [], [], []
  for seed in range(20):
    env.reset(seed=seed)
    target = task.get_goal()[:3]
    for body, place in zip(('object1', 'object2'), places):
      sim.set_base_pose(body, target + np.array(place), UPRIGHT)
    # The cubes come to rest, and the arm stays where it is.
    for _ in range(5):
      observation, reward, terminated, _, info = env.step(np.zeros(4))
    results.append((float(reward) == 0, terminated, info['is_success']))
    apart = (observation['achieved_goal'] - observation['desired_goal']).reshape(2, 3)
    heights.append(observation['achieved_goal'][[2, 5]] - SIZE / 2)
    distances.append(np.linalg.norm(apart))
    near.append(np.all(np.linalg.norm(apart, axis=1) < SIZE / 2))
  share = np.mean(results, axis=0)
  print(f'{name}: rewards of 0, terminated and is_success in {share} of 20 goals; cubes'
        f' {np.mean(heights, axis=0).round(3)} above the table, distance'
        f' {np.max(distances):.3f}; each within half of its size in {np.mean(near):.2f}')
  as_described &= bool(np.all(share == (name != 'both 15 cm away')))
  as_described &= bool(np.mean(near) == (name == 'stacked'))
  if name == 'side by side':
    as_described &= bool(np.max(distances) < 0.0501 and np.max(heights) < 1e-3)

draws = np.random.default_rng(0)
target = task.get_goal()
successes = []
while len(successes) < 20000:
  places = draws.uniform(-0.1, 0.1, size=(2, 2))
  # Upright cubes with parallel sides are not in each other if one coordinate is a side apart.
  if np.any(np.linalg.norm(places, axis=1) > 0.1) or np.abs(np.subtract(*places)).max() < SIZE:
    continue
  cubes = np.concatenate([[*(target[:2] + place), SIZE / 2] for place in places])
  successes.append(bool(task.is_success(cubes, target)))
print(f'pairs of cubes on the table within 10 cm of the target: {np.mean(successes):.3f} are a'
      ' success')
as_described &= bool(np.mean(successes) > 0.15)
env.close()
sys.exit(not as_described)
PROGRAM
