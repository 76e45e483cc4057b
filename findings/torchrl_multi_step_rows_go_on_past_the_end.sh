#!/usr/bin/env bash
# torchrl 0.14.1: with `MultiStepTransform` and `MultiStep` the rows that come before the last
# step of an episode lead to its end, and the losses go on with the value of that end.
#
# The next observation of a row is the one of n steps later, or the last one of the episode, but
# `terminated` and `done` remain those of one step later. They say for n - 1 rows of each
# episode that the game goes on, where the next observation is terminal. `DQNLoss`, and each
# loss with a TD(0) target, asks for them and for nothing else: no loss reads the key
# `nonterminal` that the transform writes, which is True for these rows too.
#
# * Episodes of six steps, n = 3: rows 0 to 5 have the next steps 3, 4, 5, 6, 6, 6, and only the
#   last one is terminated. The game pays 1 at its last step. Targets from a network with all
#   values at 2 and a discount of 0.9 are 2.27, 2.52 and 1 in the last three rows, where 0.81,
#   0.9 and 1 are right. The value of the terminal state counts, which is nobody's: no row
#   begins there, so that nothing ever trains it.
# * Tabular Q-learning of this game, from values of 2 at first: four of the six states end
#   between 1.65 and 2.52, where 1 is all that can be won. With n = 1 they are the powers of
#   0.9.
#
# One would guess: n steps that include an end give the rewards up to it and no value, as in
# Rainbow; the number of steps, the discount and the sum of the rewards do take the end into
# account. The page of the transform says that entries of `done_keys` are "left untouched", and
# nothing about targets. For a network that begins near 0 the error is as large as what it
# says of states it never learns from, and it grows with what generalizes to them.
#
# Control: `MultiStepTransform(..., done_keys=[])`, which moves the flags with the observation
# (right here, where the environment has all three of them), and a loop over the steps.
#
# Source: torchrl/data/postprocs/postprocs.py (`_multi_step_func`, which leaves `done_keys` out
# of what it gathers), torchrl/envs/transforms/rb_transforms.py (`MultiStepTransform`); seen by
# this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torchrl==0.14.1' 'tensordict==0.14.3' 'torch==2.13.0' 'numpy==2.3.5'

cd "$folder"
export OMP_NUM_THREADS=1 RL_LOGGING_LEVEL=ERROR
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from tensordict import TensorDict
import torch
from torchrl.data import LazyTensorStorage
from torchrl.data import MultiStep
from torchrl.data import ReplayBuffer
from torchrl.envs import MultiStepTransform
from torchrl.modules import QValueActor
from torchrl.objectives import DQNLoss

LENGTH, EPISODES, GAMMA, FIRST = 6, 4, 0.9, 2.0
as_described = True
torch.set_num_threads(1)


def rollout():
  """Episodes of one action that pay 1 at their last step; states are one-hot."""
  step = torch.arange(LENGTH * EPISODES) % LENGTH
  last = (step == LENGTH - 1)[:, None]
  states = torch.eye(LENGTH + 1)
  return TensorDict({
      'observation': states[step],
      'action': torch.ones(len(step), 1, dtype=torch.int64),
      'next': {
          'observation': states[step + 1], 'reward': last.float(), 'done': last,
          'terminated': last, 'truncated': torch.zeros_like(last),
      },
  }, [len(step)])


def rows_by_transform(n, **settings):
  buffer = ReplayBuffer(
      storage=LazyTensorStorage(100), batch_size=1,
      transform=MultiStepTransform(n_steps=n, gamma=GAMMA, **settings),
  )
  buffer.extend(rollout())
  return buffer[:][:2 * LENGTH]


def table():
  network = torch.nn.Linear(LENGTH + 1, 1, bias=False)
  torch.nn.init.constant_(network.weight, FIRST)
  actor = QValueActor(network, in_keys=['observation'], action_space='one-hot')
  loss = DQNLoss(actor, action_space='one-hot', delay_value=False, loss_function='l2')
  loss.make_value_estimator(gamma=GAMMA)
  return network, loss


def targets(rows):
  """The targets of the library's loss."""
  _, loss = table()
  return loss.value_estimator.value_estimate(rows.clone()).flatten().numpy()


def learn(rows):
  network, loss = table()
  optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
  for _ in range(300):
    optimizer.zero_grad()
    loss(rows.clone())['loss'].backward()
    optimizer.step()
  return network.weight.detach().flatten().numpy()


def by_hand(n):
  """The targets of one episode whose values are all `FIRST`."""
  wanted = []
  for step in range(LENGTH):
    target = 0.0
    for k in range(n):
      target += GAMMA**k * (step + k == LENGTH - 1)
      if step + k == LENGTH - 1:
        break
    else:
      target += GAMMA**n * FIRST
    wanted.append(target)
  return np.array(wanted)


right_values = GAMMA**np.arange(LENGTH - 1, -1, -1)
for name, n, rows in (
    ('MultiStepTransform', 1, rows_by_transform(1)),
    ('MultiStepTransform', 3, rows_by_transform(3)),
    ('MultiStep', 3, MultiStep(n_steps=3, gamma=GAMMA)(rollout())[:2 * LENGTH]),
    ('MultiStepTransform, done_keys=[]', 3, rows_by_transform(3, done_keys=[])),
):
  following = rows['next', 'observation'].argmax(-1)
  ended = rows['next', 'terminated'].flatten()
  estimated, values = targets(rows)[:LENGTH], learn(rows)
  print(f'{name}, n={n}: next steps {following[:LENGTH].tolist()}, terminated'
        f' {ended[:LENGTH].int().tolist()}, targets {estimated.round(2)}, by hand'
        f' {by_hand(n).round(2)}')
  print(f'  learned values {values[:LENGTH].round(2)}, right {right_values.round(2)}; of the'
        f' terminal state {values[LENGTH]:.2f}')
  as_described &= bool(values[LENGTH] == FIRST)
  # What the rows have besides the flags is right.
  expected = np.minimum(np.arange(LENGTH) + n, LENGTH)
  as_described &= following[:LENGTH].tolist() == expected.tolist()
  flags_are_right = bool((ended == (following == LENGTH)).all())
  if n == 1 or 'done_keys' in name:
    as_described &= flags_are_right and np.allclose(estimated, by_hand(n), atol=1e-4)
    as_described &= bool(np.allclose(values[:LENGTH], right_values, atol=1e-2))
  else:
    as_described &= not flags_are_right
    past = by_hand(n)
    past[-3:-1] += FIRST * GAMMA**np.array([3, 2])
    as_described &= bool(np.allclose(estimated, past, atol=1e-4))
    as_described &= bool(np.allclose(values[LENGTH - 2], GAMMA + GAMMA**2 * FIRST, atol=1e-2))
    as_described &= bool((values[:LENGTH] > 1.5).sum() == 4)
sys.exit(not as_described)
PROGRAM
