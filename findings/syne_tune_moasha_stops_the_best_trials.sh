#!/usr/bin/env bash
# Syne Tune 0.16.0: `NonDominatedPriority`, the default of `MOASHA` and of
# `MultiObjectiveRegularizedEvolution`, gives each trial the number of ANOTHER trial, so
# that trials are stopped, and parents chosen, whatever their metrics are.
#
# A priority is a vector with one number for each trial, and lower ones come first. The
# class returns a sorted list of INDICES, best first, which is the inverse permutation.
# Entry i is not the rank of trial i but the index of the trial that has rank i. MOASHA
# looks at the last entry, that of the new trial, and finds the index of the WORST trial:
# the new one is stopped where the worst was reported late, and goes on where it was early.
#
# * Two metrics that are equal, one level, a reduction factor of 3: a new trial that is in
#   the best fifth of all is stopped as often as one in the worst fifth, every second.
#   It should be none of the best, and all of the worst.
# * `MultiObjectiveRegularizedEvolution` chooses the parent of smallest priority among ten.
#   With the right ranks the distance from the Pareto front falls to two fifths in 300
#   trials; with the default it is 0.9 of that of random configurations.
# * Inside of a front it is the other way round: an order is already turned into ranks and
#   then used as an order. The first of the front should be the one that is best in the
#   metric `dim`, and here it is the worst in it.
#
# One would guess: what the base class documents, one priority for each sample, and
# successive halving that keeps the best third. Nothing warns; the list has the right
# length and numbers, and the worst trial of all is always stopped. With `FixedObjective
# Priority` or `LinearScalarizationPriority` MOASHA is right.
#
# Controls: ranks by dominance in NumPy as the priority of the same schedulers; the first
# metric alone by the package's `FixedObjectivePriority`.
#
# Source: syne_tune/optimizer/schedulers/multiobjective/multiobjective_priority.py
# (`NonDominatedPriority.priority_unsafe`), non_dominated_priority.py (`nondominated_sort`,
# `compute_epsilon_net`), asha.py (`Bracket.on_result`); seen by this script, which fails
# if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
# Only what these modules import.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'numpy==2.4.6' 'pandas==2.3.3' 'dill==0.4.1' 'sortedcontainers==2.4.0' \
  'typing_extensions==4.16.0' 'tqdm==4.70.1' 'psutil==7.2.2'
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --no-deps 'syne-tune==0.16.0'

"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import datetime
import random
import sys

import numpy as np
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers.multiobjective import MultiObjectiveRegularizedEvolution
from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA
from syne_tune.optimizer.schedulers.multiobjective.multiobjective_priority import FixedObjectivePriority
from syne_tune.optimizer.schedulers.multiobjective.multiobjective_priority import MOPriority
from syne_tune.optimizer.schedulers.multiobjective.multiobjective_priority import NonDominatedPriority

as_described = True


def fronts(metrics):
  """The number of the front of each row, 0 for the Pareto front, lower metrics better."""
  weakly = (metrics[:, None] <= metrics).all(-1)
  dominates = weakly & (metrics[:, None] < metrics).any(-1)
  front = np.full(len(metrics), -1)
  number = 0
  while (front < 0).any():
    left = front < 0
    front[left & ~(dominates & left[:, None]).any(axis=0)] = number
    number += 1
  return front


class ByHand(MOPriority):
  """The rank of each row: by its front, and then by the first metric."""

  def priority_unsafe(self, objectives):
    order = np.lexsort((objectives[:, 0], fronts(objectives)))
    ranks = np.empty(len(order), int)
    ranks[order] = np.arange(len(order))
    return ranks


# Five trials, one better than the other in both metrics.
values = np.array([5, 1, 4, 2, 3.0])
seen = NonDominatedPriority()(np.stack([values, values], axis=1))
print(f'metrics {values.tolist()}, twice: priorities {seen.tolist()}, ranks'
      f' {(values - 1).astype(int).tolist()}')
as_described &= seen.tolist() == np.argsort(values).tolist() == [1, 3, 4, 2, 0]

# A front of three. The best of the metric 0 should be the first.
front = np.array([[2, 2], [0, 5], [4, 0.0]])
order = NonDominatedPriority(dim=0)(front).tolist()
print(f'front {front.tolist()}: order {order}, so that {front[order[0]].tolist()} is first')
as_described &= order[0] == 2 and front[:, 0].argmax() == 2

# MOASHA: each trial reports once.
space = {'x': uniform(0, 1), 'y': uniform(0, 1), 'z': uniform(0, 1)}
SEEDS, TRIALS = 10, 100


def shares(priority):
  """The share of stopped trials among the best and the worst fifth."""
  rows = []
  for seed in range(SEEDS):
    scheduler = MOASHA(
        space, ['a', 'b'], time_attr='epoch', max_t=9, reduction_factor=3,
        multiobjective_priority=priority() if priority else None,
    )
    for number, value in enumerate(np.random.default_rng(seed).random(TRIALS)):
      trial = Trial(number, {}, datetime.datetime.now())
      scheduler.on_trial_add(trial)
      decision = scheduler.on_trial_result(trial, {'a': value, 'b': value, 'epoch': 1})
      if number >= 20:
        rows.append((value, decision == SchedulerDecision.STOP))
  values, stopped = np.array(rows).T
  return [stopped[values < 0.2].mean(), stopped[values > 0.8].mean()]


for priority in None, ByHand, FixedObjectivePriority:
  best, worst = shares(priority)
  name = priority.__name__ if priority else 'default'
  print(f'MOASHA, {name}: stopped of the best fifth {best:.2f}, of the worst fifth {worst:.2f}')
  if priority:
    as_described &= best < 0.05 and worst > 0.95
  else:
    as_described &= 0.35 < best < 0.8 and 0.35 < worst < 0.8


def distances(priority, seed):
  """Mean distance from the Pareto front of the trials at the beginning and at the end."""
  # The package draws new values of a configuration from the global generators.
  np.random.seed(seed)
  random.seed(seed)
  searcher = MultiObjectiveRegularizedEvolution(
      space, population_size=30, sample_size=10, multiobjective_priority=priority,
      random_seed=seed,
  )
  found = []
  for number in range(300):
    config = searcher.suggest()
    x, far = config['x'], abs(config['y'] - 0.3) + abs(config['z'] - 0.6)
    found.append(far)
    # far is 0 on the front, on which the metrics add up to 1.
    searcher.on_trial_complete(number, config, [x + far, 1 - x + far])
  return np.mean(found[:30]), np.mean(found[-60:])


ends = {}
for name, priority in (('default', lambda: None), ('by hand', ByHand)):
  first, last = np.mean([distances(priority(), seed) for seed in range(3)], axis=0)
  ends[name] = last / first
  print(f'regularized evolution, {name}: distance from the front {first:.3f} at first,'
        f' {last:.3f} at the end')
as_described &= ends['by hand'] < 0.5 < 0.75 < ends['default']
sys.exit(not as_described)
PROGRAM
