#!/usr/bin/env bash
# Calvera 1.0.2: the linear bandits with a diagonal approximation estimate rewards that grow
# with the number of observations, without end.
#
# A linear bandit's estimate is the inverse of M, the sum of squared features and a prior,
# times the sum of rewards. To keep M invertible a small `eps` is added to its diagonal. The
# two diagonal classes add it at each update to the INVERSE, whose entry then never falls
# below the root of `eps`, 0.1 by default, while the sum of rewards goes on.
#
# * One feature that is always 1 and a reward that is always 1: the estimate is 1.3 after 10
#   observations, 10.5 after 100 and 105 after 1000. With the full matrix of the parent class
#   it is 0.90, 0.98 and 0.99, as by hand.
# * Two arms of their own features, 90 observations of the one that pays 0.5 and 10 of the
#   one that pays 1: the estimates are 4.9 and 3.3, and the next choice is the worse arm. What
#   was tried more often looks better. The full matrix estimates 0.49 and 0.83, and chooses
#   the better.
# * The uncertainty of an arm stops at the same bound, however often it is tried.
#
# One would guess: with features that do not overlap the diagonal is the whole matrix, and
# the approximation exact. Nothing is raised or logged, and `eps` is described as small,
# for invertibility. With `eps` 1e-6 the estimate is 1.3 after a thousand observations. Whom
# it harms: who takes the diagonal for its speed with many features, or compares the linear
# bandits of the package, or reads the rewards that are predicted.
#
# Controls: the parent classes, with the same data; sums by hand; and the diagonal by hand,
# without and with `eps` in the inverse.
#
# Source: calvera/bandits/linear_ucb_bandit.py and linear_ts_bandit.py (`_update_precision_
# matrix` of `DiagonalPrecApproxLinearUCBBandit` and `DiagonalPrecApproxLinearTSBandit`);
# seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'lightning==2.6.6' 'numpy==2.3.5'
# Without the libraries of images and sound that it asks for and these modules do not use.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'calvera==1.0.2'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - 2>errors <<'PROGRAM' || { cat errors; exit 1; }
import logging
import sys

from calvera.bandits import DiagonalPrecApproxLinearTSBandit
from calvera.bandits import DiagonalPrecApproxLinearUCBBandit
from calvera.bandits import LinearTSBandit
from calvera.bandits import LinearUCBBandit
import lightning
import numpy as np
import torch

logging.getLogger('lightning.pytorch').setLevel(logging.ERROR)
torch.set_num_threads(1)
EPS = 0.01
DIAGONAL = DiagonalPrecApproxLinearUCBBandit, DiagonalPrecApproxLinearTSBandit
FULL = LinearUCBBandit, LinearTSBandit


def learn(bandit, features, rewards):
  """Updates a bandit by its trainer, one observation after the other."""
  bandit.record_feedback(
      torch.as_tensor(features, dtype=torch.float32)[:, None],
      torch.as_tensor(rewards, dtype=torch.float32)[:, None],
  )
  lightning.Trainer(
      max_epochs=1, logger=False, enable_progress_bar=False, enable_checkpointing=False,
      enable_model_summary=False, accelerator='cpu',
  ).fit(bandit)
  return bandit


def make(cls, n_features, **settings):
  torch.manual_seed(0)
  return cls(n_features, train_batch_size=1, lazy_uncertainty_update=True, **settings)


def by_hand(n, eps_of_matrix=0.0, eps_of_inverse=0.0):
  """The estimate of one feature that is 1, and the inverse of its matrix."""
  inverse = 1.0
  for _ in range(n):
    inverse = 1 / (1 / inverse + 1 + eps_of_matrix) + eps_of_inverse
  return inverse * n, inverse


as_described = True
for n in 10, 100, 1000:
  ones = np.ones((n, 1))
  plain, matrix = by_hand(n)[0], by_hand(n, eps_of_matrix=EPS)[0]
  wrong, bound = by_hand(n, eps_of_inverse=EPS)
  print(f'{n} times a reward of 1, by hand: {plain:.2f}, with eps in the matrix {matrix:.2f},'
        f' with eps in the inverse {wrong:.2f}')
  for cls in DIAGONAL + FULL if n < 1000 else (DIAGONAL[0], FULL[0]):
    bandit = learn(make(cls, 1), ones, np.ones(n))
    estimate, inverse = bandit.theta.item(), bandit.precision_matrix.item()
    print(f'  {cls.__name__}: {estimate:.2f}, inverse {inverse:.4f}')
    as_described &= np.isclose(estimate, wrong if cls in DIAGONAL else matrix, rtol=1e-3)
    if cls in DIAGONAL:
      as_described &= np.isclose(inverse, bound, rtol=1e-3) and inverse > 0.1
    else:
      as_described &= abs(estimate - 1) < 0.11
as_described &= wrong > 100

# As it is by default, the matrix updated with each choice.
bandit = DiagonalPrecApproxLinearUCBBandit(1)
for _ in range(12):
  bandit(torch.ones(1, 1, 1))
  learn(bandit, np.ones((1, 1)), np.ones(1))
print(f'12 choices and updates in turn: {bandit.theta.item():.2f}, by hand'
      f' {by_hand(12, eps_of_inverse=EPS)[0]:.2f}')
as_described &= np.isclose(bandit.theta.item(), by_hand(12, eps_of_inverse=EPS)[0], rtol=1e-3)

bandit = learn(make(DIAGONAL[0], 1, eps=1e-6), np.ones((1000, 1)), np.ones(1000))
print(f'1000 times a reward of 1, eps 1e-6: {bandit.theta.item():.2f}')
as_described &= abs(bandit.theta.item() - 1) < 0.5

# Two arms. The second one is the better, and seen less often.
arms = np.repeat([0, 1], [90, 10])
for cls in DIAGONAL + FULL:
  bandit = learn(make(cls, 2), np.eye(2)[arms], np.where(arms == 0, 0.5, 1.0))
  choice = bandit(torch.eye(2)[None].repeat(200, 1, 1))[0][:, 1].float().mean().item()
  estimates = bandit.theta.numpy()
  print(f'90 of an arm that pays 0.5, 10 of one that pays 1, {cls.__name__}: estimates'
        f' {np.round(estimates, 2)}; the better arm in {choice:.2f} of the next choices')
  right = estimates[1] > estimates[0]
  as_described &= right == (choice > 0.5) == (cls in FULL)
sys.exit(not as_described)
PROGRAM
