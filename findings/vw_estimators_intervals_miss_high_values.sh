#!/usr/bin/env bash
# vw-estimators 0.2.2, Vowpal Wabbit's off-policy evaluation: the Clopper-Pearson interval
# "of 95 %" misses the value of a good policy most of the time, and intervals of several
# slots are of 95 % whatever `alpha` is.
#
# * `bandits.clopper_pearson.Interval`: weighted rewards lie between 0 and the largest
#   weight W. Divided by W they are like N trials whose chance is value / W, and an interval
#   of this chance has to be multiplied by W. Here N is divided by W as well, as if there
#   were N / W trials whose chance is the value. Their variance is smaller by
#   (1 - value) / (1 - value / W). 500 rows of two or ten actions with equal chances, rewards
#   of 0 and 1, a policy that always takes the first one: with a value of 0.05 the interval
#   holds it in 98 % of the logs or more, with 0.8 in 7 of 10, with 0.95 in less than half,
#   and with 1 in 1 of 20.
# * More successes than trials are common where the value is near 1. The lower bound is
#   then NaN, in up to half of the logs, and the upper one 1.
# * `ccb.first_slot` and `ccb.pdis_cressieread` have an `alpha` and do not pass it on: 0.5
#   and 0.001 give the same bounds.
# * `ccb.multislot`: with `p_drop`, the share of rows that were dropped, the lower bound of
#   `get_impression` and `get_r` of a slot that is in each row is NaN: the slot counts the
#   dropped rows, the total does not.
#
# One would guess: exact intervals are the careful ones, wider than the Gaussian of the same
# package and never below their level. For clicks, with values of some percent, they are
# right. For policies that are good, or rewards that are scaled to end near 1, a comparison
# by these bounds takes noise for a difference. Nothing warns.
#
# Controls: the binomial interval of the same rows by hand, the package's Gaussian interval,
# and its own interval of one slot, which follows `alpha`.
#
# Source: estimators/bandits/clopper_pearson.py (`n = self.examples_count /
# self.max_weight`), estimators/ccb/first_slot.py, pdis_cressieread.py (`get`) and
# multislot.py (`self.n += 1`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'scipy==1.17.1' 'numpy==2.4.6' 'setuptools==80.9.0' 'wheel==0.45.1'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-build-isolation 'vw-estimators==0.2.2'

"$folder/venv/bin/python" - <<'PROGRAM'
import math
import sys

from estimators.bandits import clopper_pearson
from estimators.bandits import cressieread
from estimators.bandits import gaussian
from estimators.ccb import first_slot
from estimators.ccb import multislot
from estimators.ccb import pdis_cressieread
import numpy as np
from scipy import stats

ROWS, LOGS = 500, 300
as_described = True
random = np.random.default_rng(0)
for actions in 2, 10:
  for value in 0.05, 0.5, 0.8, 0.95, 1.0:
    covered = dict.fromkeys(('Clopper-Pearson', 'Gaussian', 'by hand'), 0)
    widths = dict.fromkeys(covered, 0.0)
    missing = 0
    for _ in range(LOGS):
      intervals = {
          'Clopper-Pearson': clopper_pearson.Interval(),
          'Gaussian': gaussian.Interval(),
      }
      hits = 0
      for action, chance in zip(random.integers(actions, size=ROWS), random.random(ROWS)):
        reward = float(chance < value)
        hits += reward * (action == 0)
        for interval in intervals.values():
          interval.add_example(1 / actions, reward, float(action == 0))
      bounds = {name: interval.get() for name, interval in intervals.items()}
      # The policy's action and a reward: one chance, value / actions, in each row.
      bounds['by hand'] = (
          actions * stats.beta.ppf(0.025, hits, ROWS - hits + 1),
          actions * stats.beta.ppf(0.975, hits + 1, ROWS - hits),
      )
      missing += math.isnan(bounds['Clopper-Pearson'][0])
      for name, (low, high) in bounds.items():
        covered[name] += low <= value <= high
        widths[name] += 0 if math.isnan(low) else (high - low) / LOGS
    shares = {name: number / LOGS for name, number in covered.items()}
    print(f'{actions} actions, value {value}: held by',
          ', '.join(f'{name} {x:.0%}' for name, x in shares.items()),
          f'of the intervals of 95 %; lower bound NaN in {missing / LOGS:.0%}')
    as_described &= min(shares['Gaussian'], shares['by hand']) > 0.85
    if value == 0.05:
      as_described &= shares['Clopper-Pearson'] > 0.93 and missing == 0
    if value == 0.5:
      # No interval is NaN, so that the widths can be compared with the variances'.
      ratio = widths['Clopper-Pearson'] / widths['by hand']
      expected = math.sqrt((1 - value) / (1 - value / actions))
      print(f'  width {ratio:.2f} of the right one, {expected:.2f} by the variances')
      as_described &= abs(ratio - expected) < 0.04
    if value == 0.8:
      as_described &= shares['Clopper-Pearson'] < 0.82
    if value == 0.95:
      as_described &= shares['Clopper-Pearson'] < 0.6 and missing > 0
    if value == 1:
      as_described &= shares['Clopper-Pearson'] < 0.15 and missing > LOGS / 4

# Two slots with two actions each; slots by themselves and by their product.
single = cressieread.Interval()
makers = {
    'first_slot': first_slot.Interval(gaussian.Interval()),
    'pdis_cressieread': pdis_cressieread.Interval(),
}
for row in range(200):
  p_pred = [float(row % 2 == 0), 1.0]
  rewards = [float(row % 3 == 0), 0.0]
  single.add_example(0.5, rewards[0], p_pred[0])
  for interval in makers.values():
    interval.add_example([0.5, 0.5], rewards, p_pred)
for name, interval in [('one slot', single), *makers.items()]:
  found = [interval.get(alpha=alpha) for alpha in (0.5, 0.001)]
  bounds = [x if name == 'one slot' else x[0] for x in found]
  texts = [f'{low:.3f} to {high:.3f}' for low, high in bounds]
  print(f'{name}: alpha 0.5 {texts[0]}, alpha 0.001 {texts[1]}')
  as_described &= (name == 'one slot') == (found[0] != found[1])

for p_drop in 0.0, 0.5:
  interval = multislot.Interval()
  for row in range(100):
    interval.add_example(['top'], [0.5], [float(row % 2)], [0.5], p_drop=p_drop)
  low, high = interval.get_impression()['top']
  print(f'multislot, a slot of each row, p_drop {p_drop}: impression {low:.3f} to'
        f' {high:.3f}, reward {interval.get_r()["top"][0]:.3f} or more')
  as_described &= math.isnan(low) == (p_drop > 0)
  as_described &= math.isnan(interval.get_r()['top'][0]) == (p_drop > 0)
sys.exit(not as_described)
PROGRAM
