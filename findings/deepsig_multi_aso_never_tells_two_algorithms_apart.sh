#!/usr/bin/env bash
# deepsig 1.2.8: `multi_aso` finds no difference between two algorithms, whatever their
# scores are, and the more algorithms there are the LESS it corrects for their number.
#
# Almost stochastic order gives an upper bound eps_min, at a confidence of 0.95, and below
# 0.5 the first algorithm counts as better. For k comparisons Bonferroni asks for the
# confidence 1 - 0.05 / k. `multi_aso`, and `aso` with `num_comparisons`, take
# 0.95 + 0.05 / k, which is the same for k = 2 alone.
#
# * Two algorithms (k = 1): the confidence is 1, its quantile infinite. eps_min is 1 in both
#   directions, and NaN where all scores of one are above all of the other. `aso` says 0
#   there, clearly better, and 0.04 where one is better by 0.7 of a standard deviation.
#   Neither 1 nor NaN is below 0.5.
# * Five (k = 10): 0.955 and not 0.995. Of 30 families of five equal algorithms 26 have a
#   pair that is called different, as many as without any correction, and 17 by
#   Bonferroni's level (the bound is not a strict one). Ten (k = 45): 0.951 and not 0.9989.
# * `bonferroni_correction`, for p-values of other tests, multiplies the smallest of N by N,
#   the next by N - 1, and so on, with no step after it. The largest is never corrected,
#   and the order turns round: 0.03, 0.04, 0.05 become 0.09, 0.08, 0.05, so that at 0.05 only
#   the weakest of three is significant. Bonferroni has none of them, Holm neither.
#
# One would guess: "Applies Bonferroni correction to confidence level by default", which
# makes claims more careful with each algorithm, and changes nothing for two.
#
# Controls: `aso` for the same two lists; the confidence that was used, from the results;
# the same bounds at Bonferroni's level.
#
# Source: deepsig/aso.py (`confidence_level += (1 - confidence_level) / num_comparisons`),
# correction.py (`calculate_partial_conjunction`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'deepsig==1.2.8' 'numpy==2.4.6' 'scipy==1.17.1' 'pandas==3.1.1' 'joblib==1.6.0' \
  'dill==0.4.1' 'tqdm==4.70.1' 'psutil==7.2.2'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from deepsig import aso
from deepsig import bonferroni_correction
from deepsig import multi_aso
from deepsig.aso import compute_violation_ratio
import numpy as np
from scipy.stats import norm

ALPHA, SCORES = 0.05, 20
STEP = 0.1
FAST = {'num_bootstrap_iterations': 50, 'dt': STEP, 'show_progress': False, 'seed': 1}
as_described = True

# Two algorithms.
random = np.random.default_rng(0)
low, other = random.normal(size=(2, SCORES))
for name, high in (('better on average', other + 0.5), ('all scores above', other + 10)):
  one = aso(high, low, **FAST)
  many = multi_aso([high.tolist(), low.tolist()], **FAST)
  plain = multi_aso([high.tolist(), low.tolist()], use_bonferroni=False, **FAST)
  print(f'two algorithms, {name}: aso {one:.3f}, multi_aso {many[0, 1]:.3f} and'
        f' {many[1, 0]:.3f}, without the correction {plain[0, 1]:.3f}')
  as_described &= one < 0.5 and plain[0, 1] < 0.5 and not many[0, 1] < 0.5
  is_nan = name == 'all scores above'
  as_described &= bool(np.isnan(many[0, 1]) if is_nan else many[0, 1] == 1)

# The confidence that was used: eps_min = ratio + quantile * deviation.
level_seen, families = {}, {'multi_aso': 0, 'no correction': 0, 'Bonferroni': 0}
FAMILIES = 30
for algorithms in (3, 5, 10):
  pairs = algorithms * (algorithms - 1) // 2
  bonferroni = 1 - ALPHA / pairs
  levels = []
  for family in range(FAMILIES if algorithms == 5 else 1):
    scores = np.random.default_rng(family).normal(size=(algorithms, SCORES)).tolist()
    with_it = multi_aso(scores, **FAST)
    without = multi_aso(scores, use_bonferroni=False, **FAST)
    found = dict.fromkeys(families, False)
    for i in range(algorithms):
      for j in set(range(algorithms)) - {i}:
        ratio = compute_violation_ratio(scores[i], scores[j], dt=STEP)
        if i > j:  # So does the function.
          ratio = 1 - compute_violation_ratio(scores[j], scores[i], dt=STEP)
        deviation = (without[i, j] - ratio) / norm.ppf(1 - ALPHA)
        if 0 < with_it[i, j] < 1 and deviation > 1e-3:
          levels.append(norm.cdf((with_it[i, j] - ratio) / deviation))
        found['multi_aso'] |= with_it[i, j] < 0.5
        found['no correction'] |= without[i, j] < 0.5
        found['Bonferroni'] |= ratio + norm.ppf(bonferroni) * deviation < 0.5
    if algorithms == 5:
      for name, is_found in found.items():
        families[name] += int(is_found)
  level = np.median(levels)
  print(f'{algorithms} algorithms, {pairs} comparisons: confidence {level:.4f}, by'
        f' Bonferroni {bonferroni:.4f}')
  as_described &= bool(np.allclose(levels, 1 - ALPHA + ALPHA / pairs, atol=1e-4))
  as_described &= level < bonferroni - 0.01
print(f'of {FAMILIES} families of five equal algorithms some pair is called different in',
      families)
as_described &= families['no correction'] - families['multi_aso'] <= 0.1 * FAMILIES
as_described &= families['multi_aso'] > families['Bonferroni'] + 0.2 * FAMILIES

# p-values.
values = np.array([0.03, 0.04, 0.05])
corrected = bonferroni_correction(values)
holm = np.maximum.accumulate(np.sort(values) * np.arange(3, 0, -1))
print(f'p-values {values.tolist()}: corrected {corrected.round(3).tolist()}, Bonferroni'
      f' {(3 * values).round(3).tolist()}, Holm {holm.round(3).tolist()}')
as_described &= np.allclose(corrected, [0.09, 0.08, 0.05])
as_described &= (corrected <= ALPHA).tolist() == [False, False, True]
as_described &= (holm > ALPHA).all() and (3 * values > ALPHA).all()
sys.exit(not as_described)
PROGRAM
