#!/usr/bin/env bash
# jaxued 0.0.1: `compute_max_returns` knows no return below zero, and `max_mc` calls levels that
# are lost whatever one does the ones with the most to learn.
#
# The largest return of a level is looked for from 0 on and not from minus infinity. So
#
# * episodes that return -3, -1 and -2 have a largest return of 0, and a rollout without the end
#   of an episode has 0 as well (`episode_count` tells that one, nothing tells the first);
# * four levels end by 1 for the goal and -1 for a crash. The agent's values are its mean
#   returns. A level that cannot be won has the score 1, as much as the one it wins every second
#   time; one that costs -2 in any case has 2, the highest, though the agent plays it as well
#   as can be. By the formula both have 0, and only the second level is left to learn;
# * with 3 added to all rewards at the ends, and to the values, the scores are right. Regret does
#   not depend on that.
#
# One would guess: MaxMC as in "Replay-Guided Adversarial Environment Design", the largest return
# that was seen minus the value, which is for finding levels at the border of what the agent
# can do, and gives levels without a solution nothing. In the mazes that come with the library no
# reward is negative, and a largest return of 0 is right. A buffer that keeps the largest of
# older rollouts does not help: the maximum with a 0 is 0 again.
#
# Controls: both numbers in a loop over the steps; the mean of the
# returns by `compute_max_mean_returns_epcount`, which is right.
#
# Source: jaxued/utils.py (`accumulate_rollout_stats`: the scan begins with zeros for the
# maximum too); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'jax==0.4.25' 'jaxlib==0.4.25' 'numpy==1.26.4' 'scipy==1.12.0'
# The rest of what it asks for is for its environments and networks.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'jaxued==0.0.1'

cd "$folder"
export OMP_NUM_THREADS=1 JAX_PLATFORMS=cpu XLA_FLAGS=--xla_cpu_multi_thread_eigen=false
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import jax.numpy as jnp
from jaxued.utils import compute_max_mean_returns_epcount
from jaxued.utils import compute_max_returns
from jaxued.utils import max_mc
import numpy as np

LENGTH, EPISODES = 5, 40
as_described = True


def rollout(outcomes):
  """Returns the ends and rewards of one level, with episodes of five steps."""
  dones = np.zeros(LENGTH * len(outcomes), bool)
  dones[LENGTH - 1::LENGTH] = True
  rewards = np.zeros(len(dones), np.float32)
  rewards[dones] = outcomes
  return dones, rewards


def by_hand(dones, rewards, values):
  """The largest return, and MaxMC: the mean over episodes of that over their steps."""
  returns, steps, total = [], [[]], 0.0
  for done, reward, value in zip(dones, rewards, values):
    total += reward
    steps[-1].append(value)
    if done:
      returns.append(total)
      steps.append([])
      total = 0.0
  largest = max(returns)
  return largest, np.mean([np.mean(largest - np.array(episode)) for episode in steps[:-1]])


dones, rewards = rollout([-3.0, -1.0, -2.0])
three = jnp.array(dones)[:, None], jnp.array(rewards)[:, None]
largest = compute_max_returns(*three)
mean, _, count = compute_max_mean_returns_epcount(*three)
none = compute_max_returns(jnp.zeros((9, 1), bool), jnp.full((9, 1), -1.0))
print(f'returns -3, -1 and -2: largest {largest}, mean {mean} of {count}; of no episode {none}')
as_described &= bool(largest[0] == 0 and none[0] == 0)
as_described &= bool(mean[0] == -2 and count[0] == 3)

levels = {
    'always won': [1.0] * EPISODES,
    'won every second time': [1.0, -1.0] * (EPISODES // 2),
    'never won': [-1.0] * EPISODES,
    'costs 2 in any case': [-2.0] * EPISODES,
}
for shift in 0.0, 3.0:
  played = [rollout(np.array(outcomes) + shift) for outcomes in levels.values()]
  dones = np.stack([dones for dones, _ in played], axis=1)
  rewards = np.stack([rewards for _, rewards in played], axis=1)
  values = np.broadcast_to(np.mean(list(levels.values()), axis=1) + shift, rewards.shape)
  largest = compute_max_returns(jnp.array(dones), jnp.array(rewards))
  scores = np.array(max_mc(jnp.array(dones), jnp.array(values, jnp.float32), largest))
  right = np.array([by_hand(*columns) for columns in zip(dones.T, rewards.T, values.T)])
  print(f'{shift} added to the ends:')
  for name, one, score, (right_one, right_score) in zip(levels, largest, scores, right):
    print(f'  {name}: largest return {one:.2f}, score {score:.2f}; by hand {right_one:.2f},'
          f' {right_score:.2f}')
  if shift:
    as_described &= bool(np.allclose(largest, right[:, 0]))
    as_described &= bool(np.allclose(scores, right[:, 1], atol=1e-4))
  else:
    as_described &= bool(np.allclose(right[:, 1], [0, 1, 0, 0], atol=1e-4))
    as_described &= bool(np.allclose(scores, [0, 1, 1, 2], atol=1e-4))
sys.exit(not as_described)
PROGRAM
