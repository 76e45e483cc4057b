#!/usr/bin/env bash
# SMPyBandits 0.9.7: the discounted policies, made for rewards that change, forget what
# they play and not what they don't: discounted UCB counts one pull per arm for ever,
# discounted Thompson sampling ages the arm that was played in place of all others.
#
# * `DiscountedUCB` (and `...Plus`, `DiscountedklUCB`) keeps its discounted numbers of
#   pulls in an array of integers. With each discount below 1, 0.99 * 1 + 1 is cut to 1. So
#   each number is 1 from the first pull on, the "mean" is the SUM of discounted rewards
#   and grows to 100 times the mean, and the bound is the same for each arm. The first arm
#   with some luck is played for ever: of two arms with means 0.4 and 0.8 the worse one in
#   a fifth of all games, and where the means change places no game finds the other.
# * `DiscountedThompson` is to discount the posterior of each arm in each round. The loop
#   over the other arms discounts the one that was played, once for each of them. Of ten
#   arms one that is played is never worth more than 1.6 observations, where the discount
#   of 0.95 keeps up to 20, and one that was not played for 1000 rounds has all of its
#   own. So nothing makes it look again: where the worse of two arms becomes the best one
#   after 1000 rounds it plays it in a third of the next 1000, and by the formulas in 93 %.
# * `startGame` resets neither sum of `DiscountedUCB`. The second game begins with the
#   rewards of the first.
#
# One would guess: the updates that the documentation of both classes writes down as
# formulas, and that the policies win where arms change. They run in the experiments of
# the project beside other policies, where this looks like what they are worth. Where
# nothing changes the Thompson sampling here is even a bit better, as it explores less.
#
# Controls: both policies with the documented updates, written as loops; `DiscountedUCB`
# with a discount of 1, whose numbers are integers, and are right.
#
# Source: SMPyBandits/Policies/DiscountedUCB.py (`dtype=int`; no `startGame`),
# DiscountedBayesianIndexPolicy.py (`self.posterior[arm].discount()` in the loop over
# `otherArm`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# A SciPy that has the name btdtri still, and only what the policies import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==1.26.4' 'scipy==1.11.4' 'matplotlib==3.8.4' 'pandas==2.2.3' \
  'seaborn==0.13.2' 'joblib==1.4.2'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'SMPyBandits==0.9.7'

cd "$folder"
MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import contextlib
import io
import math
import random
import sys

import numpy as np

with contextlib.redirect_stdout(io.StringIO()):  # It tells of optional packages.
  from SMPyBandits.Policies import DiscountedThompson
  from SMPyBandits.Policies import DiscountedUCB

as_described = True


class Ucb:
  """Discounted UCB as its formulas say."""

  def __init__(self, arms, gamma):
    self.gamma, self.pulls, self.rewards = gamma, np.zeros(arms), np.zeros(arms)

  def choice(self):
    unseen = np.flatnonzero(self.pulls == 0)
    if len(unseen):
      return np.random.choice(unseen)
    bound = np.sqrt(math.log(self.pulls.sum()) / (2 * self.pulls))
    return np.argmax(self.rewards / self.pulls + bound)

  def getReward(self, arm, reward):
    self.pulls *= self.gamma
    self.rewards *= self.gamma
    self.pulls[arm] += 1
    self.rewards[arm] += reward


class Thompson:
  """Discounted Thompson sampling as its formulas say."""

  def __init__(self, arms, gamma):
    self.gamma, self.counts = gamma, np.zeros((arms, 2))

  def choice(self):
    return np.argmax(np.random.beta(1 + self.counts[:, 1], 1 + self.counts[:, 0]))

  def getReward(self, arm, reward):
    self.counts *= self.gamma
    self.counts[arm, int(reward)] += 1


def play(policy, means_of, rounds, seed):
  """The arms that the policy chooses."""
  np.random.seed(seed)
  random.seed(seed)
  chosen = np.zeros(rounds, int)
  for i in range(rounds):
    chosen[i] = arm = policy.choice()
    policy.getReward(arm, float(np.random.random() < means_of(i)[arm]))
  return chosen


def made(kind, *args, **kwargs):
  policy = kind(*args, **kwargs)
  policy.startGame()
  return policy


# What discounted UCB stores.
for gamma in (0.5, 0.99, 0.9999):
  policy = made(DiscountedUCB, 2, gamma=gamma)
  sums, pulls = np.zeros(2), np.zeros(2)
  for i in range(200):
    arm = i % 2
    reward = float(i % 3 > 0)
    policy.getReward(arm, reward)
    sums *= gamma
    pulls *= gamma
    sums[arm] += reward
    pulls[arm] += 1
  policy.computeAllIndex()
  bound = math.sqrt(math.log(2) / 2)
  print(f'UCB, discount {gamma}: pulls {policy.discounted_pulls.tolist()}, by the formula'
        f' {pulls.round(2).tolist()}; sums {policy.discounted_rewards.round(2).tolist()}'
        f' are the "means" of the index {policy.index.round(2).tolist()}')
  as_described &= policy.discounted_pulls.tolist() == [1, 1]
  as_described &= np.allclose(policy.index, policy.discounted_rewards + bound)
  # The sum of the arm that came last is right.
  as_described &= math.isclose(policy.discounted_rewards[arm], sums[arm])
