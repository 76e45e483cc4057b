#!/usr/bin/env bash
# keras-tuner 1.4.8: each trial of Hyperband that fails takes a place away from each later
# round of its bracket. One failed trial of 27 is enough that the bracket trains nothing to
# the end.
#
# The oracle promotes a trial when more trials are ready than the round should discard. Those
# that failed are not ready, and are not counted as discarded either. So a round that should
# promote the best 9 of 27 promotes 8 after one failure. The next then lacks one of 9, and
# promotes 2 instead of 3, and the last one promotes nobody instead of 1.
#
# * `max_epochs` 27, `factor` 3, one trial of the first 27 whose score is not a number:
#   rounds of 27, 8, 2 and 0 trials instead of 27, 9, 3 and 1. The best one of the bracket is
#   never trained for 27 epochs. With 9 failures nothing is promoted at all.
# * A space in which 10 % of the configurations fail: 6.3 of 9 trials get 27 epochs, over all
#   brackets, in the mean of 20 searches. With 34 % it is 4.4, and 4 of these are in the
#   bracket that only searches at random.
# * A retry helps after an exception, but not after a score that is not a number: that of the
#   retry is averaged with it (read, not run), and the trial fails again.
#
# One would guess: failed trials are the first to be discarded, and the best of the others
# are promoted as `factor` says. The guide on failed trials presents them as something to
# tolerate; neither it nor the text on Hyperband mentions this (read, not run). Nothing is
# raised, and the search ends as usual. Whom it harms: who searches a space where some models
# diverge, crash or are larger than `max_model_size`, which fails them (read, not run), or
# compares Hyperband with other tuners there: the training that it saved for the best is not
# spent.
#
# Controls: no failures; the same trial with the worst score instead of none; the same trial
# with one exception and a retry; all of these run the whole schedule. And a loop of our own
# over the rounds agrees for failures at random.
#
# Without TensorFlow and without models: `run_trial` returns the score.
#
# Source: keras_tuner/src/tuners/hyperband.py (`HyperbandOracle.populate_space`:
# `candidates`, `past_size - size`); seen by this script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# It needs six and does not ask for it.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'keras-tuner==1.4.8' 'keras==3.15.1' 'jax==0.10.2' 'jaxlib==0.10.2' 'numpy==2.4.6' \
  'scipy==1.17.1' 'six==1.17.0'

export OMP_NUM_THREADS=1 JAX_PLATFORMS=cpu KERAS_BACKEND=jax
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import collections
import contextlib
import io
import math
import sys
import tempfile

import keras_tuner

EPOCHS, FACTOR = 27, 3
# The numbers of trials of the rounds of each bracket. The last round of each trains for 27
# epochs, the one before for 9, and so on.
SCHEDULE = {3: [27, 9, 3, 1], 2: [12, 4, 2], 1: [6, 2], 0: [4]}
# Seeds are counted up within a search, so that neighbours share their configurations.
SEEDS = range(1000, 21000, 1000)


class Tuner(keras_tuner.Hyperband):
  """Scores are the quality of the configuration, whatever the training."""

  def __init__(self, outcome, retries=0, **kwargs):
    space = keras_tuner.HyperParameters()
    space.Float('quality', 0, 1)
    self.outcome = outcome
    self.seen = {}
    super().__init__(
        objective=keras_tuner.Objective('score', 'max'), max_epochs=EPOCHS, factor=FACTOR,
        hyperparameters=space, max_retries_per_trial=retries,
        max_consecutive_failed_trials=1000, **kwargs,
    )

  def run_trial(self, trial, **kwargs):
    values = trial.hyperparameters.values
    # The position of the trial, and how often it has been run.
    turn = self.seen.setdefault(trial.trial_id, [len(self.seen), 0])
    turn[1] += 1
    return {'score': self.outcome(*turn, values['quality'])}


