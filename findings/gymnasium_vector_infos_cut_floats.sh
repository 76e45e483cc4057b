#!/usr/bin/env bash
# Gymnasium 1.4.0: a vector environment keeps the numbers of an info in the type that
# the first environment of the batch gave in this step, and cuts the others to it.
#
# Where environment 0 says `{'cost': 0}` and environment 1 says `{'cost': 0.7}`, the
# batch has [0, 0] and the mask says that both are given. Where 0 says 0.0 both are
# right, and where it says False the other one is True. So a number is wrong or right
# by what ANOTHER environment said in the same step, and the one in place 0 is never
# wrong, so that a look at it shows nothing. `SyncVectorEnv` and `AsyncVectorEnv` do
# it, in all modes of resets, at any depth, without a warning.
#
# It needs no odd environment, for Python has it in `sum` of nothing, `0 if safe else
# x`, `max(0, x)` and counters that begin with 0: highway-env 1.12.1 has a `sum` over
# the cars on a ramp in `merge-v1`, which is the integer 0 where there is none. In a
# batch of 8 about half of its `merging_speed_reward`s that are not 0 are lost.
#
# One would guess: [0.0, 0.7], as numpy makes of a list of both. Means of costs, of
# progress or of parts of a reward come out too small, the more so the rarer they are,
# and the same code over one environment gives other curves.
#
# Source: gymnasium/vector/vector_env.py, `_add_info`: the array is made of the type
# of the first value, later ones are assigned into it. Its documentation says that
# values are batched and masked, and nothing of types. Seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'gymnasium==1.4.0' 'numpy==2.3.5' 'highway-env==1.12.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import gymnasium
import highway_env
import numpy as np

NUM_ENVS, NUM_STEPS = 8, 40


class Costs(gymnasium.Env):
  """Its info has one number."""

  observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, cost):
    self.cost = cost

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    return np.zeros(1, np.float32), {}

  def step(self, action):
    info = {'cost': self.cost}
    return np.zeros(1, np.float32), 0.0, False, False, info


class KeepInfo(gymnasium.Wrapper):
  """Keeps what the environment itself said."""

  info = {}

  def reset(self, **kwargs):
    obs, self.info = self.env.reset(**kwargs)
    return obs, self.info

  def step(self, action):
    *others, self.info = self.env.step(action)
    return *others, self.info


def batch(kind, costs):
  found = set()
  for mode in gymnasium.vector.AutoresetMode:
    envs = kind(
        [lambda cost=cost: Costs(cost) for cost in costs], autoreset_mode=mode
    )
    envs.reset(seed=0)
    infos = envs.step(np.zeros(len(costs), np.int64))[-1]
    envs.close()
    assert infos['_cost'].all()
    found.add(repr(infos['cost'].tolist()))
  return ' or '.join(found)


as_described = True
for kind in gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv:
  for costs, expected in (
      ([0, 0.7, 1.9], [0, 0, 1]),
      ([0.7, 0, 1.9], [0.7, 0.0, 1.9]),
      ([False, 0.7, 1.9], [False, True, True]),
  ):
    seen = batch(kind, costs)
    print(f'{kind.__name__}: {costs} becomes {seen}')
    as_described &= seen == repr(expected)

gymnasium.register_envs(highway_env)
envs = gymnasium.vector.SyncVectorEnv(
    [lambda: KeepInfo(gymnasium.make('merge-v1'))] * NUM_ENVS
)
envs.reset(seed=0)
envs.action_space.seed(0)
own, given = np.zeros([2, NUM_STEPS, NUM_ENVS])
for t in range(NUM_STEPS):
  rewards = envs.step(envs.action_space.sample())[-1]['rewards']
  assert rewards['_merging_speed_reward'].all()
  given[t] = rewards['merging_speed_reward']
  own[t] = [x.info['rewards']['merging_speed_reward'] for x in envs.envs]
is_some = own != 0
is_lost = is_some & (given == 0)
print(
    f'merge-v1: {is_some.sum()} of {is_some.size} merging_speed_rewards are not 0,'
    f' {is_lost.sum()} of them are lost, {is_lost[:, 0].sum()} in place 0; mean'
    f' {own.mean():.4f}, of the batch {given.mean():.4f}'
)
as_described &= is_lost.sum() > 0.3 * is_some.sum() > 5
as_described &= not is_lost[:, 0].any()
sys.exit(not as_described)
PROGRAM
