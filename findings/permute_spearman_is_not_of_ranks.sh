#!/usr/bin/env bash
# permute 0.2: `spearman_corr` correlates sorting orders instead of ranks, and
# `stratified_permutationtest` sees two conditions only where there are two groups.
#
# * `spearman_corr` takes `argsort` for the ranks. That is the list of places that sorts the
#   sample, the inverse of the ranks: if the smallest value is the fifth, it has a 5 in the
#   first place. Of samples of 30 with a correlation of 0.8 its mean is 0.12, where Spearman's
#   is 0.77, and it rejects independence in a tenth of the samples instead of all. Samples in
#   the same order have a correlation of 1, as in the package's test. The same ten pairs in
#   100 other orders have correlations from -0.16 to 0.86, where Spearman's is 0.70 in all.
#   `plus1=False` is not handed on: the p-value of 99 permutations is never 0.
# * The statistic of the stratified test is documented as a difference for two conditions,
#   and a standard deviation for more. The code asks for the number of GROUPS: with two
#   groups and three conditions it compares the first two, and a third condition that is 10
#   standard deviations away has p-values near 1. With three groups it has 0.001.
#
# One would guess: what the names and docstrings say. Numbers between -1 and 1 come out with
# p-values, and no relation between the samples is what one reads from them.
#
# Controls: SciPy's Spearman; permute's own `corr` of ranks; the stratified test with the
# standard deviation given as a function.
#
# Source: permute/core.py (`spearman_corr`), permute/stratified.py
# (`stratified_permutationtest_mean`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'permute==0.2' 'numpy==2.3.5' 'scipy==1.16.3' 'cryptorandom==0.4'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from permute.core import corr
from permute.core import spearman_corr
from permute.stratified import stratified_permutationtest
from scipy import stats

REPS = 199
draws = np.random.default_rng(0)
as_described = True


def pairs_of(correlation, count):
  x, noise = draws.normal(size=(2, count))
  return x, correlation * x + np.sqrt(1 - correlation**2) * noise


for correlation in 0.5, 0.8, 0.95:
  found = {}
  for sample in range(50):
    x, y = pairs_of(correlation, 30)
    right = stats.spearmanr(x, y, alternative='greater')
    ranks = stats.rankdata(x), stats.rankdata(y)
    for name, (statistic, pvalue) in {
        'spearman_corr': spearman_corr(x, y, reps=REPS, seed=sample)[:2],
        'corr of ranks': corr(*ranks, reps=REPS, seed=sample)[:2],
        'SciPy': (right.statistic, right.pvalue),
    }.items():
      found.setdefault(name, []).append((statistic, pvalue <= 0.05))
  means = {name: np.mean(values, axis=0) for name, values in found.items()}
  for name, (mean, share) in means.items():
    print(f'correlation {correlation}, 50 samples of 30, {name}: mean {mean:.3f},'
          f' independence is rejected in {share:.2f}')
  as_described &= bool(means['spearman_corr'][0] < 0.25 and means['spearman_corr'][1] < 0.4)
  as_described &= bool(np.allclose(means['corr of ranks'][0], means['SciPy'][0]))
  as_described &= bool(means['SciPy'][0] > 0.4 and means['SciPy'][1] > 0.8)

x, y = pairs_of(0.6, 10)
given, right = [], []
for _ in range(100):
  order = draws.permutation(10)
  given.append(spearman_corr(x[order], y[order], reps=1, seed=0)[0])
  right.append(stats.spearmanr(x[order], y[order]).statistic)
print(f'the same ten pairs in 100 orders: from {min(given):.3f} to {max(given):.3f}; SciPy'
      f' {min(right):.3f} to {max(right):.3f}')
as_described &= bool(np.ptp(given) > 0.5 and np.ptp(right) < 1e-9)

line = np.arange(20.0)
least = {
    name: function(line, line, reps=99, seed=0, plus1=False)[1].item()
    for name, function in (('spearman_corr', spearman_corr), ('corr', corr))
}
print(f'plus1=False, samples in the same order, p-values {least}')
as_described &= least == {'spearman_corr': 0.01, 'corr': 0.0}


def spread_of(group, condition, response):
  return sum(
      np.std([
          response[(group == g) & (condition == c)].mean() for c in np.unique(condition)
      ])
      for g in np.unique(group)
  )


for groups in 2, 3:
  group = np.repeat(np.arange(groups), 15)
  condition = np.tile(np.repeat([0, 1, 2], 5), groups)
  pvalues = {'by default': [], 'with the deviation as a function': []}
  for sample in range(10):
    response = draws.normal(size=len(group)) + 10 * (condition == 2)
    pvalues['by default'].append(
        stratified_permutationtest(group, condition, response, reps=999, seed=sample)[0]
    )
    pvalues['with the deviation as a function'].append(
        stratified_permutationtest(
            group, condition, response, reps=999, seed=sample,
            testStatistic=lambda drawn: spread_of(group, drawn, response),
        )[0]
    )
  for name, values in pvalues.items():
    print(f'{groups} groups, three conditions, the third 10 deviations away, {name}: p-values'
          f' {min(values):.3f} to {max(values):.3f}')
    if groups == 2 and name == 'by default':
      as_described &= min(values) > 0.05 and np.mean(values) > 0.3
    else:
      as_described &= max(values) < 0.01
sys.exit(not as_described)
PROGRAM
