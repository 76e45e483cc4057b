#!/usr/bin/env bash
# uncertainty-toolbox 0.1.1: recalibrated quantiles move the wrong way. The observed
# proportions "below a predicted quantile" are proportions above the mirrored one.
#
# With prop_type='quantile' the residuals are prediction minus label, so that what is
# counted for the level q is how many labels are above the quantile of 1 - q.
#
# * For predictions that are too low the proportions say that they are too high.
#   `get_quantile_recalibrator` learns from these and moves the quantiles further down:
#   with a bias of one standard deviation 16 % of new labels are below the predicted
#   median before, and 2.5 % after it. The bias is doubled.
# * For skewed labels (returns are) it takes the other tail as the heavy one.
# * Where the spread alone is wrong, the two are the same, and it works. The calibration
#   errors (mean absolute, root mean squared) are right too, as they are the same for the
#   mirror image. So a check of the numbers before does not show it.
#
# One would guess: "observed proportions below a predicted quantile" (the documentation
# of `prop_type`, "the proportion of data that are below the predicted quantile" for one
# level) is what `y_true <= get_quantile(...)` counts, and recalibration makes levels
# right. Quantiles of returns are what optimistic and cautious agents act by.
#
# Controls: the same regression of the package with proportions that are counted with its
# own `get_quantile`; spreads that are too small; intervals, which are symmetric.
#
# Source: uncertainty_toolbox/metrics_calibration.py (`get_proportion_lists_vectorized`,
# `get_proportion_under_quantile`: `residuals = y_pred - y_true`), recalibration.py
# (`get_quantile_recalibrator`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'uncertainty-toolbox==0.1.1' 'numpy==2.4.6' 'scipy==1.17.1' 'scikit-learn==1.9.1' \
  'matplotlib==3.11.2'

MPLCONFIGDIR="$folder" OMP_NUM_THREADS=1 "$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
import uncertainty_toolbox
from uncertainty_toolbox import metrics_calibration
from uncertainty_toolbox import recalibration

NUMBER, NEW = 5000, 50_000
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]

random = np.random.default_rng(0)


def below(mean, deviation, labels, level, model=None):
  """The proportion of labels that are below the predicted quantile, by counting them."""
  quantiles = metrics_calibration.get_quantile(mean, deviation, level, recal_model=model)
  return sum(map(bool, labels <= quantiles)) / len(labels)


as_described = True
for name, draw, mean, deviation, is_right in (
    ('too low by one deviation', lambda n: random.normal(size=n), -1.0, 1.0, False),
    ('too high by half a deviation', lambda n: random.normal(size=n), 0.5, 1.0, False),
    ('right mean, labels skewed', lambda n: random.exponential(size=n), 1.0, 1.0, False),
    ('half the deviation', lambda n: random.normal(size=n), 0.0, 0.5, True),
):
  labels, new = draw(NUMBER), draw(NEW)
  known = np.full(NUMBER, mean), np.full(NUMBER, deviation), labels
  means, deviations = np.full(NEW, mean), np.full(NEW, deviation)

  expected, observed = uncertainty_toolbox.get_proportion_lists_vectorized(
      *known, prop_type='quantile'
  )
  slow = uncertainty_toolbox.get_proportion_lists(*known, prop_type='quantile')
  np.testing.assert_allclose(slow[1], observed)
  counted = np.array(
      [0.0, *(below(*known, float(level)) for level in expected[1:-1]), 1.0]
  )
  # What it is: above the quantile of the other side.
  as_described &= np.abs(observed - (1 - counted[::-1])).max() < 1e-3
  off = np.abs(observed - counted).max()
  as_described &= off < 0.04 if is_right else off > 0.1
  # The errors do not show it.
  error = uncertainty_toolbox.mean_absolute_calibration_error(*known, prop_type='quantile')
  as_described &= abs(error - np.abs(counted - expected).mean()) < 1e-3

  seen = recalibration.get_quantile_recalibrator(*known)
  control = recalibration.iso_recal(expected, counted)
  print(f'{name}: calibration error {error:.3f}, as counted'
        f' {np.abs(counted - expected).mean():.3f}')
  distances = []
  for level in LEVELS:
    shares = [
        below(means, deviations, new, level),
        np.mean(new <= seen(means, deviations, level)),
        below(means, deviations, new, level, control),
    ]
    distances.append(np.abs(np.array(shares) - level))
    print(f'  level {level}: {shares[0]:.3f} of new labels below before, {shares[1]:.3f}'
          f' after recalibration, {shares[2]:.3f} after it with counted proportions')
  before, after, right = np.mean(distances, axis=0)
  as_described &= right < 0.02 < before
  as_described &= after < 0.02 if is_right else after > 1.2 * before

  # Intervals.
  interval = recalibration.get_interval_recalibrator(*known)
  for level in (0.5, 0.8):
    bounds = interval(means, deviations, level)
    share = np.mean((new >= bounds.lower) & (new <= bounds.upper))
    print(f'  interval of {level}: {share:.3f} of new labels in it after recalibration')
    as_described &= abs(share - level) < 0.03
sys.exit(not as_described)
PROGRAM
