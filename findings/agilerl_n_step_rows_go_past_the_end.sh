#!/usr/bin/env bash
# AgileRL 2.58.0: in `MultiStepReplayBuffer` the last step of an episode is no end, and
# the end of one environment cuts the returns of all others.
#
# The buffer adds up n rewards and asks from the second transition on whether one ended
# an episode, and whether ANY environment of the batch did. So
#
# * the row of the last step, the one with the reward of a sparse task, has the rewards
#   and the observation of the NEXT episode and says `done = False`. In a chain of five
#   steps that pays 1 at its end, with n = 3 and a discount of 0.99, the values that the
#   rows ask for are 1.95 and not 1 at the last step, and 1.89 and not 0.97 at the
#   second one, so that the second step seems better than the third;
# * where environment 0 ends, the others get a return of two steps and the observation
#   after two, without an end, which the agent (`RainbowDQN`) discounts by three: 44 %
#   of the rows of 16 environments with episodes of 20 to 35 steps, and none of one
#   environment alone.
#
# One would guess: "n-step returns", each up to the end of its own episode, with the
# discount of as many steps. The loop `train_off_policy` empties nothing between
# episodes. Rows of one step, which the same call passes on, are right.
#
# Source: agilerl/components/replay_buffer.py (`_get_n_step_info`) and, for the
# discount, agilerl/algorithms/dqn_rainbow.py (`learn`); seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'torch==2.13.0' 'tensordict==0.13.0' 'gymnasium==1.4.0' 'numpy==2.3.5' \
  'accelerate==1.15.0' 'lazy-loader==0.6' 'pydantic==2.14.4' \
  'packaging==26.4'
# The whole of it needs JAX, cloud storage and more, of which the buffer uses nothing.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  'agilerl==2.58.0' 'agilerl-arena==1.29.0'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
import torch
from agilerl.components.replay_buffer import MultiStepReplayBuffer
from tensordict import TensorDict

GAMMA, N = 0.99, 3


def play(lengths, num_steps):
  """Environments that pay 1 at the end of each episode; returns rows by key.

  Observations are numbers of steps: those of an episode follow each other, the
  number of its end is seen once, and the next episode begins at 0.
  """
  lengths = np.array(lengths)
  buffer = MultiStepReplayBuffer(num_steps * len(lengths), N, GAMMA)
  passed_on = []
  now = np.zeros(len(lengths))
  for _ in range(num_steps):
    done = now + 1 == lengths
    row = {
        'obs': now, 'action': np.zeros_like(now), 'reward': done,
        'next_obs': now + 1, 'done': done,
    }
    one = buffer.add(TensorDict(
        {key: torch.tensor(x).float() for key, x in row.items()}, [len(lengths)]
    ))
    if one is not None:
      passed_on.append(one['done'].flatten())
    now = np.where(done, 0, now + 1)
  rows = {
      key: buffer.storage[key][:len(buffer)].flatten().numpy()
      for key in ('obs', 'reward', 'next_obs', 'done')
  }
  return rows, torch.cat(passed_on).numpy()


LENGTH = 5
rows, one_step_done = play([LENGTH], 40 * LENGTH)
is_last = rows['obs'] == LENGTH - 1
print(f'{is_last.sum()} last steps: done {set(rows["done"][is_last].tolist())},'
      f' next observation {set(rows["next_obs"][is_last].tolist())};'
      f' done in rows of one step {set(one_step_done[is_last].tolist())}')
values = np.zeros(LENGTH + 1)
for _ in range(50):
  target = rows['reward'] + GAMMA**N * (1 - rows['done']) * values[
      rows['next_obs'].astype(int)
  ]
  for state in range(LENGTH):
    values[state] = target[rows['obs'] == state].mean()
right = GAMMA ** np.arange(LENGTH - 1, -1, -1)
print(f'values of the steps {right.round(3)}, by the rows'
      f' {values[:LENGTH].round(3)}')
as_described = (
    is_last.sum() > 30
    and not rows['done'][is_last].any()
    and one_step_done[is_last].all()
    and (rows['next_obs'][is_last] == N - 1).all()
    and abs(values[4] - (1 + GAMMA**5)) < 1e-4
    and values[1] > 1.8 > right[1]
)


def share_of_short(lengths):
  """Which share of rows that go on within an episode is not of n steps?"""
  rows, _ = play(lengths, 300)
  steps = rows['next_obs'] - rows['obs']
  goes_on = (rows['done'] == 0) & (steps > 0)
  return np.mean(steps[goes_on] != N)


alone, among_others = share_of_short([20]), share_of_short(range(20, 36))
print(f'rows without an end that are shorter than {N} steps: {alone:.0%} of one'
      f' environment, {among_others:.0%} of 16')
as_described &= alone == 0 and among_others > 0.3
sys.exit(not as_described)
PROGRAM
