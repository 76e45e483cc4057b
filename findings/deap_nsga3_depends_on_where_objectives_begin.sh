#!/usr/bin/env bash
# DEAP 1.4.4: `selNSGA3` prefers other individuals when a constant is added to one of the
# objectives.
#
# NSGA-III measures the objectives from the best values that were seen, and divides them by
# the intercepts of a hyperplane. DEAP's intercepts are lengths from the best point. The
# division subtracts the best point from them once more: where the best value of an
# objective is 0.9 and its intercept 1, it divides by 0.1, and at a best value of 10 by -9.
#
# * 303 points that fill the triangle of a DTLZ1 front, and 28 reference points: with 0 as
#   the best of all objectives each reference point has one of the 28 chosen. With 0.9 added
#   to the first objective 14 have one, and the mean of that objective among the chosen is
#   0.11 instead of 0.33; with -10 added 16 have one and the mean is 0.50.
# * Searches of 60 generations end at all 28 reference points without an offset, and at 12
#   to 15 of them with 0.9 or -10 added.
#
# One would guess: what an objective is counted from changes nothing, as for dominance and
# crowding distances, and as in the paper, where the first step moves the best point to the
# origin. Costs that begin at 100 next to errors that begin at 0 are usual. The result is a
# valid front, with fewer directions. Nothing warns, and benchmarks have 0 as the best
# value, where the selection is right, or best values that are alike, where it is right too.
#
# Control: the same selection with the intercepts as the divisor, which chooses the same
# individuals whatever is added.
#
# Source: deap/tools/emo.py (`find_intercepts` and `associate_to_niche`); seen by this
# script, which fails if it changes.
set -euo pipefail

python=${PYTHON:-python3.11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  'deap==1.4.4' 'numpy==2.3.5'

export OMP_NUM_THREADS=1
"$folder/venv/bin/python" -W ignore - <<'PROGRAM'
import sys

from deap import base
from deap import creator
from deap import tools
from deap.tools import emo
import numpy as np

OFFSETS = (0, 0.5, 0.9, 10, -1, -10)
REFERENCE = tools.uniform_reference_points(3, 6)
creator.create('Fitness', base.Fitness, weights=(-1.0,) * 3)
creator.create('Individual', list, fitness=creator.Fitness)
as_described = True

given = emo.associate_to_niche


def lengths_as_divisors(fitnesses, reference, best, intercepts):
  """The same with intercepts that are lengths from the best point, unless they are not."""
  if front_worst_was_used[-1]:
    return given(fitnesses, reference, best, intercepts)
  return given(fitnesses, reference, best, intercepts + best)


front_worst_was_used = []
find = emo.find_intercepts


def find_and_note(extreme, best, current_worst, front_worst):
  found = find(extreme, best, current_worst, front_worst)
  front_worst_was_used.append(found is front_worst or found is current_worst)
  return found


emo.find_intercepts = find_and_note


def individuals_of(variables, values):
  individuals = []
  for row, value in zip(variables, values):
    individual = creator.Individual(row)
    individual.fitness.values = tuple(value)
    individuals.append(individual)
  return individuals


def select(variables, values, count):
  chosen = tools.selNSGA3(individuals_of(variables, values), count, REFERENCE)
  return [list(one) for one in chosen]


def reached(shares):
  shares = np.asarray(shares)
  distances = ((shares[:, None] - REFERENCE) ** 2).sum(-1)
  return len(set(distances.argmin(1)))


points = np.vstack([np.eye(3), np.random.default_rng(0).dirichlet([1, 1, 1], size=300)])
for associate in given, lengths_as_divisors:
  emo.associate_to_niche = associate
  name = 'DEAP' if associate is given else 'divided by the intercepts'
  for offset in OFFSETS:
    np.random.seed(0)
    chosen = np.array(select(points, points + [offset, 0, 0], len(REFERENCE)))
    mean = chosen[:, 0].mean()
    print(f'{name}, {offset} added to the first objective: {reached(chosen)} of'
          f' {len(REFERENCE)} reference points have one of the {len(chosen)} chosen;'
          f' means of the objectives without the offset {chosen.mean(0).round(2)}')
    if associate is given and offset:
      as_described &= reached(chosen) <= 24
      as_described &= offset == 10 or abs(mean - 1 / 3) > 0.08
    else:
      as_described &= reached(chosen) >= 27 and abs(mean - 1 / 3) < 0.02


def shares_of(variables):
  """A triangle: the first two variables are the place, the rest is the distance to it."""
  a, b = variables[:, 0], variables[:, 1]
  shares = np.stack([a * b, a * (1 - b), 1 - a], axis=1)
  return shares, shares * (1 + ((variables[:, 2:] - 0.5) ** 2).sum(1, keepdims=True))


def search(offset, seed):
  np.random.seed(seed)
  generator = np.random.default_rng(seed)
  parents = generator.random((len(REFERENCE), 5))
  for _ in range(60):
    mates = parents[generator.permutation(len(parents))]
    children = np.where(generator.random(parents.shape) < 0.5, parents, mates)
    children = np.clip(children + 0.1 * generator.normal(size=children.shape), 0, 1)
    family = np.vstack([parents, children])
    parents = np.array(select(family, shares_of(family)[1] + [offset, 0, 0], len(parents)))
  return reached(shares_of(parents)[0])


for associate in given, lengths_as_divisors:
  emo.associate_to_niche = associate
  name = 'DEAP' if associate is given else 'divided by the intercepts'
  for offset in 0, 0.9, -10:
    ends = [search(offset, seed) for seed in range(5)]
    print(f'{name}, searches with {offset} added: reference points at the end {ends}')
    if associate is given and offset:
      as_described &= max(ends) <= 20
    else:
      as_described &= min(ends) >= 26
sys.exit(not as_described)
PROGRAM
