#!/usr/bin/env bash
# mabwiser 2.7.4: an arm without rewards has the smallest upper bound instead of the
# largest, so that it is never tried.
#
# * `UCB1`: the bound of an arm without rewards is 0. With rewards above 0 an arm that is
#   missing in the history, or that `add_arm` brings, is not chosen in any number of
#   rounds. UCB1 (Auer et al., 2002) plays each arm once at first.
# * `LinUCB` and `LinTS`: the inverse of lambda * I, the matrix of an arm without rewards,
#   is taken to be lambda * I. With `l2_lambda=0.01` the bonus of a new arm is 0.1 where it
#   should be 10, and with 10 it is 3.2 where it should be 0.3. The first reward repairs
#   it, but with a small lambda it never comes: a new arm that pays 0.9 is not tried
#   beside one that pays 0.5. A reward for a context at right angles makes an arm a
#   hundred times LESS certain. With lambda 1, the default, it is right, so that the
#   tuning of lambda is where it shows.
# * `TreeBandit` with `UCB1`: the number of all rounds in the bound is that of the arm's
#   own rewards in the leaf. The bonus of an arm falls with its own rewards and does not
#   rise while others are played; with one reward it is sqrt(2 log(1) / 1) = 0. An arm
#   whose first reward is 0 is never tried again.
#
# One would guess: the documented formula, mean + alpha * sqrt(2 log(N) / n) of N
# trials, n of them of the arm, which goes to infinity for n = 0, and
# alpha * sqrt(x (X'X + lambda I)^-1 x) for LinUCB. Nothing warns, and arms that are in
# the history have the right bounds.
#
# Controls: the formulas, and LinUCB and UCB1 written from them.
#
# Source: mabwiser/ucb.py (`_fit_arm` leaves the expectation at 0), mabwiser/linear.py
# (`_RidgeRegression.init`: `self.A_inv = self.A.copy()`), mabwiser/treebandit.py
# (`_create_leaf_lp` has one arm); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'mabwiser==2.7.4' 'numpy==2.4.6' 'pandas==3.1.1' 'scikit-learn==1.9.1'

MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

from mabwiser.mab import LearningPolicy
from mabwiser.mab import MAB
from mabwiser.mab import NeighborhoodPolicy
import numpy as np

as_described = True

# UCB1: 'c' is best and not in the history.
MEANS = {'a': 0.3, 'b': 0.2, 'c': 0.9}
random = np.random.default_rng(0)
bandit = MAB(list(MEANS), LearningPolicy.UCB1(alpha=1))
bandit.fit(['a', 'b'], [1.0, 0.0])
chosen = dict.fromkeys(MEANS, 0)
for _ in range(3000):
  arm = bandit.predict()
  chosen[arm] += 1
  bandit.partial_fit([arm], [float(random.random() < MEANS[arm])])
bounds = {arm: round(float(x), 3) for arm, x in bandit.predict_expectations().items()}
print(f'UCB1, means {MEANS}, no history of c: chosen {chosen}, bounds {bounds}')
as_described &= chosen['c'] == 0 and bounds['c'] == 0 and min(bounds['a'], bounds['b']) > 0

# LinUCB and LinTS: the spread of an arm without rewards and of one with one reward, for a
# context at right angles to that of the reward.
for weight in (0.01, 0.1, 1, 10):
  right = 1 / math.sqrt(weight)
  spreads = {}
  for name, policy in (('LinUCB', LearningPolicy.LinUCB), ('LinTS', LearningPolicy.LinTS)):
    bandit = MAB(['tried', 'new'], policy(alpha=1.0, l2_lambda=weight))
    bandit.fit(['tried'], [0.0], [[0.0, 1.0]])
    number = 1 if name == 'LinUCB' else 4000
    drawn = bandit.predict_expectations([[1.0, 0.0]] * number)
    for arm in 'tried', 'new':
      if name == 'LinUCB':
        spreads[name, arm] = float(drawn[arm])
      else:
        spreads[name, arm] = float(np.std([each[arm] for each in drawn]))
  print(f'lambda {weight}: right {right:.3g};',
        ', '.join(f'{name} {arm} {x:.3g}' for (name, arm), x in spreads.items()))
  for (name, arm), x in spreads.items():
    expected = right if arm == 'tried' else math.sqrt(weight)
    as_described &= math.isclose(x, expected, rel_tol=1e-6 if name == 'LinUCB' else 0.1)


