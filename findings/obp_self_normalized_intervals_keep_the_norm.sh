#!/usr/bin/env bash
# obp 0.5.7 (Open Bandit Pipeline): the bootstrap intervals of self-normalized estimators
# keep the norm of the whole sample, so that they are intervals of another estimator.
#
# Self-normalized inverse propensity weighting is sum(w r) / sum(w), the replay method
# sum(match r) / sum(match). `estimate_interval` first divides each term by the mean
# weight of all rounds and then resamples the terms. In a resample the sum of the weights
# is another one, which is left out.
#
# * Where each reward is 1 the value is 1, whatever the weights are, and it has no
#   uncertainty at all. The intervals are about [0.9, 1.1]. They go past the largest
#   reward that there is.
# * A constant that is added to all rewards adds itself to the estimate and should not
#   change the width of the interval; here the width grows with it. With rewards of
#   about 10 and a spread of 1 it is many times too wide, so that a policy that is
#   clearly better than another is said not to be.
# * With centred rewards the widths are nearly right, which hides it.
#
# One would guess: the bootstrap computes the estimator anew for each resample. The
# documentation says "Estimate the confidence interval of the policy value using
# bootstrap" and praises the self-normalized estimator for its smaller variance. That
# plain weighting has an interval of this width is right, and a control here.
#
# It is so for `SelfNormalizedInverseProbabilityWeighting` and `ReplayMethod` (and for
# the balanced, the doubly robust and the slate estimators with such norms), and in
# `OffPolicyEvaluation.estimate_intervals` and `summarize_off_policy_estimates`, which
# call them.
#
# Source: obp/ope/estimators.py (`_estimate_round_rewards` divides by `iw.mean()` and
# `action_match.mean()`), obp/utils.py (`estimate_confidence_interval_by_bootstrap`);
# seen by this script, which fails if it changes.
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
import math
import sys

import numpy as np
from obp.ope import InverseProbabilityWeighting
from obp.ope import OffPolicyEvaluation
from obp.ope import ReplayMethod
from obp.ope import SelfNormalizedInverseProbabilityWeighting

ROUNDS, ACTIONS, RESAMPLES = 1000, 5, 500

random = np.random.default_rng(0)
behaviour = random.dirichlet(np.ones(ACTIONS) * 2, ROUNDS)
evaluation = random.dirichlet(np.ones(ACTIONS) * 2, ROUNDS)
actions = np.array([random.choice(ACTIONS, p=p) for p in behaviour])
propensity = behaviour[np.arange(ROUNDS), actions]
weights = evaluation[np.arange(ROUNDS), actions] / propensity
greedy = np.eye(ACTIONS)[evaluation.argmax(axis=1)]
matches = greedy[np.arange(ROUNDS), actions]
noise = random.normal(size=ROUNDS)


def of_obp(rewards, probabilities):
  """The lower and upper ends for each estimator, by the usual way to call them."""
  evaluate = OffPolicyEvaluation(
      bandit_feedback={
          'n_rounds': ROUNDS, 'n_actions': ACTIONS, 'action': actions,
          'reward': rewards, 'pscore': propensity, 'position': None,
          'context': np.zeros((ROUNDS, 1)),
      },
      ope_estimators=[
          InverseProbabilityWeighting(), SelfNormalizedInverseProbabilityWeighting(),
          ReplayMethod(),
      ],
  )
  intervals = evaluate.estimate_intervals(
      action_dist=probabilities[:, :, None], n_bootstrap_samples=RESAMPLES,
      random_state=0,
  )
  return {name: list(ends.values())[1:] for name, ends in intervals.items()}


def slowly(rewards, factors, normalized):
  """The estimator anew for each resample."""
  resample = np.random.default_rng(1)
  values = []
  for _ in range(RESAMPLES):
    rows = resample.integers(ROUNDS, size=ROUNDS)
    total = (factors * rewards)[rows].sum()
    values.append(total / (factors[rows].sum() if normalized else ROUNDS))
  return np.percentile(values, [2.5, 97.5])


as_described = True
widths = {}
for title, rewards in (
    ('all rewards 1', np.ones(ROUNDS)),
    ('noise', noise),
    ('noise + 10', noise + 10),
):
  for name, probabilities, factors in (
      ('ipw', evaluation, weights), ('snipw', evaluation, weights),
      ('rm', greedy, matches),
  ):
    seen = of_obp(rewards, probabilities)[name]
    right = slowly(rewards, factors, name != 'ipw')
    widths[title, name] = seen[1] - seen[0], right[1] - right[0]
    print(f'{title}, {name}: [{seen[0]:.3f}, {seen[1]:.3f}], resampled anew'
          f' [{right[0]:.3f}, {right[1]:.3f}]')
    if title == 'all rewards 1' and name != 'ipw':
      as_described &= math.isclose(right[1] - right[0], 0, abs_tol=1e-9)
      as_described &= seen[0] < 0.97 and seen[1] > 1.03

for title in ('all rewards 1', 'noise', 'noise + 10'):
  seen, right = widths[title, 'ipw']
  as_described &= 0.85 < seen / right < 1.15
for name in ('snipw', 'rm'):
  as_described &= 0.85 < np.divide(*widths['noise', name]) < 1.15
  ratio = np.divide(*widths['noise + 10', name])
  same = widths['noise + 10', name][1] / widths['noise', name][1]
  print(f'{name}, 10 added to all rewards: the interval is {ratio:.1f} times as wide as'
        f' the one that is resampled anew, which changes by the factor {same:.3f}')
  as_described &= ratio > 4 and math.isclose(same, 1, abs_tol=1e-6)
sys.exit(not as_described)
PROGRAM
