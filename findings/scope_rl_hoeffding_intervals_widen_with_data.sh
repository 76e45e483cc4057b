#!/usr/bin/env bash
# SCOPE-RL 0.2.1: the more trajectories there are, the WIDER are the Hoeffding intervals of
# off-policy estimates, and "95.0% CI" by the t-test is an interval of 90 %.
#
# * `ci="hoeffding"`: the half-width is max * sqrt(log(2 / alpha) / 2 * n), where it should
#   be max * sqrt(log(2 / alpha) / (2 * n)). It is n times too wide. Values between 0 and 1,
#   100 trajectories: +- 13.5 instead of +- 0.14; with 10,000 trajectories +- 136 instead
#   of +- 0.014. So it is true, and says nothing: no policy is better than another by it,
#   whatever the data are.
# * `ci="ttest"`: the quantile is that of one side, 1 - alpha, and is used for both. Of
#   intervals for normal values that are named "95.0% CI" nine of ten have the mean in them.
# * "bernstein" and "bootstrap", the default, shrink as they should.
#
# One would guess: the formula in the documentation of the same function, which divides by
# 2 n, and that an interval becomes narrower with data. The keys, the mean and the
# symmetry are right; it is `estimate_interval` of all basic and marginal estimators and
# `OffPolicyEvaluation.estimate_intervals` that take these functions by the name `ci`.
#
# Controls: the documented formula, SciPy's t interval, and how often the mean is inside.
#
# Source: scope_rl/utils.py (`estimate_confidence_interval_by_hoeffding`: `/ 2 *
# len(samples)`; `estimate_confidence_interval_by_t_test`: `t.ppf(1 - alpha, n - 1)`),
# ope/estimators_base.py (`_estimate_confidence_interval`); seen by this script, which
# fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what this module imports.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'gym==0.26.2' 'numpy==2.3.5' 'scipy==1.17.1' 'scikit-learn==1.8.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'scope-rl==0.2.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import numpy as np
from scipy import stats
from scope_rl import utils

ALPHA = 0.05
METHODS = {
    'hoeffding': utils.estimate_confidence_interval_by_hoeffding,
    'bernstein': utils.estimate_confidence_interval_by_empirical_bernstein,
    'ttest': utils.estimate_confidence_interval_by_t_test,
    'bootstrap': utils.estimate_confidence_interval_by_bootstrap,
}


def interval(method, values):
  ends = METHODS[method](samples=values, alpha=ALPHA, random_state=0)
  return ends['95.0% CI (lower)'], ends['95.0% CI (upper)']


as_described = True
widths = {method: [] for method in METHODS}
for number in (100, 1000, 10000):
  values = np.random.default_rng(0).random(number)
  half = {}
  for method in METHODS:
    low, high = interval(method, values)
    half[method] = float(high - low) / 2
    widths[method].append(half[method])
  right = values.max() * math.sqrt(math.log(2 / ALPHA) / (2 * number))
  ratio = half['hoeffding'] / right
  print(f'{number} values between 0 and 1:',
        ', '.join(f'{method} +- {x:.3g}' for method, x in half.items()),
        f'; the documented Hoeffding +- {right:.3g}, ratio {ratio:.0f}')
  as_described &= math.isclose(ratio, number, rel_tol=1e-9)
for method, (first, second, third) in widths.items():
  grows = first < second < third
  as_described &= grows == (method == 'hoeffding') and (grows or first > second > third)

# How often is the mean in the interval?
RUNS, NUMBER = 4000, 20
inside = {'ttest': 0, 'SciPy': 0}
for seed in range(RUNS):
  values = np.random.default_rng(seed).normal(size=NUMBER)
  low, high = interval('ttest', values)
  inside['ttest'] += low <= 0 <= high
  scipy_low, scipy_high = stats.t.interval(
      1 - ALPHA, NUMBER - 1, loc=values.mean(), scale=stats.sem(values)
  )
  inside['SciPy'] += scipy_low <= 0 <= scipy_high
  ninety = stats.t.interval(
      1 - 2 * ALPHA, NUMBER - 1, loc=values.mean(), scale=stats.sem(values)
  )
  as_described &= np.allclose((low, high), ninety)
shares = {name: number / RUNS for name, number in inside.items()}
print(f'the mean of {NUMBER} normal values is in the interval of 95 %: {shares}')
as_described &= abs(shares['ttest'] - 0.9) < 0.015 < 0.03 < shares['SciPy'] - 0.9
as_described &= abs(shares['SciPy'] - 0.95) < 0.015
sys.exit(not as_described)
PROGRAM
