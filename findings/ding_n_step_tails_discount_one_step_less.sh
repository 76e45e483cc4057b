#!/usr/bin/env bash
# DI-engine 0.5.3: in the last `nstep` rows of what a collector gives at a time, n-step returns
# discount the next value by one step too few: not at all in the very last row.
#
# The collector cuts the steps of an environment into pieces of n_sample / env_num. Rows near the
# end of a piece that is not the end of an episode have fewer rewards, and a `value_gamma` of
# their own. For k rewards and the value of the state k steps later it is gamma^(k - 1). The last
# row that has all its rewards gets it too. With 1 - done it does no harm where an episode ends.
#
# * A game that never ends and pays 1 for each step, discount 0.9, nstep 3: the value is 10.
#   With pieces of 12 rows DQN's loss learns 10.99, with pieces of 6 12.46, of 3 19.3, of 2 29.
# * With pieces of one row, where n_sample is at most the number of environments, the value has
#   no bound: each update adds 1.
# * With the default discount of 0.99 and pieces of 3 it is 199 in place of 100.
#
# One would guess: the number of steps to the next observation, as the name of the argument
# `correct_terminate_gamma` says, and that how often a collector gives its data away changes how
# old the data are, not what the values are. Rewards, next observations and `done` are right.
# With `nstep=1` the rows stay as they are.
#
# Controls: the same rows with powers that count their rewards, from which the same loss learns
# 10 for all pieces; the closed form of the fixed point; a piece with an end, whose last rows
# are done.
#
# Source: ding/rl_utils/adder.py (`get_nstep_return_data`, the second loop), which the policies
# call for each piece, ding/worker/collector/sample_serial_collector.py (`_traj_len`; read, not
# run); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==1.26.4' 'gym==0.25.1' 'easydict==1.13' 'flask==2.0.3' \
  'werkzeug==2.0.3' 'tensorboardX==2.6.5' 'cloudpickle==3.1.3' 'enum-tools==0.13.0' \
  'hbutils==0.14.2' 'treevalue==1.5.0' 'rich==15.0.0' 'requests==2.34.2' 'URLObject==3.0.0' \
  'tabulate==0.10.0' 'tqdm==4.70.1' 'pyyaml==6.0.3' 'setuptools==81.0.0'
# The rest of what it asks for serves pictures, clusters and web pages.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'DI-engine==0.5.3' 'DI-toolkit==0.2.1' 'DI-treetensor==0.5.0'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'PROGRAM' || { cat "$folder/log"; exit 1; }
from collections import deque
import sys

from ding.rl_utils import get_nstep_return_data
from ding.rl_utils import q_nstep_td_data
from ding.rl_utils import q_nstep_td_error
import numpy as np
import torch

NSTEP, UPDATES = 3, 3000
as_described = True
torch.set_num_threads(1)


def piece(length, gamma, ends=False):
  """One piece as a policy makes it; states are the numbers of the steps."""
  steps = deque({
      'obs': torch.tensor([float(t)]), 'next_obs': torch.tensor([float(t + 1)]),
      'reward': torch.ones(1), 'done': ends and t == length - 1,
  } for t in range(length))
  return list(get_nstep_return_data(steps, NSTEP, gamma=gamma))


def steps_to_next(rows):
  return np.array([float(row['next_obs'] - row['obs']) for row in rows])


def learn(rows, gamma, discounts, updates):
  """The value of the single state of a game that never ends, by the loss of DQN."""
  value = torch.zeros((), requires_grad=True)
  rewards = torch.stack([row['reward'] for row in rows], dim=1)
  zeros = torch.zeros(len(rows), dtype=torch.int64)
  for _ in range(updates):
    q = value.expand(len(rows), 1)
    loss, _ = q_nstep_td_error(
        q_nstep_td_data(q, q.detach(), zeros, zeros, rewards, zeros.float(), None),
        gamma, NSTEP, value_gamma=discounts,
    )
    # Half of the gradient of the mean square: the value becomes the mean of the targets.
    value = (value - 0.5 * torch.autograd.grad(loss, value)[0]).detach().requires_grad_()
  return float(value)


for gamma, lengths in (0.9, (12, 6, 3, 2, 1)), (0.99, (12, 3)):
  for length in lengths:
    rows = piece(length, gamma)
    counts = np.array([float((row['reward'] != 0).sum()) for row in rows])
    given = np.array([row['value_gamma'] for row in rows])
    sums = (1 - gamma**counts) / (1 - gamma)
    # Where the value is the mean of its targets, from what the rows have.
    closed = sums.sum() / (1 - given).sum() if (1 - given).sum() else np.inf
    learned = learn(rows, gamma, torch.tensor(given, dtype=torch.float32), UPDATES)
    right = learn(rows, gamma, torch.tensor(gamma**counts, dtype=torch.float32), UPDATES)
    print(f'discount {gamma}, pieces of {length}: steps to the next observation'
          f' {steps_to_next(rows).astype(int)}, value_gamma as a power'
          f' {(np.log(given) / np.log(gamma)).round().astype(int)}; learned {learned:.2f}, closed'
          f' form {closed:.2f}, with the right powers {right:.2f}')
    as_described &= bool((counts == steps_to_next(rows)).all())
    expected = np.where(np.arange(length) < length - NSTEP, counts, counts - 1)
    as_described &= bool(np.allclose(given, gamma**expected))
    as_described &= bool(np.isclose(right, 1 / (1 - gamma), rtol=0.01))
    if np.isinf(closed):
      as_described &= bool(np.isclose(learned, UPDATES))
    else:
      as_described &= bool(np.isclose(learned, closed, rtol=0.01))
      as_described &= bool(learned > 1.005 / (1 - gamma))

# Where the piece ends with the episode the next value has no weight.
rows = piece(6, 0.9, ends=True)
ended = [bool(row['done']) for row in rows]
print(f'a piece with an end: done {ended}')
as_described &= ended == [False] * 3 + [True] * 3
sys.exit(not as_described)
PROGRAM
