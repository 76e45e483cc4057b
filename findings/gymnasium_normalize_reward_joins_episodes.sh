#!/usr/bin/env bash
# Gymnasium 1.4.0: the return by which `NormalizeReward` divides does not end with
# an episode, and Stable-Baselines3's (2.9.2) does.
#
# Both divide rewards by the running deviation of r_t + gamma * (return so far).
# Gymnasium cuts the return before it adds the last reward, and only where the
# episode terminates. So
#
# * a reward that comes with the end, often the only one, is carried through the
#   whole next episode: with 1 at the tenth step of ten the deviation is 0.059
#   after 3,000 steps, where returns of single episodes have 0.3, so that the
#   reward becomes 16.9 and not 3.33, and its size depends on how fast the next
#   episode is;
# * at a time limit (`truncated`) nothing is cut: for 1 a step in episodes of ten
#   steps the return climbs to 100 = 1 / (1 - gamma), where no episode returns
#   more than 9.6.
#
# The wrapper for vector environments, `gymnasium.wrappers.vector.NormalizeReward`,
# does the same.
#
# One would guess: the deviation of the episodes' discounted returns, as in
# Stable-Baselines3's `VecNormalize`, which sets the return to 0 after each end,
# termination or not (3.33 in the first case; seen with version 2.9.2, which is not
# installed here because it needs PyTorch). Who moves an agent with a sparse reward
# from one library to the other changes the reward by a factor of five.
#
# Source: gymnasium/wrappers/stateful_reward.py (`step`); seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'gymnasium==1.4.0' 'numpy==2.3.5'

"$folder/venv/bin/python" - <<'PROGRAM'
import sys

import gymnasium
import numpy as np

GAMMA, LENGTH, EPISODES = 0.99, 10, 300


class Walk(gymnasium.Env):
  """Ends after ten steps and pays at the end, or pays each step."""

  observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
  action_space = gymnasium.spaces.Discrete(2)

  def __init__(self, is_sparse):
    self.is_sparse = is_sparse

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.t = 0
    return np.zeros(1, np.float32), {}

  def step(self, action):
    self.t += 1
    ends = self.t == LENGTH
    reward = float(ends) if self.is_sparse else 1.0
    # The sparse task terminates, the other one has a time limit.
    return (
        np.zeros(1, np.float32), reward, ends and self.is_sparse,
        ends and not self.is_sparse, {},
    )


def by_hand(is_sparse):
  """Returns of single episodes: their deviation, and the largest one."""
  returns = []
  for _ in range(EPISODES):
    total = 0.0
    for t in range(LENGTH):
      total = GAMMA * total + (float(t == LENGTH - 1) if is_sparse else 1.0)
      returns.append(total)
  return np.std(returns), np.max(returns)


def by_gymnasium(is_sparse):
  env = gymnasium.wrappers.NormalizeReward(Walk(is_sparse), gamma=GAMMA)
  largest = 0.0
  for _ in range(EPISODES):
    env.reset()
    is_over = False
    while not is_over:
      _, reward, terminated, truncated, _ = env.step(0)
      largest = max(largest, env.discounted_reward.item())
      is_over = terminated or truncated
  return np.sqrt(env.return_rms.var), largest, reward


def by_vector(is_sparse):
  env = gymnasium.wrappers.vector.NormalizeReward(
      gymnasium.vector.SyncVectorEnv([lambda: Walk(is_sparse)]), gamma=GAMMA
  )
  env.reset()
  # An episode takes a step more here: the one that resets.
  for _ in range(EPISODES * (LENGTH + 1)):
    env.step(np.array([0]))
  return np.sqrt(env.return_rms.var)


hand, gym, vector = by_hand(True), by_gymnasium(True), by_vector(True)
print('reward at the end: deviation of episodes %.3f, of Gymnasium %.3f (vector'
      ' %.3f); 1 becomes %.2f' % (hand[0], gym[0], vector, gym[2]))
sparse_as_described = (
    abs(hand[0] - 0.3) < 0.001
    and abs(gym[0] - 0.059) < 0.001
    and vector < 0.1
)
hand, gym = by_hand(False), by_gymnasium(False)
print('time limit: largest return of an episode %.2f, of Gymnasium %.2f'
      % (hand[1], gym[1]))
sys.exit(not (sparse_as_described and hand[1] < 9.6 and gym[1] > 99))
PROGRAM