def with_new_arm(weight, seed, rounds=1000, by_hand=False):
  """How often is the arm chosen that comes later and pays more?"""
  random = np.random.default_rng(seed)
  history = random.dirichlet(np.ones(3), 50)
  rewards = random.normal(0.5, 0.1, 50)
  if by_hand:
    matrices = {'old': history.T @ history, 'new': np.zeros((3, 3))}
    products = {'old': history.T @ rewards, 'new': np.zeros(3)}
  else:
    bandit = MAB(['old'], LearningPolicy.LinUCB(alpha=1.0, l2_lambda=weight))
    bandit.fit(['old'] * 50, rewards, history)
    bandit.add_arm('new')
  number = 0
  for _ in range(rounds):
    context = random.dirichlet(np.ones(3))
    if by_hand:
      bounds = {}
      for arm in matrices:
        inverse = np.linalg.inv(matrices[arm] + weight * np.eye(3))
        bounds[arm] = context @ inverse @ products[arm]
        bounds[arm] += math.sqrt(context @ inverse @ context)
      arm = max(bounds, key=bounds.get)
    else:
      arm = bandit.predict(context[None])
    number += arm == 'new'
    reward = random.normal(0.9 if arm == 'new' else 0.5, 0.1)
    if by_hand:
      matrices[arm] += np.outer(context, context)
      products[arm] += context * reward
    else:
      bandit.partial_fit([arm], [reward], context[None])
  return number


for weight in (0.01, 0.1, 1):
  seen = [with_new_arm(weight, seed) for seed in range(3)]
  right = [with_new_arm(weight, seed, by_hand=True) for seed in range(3)]
  print(f'LinUCB, lambda {weight}: a new arm that pays 0.9 beside 0.5 is chosen in {seen}'
        f' of 1000 rounds, by hand in {right}')
  as_described &= min(right) > 950 and (max(seen) == 0 if weight < 1 else min(seen) > 950)

# TreeBandit: all contexts are equal, so that there is one leaf.
CONTEXT = [[0.0]]
bandit = MAB(['a', 'b'], LearningPolicy.UCB1(alpha=1), NeighborhoodPolicy.TreeBandit())
bandit.fit(['a'] * 999 + ['b'], [0.5] * 999 + [0.4], CONTEXT * 1000)
bounds = bandit.predict_expectations(CONTEXT)
print(f'TreeBandit, 999 rewards of 0.5 and one of 0.4: bounds {bounds["a"]:.3f} and'
      f' {bounds["b"]:.3f}; by the formula {0.5 + math.sqrt(2 * math.log(1000) / 999):.3f}'
      f' and {0.4 + math.sqrt(2 * math.log(1000)):.3f}')
as_described &= math.isclose(bounds['b'], 0.4)
as_described &= math.isclose(bounds['a'], 0.5 + math.sqrt(2 * math.log(999) / 999))


def plays(with_tree, seed, rounds=200):
  """How often is the better arm chosen, whose first reward was 0?"""
  random = np.random.default_rng(seed)
  policy = LearningPolicy.UCB1(alpha=1)
  bandit = MAB(['a', 'b'], policy, NeighborhoodPolicy.TreeBandit() if with_tree else None)

  def contexts(number):
    return (CONTEXT * number,) if with_tree else ()

  bandit.fit(['a', 'b'], [1.0, 0.0], *contexts(2))
  number = 0
  for _ in range(rounds):
    arm = bandit.predict(*contexts(1))
    number += arm == 'b'
    reward = float(random.random() < {'a': 0.4, 'b': 0.8}[arm])
    bandit.partial_fit([arm], [reward], *contexts(1))
  return number


with_tree = [plays(True, seed) for seed in range(4)]
without = [plays(False, seed) for seed in range(4)]
print(f'TreeBandit: the arm that pays 0.8 beside 0.4, and 0 at first, is chosen in'
      f' {with_tree} of 200 rounds; by UCB1 without a tree in {without}')
as_described &= max(with_tree) == 0 and min(without) > 100
sys.exit(not as_described)
PROGRAM
