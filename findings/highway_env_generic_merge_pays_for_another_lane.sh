#!/usr/bin/env bash
# highway-env 1.12.1: in `merge-generic-v1` the reward is that of two lanes, whatever
# `lanes_count` is.
#
# The task is to make room for a car that comes from a ramp: each step costs by how
# much cars on the merging lane are slower than they want to be. The merging lane is
# the one after the lanes of the highway, but the reward asks for lane 2.
#
# * With three lanes or more, lane 2 is one of the highway. Slow cars there cost, and
#   slow cars on the ramp cost nothing: an agent that keeps the ramp blocked is not
#   told so, and is punished for a queue that it has nothing to do with. Both happen in
#   most of the steps that cost, or should.
# * With one lane there is no lane 2, and nothing ever costs.
# * The reward for the right lane, 0.1, is paid for each lane from the left: 0.5 on the
#   sixth. The reward is scaled for 0.1, and goes up to 1.22 where 1 is the most.
#
# One would guess: `lanes_count` changes the road, as in `highway-v0`, whose reward
# divides by the number of lanes, and that 1 stays the most. The default of two lanes
# is right, and so is `merge-v1`, which has no such setting. An agent learns in all
# cases; it learns another task.
#
# Source: highway_env/envs/merge_env.py (`MergeEnv._rewards`, which `MergeGenericEnv`
# inherits; `MergeGenericEnv._make_road`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'highway-env==1.12.1' 'gymnasium==1.3.0' 'numpy==2.3.5'

PYGAME_HIDE_SUPPORT_PROMPT=1 "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import highway_env
import numpy as np

EPISODES, IDLE = 12, 1
gymnasium.register_envs(highway_env)


def slowness(env, lane):
  """How much slower cars of a lane beside the end of the ramp are than they want."""
  return sum(
      (car.target_speed - car.speed) / car.target_speed
      for car in env.unwrapped.road.vehicles if car.lane_index == ('b', 'c', lane)
  )


def drive(lanes):
  """What each step costs, what it should, and the rewards, with a car that idles."""
  env = gymnasium.make(
      'merge-generic-v1', config={'lanes_count': lanes, 'vehicles_count': 8}
  )
  costs, rewards, is_ramp_last = [], [], True
  for seed in range(EPISODES):
    env.reset(seed=seed)
    ramp = env.unwrapped.road.network.graph['b']['c'][-1]
    is_ramp_last &= ramp.forbidden
    done = False
    while not done:
      _, reward, terminated, truncated, info = env.step(IDLE)
      paid_for = info['rewards']['merging_speed_reward']
      costs.append([paid_for, slowness(env, 2), slowness(env, lanes)])
      rewards.append(reward)
      done = terminated or truncated
  assert is_ramp_last
  return np.array(costs), np.array(rewards)


as_described = True
for lanes in 1, 2, 3, 4, 6:
  costs, rewards = drive(lanes)
  paid, second, ramp = costs.T
  as_described &= np.array_equal(paid, second)
  does, should = paid != 0, ramp != 0
  print(f'lanes_count {lanes}: {should.sum()} of {len(costs)} steps have a slow car on'
        f' the ramp, {does.sum()} cost, {(does & should).sum()} are of both kinds;'
        f' largest reward {rewards.max():.3f}')
  as_described &= bool(should.any())
  if lanes == 2:
    as_described &= np.array_equal(paid, ramp)
  else:
    as_described &= bool(does.any()) == (lanes > 2)
    as_described &= bool((does & should).sum() < (does | should).sum() / 2)
  # Full speed on the right lane, unless its cars hinder.
  as_described &= bool(rewards.max() <= (0.1 * (lanes - 1) + 1.7) / 1.8 + 1e-9)
  as_described &= bool(rewards.max() > 1 + 1e-9) == (lanes > 2)
sys.exit(not as_described)
PROGRAM
