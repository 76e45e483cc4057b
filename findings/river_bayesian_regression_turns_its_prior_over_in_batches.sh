#!/usr/bin/env bash
# River 0.26.1: the prior of `BayesianLinearRegression` is `alpha` for one row at a time and
# 1 / `alpha` for `learn_many` and with `smoothing`. A strong prior becomes none.
#
# The model keeps the precision of the weights and its inverse, the covariance. Both begin
# as the unit matrix divided by alpha, where the precision should be multiplied by it.
# `learn_one` reads the covariance alone, and is right: ridge regression with alpha / beta.
# `learn_many`, new and "exactly the sequence" of `learn_one` for each row, adds to the
# precision and inverts that, and so does `learn_one` with `smoothing`.
#
# * alpha 100, ten rows, true weights of 1: at most 0.16 by `learn_one`, as a strong prior
#   should, and 0.995 and more by one call of `learn_many`. With 0.01 it is the reverse.
# * One row by `learn_many` after many by `learn_one` changes what was learned before.
# * With smoothing and alpha 0.01, a wide prior with variance 100, one observation of one
#   feature makes the variance of ANOTHER one fall from 100 to 0.01, and with alpha 100 rise
#   from 0.01 to 111. `bandit.LinUCBDisjoint(alpha=..., smoothing=...)` explores by this
#   variance: after one pull it holds all contexts of an arm for known, or for unknown.
# * The default, 1, is its own inverse. The tests of both ways use it.
#
# One would guess: batches and single rows agree, and alpha is Bishop's precision of the
# prior, as the page of the book says that the documentation names.
#
# Controls: the posterior by its closed form, with NumPy; all with alpha 1.
#
# Source: river/linear_model/bayesian_lin_reg.py (`_grow`: `diag` for `new_ss` and
# `new_ss_inv`), bandit/lin_ucb.py; seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'river==0.26.1' 'numpy==2.4.6' 'scipy==1.17.1' 'narwhals==2.29.0' 'pandas==2.3.3'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import numpy as np
import pandas as pd
from river import bandit
from river.linear_model import BayesianLinearRegression

ROWS, FEATURES, BETA, SMOOTHING = 10, 3, 1.0, 0.9
NAMES = [f'x{i}' for i in range(FEATURES)]

random = np.random.default_rng(0)
X = random.normal(size=(ROWS, FEATURES))
y = X.sum(axis=1)  # The weights are 1.


def weights(model):
  return np.array([
      model.predict_one({each: float(name == each) for each in NAMES}) for name in NAMES
  ])


def closed_form(precision, X, y):
  return np.linalg.solve(
      precision * np.eye(FEATURES) + BETA * X.T @ X, BETA * X.T @ y
  )


def by_rows(model, X, y):
  for row, target in zip(X, y):
    model.learn_one(dict(zip(NAMES, row)), target)
  return model


def by_batch(model, X, y):
  model.learn_many(pd.DataFrame(X, columns=NAMES), pd.Series(y))
  return model


as_described = True
for alpha in (0.01, 1.0, 100.0):
  rows = weights(by_rows(BayesianLinearRegression(alpha, BETA), X, y))
  batch = weights(by_batch(BayesianLinearRegression(alpha, BETA), X, y))
  mixed = BayesianLinearRegression(alpha, BETA)
  by_batch(by_rows(mixed, X[:-1], y[:-1]), X[-1:], y[-1:])
  print(f'alpha {alpha}: weights by rows {rows.round(3)}, by one batch {batch.round(3)}, by'
        f' rows and a batch of one {weights(mixed).round(3)}')
  as_described &= np.allclose(rows, closed_form(alpha, X, y))
  as_described &= np.allclose(batch, closed_form(1 / alpha, X, y))
  as_described &= np.allclose(weights(mixed), batch)
  as_described &= np.allclose(rows, batch) == (alpha == 1)
  if alpha == 100:
    as_described &= rows.max() < 0.2 and batch.min() > 0.95


def variance(model, feature):
  """Of the weight of a feature."""
  return model.predict_one({feature: 1.0}, with_dist=True).sigma ** 2 - 1 / BETA


# One observation of the first feature; what is known of the second?
for alpha in (0.01, 1.0, 100.0):
  model = BayesianLinearRegression(alpha, BETA, smoothing=SMOOTHING)
  before = variance(model, 'x1')
  model.learn_one({'x0': 1.0, 'x1': 0.0}, 1.0)
  after = variance(model, 'x1')
  right = 1 / (SMOOTHING * alpha)
  print(f'alpha {alpha}, smoothing {SMOOTHING}: variance of a weight that was not observed'
        f' {before:.3f}, then {after:.3f}; by the formula {right:.3f}')
  as_described &= math.isclose(before, 1 / alpha, rel_tol=1e-6)
  as_described &= math.isclose(after, alpha / SMOOTHING, rel_tol=1e-6)
  as_described &= math.isclose(after, right, rel_tol=1e-6) == (alpha == 1)

# Two arms, one of which was pulled in another context, and paid nothing. By the formula
# its bound is 10.6 for this one, as its prior has decayed, and the new arm's is 10.05.
pulled = 0
for seed in range(50):
  policy = bandit.LinUCBDisjoint(alpha=0.01, beta=BETA, smoothing=SMOOTHING, seed=seed)
  policy.update('pulled', {'x0': 1.0, 'x1': 0.0}, 0.0)
  pulled += policy.pull(['pulled', 'new'], {'x0': 0.0, 'x1': 1.0}) == 'pulled'
print(f'LinUCB, alpha 0.01, in a context that neither arm has seen: {pulled} of 50 choices'
      ' are the arm that was pulled in another context; by the formula all are')
as_described &= pulled == 0
sys.exit(not as_described)
PROGRAM
