#!/usr/bin/env bash
# contextualbandits 0.3.30: `DoublyRobustEstimator` replaces every reward estimate by a random
# number, takes an array of rewards for costs, and `evaluateDoublyRobust` changes its array.
#
# * `handle_invalid=True`, the default, is there for estimates of exactly 0 or 1. `fit` turns
#   the estimates into costs first, numbers from -1 to 0, and then replaces all that are <= 0.
#   The costs of arms that were not chosen are between 0 and 1 and have a correlation of
#   0.00 with the right ones. 400 rows with four arms, one of them logged 85 % of the time,
#   and the true chances as estimates: the learned policies are worth 0.73, 0.80 with
#   `handle_invalid=False`, and 0.76 with estimates of 0 and the same rows.
# * An array of estimates is not turned into costs: the costs from the same true chances as an
#   array, with `handle_invalid=False`, have a correlation of -1 with the right ones, and
#   the policies are worth 0.70.
# * `evaluateDoublyRobust` adds its corrections to the first column of an array of estimates:
#   the same call, four times, has four results, each off by the same step.
#
# One would guess: a doubly robust learner gains from good estimates, "reward estimates" may be
# given in each form that the docstring lists, and an evaluation leaves its arguments alone.
# The corrections make the costs right on average, so with many rows a policy is learned
# all the same.
#
# Controls: `handle_invalid=False`; estimates of 0, the plain weighting by chances; the negative
# chances as an array; the mean of the true chances.
#
# Both packages are built here, which needs a C compiler.
#
# Source: contextualbandits/offpolicy.py (`DoublyRobustEstimator.fit`),
# contextualbandits/evaluation.py (`evaluateDoublyRobust`); seen by this script, which fails if
# it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'contextualbandits==0.3.30' 'costsensitive==0.1.2.13.post15' 'numpy==1.26.4' \
  'scipy==1.15.3' 'scikit-learn==1.5.2' 'pandas==2.2.3' 'joblib==1.4.2'

cd "$folder"
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from contextualbandits.evaluation import evaluateDoublyRobust
from contextualbandits.offpolicy import DoublyRobustEstimator
import numpy as np
from sklearn.linear_model import LinearRegression

ARMS, ROWS, SETS = 4, 400, 20
WEIGHTS = 1.5 * np.array([[1, 0, 0, -1], [0, 1, 0, -1], [0, 0, 1, 0]])
LOGGED = np.array([0.85, 0.05, 0.05, 0.05])
draws = np.random.default_rng(0)
as_described = True


def data(rows):
  x = draws.normal(size=(rows, 3))
  chances = 1 / (1 + np.exp(-x @ WEIGHTS))
  arms = draws.choice(ARMS, size=rows, p=LOGGED)
  rewards = (draws.random(rows) < chances[np.arange(rows), arms]).astype(float)
  return x, chances, arms, rewards, LOGGED[arms]


class Estimates:

  def __init__(self, values):
    self.values = values

  def predict_proba_separate(self, x):
    assert len(x) == len(self.values)
    return self.values.copy()


costs = []


class Recording(LinearRegression):

  def fit(self, x, y):
    costs.append(np.array(y))
    return super().fit(x, y)


new_x, new_chances, *_ = data(5000)
worth, found = {}, {}
for _ in range(SETS):
  x, chances, arms, rewards, logged = data(ROWS)
  others = np.ones(chances.shape, dtype=bool)
  others[np.arange(ROWS), arms] = False
  for name, estimator, handle_invalid in (
      ('the default', Estimates(chances), True),
      ('handle_invalid=False', Estimates(chances), False),
      ('estimates of 0', Estimates(0 * chances), False),
      ('array', chances.copy(), False),
      ('negative array', -chances, False),
  ):
    costs.clear()
    learner = DoublyRobustEstimator(
        Recording(), estimator, ARMS, handle_invalid=handle_invalid, njobs=1
    )
    learner.fit(x, arms, rewards, logged)
    chosen = learner.predict(new_x)
    worth.setdefault(name, []).append(new_chances[np.arange(len(chosen)), chosen].mean())
    given = np.array(costs).T[others]
    found.setdefault(name, []).append(
        (given.min(), given.max(), np.abs(given + chances[others]).max(),
         np.corrcoef(given, -chances[others])[0, 1] if np.ptp(given) else np.nan)
    )
print(f'the best arm is worth {new_chances.max(axis=1).mean():.3f}, a drawn one'
      f' {new_chances.mean():.3f}')
for name, values in worth.items():
  least, greatest, error, correlation = np.array(found[name]).T
  print(f'{name}: policies worth {np.mean(values):.3f}; costs of the arms that were not chosen'
        f' {least.min():.3f} to {greatest.max():.3f}, at most {error.max():.3f} from the right'
        f' ones, correlation {correlation.mean():.3f}')
means = {name: np.mean(values) for name, values in worth.items()}
least, greatest, error, correlation = np.array(found['the default']).T
as_described &= bool(least.min() > 0 and abs(correlation.mean()) < 0.05)
as_described &= bool(np.array(found['handle_invalid=False'])[:, 2].max() < 1e-9)
as_described &= bool(means['the default'] < means['estimates of 0'] - 0.01)
as_described &= bool(means['handle_invalid=False'] > means['the default'] + 0.05)
as_described &= bool(np.array(found['array'])[:, 3].max() < -0.999)
as_described &= bool(means['array'] < means['estimates of 0'] - 0.02)
as_described &= bool(abs(means['negative array'] - means['handle_invalid=False']) < 1e-9)

x, chances, arms, rewards, logged = data(ROWS)
rows, best = np.arange(ROWS), chances.argmax(axis=1)
columns = np.stack([chances[rows, best], chances[rows, arms]], axis=1)
same = [
    evaluateDoublyRobust(best, x, arms, rewards, logged, columns) for _ in range(4)
]
fresh = [
    evaluateDoublyRobust(best, x, arms, rewards, logged, np.stack(
        [chances[rows, best], chances[rows, arms]], axis=1
    ))
    for _ in range(4)
]
print(f'evaluation, the same array: {[round(float(value), 4) for value in same]}; a new one'
      f' {[round(float(value), 4) for value in fresh]}; true {chances[rows, best].mean():.4f}')
steps = np.diff([chances[rows, best].mean(), *same])
as_described &= bool(np.allclose(steps, steps[0]) and abs(steps[0]) > 1e-3)
as_described &= len(set(fresh)) == 1
sys.exit(not as_described)
PROGRAM
