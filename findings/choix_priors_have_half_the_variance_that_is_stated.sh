#!/usr/bin/env bash
# choix 0.4.1: `opt_pairwise`, `opt_rankings` and `opt_top1` shrink twice as much as their
# `alpha` says, and as much as `ep_pairwise` does with twice the `alpha`.
#
# All four docstrings give the prior as an isotropic Gaussian with variance 1 / alpha. The
# functions of scipy.optimize add alpha times the sum of the squared parameters to the negative
# log-likelihood, without the half: that is the prior with variance 1 / (2 alpha). The
# posterior of `ep_pairwise` has the variance that is stated.
#
# * Two items, the first won 7 of 8 comparisons, alpha = 1: the difference of the parameters
#   is 1.06, and that of the largest posterior with variance 1 is 1.34. With alpha = 4 it is
#   0.50 and 0.77.
# * For data sets of 6 items the parameters are those of the largest posterior with
#   variance 1 / (2 alpha), to 1e-5. Their spread is 18 % smaller than with variance
#   1 / alpha if alpha = 1 / 4, and 27 % if alpha = 1.
#
# One would guess: the same `alpha` means the same prior within one library, and a value from
# the known spread of the parameters, or from `ep_pairwise`, can be used in all. The order of
# the items is mostly the same, and the objective, its gradient and its Hessian agree.
#
# Controls: the root of the closed form of the posterior's slope; the maximum of the
# posterior by SciPy, written here; the mean of the posterior by numerical integration.
#
# Source: choix/opt.py (`PairwiseFcts.objective`, `Top1Fcts.objective`), choix/ep.py
# (`ep_pairwise`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'choix==0.4.1' 'numpy==2.3.5' 'scipy==1.17.1'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import choix
import numpy as np
from scipy.optimize import brentq
from scipy.optimize import minimize

as_described = True


def largest_posterior(items, pairs, variance):
  winners, losers = np.array(pairs).T

  def negative_log(parameters):
    likelihood = np.logaddexp(0, parameters[losers] - parameters[winners]).sum()
    return likelihood + np.square(parameters).sum() / (2 * variance)

  return minimize(negative_log, np.zeros(items), method='BFGS', options={'gtol': 1e-7}).x


# Two items: with parameters of d / 2 and -d / 2 the slope of the log posterior is
# 7 / (1 + exp(d)) - 1 / (1 + exp(-d)) - d / (2 variance).
pairs = [(0, 1)] * 7 + [(1, 0)]
for alpha in 0.25, 1.0, 4.0:
  closed = {
      variance: brentq(
          lambda d: 7 / (1 + np.exp(d)) - 1 / (1 + np.exp(-d)) - d / (2 * variance), -9, 9
      )
      for variance in (1 / alpha, 1 / (2 * alpha))
  }
  given = {
      'opt_pairwise': choix.opt_pairwise(2, pairs, alpha=alpha),
      'opt_rankings': choix.opt_rankings(2, pairs, alpha=alpha),
      'opt_top1': choix.opt_top1(2, [(won, [lost]) for won, lost in pairs], alpha=alpha),
  }
  # The mean of the difference, whose prior has twice the variance of a parameter.
  grid = np.linspace(-25, 25, 20001)
  weight = np.exp(-7 * np.logaddexp(0, -grid) - np.logaddexp(0, grid) - grid**2 * alpha / 4)
  mean = (grid * weight).sum() / weight.sum()
  ep = np.subtract(*choix.ep_pairwise(2, pairs, alpha)[0])
  differences = {name: parameters[0] - parameters[1] for name, parameters in given.items()}
  print(f'alpha {alpha}: differences'
        f' {({name: round(float(value), 3) for name, value in differences.items()})}; closed'
        f' form with variance 1 / alpha {closed[1 / alpha]:.3f}, with half of it'
        f' {closed[1 / (2 * alpha)]:.3f}; mean by ep_pairwise {ep:.3f}, by integration'
        f' {mean:.3f}')
  for value in differences.values():
    as_described &= bool(abs(value - closed[1 / (2 * alpha)]) < 1e-3)
    as_described &= bool(abs(value - closed[1 / alpha]) > 0.1)
  as_described &= bool(abs(ep - mean) < 0.03)

draws = np.random.default_rng(0)
ITEMS, VARIANCE = 6, 4.0
for alpha in 0.25, 1.0:
  distances, ratios = {}, []
  for _ in range(20):
    true = draws.normal(scale=np.sqrt(VARIANCE), size=ITEMS)
    pairs = []
    for _ in range(30):
      first, second = draws.choice(ITEMS, 2, replace=False)
      first_wins = draws.random() < 1 / (1 + np.exp(true[second] - true[first]))
      pairs.append((first, second) if first_wins else (second, first))
    stated = largest_posterior(ITEMS, pairs, 1 / alpha)
    half = largest_posterior(ITEMS, pairs, 1 / (2 * alpha))
    for method in 'Newton-CG', 'BFGS':
      found = choix.opt_pairwise(ITEMS, pairs, alpha=alpha, method=method)
      distances.setdefault('1 / alpha', []).append(np.abs(found - stated).max())
      distances.setdefault('1 / (2 alpha)', []).append(np.abs(found - half).max())
      ratios.append(found.std() / stated.std())
  print(f'20 data sets of {ITEMS} items, alpha {alpha}: greatest distance of opt_pairwise to the'
        ' largest posterior'
        f' {({name: float(np.max(values).round(6)) for name, values in distances.items()})} by'
        f' variance; spread {np.mean(ratios):.2f} of that with variance 1 / alpha')
  as_described &= bool(np.max(distances['1 / (2 alpha)']) < 1e-3)
  as_described &= bool(np.min(distances['1 / alpha']) > 0.05 and np.max(ratios) < 0.95)
sys.exit(not as_described)
PROGRAM
