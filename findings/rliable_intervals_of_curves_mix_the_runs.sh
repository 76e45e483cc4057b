#!/usr/bin/env bash
# rliable 1.2.0: from learning curves it draws each point of each curve of its own, so
# that intervals of anything but single points are wrong. `random_state` has no effect.
#
# `get_interval_estimates` takes scores of runs x tasks, or of runs x tasks x points of
# the training. The bootstrap then draws a run for each task, which is meant (runs of
# two tasks have nothing in common), and also for each point: a drawn curve is put
# together from points of all runs. With ten runs of fifty points, in which a run is
# better or worse as a whole,
#
# * the interval of the mean over the training (the area under the curve) is 7 times
#   too narrow, the square root of fifty. Of intervals of 95 percent, about a quarter
#   have the true value, and nine tenths if the mean of each run is taken before;
# * the interval of the progress from the first to the last point is 10 times too wide,
#   since what the two points of a run have in common does not cancel out;
# * the interval of each single point, which the library's example of a learning curve
#   shows, is right.
#
# One would guess: a run is drawn with all of its points, as the class says that it is
# the runs that are drawn. More points make the interval of the mean narrower, without
# any new run.
#
# `random_state` is said to make results reproducible. Two calls with the same one give
# different intervals, and after one `numpy.random.seed` two calls with different ones
# give the same. The bootstrap draws from NumPy's global generator, and moves it on.
#
# Source: rliable/library.py (`StratifiedBootstrap.update_indices`, and the same of
# `StratifiedIndependentBootstrap`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'rliable==1.2.0' 'arch==7.2.0' 'numpy==2.3.5' 'pandas==2.3.3' 'scipy==1.17.1'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

import numpy as np
from rliable import library

RUNS, POINTS, TRIALS = 10, 50, 60


def curves(random):
  """Scores around 0: one level for each run, and a little noise for each point."""
  level = random.normal(size=(RUNS, 1, 1))
  return level + 0.1 * random.normal(size=(RUNS, 1, POINTS))


def interval(scores, function, reps=400, seed=0):
  _, intervals = library.get_interval_estimates(
      {'agent': scores}, lambda x: np.array([function(x)]), reps=reps,
      random_state=np.random.RandomState(seed),
  )
  return intervals['agent'].ravel()


QUANTITIES = {
    # Of curves, and the same of each run before.
    'mean over the training': (np.mean, lambda x: x.mean(-1)),
    'progress': (
        lambda x: (x[..., -1] - x[..., 0]).mean(), lambda x: x[..., -1] - x[..., 0]
    ),
    'last point': (lambda x: x[..., -1].mean(), lambda x: x[..., -1]),
}
random = np.random.default_rng(0)
np.random.seed(0)
hits = {name: np.zeros(2) for name in QUANTITIES}
widths = {name: np.zeros(2) for name in QUANTITIES}
for _ in range(TRIALS):
  scores = curves(random)
  for name, (of_curves, of_each_run) in QUANTITIES.items():
    both = interval(scores, of_curves), interval(of_each_run(scores), np.mean)
    hits[name] += [low <= 0 <= high for low, high in both]
    widths[name] += [(high - low) / TRIALS for low, high in both]
for name in QUANTITIES:
  print(f'{name}: width {widths[name][0]:.3f} from curves, {widths[name][1]:.3f} from'
        f' one number a run; with the true value {hits[name].astype(int)} of {TRIALS}')
ratio = {name: a / b for name, (a, b) in widths.items()}
as_described = (
    1 / 8.5 < ratio['mean over the training'] < 1 / 6
    and hits['mean over the training'][0] < 0.4 * TRIALS
    and hits['mean over the training'][1] > 0.8 * TRIALS
    and 8.5 < ratio['progress'] < 11.5
    and 0.97 < ratio['last point'] < 1.03
)

scores = curves(random)[..., 0]
same_state = [interval(scores, np.mean, seed=1) for _ in range(2)]
same_seed = []
for seed in 1, 2:
  np.random.seed(0)
  same_seed.append(interval(scores, np.mean, seed=seed))
print('random_state 1, twice:', *same_state)
print('random_state 1 and 2, after the same numpy.random.seed:', *same_seed)
as_described &= not np.array_equal(*same_state) and np.array_equal(*same_seed)
sys.exit(not as_described)
PROGRAM
