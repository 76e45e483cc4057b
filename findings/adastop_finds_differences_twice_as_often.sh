#!/usr/bin/env bash
# AdaStop 0.1.3: the test that compares agents calls equal ones different about twice as
# often as its level `alpha` says.
#
# The test is two-sided by its own words: it looks at the absolute difference of the mean
# scores. But its threshold is the quantile of 1 - alpha of the SIGNED differences of all
# permutations, which has a share of alpha above it and as much below its negative.
#
# * Ten scores can be divided into two agents of five in 252 ways, and if the agents are
#   equal, each is as likely as another. With alpha = 0.05 at most 12 should be called
#   different. AdaStop calls 24 so, 0.095.
# * Five stages of five runs, as by default, and equal agents: a tenth of the comparisons
#   ends with a difference, where all stages together should keep to 0.05.
# * Three equal agents: in a tenth of the comparisons some pair differs.
#
# One would guess: `alpha` is what its help calls it, the type I error, or the controlled
# family-wise error of its README. Nothing warns, the report has no p-values to compare
# with, and the error is on the side that one hopes for: a claimed difference, with fewer
# runs. Half of the level gives the right test for two agents.
#
# Controls: the same 252 divisions with the largest absolute differences, and by SciPy's
# `permutation_test`; AdaStop with half of the level; and a difference that is real.
#
# Source: adastop/compare_agents.py (`MultipleAgentsComparator.partial_compare`, where
# `max_mean_diffs` has no absolute value and `Ti` has one); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.3.5' 'scipy==1.16.3' 'pandas==2.3.3' 'matplotlib==3.10.8'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'adastop==0.1.3'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import itertools
import sys

from adastop import MultipleAgentsComparator
import numpy as np
from scipy import stats

N, ALPHA = 5, 0.05


def differ(stages, alpha, seed):
  """If AdaStop finds any difference; `stages` gives the new scores of each stage."""
  comparator = MultipleAgentsComparator(n=N, K=len(stages), B=10000, alpha=alpha, seed=seed)
  scores = {str(agent): np.zeros(0) for agent in range(len(stages[0]))}
  for stage in stages:
    for agent, new in zip(scores, stage):
      scores[agent] = np.append(scores[agent], new)
    comparator.partial_compare(scores, verbose=False)
    if comparator.is_finished:
      break
  return any(word in ('larger', 'smaller') for word in comparator.decisions.values())


# All the ways to divide ten scores.
pool = np.random.default_rng(0).normal(size=2 * N)
halves = [
    (pool[list(first)], np.delete(pool, first))
    for first in itertools.combinations(range(2 * N), N)
]
sizes = np.array([abs(a.mean() - b.mean()) for a, b in halves])
counts = {
    'AdaStop': sum(differ([half], ALPHA, 0) for half in halves),
    'AdaStop at half of the level': sum(differ([half], ALPHA / 2, 0) for half in halves),
    'by absolute differences': sum((sizes >= size - 1e-9).mean() <= ALPHA for size in sizes),
    'SciPy': sum(
        stats.permutation_test(
            half, lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True,
            n_resamples=np.inf,
        ).pvalue <= ALPHA
        for half in halves
    ),
}
for name, count in counts.items():
  print(f'{len(halves)} divisions of ten scores, alpha {ALPHA}, {name}: {count} differ,'
        f' {count / len(halves):.3f}')
most = ALPHA * len(halves)
as_described = counts['AdaStop'] == 24 and len(halves) == 252
as_described &= all(
    most - 4 <= count <= most for name, count in counts.items() if name != 'AdaStop'
)


def share(agents, stages, alpha, runs, better=0.0):
  found = []
  for seed in range(runs):
    scores = np.random.default_rng(seed).normal(size=(stages, agents, N))
    scores[:, 0] += better
    found.append(differ(list(scores), alpha, seed))
  return np.mean(found)


for agents, stages, alpha, runs, better, low, high in (
    (2, 1, ALPHA, 500, 0, 0.07, 0.13),
    (2, 5, ALPHA, 400, 0, 0.065, 0.13),
    (2, 5, ALPHA / 2, 300, 0, 0.01, 0.07),
    (3, 1, ALPHA, 300, 0, 0.08, 0.2),
    (2, 5, ALPHA, 50, 2, 0.95, 1),
):
  seen = share(agents, stages, alpha, runs, better)
  print(f'{agents} agents, stages of {N} runs: {stages}, alpha {alpha}, the first better by'
        f' {better}: {seen:.3f} of {runs} comparisons find a difference')
  as_described &= low <= seen <= high
sys.exit(not as_described)
PROGRAM
