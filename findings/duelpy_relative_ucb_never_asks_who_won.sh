#!/usr/bin/env bash
# duelpy 1.0.0: Relative UCB, the usual baseline for dueling bandits, books a win of its
# first arm for each duel, whoever won. The winner that it names is drawn by lot.
#
# A duel returns true or false, whether the first arm won. `RelativeUCB.step` asks if it is
# less than 0, which neither is, and so never books a win of the second arm.
#
# * With arms of which the first beats all others, always, and with the same arms in reverse
#   order, it holds the same duels and keeps the same counts.
# * Of five arms, the best of which wins from 58 to 82 % of its duels: in a sixth of 60 runs
#   of 600 duels it names the best one, and one of the others, or none, in the rest. Its
#   regret is that of random pairs, in the last duels as in the first.
#
# One would guess: it learns from the duels that it asks for. Nothing is raised, and they are
# conducted and counted. Whom it harms: who compares an algorithm with it, or lets it choose
# among variants by people's votes.
#
# Controls: the same class with duels that return 1 and -1, which finds the best arm; the
# package's `RelativeConfidenceSampling`, of the same estimates and bounds; and random pairs
# by hand.
#
# Source: duelpy/algorithms/relative_ucb.py (`RelativeUCB.step`), duelpy/feedback/
# feedback_mechanism.py (`FeedbackMechanism.duel`); seen by this script, which fails if it
# changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import; numpy.float, which they name, is gone from later versions.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==1.23.5' 'scipy==1.10.1'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'duelpy==1.0.0'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from duelpy.algorithms import RelativeConfidenceSampling
from duelpy.algorithms import RelativeUCB
from duelpy.feedback import MatrixFeedback
import numpy as np

ARMS, DUELS, RUNS = 5, 600, 60


class Recorded(MatrixFeedback):
  """Keeps the pairs; may return 1 and -1 instead of true and false."""

  def __init__(self, *args, signs=False, **kwargs):
    super().__init__(*args, **kwargs)
    self.signs, self.pairs = signs, []

  def duel(self, first, second):
    self.pairs.append((first, second))
    won = super().duel(first, second)
    return (1 if won else -1) if self.signs else won


def run(cls, matrix, seed, signs=False):
  duels = Recorded(matrix, random_state=np.random.RandomState(1000 + seed), signs=signs)
  search = cls(duels, time_horizon=DUELS, random_state=np.random.RandomState(seed))
  search.run()
  assert len(duels.pairs) == DUELS
  return search, np.array(duels.pairs)


as_described = True

# The first arm of any two always wins, or always loses.
order = np.arange(ARMS)
always = np.where(order[:, None] == order, 0.5, (order[:, None] < order).astype(float))
for signs in False, True:
  (one, pairs), (other, others) = (run(RelativeUCB, m, 0, signs) for m in (always, always.T))
  equal = np.array_equal(pairs, others)
  equal &= np.array_equal(one.preference_estimate.wins, other.preference_estimate.wins)
  print(f'arm 0 always wins, arm 0 always loses, {"1 and -1" if signs else "bool"}: duels and'
        f' counts are {"equal" if equal else "different"}; winners'
        f' {one.get_condorcet_winner()} and {other.get_condorcet_winner()}')
  as_described &= equal != signs
  if signs:
    as_described &= (one.get_condorcet_winner(), other.get_condorcet_winner()) == (0, ARMS - 1)

# Arm 0 is the best by some way.
matrix = 0.5 + 0.08 * (order - order[:, None])
regret_of_arm = matrix[0] - 0.5
by_lot = regret_of_arm.mean()
print(f'{ARMS} arms, chances of arm 0 {np.round(matrix[0], 2)}; mean regret of random pairs by'
      f' hand {by_lot:.3f}, chance to name the best by lot {1 / ARMS:.2f}')
for name, cls, signs in (
    ('RelativeUCB', RelativeUCB, False),
    ('RelativeUCB with 1 and -1', RelativeUCB, True),
    ('RelativeConfidenceSampling', RelativeConfidenceSampling, False),
):
  winners, regrets = [], []
  for seed in range(RUNS):
    search, pairs = run(cls, matrix, seed, signs)
    winners.append(search.get_condorcet_winner())
    regrets.append(regret_of_arm[pairs].mean(axis=1))
  found = np.mean([winner == 0 for winner in winners])
  early, late = np.mean(regrets, axis=0).reshape(3, -1).mean(axis=1)[[0, -1]]
  named = {str(arm): winners.count(arm) for arm in (*range(ARMS), None)}
  print(f'{name}: the best arm is named in {found:.2f} of {RUNS} runs {named}; mean regret'
        f' {early:.3f} in the first third of {DUELS} duels, {late:.3f} in the last')
  if name == 'RelativeUCB':
    as_described &= found < 0.35 and abs(early - by_lot) < 0.01 and abs(late - by_lot) < 0.01
  else:
    as_described &= found > 0.75 and late < 0.75 * by_lot
sys.exit(not as_described)
PROGRAM