with contextlib.redirect_stdout(io.StringIO()):  # It says that UCB would do.
  policy = made(DiscountedUCB, 2, gamma=1)
for i in range(200):
  policy.getReward(i % 2, 1.0)
as_described &= policy.discounted_pulls.tolist() == [100, 100]

# What discounted Thompson sampling stores: five rewards for arm 1, then only arm 0.
ARMS, GAMMA, ROUNDS = 10, 0.95, 1000
policy, right = made(DiscountedThompson, ARMS, gamma=GAMMA), Thompson(ARMS, GAMMA)
for each in (policy, right):
  for _ in range(5):
    each.getReward(1, 1.0)
seen = policy.posterior[1].N[1]
for each in (policy, right):
  for _ in range(ROUNDS):
    each.getReward(0, 1.0)
kept = [policy.posterior[arm].N[1] for arm in (0, 1)]
print(f'Thompson: an arm that was played {ROUNDS} times is worth {kept[0]:.2f} observations'
      f' ({right.counts[0, 1]:.2f}), one that was not {kept[1]:.2f}'
      f' ({right.counts[1, 1]:.2f})')
as_described &= math.isclose(kept[0], GAMMA ** (ARMS - 1) / (1 - GAMMA**ARMS))
as_described &= kept[1] == seen > 1 and right.counts[1, 1] < 1e-9
as_described &= math.isclose(right.counts[0, 1], 1 / (1 - GAMMA))

# Two arms that do not change, and two that change places.
GAMES, LENGTH = 100, 1000
STILL = (0.4, 0.8)
wrong, found = {}, {}
for name, policy_of in (
    ('SMPyBandits', lambda: made(DiscountedUCB, 2, gamma=0.99)),
    ('the formulas', lambda: Ucb(2, 0.99)),
):
  still = [play(policy_of(), lambda i: STILL, LENGTH, seed) for seed in range(GAMES)]
  moves = [
      play(policy_of(), lambda i: STILL if i < LENGTH // 2 else STILL[::-1], LENGTH, seed)
      for seed in range(GAMES)
  ]
  ends = np.array(still)[:, -100:]
  wrong[name] = np.mean(ends.mean(axis=1) < 0.5)
  later = np.array(moves)[:, -100:].mean(axis=1) < 0.5
  first = np.array(moves)[:, LENGTH // 2 - 100 : LENGTH // 2].mean(axis=1) > 0.5
  found[name] = later[first].mean()
  print(f'discounted UCB by {name}: {wrong[name]:.2f} of the games end with the worse of'
        f' two arms; where they change places, {found[name]:.2f} of those that play the'
        ' better one find the other')
as_described &= 0.1 < wrong['SMPyBandits'] < 0.3 and found['SMPyBandits'] < 0.02
as_described &= wrong['the formulas'] < 0.02 and found['the formulas'] > 0.98

# The worse of two arms becomes the best one.
def better_later(i):
  return 0.6, 0.1 if i < ROUNDS else 0.9


shares, before = {}, {}
for name, policy_of in (
    ('SMPyBandits', lambda: made(DiscountedThompson, 2, gamma=0.99)),
    ('the formulas', lambda: Thompson(2, 0.99)),
):
  chosen = np.array(
      [play(policy_of(), better_later, 2 * ROUNDS, seed) for seed in range(20)]
  )
  before[name] = (chosen[:, :ROUNDS] == 0).mean()
  shares[name] = (chosen[:, ROUNDS:] == 1).mean()
  print(f'discounted Thompson sampling by {name}: the best of two arms in'
        f' {before[name]:.2f} of the rounds, after the other one has become better in'
        f' {shares[name]:.2f}')
as_described &= min(before.values()) > 0.9
as_described &= shares['SMPyBandits'] < 0.5 and shares['the formulas'] > 0.85

# The second game.
policy = made(DiscountedUCB, 2, gamma=0.99)
for _ in range(100):
  policy.getReward(0, 1.0)
old = policy.discounted_rewards[0]
policy.startGame()
print(f'after startGame: {policy.pulls.sum()} pulls, sums'
      f' {policy.discounted_rewards.round(1).tolist()}')
as_described &= policy.pulls.sum() == 0 and policy.discounted_rewards[0] == old > 60
sys.exit(not as_described)
PROGRAM
