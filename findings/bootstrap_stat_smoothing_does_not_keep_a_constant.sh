#!/usr/bin/env bash
# bootstrap-stat 0.3.0.0: the smoother behind `t_interval(stabilize_variance=True)` and
# `calibrate_interval` is no weighted regression, and the intervals depend on where the scale
# of the data begins.
#
# The local line is fitted by least squares with weights: both variables are multiplied by the
# square roots of the weights, and the constant, which must be multiplied too, is not.
#
# * 101 points with the constant value 5 at places from 0 to 10: smoothed it is 2.82 at 0, 4.52
#   at 2 and 5.38 at 10. Points on the line 2 z + 1 are 0.56 at 0 instead of 1. At places from
#   100 to 110 the constant is 4.96 to 5.04.
# * Five samples of 30 draws with a mean of 0.3 and a deviation of 1, the mean as the
#   statistic: the ends of the stabilized interval move by up to 13 % of its width if 5 is
#   added to the sample and taken off the interval. With the constant weighted they are equal.
#
# One would guess: a local linear smoother gives a constant and a line back, and an interval
# for a mean moves with the data. The statistic is smoothed over itself, so it fails
# where statistics are near 0 against their spread, as differences of two means are.
#
# Controls: the same smoother with weighted means, written here; the interval without
# stabilization, which moves with the data.
#
# Source: bootstrap_stat/_utils.py (`loess`), bootstrap_stat/confidence.py (`t_interval`,
# `calibrate_interval`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'bootstrap-stat==0.3.0.0' 'numpy==1.26.4' 'scipy==1.15.3' 'pandas==2.2.3'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import bootstrap_stat
from bootstrap_stat import _utils
from bootstrap_stat import confidence
import numpy as np

as_described = True
given = _utils.loess


def weighted(z0, z, y, alpha, sided='both'):
  del sided
  nearest = np.argsort(np.abs(z - z0))[:int(np.floor(alpha * len(z)))]
  z, y = z[nearest], y[nearest]
  weights = (1 - (np.abs(z - z0) / np.abs(z[-1] - z0)) ** 3) ** 3
  mean_z, mean_y = np.average(z, weights=weights), np.average(y, weights=weights)
  slope = np.sum(weights * (z - mean_z) * (y - mean_y)) / np.sum(weights * (z - mean_z) ** 2)
  return mean_y + slope * (z0 - mean_z)


for first in 0, 100:
  places = np.linspace(first, first + 10, 101)
  for name, values in (('constant', np.full(101, 5.0)), ('line', 2 * places + 1)):
    for smoother in given, weighted:
      smooth = [smoother(first + step, places, values, 0.3) for step in (0, 2, 5, 8, 10)]
      errors = np.array(smooth) - np.interp(first + np.array([0, 2, 5, 8, 10]), places, values)
      print(f'{name}, places from {first}, {smoother.__name__}:'
            f' {[round(float(value), 3) for value in smooth]},'
            f' errors {[round(float(error), 3) for error in errors]}')
      if smoother is weighted:
        as_described &= bool(np.abs(errors).max() < 1e-9)
      elif first == 0:
        as_described &= bool(np.abs(errors).max() > 0.4)


def standard_error(sample):
  return sample.std(ddof=1) / np.sqrt(len(sample))


draws = np.random.default_rng(0)
moved = {}
for number in range(5):
  sample = draws.normal(0.3, size=30)
  for name, smoother, stabilize in (
      ('given', given, True), ('weighted', weighted, True), ('not stabilized', given, False)
  ):
    confidence.loess = smoother
    intervals = []
    for added in 0, 5:
      data = bootstrap_stat.EmpiricalDistribution(sample + added)
      intervals.append(np.array(bootstrap_stat.t_interval(
          data, np.mean, (sample + added).mean(), stabilize_variance=stabilize,
          fast_std_err=standard_error, Bouter=200, Bvar=100, rng=number,
      )) - added)
    width = np.ptp(intervals[1])
    moved.setdefault(name, []).append(np.abs(intervals[0] - intervals[1]).max() / width)
    print(f'sample {number}, {name}: {intervals[0].round(3)} as drawn,'
          f' {intervals[1].round(3)} with 5 added and taken off')
print('the greatest distances of the ends, in widths:'
      f' {({name: float(np.max(values).round(6)) for name, values in moved.items()})}')
as_described &= bool(np.max(moved['given']) > 0.1 and np.mean(moved['given']) > 0.05)
as_described &= bool(np.max(moved['weighted'] + moved['not stabilized']) < 1e-5)
sys.exit(not as_described)
PROGRAM