def search(outcome, seed=1, retries=0):
  """The numbers of trials and of failures of each round of each bracket."""
  with tempfile.TemporaryDirectory() as folder:
    tuner = Tuner(outcome, retries, seed=seed, directory=folder, project_name='search')
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
      tuner.search(verbose=0)
    trials = list(tuner.oracle.trials.values())
  count, failed = collections.Counter(), collections.Counter()
  for trial in trials:
    values = trial.hyperparameters.values
    place = values['tuner/bracket'], values['tuner/round']
    # The epochs of each round are as they should be.
    assert values['tuner/epochs'] == EPOCHS // FACTOR ** (place[0] - place[1])
    assert trial.status in ('COMPLETED', 'FAILED')
    count[place] += 1
    failed[place] += trial.status == 'FAILED'
  tables = [
      {b: [table[b, r] for r in range(b + 1)] for b in SCHEDULE} for table in (count, failed)
  ]
  return *tables, trials


def expected(failed):
  """What happens according to the header, from the failures of the rounds."""
  result = {}
  for bracket, sizes in SCHEDULE.items():
    result[bracket] = [sizes[0]]
    for turn in range(1, len(sizes)):
      completed = result[bracket][-1] - failed[bracket][turn - 1]
      discarded = sizes[turn - 1] - sizes[turn]
      result[bracket].append(max(0, completed - discarded))
  return result


def fail():
  raise keras_tuner.errors.FailedTrialError('does not fit')


def crash():
  raise ValueError('wrong shape')


def when(condition, what):
  """Some trials fail, the others score their quality."""
  return lambda turn, run, quality: what() if condition(turn, run) else quality


def nan():
  return math.nan


as_described = True
FOURTH = lambda turn, run: turn == 3
ONCE = lambda turn, run: turn == 3 and run == 1
CASES = {
    'no failures': (when(lambda turn, run: False, nan), 0, 0),
    'the fourth has the worst score': (when(FOURTH, lambda: -1.0), 0, 0),
    'the fourth raises ValueError once, one retry': (when(ONCE, crash), 1, 0),
    'the fourth raises ValueError': (when(FOURTH, crash), 0, 1),
    'the fourth raises FailedTrialError': (when(FOURTH, fail), 0, 1),
    'the fourth is not a number': (when(FOURTH, nan), 0, 1),
    'the fourth is not a number once, one retry': (when(ONCE, nan), 1, 1),
    'each third of the first 27 is not a number': (
        when(lambda turn, run: turn < 27 and turn % 3 == 0, nan), 0, 9),
}
for name, (outcome, retries, failures) in CASES.items():
  count, failed, trials = search(outcome, retries=retries)
  print(f'{name}: rounds {count[3]}, {count[2]}, {count[1]}, {count[0]}')
  as_described &= failed[3] == [failures, 0, 0, 0]
  first = {0: [27, 9, 3, 1], 1: [27, 8, 2, 0], 9: [27, 0, 0, 0]}[failures]
  as_described &= count == {**SCHEDULE, 3: first} == expected(failed)
  best = max(t.hyperparameters.values['quality'] for t in trials[:27]
             if t.status == 'COMPLETED')
  most = max(t.hyperparameters.values['tuner/epochs'] for t in trials
             if t.hyperparameters.values['quality'] == best)
  print(f'  the best of the first 27 is trained for {most} of {EPOCHS} epochs')
  as_described &= most == {0: 27, 1: 9, 9: 1}[failures]

print(f'failures by configuration, {len(SEEDS)} searches each:')
for share in 0.0, 0.1, 0.34:
  full, random, agree = 0, 0, True
  for seed in SEEDS:
    count, failed, _ = search(
        lambda turn, run, quality: math.nan if quality < share else quality, seed)
    agree &= count == expected(failed)
    full += sum(rounds[-1] for rounds in count.values())
    random += count[0][-1]
  print(f'  {share:.0%}: {full / len(SEEDS):.1f} of 9 trials get {EPOCHS} epochs,'
        f' {random / len(SEEDS):.1f} of these in the bracket that only searches at random;'
        f' our loop {"agrees" if agree else "differs"}')
  as_described &= agree and random == 4 * len(SEEDS)
  low, high = {0.0: (9, 9), 0.1: (5.8, 6.8), 0.34: (4, 4.9)}[share]
  as_described &= low <= full / len(SEEDS) <= high
sys.exit(not as_described)
PROGRAM
