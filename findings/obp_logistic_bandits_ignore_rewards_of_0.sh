#!/usr/bin/env bash
# obp 0.5.7 (Open Bandit Pipeline): the contextual bandits with logistic regression learn
# nothing from a reward of 0. Each success raises the predicted reward of an action, and
# no failure lowers it.
#
# The regression has the loss log(1 + exp(-y w x)), which is for labels -1 and 1.
# `update_params` hands it the rewards, which are 0 and 1 in the Open Bandit Dataset
# (clicks), the multi-class data and the binary synthetic data of the package. With y = 0
# the loss is the constant log(2) and its gradient 0.
#
# * An action that failed 1000 times of 1000 has the predicted reward 0.5, just as one
#   that was never tried.
# * After one fit an action with 100 successes in 1000 has 0.97, one with 18 in 20 has
#   0.89. The order of two actions is the order of their NUMBERS of successes: the one
#   that was shown more wins, which shows it more.
# * The failures are in the posterior's precision all the same, so that they make
#   `LogisticUCB` and `LogisticTS` sure of what they did not learn.
# * Where the action that is worse is tried first, `LogisticEpsilonGreedy` with epsilon
#   0.1 stays with it: in two-armed bandits with 0.2 and 0.8 about every second run has
#   the bad arm in front after 1000 rounds.
#
# One would guess: logistic regression of 0 and 1, as from any classifier. The reference
# of the code, Chapelle and Li (2011), has labels -1 and 1. Nothing warns: predictions
# are within 0 and 1 and rise to near 1 for what was shown often, and rewards of -1 and
# 1, which are no click rates, would be right.
#
# Controls: the same model with -1 and 1, and the maximum of the posterior on a grid.
#
# Source: obp/policy/logistic.py (`MiniBatchLogisticRegression.loss` and `grad`,
# `BaseLogisticPolicy.update_params`); seen by this script, which fails if it changes.
set -euo pipefail

# obp asks for Python below 3.11; pyenv may have the interpreter off PATH.
for python in "${PYTHON:-python3.10}" ~/.pyenv/versions/3.10*/bin/python; do
  "$python" --version >/dev/null 2>&1 && break
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# It asks for versions of NumPy and PyTorch, and for a seaborn without newer matplotlib.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'obp==0.5.7' 'matplotlib==3.8.4'

MPLCONFIGDIR="$folder" "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from obp.policy import LogisticEpsilonGreedy
from obp.policy import MiniBatchLogisticRegression

CONTEXT = np.ones((1, 1))


def model_of(labels):
  model = MiniBatchLogisticRegression(lambda_=1.0, alpha=1.0, dim=1)
  model.fit(X=np.ones((len(labels), 1)), y=labels)
  return model.predict_proba(CONTEXT).item()


def on_grid(rewards):
  """The slow way: the maximum of the posterior with a standard normal prior."""
  weights = np.linspace(-8, 8, 160001)
  log_likelihood = -rewards.sum() * np.log1p(np.exp(-weights))
  log_likelihood -= (1 - rewards).sum() * np.log1p(np.exp(weights))
  best = weights[np.argmax(log_likelihood - weights**2 / 2)]
  return 1 / (1 + np.exp(-best))


as_described = True
predicted = {}
for successes, trials in ((0, 1000), (100, 1000), (18, 20), (900, 1000)):
  rewards = (np.arange(trials) < successes).astype(float)
  seen, with_signs, right = model_of(rewards), model_of(2 * rewards - 1), on_grid(rewards)
  only_successes = model_of(np.ones(successes)) if successes else 0.5
  print(f'{successes} successes in {trials}: predicted {seen:.3f}, the posterior has'
        f' {right:.3f}, labels -1 and 1 {with_signs:.3f}, without the failures'
        f' {only_successes:.3f}')
  predicted[successes, trials] = seen
  as_described &= abs(with_signs - right) < 1e-3 and abs(seen - only_successes) < 1e-3
as_described &= predicted[0, 1000] == 0.5
as_described &= predicted[100, 1000] > predicted[18, 20]


def bad_arm_wins(transform, seed, rounds=1000):
  """Is the arm with 0.2 in front of the one with 0.8 in the end?"""
  policy = LogisticEpsilonGreedy(
      dim=1, n_actions=2, epsilon=0.1, batch_size=50, random_state=seed
  )
  random = np.random.default_rng(seed)
  for _ in range(rounds):
    action = int(policy.select_action(CONTEXT)[0])
    reward = float(random.random() < (0.8, 0.2)[action])
    policy.update_params(action=action, reward=transform(reward), context=CONTEXT)
  good, bad = (model.predict_proba(CONTEXT).item() for model in policy.model_list)
  return bad > good


RUNS = 20
for name, transform, low, high in (
    ('0 and 1', lambda x: x, 0.2, 1), ('-1 and 1', lambda x: 2 * x - 1, 0, 0.05),
):
  share = np.mean([bad_arm_wins(transform, seed) for seed in range(RUNS)])
  print(f'arms with 0.8 and 0.2, rewards as {name}: the bad arm is in front after 1000'
        f' rounds in {share:.2f} of {RUNS} runs')
  as_described &= low <= share <= high
sys.exit(not as_described)
PROGRAM
