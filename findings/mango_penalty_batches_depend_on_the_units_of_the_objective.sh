#!/usr/bin/env bash
# arm-mango 1.6.0: with `parallel_strategy='penalty'` a batch exploits, explores alone or is
# arbitrary, by the units of the objective.
#
# The first point of a batch has the greatest mean plus `alpha` standard deviations. For the
# others the factor is sqrt(alpha) exp(C), and C = 8 / log(1 + 1 / sigma**2) with the standard
# deviation sigma of the point itself, in the units of the objective. At a sigma of 0.01 the
# factor is 3.4, at 1 it is 146000. From 6.7 on it is infinite, and all such points are
# equal.
#
# * A smooth function of two variables with values between 0 and 1, batches of five, from 15
#   known points: points two to five of a batch have a mean value of 0.9 if the values are
#   multiplied by 0.01, and 0.2 if they are not. Random points have 0.3.
# * If the values are multiplied by 1000, points two to five depend on the order of the list
#   of candidates.
# * Eight batches by `Tuner`: points two to five have a mean value of 0.98 with values times
#   0.01, and 0.25 with values times 1000. With `'clustering'` it is 0.96 in both.
#
# One would guess: a regressor with `normalize_y=True` makes the units meaningless, as they
# are for the first point and under `'clustering'`; and the factor is one number for all
# candidates, as in the algorithm (GP-BUCB), where C bounds the information of a batch.
# The best value still rises by the first points, and the module silences all warnings,
# also that of the overflow.
#
# Controls: the first points of the same batches; the same batches from known values that are
# standardized beforehand; `'clustering'`.
#
# Source: mango/optimizer/bayesian_learning.py
# (`Upper_Confidence_Bound_Remove_Duplicates`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'arm-mango==1.6.0' 'numpy==2.3.5' 'scipy==1.17.1' 'scikit-learn==1.8.0' 'tqdm==4.70.1'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import random
import sys

from mango import Tuner
from mango.optimizer.bayesian_learning import BayesianLearning
import numpy as np
from scipy.stats import uniform

BATCH, SEEDS = 5, 4
as_described = True


def value(points):
  return np.exp(-8 * np.square(np.asarray(points) - 0.7).sum(-1))


def batches(units, by_clusters=False, standardized=False, turned=False):
  """Values of the points of batches from known points, and their places in the list."""
  values, places = [], []
  for seed in range(SEEDS):
    draws = np.random.default_rng(seed)
    known, candidates = draws.random((15, 2)), draws.random((1000, 2))
    results = units * value(known)[:, None]
    if standardized:
      # Deviations of about 0.01 for every unit.
      results = (results - results.mean()) / results.std() / 100
    learning = BayesianLearning(alpha=2.0)
    choose = learning.get_next_batch_clustering if by_clusters else learning.get_next_batch
    order = np.arange(1000)[::-1] if turned else np.arange(1000)
    batch = choose(known, results, candidates[order], batch_size=BATCH)
    values.append(value(batch))
    places.append([np.abs(candidates - point).sum(1).argmin() for point in batch])
  return np.array(values), np.array(places)


print(f'random points: mean value {value(np.random.default_rng(0).random((9999, 2))).mean():.2f}')
later, firsts, controls, clusters = {}, {}, {}, {}
for units in 0.01, 1, 1000:
  values, places = batches(units)
  turned = batches(units, turned=True)[1]
  firsts[units], later[units] = values[:, 0], values[:, 1:].mean()
  controls[units] = batches(units, standardized=True)[0]
  clusters[units] = batches(units, by_clusters=True)[0]
  print(f'values times {units}: mean value of the first points {values[:, 0].mean():.2f}, of'
        f' points two to five {later[units]:.2f}; by standardized values'
        f' {controls[units][:, 1:].mean():.2f}; by clusters {clusters[units].mean():.2f};'
        f' the last batch {places[-1]}, from the turned list {turned[-1]}')
  as_described &= bool((places[:, 0] == turned[:, 0]).all())
  if units == 1000:
    as_described &= bool((places[:, 1:] != turned[:, 1:]).mean() > 0.9)
  else:
    as_described &= bool((places == turned).mean() > 0.9)
as_described &= bool(later[0.01] > 0.75 and max(later[1], later[1000]) < 0.4)
for units in 1, 1000:
  as_described &= bool(np.allclose(firsts[units], firsts[0.01], atol=0.02))
  as_described &= bool(np.allclose(clusters[units].mean(), clusters[0.01].mean(), atol=0.02))
  as_described &= bool(np.allclose(controls[units], controls[0.01], atol=0.02))
as_described &= bool(controls[1][:, 1:].mean() > 0.75)

whole = {}
for strategy in 'penalty', 'clustering':
  for units in 0.01, 1000:
    tried = []
    for seed in range(2):
      random.seed(seed)
      np.random.seed(seed)
      settings = {
          'parallel_strategy': strategy, 'batch_size': BATCH, 'num_iteration': 8,
          'initial_random': 15, 'exploration': 0.0, 'domain_size': 1000,
          'log_progress': False,
      }
      tuner = Tuner(
          {'x': uniform(0, 1), 'y': uniform(0, 1)},
          lambda points: [units * value([point['x'], point['y']]) for point in points],
          settings,
      )
      found = np.array(tuner.maximize()['objective_values'])[15:] / units
      tried.append(found.reshape(8, BATCH)[:, 1:].mean())
    whole[strategy, units] = np.mean(tried)
    print(f'Tuner, {strategy}, values times {units}: mean value of points two to five of the'
          f' batches {np.mean(tried):.2f}')
as_described &= bool(whole['penalty', 0.01] > 0.75 > 0.4 > whole['penalty', 1000])
as_described &= bool(abs(whole['clustering', 0.01] - whole['clustering', 1000]) < 0.05)
sys.exit(not as_described)
PROGRAM
