#!/usr/bin/env bash
# space-bandits 0.0.993: `predict`, as it is by default, draws the same noise for all arms, and
# its Thompson sampling hardly explores.
#
# With `parallelize=True`, the default, `predict` starts a pool of processes for one arm after
# the other. All of them are forked from a process whose NumPy generator does not advance in
# between, and draw from that generator. The coefficients of all arms get the same standard
# normal numbers; only the draws of the variances, which are made before, differ.
#
# * Two arms of 100 rows each with the same contexts, and means that differ by half a
#   posterior standard deviation. In 40 calls for the same one context the second best arm
#   is never chosen, where Thompson sampling chooses it in 36 %.
# * The sampled rewards of the two arms have a correlation of 1.0, where it should be 0.
#
# One would guess: `predict` with `thompson=True` samples as `action` does, and the number of
# processes means nothing for the distribution. The draws of one arm are right, calls differ
# from one another, and nothing warns.
#
# Controls: `predict` with `parallelize=False`; `action`; the share by the normal
# distribution of the difference.
#
# Source: space_bandits/linear.py (`parallelize_multivar`, `get_mn`, `_sample`); the same
# functions are in neural_linear.py. Seen by this script on Linux, where processes are
# forked; it fails if the behaviour changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'torch==2.13.0' 'numpy==2.3.5' 'scipy==1.17.1' 'pandas==2.3.3' 'scikit-learn==1.8.0'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'space-bandits==0.0.993'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import math
import sys

import numpy as np
from space_bandits import LinearBandits
import torch

torch.set_num_threads(1)
ROWS, FEATURES = 100, 2
as_described = True

draws = np.random.default_rng(0)
contexts = draws.normal(size=(ROWS, FEATURES))
rewards = contexts @ [1.0, -1.0] + draws.normal(size=ROWS)
context = np.array([[0.5, 0.5]])

model = LinearBandits(2, FEATURES)
first = {'contexts': contexts, 'actions': np.zeros(ROWS, int), 'rewards': rewards}
model.fit(**first)
extended = np.append(context, 1)
variance = model.b[0] / (model.a[0] - 1)
deviation = math.sqrt(variance * extended @ model.cov[0] @ extended)
# The same rows for the second arm, higher by half a deviation.
model.fit(contexts, np.ones(ROWS, int), rewards + 0.5 * deviation)
means = model.expected_values(context)[:, 0]
gap = (means[1] - means[0]) / deviation
expected = math.erfc(gap / 2) / 2
print(f'gap of the means {gap:.2f} posterior standard deviations; the second best arm has a'
      f' chance of {expected:.2f}')
as_described &= abs(gap - 0.5) < 0.05

ways = {
    'predict': lambda: model.predict(context, n_threads=2)[0],
    'predict, parallelize=False': lambda: model.predict(context, parallelize=False)[0],
    'action': lambda: model.action(context),
}
np.random.seed(0)
for name, choose in ways.items():
  calls = 40 if name == 'predict' else 400  # Processes take time.
  share = np.mean([choose() == 0 for _ in range(calls)])
  print(f'{name}: the second best arm is chosen in {share:.2f} of {calls} calls')
  as_described &= bool(share < 0.06 if name == 'predict' else abs(share - expected) < 0.1)

for parallelize in True, False:
  values = np.array([
      model._sample(context, parallelize=parallelize, n_threads=2)[:, 0]
      for _ in range(25 if parallelize else 400)
  ])
  correlation = np.corrcoef(values.T)[0, 1]
  spread = values.std(0) / deviation
  print(f'sampled rewards, parallelize={parallelize}: correlation of the arms'
        f' {correlation:.2f}, standard deviations {spread.round(2)} of the posterior ones')
  as_described &= bool(np.all(np.abs(spread - 1) < 0.4))
  as_described &= bool(correlation > 0.97 if parallelize else abs(correlation) < 0.2)
sys.exit(not as_described)
PROGRAM
