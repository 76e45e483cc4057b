#!/usr/bin/env bash
# deephyper 0.13.2: `SuccessiveHalvingStopper` halves at other steps than it says, most of
# them just after the first, and stops trials that have nothing to be compared with.
#
# * Halvings are after `min_steps` steps, after `min_steps * reduction_factor` and after
#   `min_steps * reduction_factor**2`, says its docstring, and so they are in ASHA. It adds in
#   place of multiplying: min_steps - 1 + reduction_factor**rung. With 10 steps and a factor
#   of 3 the halvings are at 10, 12, 18, 36 and 90 instead of 10, 30 and 90. Of 243 trials
#   that learn the slower the better they end, 2 % see step 30, where it should be a third.
#   The best one is trained to the end in none of 8 random orders, and by ASHA with the
#   documented steps in 6. With 1 step, the default, the two are the same.
# * `min_competing`, "the minimum number of competitors necessary to check the top-k
#   condition": where there are fewer, a trial is stopped. With 5, the first four trials are
#   stopped at the first halving, the first four that come to the second one there, and so
#   on, also if each is better than all before. Who starts with known good values loses just
#   these. `MedianStopper` of the same module lets them go on.
#
# One would guess: the docstring, and that a check that is not made stops nothing. The
# results look as they should, with many trials that were stopped early.
#
# Controls: ASHA by hand, with the documented steps; `MedianStopper`; `min_steps=1`.
#
# Source: deephyper/stopper/_asha_stopper.py (`_compute_halving_budget`, `stop`); seen by
# this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'scipy==1.17.1' 'pandas==3.1.1' 'scikit-learn==1.9.1' 'ConfigSpace==1.2.2' \
  'loky==3.5.6' 'cloudpickle==3.1.2' 'pydantic==2.13.4' 'parse==1.22.4' 'tqdm==4.70.1' \
  'psutil==7.2.2' 'PyYAML==6.0.4' 'Jinja2==3.1.6' 'packaging==26.4'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
  'deephyper==0.13.2'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from deephyper.evaluator import HPOJob
from deephyper.evaluator.storage import MemoryStorage
from deephyper.stopper import MedianStopper
from deephyper.stopper import SuccessiveHalvingStopper
import numpy as np

MAX_STEPS, FACTOR = 100, 3
as_described = True


def last_steps(stopper, curves):
  """The last step of each trial, one after the other, and the steps of the rungs."""
  storage = MemoryStorage()
  storage.connect()
  search = storage.create_new_search()
  steps, rungs = [], {}
  for curve in curves:
    job = HPOJob(storage.create_new_job(search), {}, None, storage)
    running = job.create_running_job(stopper)
    for step in range(1, MAX_STEPS + 1):
      running.record(step, float(curve[step - 1]))
      for key in storage.load_job(job.id)['metadata']:
        if key.startswith('_completed_rung'):
          rungs.setdefault(key, step)
      if running.stopped():
        break
    steps.append(step)
  return np.array(steps), sorted(set(rungs.values()))


def by_hand(curves, min_steps):
  """ASHA with the documented steps."""
  rungs = [min_steps * FACTOR**k for k in range(9) if min_steps * FACTOR**k < MAX_STEPS]
  seen = {rung: [] for rung in rungs}
  steps = []
  for curve in curves:
    for rung in rungs:
      seen[rung].append(curve[rung - 1])
      best = np.sort(seen[rung])[::-1][:max(len(seen[rung]) // FACTOR, 1)]
      if curve[rung - 1] < best[-1]:
        steps.append(rung)
        break
    else:
      steps.append(MAX_STEPS)
  return np.array(steps), rungs


# Trials of which the best are slow. The first one is the best at all steps, so that it
# passes all halvings.
time = np.arange(1, MAX_STEPS + 1)
random = np.random.default_rng(0)
kept = {1: [], 10: []}
for min_steps in 1, 10:
  for order in range(8):
    final = random.random(243)
    curves = final[:, None] * (1 - np.exp(-time / (2 + 38 * final[:, None])))
    curves[0] = 2
    stopper = SuccessiveHalvingStopper(
        MAX_STEPS, min_steps=min_steps, reduction_factor=FACTOR
    )
    seen, rungs = last_steps(stopper, curves)
    right, right_rungs = by_hand(curves, min_steps)
    best = 1 + final[1:].argmax()
    kept[min_steps].append((
        (seen >= 30).mean(), (right >= 30).mean(), seen.sum() / right.sum(),
        seen[best], right[best],
    ))
  means = np.mean(kept[min_steps], axis=0)
  print(f'min_steps {min_steps}: halvings at {rungs}, as documented {right_rungs}; trials that'
        f' see step 30 {means[0]:.0%}, by hand {means[1]:.0%}; steps in all {means[2]:.2f} of'
        f' those by hand; the best of the others ends at'
        f' {[int(x[3]) for x in kept[min_steps]]}, by hand'
        f' {[int(x[4]) for x in kept[min_steps]]}')
  if min_steps == 1:
    as_described &= rungs == right_rungs
    as_described &= all(x[2] == 1 for x in kept[1])
  else:
    as_described &= rungs == [10, 12, 18, 36, 90] and right_rungs == [10, 30, 90]
    as_described &= bool(means[0] < 0.05 and means[1] > 0.3)
    to_the_end = np.sum([[x[3] == MAX_STEPS, x[4] == MAX_STEPS] for x in kept[10]], axis=0)
    as_described &= bool(to_the_end[0] == 0 and to_the_end[1] >= 5)

# Trials that get worse, the first one the best.
curves = np.linspace(1, 0, 30)[:, None] + 0.001 * time
for name, stopper in [
    ('SuccessiveHalvingStopper, min_competing 5',
     SuccessiveHalvingStopper(MAX_STEPS, reduction_factor=FACTOR, min_competing=5)),
    ('SuccessiveHalvingStopper', SuccessiveHalvingStopper(MAX_STEPS, reduction_factor=FACTOR)),
    ('MedianStopper, min_competing 5', MedianStopper(MAX_STEPS, min_competing=5)),
]:
  steps, _ = last_steps(stopper, curves)
  print(f'{name}: trials from the best to the worst end at {steps[:8]}')
  as_described &= bool((steps[0] == 1) == (name.endswith('5') and 'Halving' in name))
  upwards, _ = last_steps(stopper, curves[::-1])
  print(f'  from the worst to the best at {upwards[:20]}')
  if name.startswith('Median'):
    as_described &= bool((steps[:4] == MAX_STEPS).all() and (upwards == MAX_STEPS).all())
  elif name.endswith('5'):
    as_described &= bool((steps[:4] == 1).all())
    as_described &= bool((upwards[:20] == np.repeat([1, 3, 9, 27, 81], 4)).all())
sys.exit(not as_described)
PROGRAM
