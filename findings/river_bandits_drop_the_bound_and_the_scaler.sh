#!/usr/bin/env bash
# River 0.26.1: `bandit.UCB` has no confidence bound where its `reward_obj` is a
# distribution, and `bandit.Exp3` takes a `reward_scaler` and learns from the unscaled
# rewards.
#
# * `UCB(delta, reward_obj=proba.Beta())`: a Python conditional ends before the "+", so that
#   a distribution's index is its mode alone. `delta` changes no choice: the policy is
#   greedy after one reward of each arm. With arms of 0.4 and 0.6 every fourth run stays
#   with the worse one; with the default, the mean, none does.
# * `Exp3(gamma, reward_scaler=...)`: the scaled reward goes to the statistics that are
#   shown (`ranking`), and the weights, by which arms are drawn, get the raw one. All
#   draws are the same with and without a scaler. Exp3 is for rewards from 0 to 1; rewards
#   of 0 and 0.01, with a `TargetMinMaxScaler`, are not learned in 1000 rounds, and with
#   rewards of 5 and 6 the weights are ruled by which arm was drawn more, so that the
#   better one has about half of the draws. With rewards of 0 and 100 they become
#   infinite (ValueError), which at least is seen.
#
# One would guess: what is documented, that a distribution is one of the reward objects that
# may be given, that delta sets the confidence, and that the scaler brings rewards to a
# range such as 0 to 1, which is the range that this policy needs. Nothing warns, and for
# rewards of 0 and 1 Exp3 is right either way.
#
# Controls: UCB with the mean; Exp3 written from the paper, with the scaled rewards and
# with the raw ones, of which the latter chooses just as River's.
#
# Source: river/bandit/ucb.py (`_pull`), river/bandit/exp3.py (`update`: the base class
# scales a copy); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'river==0.26.1' 'numpy==2.4.6' 'scipy==1.17.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import random
import sys

import numpy as np
from river import bandit
from river import preprocessing
from river import proba

ROUNDS = 1000
as_described = True


def choices_of(policy, rewards):
  choices = []
  for row in rewards:
    arm = policy.pull([0, 1])
    policy.update(arm, row[arm])
    choices.append(arm)
  return choices


def zeros_and_ones(seed, means):
  draws = np.random.default_rng(seed).random((ROUNDS, 2)) < means
  return draws.astype(float).tolist()


# UCB.
RUNS = 60
shares, all_choices = {}, {}
for name, delta, distribution in (
    ('mean, delta 1', 1, None), ('Beta, delta 1', 1, proba.Beta()),
    ('Beta, delta 100', 100, proba.Beta()), ('Gaussian, delta 1', 1, proba.Gaussian()),
):
  runs = [
      choices_of(
          bandit.UCB(delta=delta, reward_obj=distribution, seed=seed),
          zeros_and_ones(seed, (0.4, 0.6)),
      )
      for seed in range(RUNS)
  ]
  all_choices[name] = runs
  shares[name] = np.mean([np.mean(run) < 0.5 for run in runs])
  fewest = min(min(sum(run), ROUNDS - sum(run)) for run in runs)
  print(f'UCB, {name}: the worse arm is chosen in most rounds in {shares[name]:.2f} of'
        f' {RUNS} runs; the fewest plays of an arm are {fewest}')
  as_described &= fewest > 30 if distribution is None else fewest == 1
as_described &= all_choices['Beta, delta 1'] == all_choices['Beta, delta 100']
as_described &= shares['mean, delta 1'] == 0 and shares['Beta, delta 1'] > 0.1
as_described &= shares['Gaussian, delta 1'] > 0.1

# The greedy policy, with a random choice between equals.
policy = bandit.UCB(delta=100, reward_obj=proba.Beta(), seed=0)
successes, trials = [0, 0], [0, 0]
for row in zeros_and_ones(0, (0.4, 0.6)):
  arm = policy.pull([0, 1])
  if min(trials):
    modes = [s / n for s, n in zip(successes, trials)]
    as_described &= modes[arm] == max(modes)
  policy.update(arm, row[arm])
  successes[arm] += row[arm]
  trials[arm] += 1

# Exp3.
GAMMA = 0.1


def slowly(seed, rewards, scaled):
  draw = random.Random(seed)
  weights, low, high = [1.0, 1.0], math.inf, -math.inf
  choices = []
  for row in rewards:
    total = sum(weights)
    shares = [(1 - GAMMA) * (weight / total) + GAMMA / 2 for weight in weights]
    arm = draw.choices([0, 1], weights=shares)[0]
    choices.append(arm)
    reward = row[arm]
    if scaled:
      low, high = min(low, reward), max(high, reward)
      reward = (reward - low) / (high - low) if high > low else 0.0
    weights[arm] *= math.exp(GAMMA * (reward / shares[arm]) / 2)
  return choices


for shift, scale in ((0, 1), (0, 0.01), (5, 1)):
  better = {}
  for seed in range(20):
    rewards = zeros_and_ones(seed, (0.3, 0.7))
    rewards = [[shift + scale * x for x in row] for row in rewards]
    plain = choices_of(bandit.Exp3(gamma=GAMMA, seed=seed), rewards)
    scaler = preprocessing.TargetMinMaxScaler(None)
    policy = bandit.Exp3(gamma=GAMMA, reward_scaler=scaler, seed=seed)
    with_scaler = choices_of(policy, rewards)
    as_described &= plain == with_scaler == slowly(seed, rewards, False)
    better.setdefault('plain', []).append(np.mean(plain))
    better.setdefault('with a scaler', []).append(np.mean(with_scaler))
    better.setdefault('from the paper, scaled', []).append(
        np.mean(slowly(seed, rewards, True))
    )
  print(f'Exp3, rewards {shift} and {shift + scale}: share of the better arm',
        ', '.join(f'{name} {np.mean(x):.3f} (at least {min(x):.3f})'
                  for name, x in better.items()))
  as_described &= min(better['from the paper, scaled']) > 0.8
  if (shift, scale) == (0, 1):
    as_described &= min(better['with a scaler']) > 0.8
  else:
    as_described &= np.mean(better['with a scaler']) < 0.7
sys.exit(not as_described)
PROGRAM
